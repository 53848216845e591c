# SPDX-License-Identifier: MIT
"""Blocks of every class in every shape: seep, Memcheck and LeakSanitizer find what the program
knows."""
import pytest

from leaks import (
    BUILDS, build_for, by_memcheck, by_sanitizer, check, check_running, check_verdicts,
    every_build, every_tool, seep_verdicts, sum_of, waiting,
)
from test_allocators import ALLOCATORS, library

CLASSES = [
    "block", "list", "double_list", "cycle", "self", "owned_cycle", "tree", "group", "long_list",
    "kept_list", "interior", "possible_chain", "interior_link", "both", "possible_beats_lost",
    "lost_points_to_kept", "lost_interior", "past_end", "xored", "high_tag", "unaligned",
    "freed_owner", "zero", "huge", "free_list", "recycling", "entry_points", "dead_stack", "top",
]
OBJECTS = [
    "operators", "idioms", "lookalikes", "strings", "containers", "globals", "owners",
    "exceptions",
]


@every_tool
@every_build
def test_every_class(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_classes.c", build), *CLASSES)


@pytest.mark.parametrize("case", CLASSES)
def test_a_shape_alone(compiler, recorder, case):
    """... where the block in question is also the last one, or the only one."""
    check("seep", recorder, build_for("seep", compiler, "leak_classes.c", BUILDS[0]), case)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_every_class_with_another_allocator(compiler, recorder, name):
    """What it knows about its blocks holds none of them."""
    program = build_for(
        "seep", compiler, "leak_classes.c", BUILDS[0],
        libs=["-Wl,--no-as-needed", str(library(name))],
    )
    check("seep", recorder, program, *CLASSES)


@every_tool
@every_build
def test_objects(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_cxx.cpp", build), *OBJECTS)


@every_tool
@every_build
def test_strings_that_share_their_text(compiler, recorder, tool, build):
    check(
        tool,
        recorder,
        build_for(tool, compiler, "leak_cxx.cpp", build, flags=["-D_GLIBCXX_USE_CXX11_ABI=0"]),
        "strings",
    )


@every_build
def test_arrays_of_no_elements(compiler, recorder, build):
    """A variable has the end of a block that is nothing but the number 0."""
    check(
        "seep",
        recorder,
        build_for("seep", compiler, "leak_cxx.cpp", build),
        "empty_arrays",
        *OBJECTS,
    )


def test_what_others_say_of_arrays_of_no_elements(compiler, recorder, need):
    """LeakSanitizer knows blocks of 8 bytes, whatever they are; Memcheck none."""
    need("valgrind")
    done, verdicts = by_memcheck(
        recorder, build_for("memcheck", compiler, "leak_cxx.cpp", BUILDS[0]), "empty_arrays"
    )
    check_verdicts(
        "memcheck",
        verdicts,
        {f: {"definite": sum_of(kinds)} for f, kinds in done.truth.leaks.items()},
    )
    done, verdicts = by_sanitizer(
        recorder, build_for("sanitizer", compiler, "leak_cxx.cpp", BUILDS[0]), "empty_arrays"
    )
    assert done.truth.leaks["no_items"] == {"reachable": (8, 1)} and "no_items" not in verdicts


@every_build
def test_every_class_in_a_running_program(compiler, recorder, build):
    check_running(recorder, build_for("seep", compiler, "leak_classes.c", build), *CLASSES)


def test_unaligned_pointers_hold_if_one_wants_that(compiler, recorder):
    program = build_for("seep", compiler, "leak_classes.c", BUILDS[0])
    for option, kind in ((), "definite"), (("--unaligned",), "reachable"):
        with waiting(recorder, program, "unaligned", "list") as (it, pid, truth):
            check_verdicts(
                "seep",
                seep_verdicts(pid, truth, *option),
                {**truth, "unaligned_block": {kind: (1381, 1)}},
            )
            assert it.finish().status == 0


def test_the_sanitizer_agrees_about_unaligned_pointers(compiler, recorder):
    program = build_for("sanitizer", compiler, "leak_classes.c", BUILDS[0])
    done, verdicts = by_sanitizer(recorder, program, "unaligned", "list", options="use_unaligned=1")
    check_verdicts(
        "sanitizer", verdicts, {**done.truth.leaks, "unaligned_block": {"reachable": (1381, 1)}}
    )


IDIOMS = {"array_with_cookie", "second_base", "length_before_text", "shared_text"}
EMPTY = {"no_items", "no_pairs", "no_lines"}


def test_idioms_can_be_switched_off(compiler, recorder):
    """... as with Memcheck's --leak-check-heuristics=none."""
    program = build_for("seep", compiler, "leak_cxx.cpp", BUILDS[0])
    with waiting(recorder, program, "idioms", "empty_arrays", "lookalikes") as (it, pid, truth):
        check_verdicts("seep", seep_verdicts(pid, truth), truth)
        possible = {
            f: {"possible": kinds["reachable"]} for f, kinds in truth.items() if f in IDIOMS
        }
        assert set(possible) == IDIOMS
        lost = {f: {"definite": kinds["reachable"]} for f, kinds in truth.items() if f in EMPTY}
        assert set(lost) == EMPTY
        check_verdicts(
            "seep", seep_verdicts(pid, truth, "--no-idioms"), {**truth, **possible, **lost}
        )
        assert it.finish().status == 0


def test_memcheck_agrees_about_idioms_switched_off(compiler, recorder, need):
    need("valgrind")
    done, verdicts = by_memcheck(
        recorder,
        build_for("memcheck", compiler, "leak_cxx.cpp", BUILDS[0]),
        "idioms",
        "lookalikes",
        options=["--leak-check-heuristics=none"],
    )
    truth = done.truth.leaks
    check_verdicts(
        "memcheck",
        verdicts,
        {**truth, **{f: {"possible": k["reachable"]} for f, k in truth.items() if f in IDIOMS}},
    )
