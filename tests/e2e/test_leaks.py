# SPDX-License-Identifier: MIT
"""Programs that know what they lose: seep, Memcheck and LeakSanitizer find just that."""
import pytest

from leaks import BUILDS, OTHERS, by_memcheck, by_sanitizer, by_seep, flags_of

CLASSES = ["block", "list", "double_list", "cycle", "self", "owned_cycle", "tree", "group", "long_list", "kept_list", "interior",
           "possible_chain", "interior_link", "both", "possible_beats_lost", "lost_points_to_kept", "lost_interior", "past_end",
           "xored", "high_tag", "unaligned", "freed_owner", "zero", "huge", "free_list", "entry_points", "dead_stack", "top"]

# Where a tool differs from the truth: {function: (what it says of all its blocks, or the exact sums, and why)}.
SANITIZER_DIFFERS = {
    "cycle_block": ("indirect", "in a cycle each block is held by another: none of them is called direct"),
    "double_list_node": ("indirect", "a cycle"),
    "zero_lost": ({"definite": (1, 1)}, "a block of no bytes counts as one of one byte"),
}


def as_told(truth, differs):
    """The truth, but for the functions about which a tool is known to say something else."""
    wanted = {}
    for function, kinds in truth.items():
        said, _ = differs.get(function, (kinds, ""))
        if isinstance(said, str):
            said = {said: tuple(sum(column) for column in zip(*kinds.values()))}
        wanted[function] = said
    return wanted


def without_possible(truth):
    """LeakSanitizer: every pointer into a block holds it, and nothing is said about what is held."""
    lost = {f: {k: v for k, v in kinds.items() if k in ("definite", "indirect")} for f, kinds in truth.items()}
    return {f: kinds for f, kinds in lost.items() if kinds}


build = pytest.mark.parametrize("cc,level", BUILDS, ids=[cc + level for cc, level in BUILDS])


def check_own(verdicts, truth):
    """What the program made is as it says, and nothing else is lost."""
    lost = verdicts.lost().get(OTHERS, {})
    assert {**{f: k for f, k in verdicts.items() if f != OTHERS}, **({OTHERS: lost} if lost else {})} == truth


@build
def test_memcheck_agrees_about_classes(compiler, recorder, need, cc, level):
    need("valgrind", cc)
    done, verdicts = by_memcheck(recorder, None, compiler.build("leak_classes.c", cc=cc, flags=flags_of(level)), *CLASSES)
    check_own(verdicts, done.truth.leaks)


@build
def test_the_sanitizer_agrees_about_classes(compiler, recorder, need, cc, level):
    need(cc)
    program = compiler.build("leak_classes.c", cc=cc, flags=flags_of(level, "-fsanitize=leak"))
    done, verdicts = by_sanitizer(recorder, None, program, *CLASSES)
    check_own(verdicts, without_possible(as_told(done.truth.leaks, SANITIZER_DIFFERS)))
