# SPDX-License-Identifier: MIT
"""attached.py -- processes that are attached to in tests: their own accounts, and a seep at work
on them."""
import os
import re
import struct
import subprocess
from contextlib import contextmanager

from harness import DEADLINE, SEEP, Profile, clean_environment, wait_until

ACCOUNT = struct.Struct("4Q")
SLOTS = 64  # of each thread


class Target:
    """A running attached.c and its accounts."""

    def __init__(self, program, threads, folder):
        self.file, self.threads = folder / "accounts", threads
        self.process = subprocess.Popen(
            [program, str(threads), str(self.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
        self.pid = self.process.pid
        self.wait_answer()

    def wait_answer(self):
        assert self.process.stdout.readline() == b"done\n"

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.process.stdin.flush()
        self.wait_answer()

    def account(self):
        data = self.file.read_bytes()
        rows = [ACCOUNT.unpack_from(data, i * ACCOUNT.size) for i in range(self.threads)]
        return dict(zip(("allocs", "bytes", "frees", "errors"), map(sum, zip(*rows))))

    def end(self):
        self.do("quit")
        return self.process.wait(DEADLINE)


OWN_NAME = f"attached-{os.getpid()}"  # other runs of these tests may be under way


@contextmanager
def target(compiler, tmp_path, threads=4, **how):
    made = Target(compiler.build("attached.c", libs=("-lpthread",), **how), threads, tmp_path)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.process.wait(DEADLINE)


class Attachment:
    """`seep attach` at work."""

    def __init__(self, pid, folder, *options):
        self.pid, self.path, self.errors = pid, folder / "out.seep", folder / "errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [SEEP, "attach", "-v", "-f", "-o", str(self.path), *options, str(pid)],
                stderr=errors,
                env=clean_environment(),
            )
        wait_until(
            lambda: re.search(" by (inject|preload), to ", self.said())
            or self.process.poll() is not None,
            "attach",
        )

    def said(self):
        return self.errors.read_text(errors="replace")

    def ended(self):
        assert self.process.wait(DEADLINE) == 0, self.said()
        return Profile(self.path)

    def leave(self):
        done = subprocess.run(
            [SEEP, "detach", str(self.pid)],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert (done.returncode, done.stderr) == (0, ""), self.said()
        return self.ended()


def check_no_fault(profile):
    totals = profile.totals
    assert profile.errors == []
    assert (
        totals["unknown_frees"], totals["double_frees"], totals["mismatched"],
        totals["lost_events"],
    ) == (0, 0, 0, 0)


def difference(after, before):
    return {key: after[key] - before[key] for key in after}


def check_batch(t, attachment, rounds):
    """Everything stood still at both ends: all numbers are the program's own."""
    before = t.account()
    t.do("batch", rounds)
    truth = difference(t.account(), before)
    profile = attachment.leave()
    check_no_fault(profile)
    totals = profile.totals
    assert (totals["allocations"], totals["bytes_allocated"]) == (truth["allocs"], truth["bytes"])
    assert totals["frees"] + totals["older"] == truth["frees"]
    return totals
