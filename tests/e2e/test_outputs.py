# SPDX-License-Identifier: MIT
"""Where recordings go when others want the same name, when a name is too long, and when seep
does not live to write the last one."""
import os
import signal
import subprocess

import pytest

import format_reader
from harness import DEADLINE, SEEP, ask, clean_environment, end_process, wait_until

LONGEST = os.pathconf("/tmp", "PC_NAME_MAX")


def record(folder, *words, status=0):
    return ask("record", *words, status=status, cwd=folder)


def long_name(length):
    return "x" * (length - len(".seep")) + ".seep"


# ---- names that are too long ----


@pytest.mark.parametrize("options,length,told", [
    ((), LONGEST + 1, f"the name has {LONGEST + 1} bytes, and the directory takes at most "
                      f"{LONGEST}"),
    (("--events",), LONGEST - 7,
     f"and that of the event log beside it {LONGEST + 1}; the directory takes at most {LONGEST}")])
def test_a_name_that_is_too_long_is_refused_before_the_program_starts(
    compiler, tmp_path, options, length, told
):
    done = record(
        tmp_path, *options, "-o", long_name(length), compiler.build("steps.c"), "create:here",
        status=2,
    )
    assert told in done.stderr and "File name too long" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_too_long_is_refused_before_the_program_starts(compiler, tmp_path):
    assert (
        "File name too long"
        in record(
            tmp_path, "-o", "a/" * 2500 + "b.seep", compiler.build("steps.c"), status=2
        ).stderr
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options,length", [((), LONGEST), (("--events",), LONGEST - 8)])
def test_the_longest_name_can_be_written(compiler, tmp_path, options, length):
    record(
        tmp_path, "-q", *options, "-o", long_name(length), compiler.build("steps.c"), "+red:3:10"
    )
    assert [path.name for path in tmp_path.iterdir()] == [long_name(length)]


def test_names_of_children_are_cut_where_they_would_be_too_long(compiler, tmp_path):
    steps = compiler.build("steps.c")
    record(
        tmp_path, "-q", "--follow=all", "-o", long_name(LONGEST), "sh", "-c",
        f"{steps} +red:3:10; {steps} +red:4:10; true",
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 3 and all(
        len(name) == LONGEST and name.endswith(".seep") for name in names
    )
    assert {3, 4} < {format_reader.read(path).totals["allocations"] for path in tmp_path.iterdir()}


# ---- two at once ----


def test_two_recordings_at_once_with_one_name_are_both_kept_and_told(compiler, tmp_path):
    """Whichever is written first has the name."""
    both = [
        subprocess.Popen(
            [
                SEEP, "record", "-o", "out.seep", compiler.build("steps.c"), f"+red:{blocks}:10",
                "ready", "wait",
            ],
            cwd=tmp_path,
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for blocks in (3, 5)
    ]
    assert [process.stdout.readline() for process in both] == ["ready\n"] * 2
    told = [process.communicate("go\n", timeout=DEADLINE)[1] for process in both]
    second = (
        "another recording was written to out.seep in the meantime; this recording is in out.2.seep"
    )
    assert sorted(second in text for text in told) == [False, True], told
    made = [
        format_reader.read(tmp_path / name).totals["allocations"]
        for name in ("out.seep", "out.2.seep")
    ]
    assert made == ([5, 3] if second in told[0] else [3, 5])


# ---- what is left of a recording when seep is killed ----


def test_all_numbers_of_a_checkpoint_are_of_one_moment(compiler, tmp_path):
    """The heap changes all the time; what is resident in the allocator's mappings was looked at
    when what is live was."""
    tool = subprocess.Popen(
        [SEEP, "record", "-q", "-o", "out.seep", compiler.build("sway.c"), "16"],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
    )
    try:
        wait_until((tmp_path / "out.seep").exists, "a checkpoint", process=tool)
        child = int(
            open(f"/proc/{tool.pid}/task/{tool.pid}/children", encoding="utf-8").read().split()[0]
        )
    finally:
        end_process(tool, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    seen = format_reader.read(tmp_path / "out.seep")
    assert seen.totals["mappings_ms"] == seen.meta["duration_ms"] == seen.arrays["slices"][-1]["ms"]
    assert (
        seen.meta["warnings"][0]
        == "seep was killed, or is still recording: later events are missing"
    )
    live = seen.totals["mappings_live_bytes"]
    heap = next(m for m in seen.arrays["mappings"] if m["name"] == "[heap]")
    # all of it was touched; a little may come between two looks
    assert 0 < live < heap["rss_bytes"] + (8 << 20)
