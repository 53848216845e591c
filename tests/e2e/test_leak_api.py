# SPDX-License-Identifier: MIT
"""What seep.h offers for leaks: the number of lost blocks now, blocks that may be lost, memory
that holds."""
import pytest

from leaks import BUILDS, build_for, check, every_build
from plain import run_plain

COUNTS = {"none": 0, "first": 3, "same": 3, "more": 5, "hidden": 6, "found": 5, "lost_again": 6}


def program(compiler, build=BUILDS[0], **how):
    return build_for("seep", compiler, "leak_api.c", build, **how)


@every_build
def test_the_program_asks_how_many_are_lost(compiler, recorder, build):
    done = recorder.record(program(compiler, build), "checks")
    assert {key: done.truth.facts[key] for key in COUNTS} == COUNTS
    assert {done.truth.facts[f"errno_{key}"] for key in COUNTS} == {77}


def test_a_recording_without_a_file_gives_the_same_answers(compiler, recorder):
    done = run_plain(recorder.folder(), program(compiler), "checks")
    assert {key: done.truth.facts[key] for key in COUNTS} == COUNTS


def test_without_seep_the_answer_is_none(compiler, recorder):
    done = recorder.bare(program(compiler), "checks")
    assert {done.truth.facts[key] for key in COUNTS} == {0}


def test_threads_ask_at_once(compiler, recorder):
    done = recorder.record(program(compiler), "threads")
    assert done.truth.facts == {"joined": 4}


@pytest.mark.parametrize("case", ["checks", "ignores", "roots", "pools", "mapped_pools", "threads"])
def test_at_the_end(compiler, recorder, case):
    check("seep", recorder, program(compiler), case)


@pytest.mark.parametrize("case", ["checks", "ignores", "roots", "pools"])
def test_at_the_end_of_a_program_at_a_fixed_address(compiler, recorder, case):
    check("seep", recorder, program(compiler, flags=["-no-pie", "-fno-pie"], libs=["-ldl"]), case)
