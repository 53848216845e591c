# SPDX-License-Identifier: MIT
"""A program that damages what it shares with seep waits for seep no longer than some seconds."""
import pytest
from harness import PLAIN, ROOT

FIELDS = [
    "mark_count", "scan_asked", "scan_reason", "scan_holder", "scan_sp", "tick_ms", "observer",
    "served", "scan_done", "working", "journal_read", "journal_wake", "journal_reserved",
    "journal_waiting", "journal_closed",
]
VALUES = ["0", "1", "0x7fffffff", "0xfffffffe", "0xffffffff"]


@pytest.mark.parametrize("field", FIELDS)
def test_every_wait_ends(compiler, recorder, field):
    program = compiler.build("bad_head.c", flags=(*PLAIN, f"-I{ROOT / 'src'}"))
    done = [recorder.record(program, field, value, options=["-q", "--events"]) for value in VALUES]
    assert [(d.status, d.stdout) for d in done] == [(12, b"damaged\n")] * len(VALUES)
