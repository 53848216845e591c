# SPDX-License-Identifier: MIT
"""The ledger is in proportion to the heap that it describes, also when that has shrunk."""
import ctypes
import os
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment, end_process, wait_until

MIB = 1 << 20
SYS_MEMBARRIER, QUERY, GLOBAL = 324, 0, 1


def ledger_bytes(tool):
    """Memory behind the ledger that TOOL reads; 0 while it has none."""
    for link in Path(f"/proc/{tool.pid}/fd").iterdir():
        try:
            if "memfd:seep" in os.readlink(link):
                return os.stat(link).st_blocks * 512
        except FileNotFoundError:
            continue
    return 0


def can_fence():
    """Without this call the kernel has no way to do it safely."""
    commands = ctypes.CDLL(None).syscall(SYS_MEMBARRIER, QUERY, 0, 0)
    return commands > 0 and commands & GLOBAL


@pytest.mark.skipif(not can_fence(), reason="the kernel has no membarrier(2) here")
@pytest.mark.parametrize("large_mib", [0, 100])
def test_the_ledger_shrinks_with_the_heap(compiler, tmp_path, large_mib):
    """A large block needs no more of the ledger than a small one: that it lives is no reason to
    keep what others left."""
    command = [
        SEEP, "record", "-q", "-o", "out.seep", compiler.build("shrinking.c"), str(large_mib),
    ]
    tool = subprocess.Popen(command, cwd=tmp_path, env=clean_environment(),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert tool.stdout.readline() == b"small\n"
        assert ledger_bytes(tool) > 40 * MIB
        wait_until(
            lambda: ledger_bytes(tool) < 16 * MIB,
            "what describes no block is given back",
            process=tool,
        )
        _, said = tool.communicate(b"\n", timeout=DEADLINE)
    finally:
        end_process(tool)
    assert tool.returncode == 0, said
    profile = Profile(tmp_path / "out.seep")
    totals = profile.json["totals"]
    assert totals["allocations"] - totals["frees"] == totals["live_blocks"]
    assert totals["allocations"] >= 2 * 800000 + 101
    assert not profile.json.get("errors")
    assert totals["live_blocks"] < 5  # what stdio keeps


def test_releases_of_blocks_that_were_not_taken_cost_no_memory(compiler, tmp_path):
    """record --sample: to look for a block where none was ever written would make the kernel put
    a page there."""
    tool = subprocess.Popen(
        [SEEP, "record", "-q", "--sample=64K", "-o", "out.seep", compiler.build("shrinking.c")],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert tool.stdout.readline() == b"small\n"
        taken = ledger_bytes(tool)
        _, said = tool.communicate(b"\n", timeout=DEADLINE)
    finally:
        end_process(tool)
    assert tool.returncode == 0, said
    assert taken < 10 * MIB  # 1,300 blocks, each in a page of its own
