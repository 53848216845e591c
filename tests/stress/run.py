#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests of scale: each takes minutes or gigabytes, so `make check` leaves them out.

usage: tests/stress/run.py [NAME ...]      (default: all of them; NAME is a part of a check's name)

A check is a function check_... in a file check_*.py of this folder: it gets a Stage, and knows the
truth from the program that it records. The last line is N passed, N failed, N skipped.
"""
import importlib
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
sys.dont_write_bytecode = True

import harness  # noqa: E402


class Skip(Exception):
    """A check cannot run here, for this reason."""


class Stage:
    """What a check works with: compiler and recorder of the end-to-end tests, and a folder that
    is gone afterwards."""

    def __init__(self, folder):
        self.compiler = harness.Compiler(
            os.environ.get("SEEP_TEST_BUILD") or Path(folder) / "programs"
        )
        self.recorder = harness.Recorder(folder)

    def say(self, text):
        """A number that is worth reading."""
        print(f"    {text}", flush=True)

    def need_memory(self, mib):
        have = next(
            int(line.split()[1]) // 1024
            for line in open("/proc/meminfo")
            if line.startswith("MemAvailable")
        )
        if have < mib:
            raise Skip(f"{mib} MiB of memory are needed, {have} are free")


def checks(words):
    for path in sorted(HERE.glob("check_*.py")):
        module = importlib.import_module(path.stem)
        for name, function in list(vars(module).items()):
            mine = name.startswith("check_") and getattr(function, "__module__", None) == path.stem
            if mine and (not words or any(word in name for word in words)):
                yield name, function


def run_one(function):
    """(outcome, reason)"""
    with tempfile.TemporaryDirectory(prefix="seep-stress-") as folder:
        try:
            function(Stage(folder))
        except Skip as reason:
            return "skipped", str(reason)
        except Exception:  # whatever it was: the others go on
            return "failed", traceback.format_exc()
    return "passed", ""


def main(words):
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for name, function in checks(words):
        print(name, flush=True)
        start = time.monotonic()
        outcome, reason = run_one(function)
        counts[outcome] += 1
        print(f"    {outcome} in {time.monotonic() - start:.0f} s {reason}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]  # checks import Skip from here
    sys.exit(main(sys.argv[1:]))
