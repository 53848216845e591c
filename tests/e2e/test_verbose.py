# SPDX-License-Identifier: MIT
"""record -v: forks, execs, exits and libraries as they come; -vv: threads and addresses too."""
import re

import pytest


def said(seen):
    return [line for line in seen.stderr.decode().splitlines() if line.startswith("seep: ")]


@pytest.mark.parametrize(
    "end,words", [("exit:3", "ended with status 3"), ("abort", "was killed by signal SIGABRT")]
)
def test_the_end_and_its_status_are_told(compiler, recorder, end, words):
    program = compiler.build("steps.c")
    seen = recorder.record(program, "+red:1:10", end, options=["-v"])
    assert [
        line for line in said(seen) if re.search(rf"steps \(pid \d+\) {words}$", line)
    ], seen.stderr
    assert not [line for line in said(recorder.record(program, "+red:1:10", end)) if words in line]


def test_libraries_are_told_as_they_are_loaded(compiler, recorder):
    plugs = [
        compiler.library(
            "plug.c",
            flags=("-g", "-O0", "-fno-builtin", f"-DPLUG={letter}"),
            name=f"plug_{letter}.so",
        )
        for letter in "ab"
    ]
    program = compiler.build("dl_swap.c")
    once, twice = (
        recorder.record(program, *plugs, "2", options=[option]) for option in ("-v", "-vv")
    )
    for plug in plugs:
        assert [
            line for line in said(once) if re.search(rf"\(pid \d+\) loaded {plug.resolve()}$", line)
        ], once.stderr
        assert [
            line
            for line in said(twice)
            if re.search(rf"\(pid \d+\) loaded {plug.resolve()} at 0x\w+-0x\w+$", line)
        ]
        assert [
            line
            for line in said(twice)
            if re.search(rf"\(pid \d+\) unloaded {plug.resolve()} at 0x\w+-0x\w+$", line)
        ]
    assert [line for line in said(once) if re.search(r"loaded \S*libc\.so", line)]


def test_forks_and_execs_are_told(compiler, recorder):
    program = compiler.build("steps.c")
    seen = recorder.record(
        program, "+red:1:10", "fork", "+red:1:10", f"exec:{program}", options=["-v", "--follow=all"]
    )
    lines = said(seen)
    forked = [
        m
        for m in (re.search(r"\(pid (\d+)\) was forked by pid (\d+)$", line) for line in lines)
        if m
    ]
    assert len(forked) == 1, seen.stderr
    child, parent = forked[0].groups()
    assert [line for line in lines if f"(pid {child}) became another program (exec)" in line]
    assert [line for line in lines if re.search(rf"\(pid {parent}\) ended with status \d+$", line)]


def test_children_that_are_not_recorded_are_told(compiler, recorder):
    seen = recorder.record(
        compiler.build("steps.c"), "+red:1:10", "fork", "+red:1:10", options=["-v", "--follow=exec"]
    )
    assert [
        line
        for line in said(seen)
        if "forked 1 process that is not recorded (--follow=all records them)" in line
    ], seen.stderr


def test_threads_are_told_with_two(compiler, recorder):
    program = compiler.build("named_threads.c")
    once, twice = (recorder.record(program, options=[option]) for option in ("-v", "-vv"))
    assert not [line for line in said(once) if " began thread " in line]
    assert (
        len([line for line in said(twice) if re.search(r"began thread \d+", line)]) >= 2
    ), twice.stderr
