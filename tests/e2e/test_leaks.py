# SPDX-License-Identifier: MIT
"""Blocks of every class in every shape: seep, Memcheck and LeakSanitizer find what the program knows."""
import pytest

from leaks import BUILDS, build_for, by_sanitizer, check, check_verdicts, every_build, every_tool, leaks_json, seep_verdicts, waiting

CLASSES = ["block", "list", "double_list", "cycle", "self", "owned_cycle", "tree", "group", "long_list", "kept_list", "interior",
           "possible_chain", "interior_link", "both", "possible_beats_lost", "lost_points_to_kept", "lost_interior", "past_end",
           "xored", "high_tag", "unaligned", "freed_owner", "zero", "huge", "free_list", "entry_points", "dead_stack", "top"]
OBJECTS = ["operators", "idioms", "lookalikes", "strings", "containers", "globals", "owners", "exceptions"]


@every_tool
@every_build
def test_every_class(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_classes.c", build), *CLASSES)


@pytest.mark.parametrize("case", CLASSES)
def test_a_shape_alone(compiler, recorder, case):
    """... where the block in question is also the last one, or the only one."""
    check("seep", recorder, build_for("seep", compiler, "leak_classes.c", BUILDS[0]), case)


@every_tool
@every_build
def test_objects(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_cxx.cpp", build), *OBJECTS)


@every_tool
@every_build
def test_strings_that_share_their_text(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_cxx.cpp", build, flags=["-D_GLIBCXX_USE_CXX11_ABI=0"]), "strings")
