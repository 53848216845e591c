# SPDX-License-Identifier: MIT
"""A program whose recording by breakpoints ends before it does, again and again."""
import os
import subprocess

from harness import SEEP, clean_environment, wait_until

ROUNDS = 300


def check_breakpoints_are_left_at_any_moment(stage):
    """With one processor for all, a thread is often interrupted when it has just run into a
    breakpoint and its SIGTRAP was not delivered yet."""
    program = stage.compiler.build("stops.c")
    folder = stage.recorder.folder()
    one = {min(os.sched_getaffinity(0))}
    for number in range(ROUNDS):
        seep = subprocess.Popen(
            [
                SEEP, "record", "-q", "--engine", "breakpoint", "--duration", "10ms", "-o",
                folder / "out.seep",
                "--",
                program,
                "works",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(),
            cwd=folder,
            preexec_fn=lambda: os.sched_setaffinity(0, one),
        )
        wait_until((folder / "out.seep").exists, "the recording")
        said, _ = seep.communicate(b"x", 60)
        assert seep.returncode == 7 and said.endswith(
            b"end\n"
        ), f"round {number}: {seep.returncode}, {said}"
        (folder / "out.seep").unlink()
    stage.say(f"{ROUNDS} recordings that ended before their program")
