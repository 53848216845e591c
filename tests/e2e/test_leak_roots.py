# SPDX-License-Identifier: MIT
"""Every place that can hold a block does so; places that only look like it do not."""
import pytest

from harness import PLAIN
from leaks import BUILDS, build_for, check, check_verdicts, every_build, every_tool, leaks_json, seep_verdicts, waiting

ROOTS = ["variables", "library", "plugin", "closed", "keys", "mappings", "shm", "not_for_children", "libc", "kernel", "coroutine"]
STACKS = ["stack", "coroutine_ends", "altstack", "altstack_block", "altstack_mapping"]
THREADS = ["gone", "arena", "result", "owning", "own_stack", "waiting", "registers"]


@pytest.fixture(scope="session")
def libraries(compiler, tmp_path_factory):
    """A folder with the library in its four roles."""
    folder = tmp_path_factory.mktemp("libraries")
    for role, flags in (("linked", ["-DLEAK_INITIAL"]), ("initial", ["-DLEAK_INITIAL"]), ("plugin", []), ("passing", [])):
        name = f"libleak_{role}.so"
        (folder / name).symlink_to(compiler.library("leak_lib.c", flags=(*PLAIN, *flags), name=name))
    return folder


def roots_program(tool, compiler, libraries, build):
    linked = (libraries / "libleak_linked.so").resolve()
    return build_for(tool, compiler, "leak_roots.c", build, libs=[str(linked), f"-Wl,-rpath,{linked.parent}", "-ldl"])


@every_tool
@every_build
def test_every_kind_of_root(compiler, recorder, libraries, tool, build):
    check(tool, recorder, roots_program(tool, compiler, libraries, build), *ROOTS, env={"LEAK_FOLDER": str(libraries)})


@every_tool
@every_build
@pytest.mark.parametrize("where", STACKS)
def test_stacks_at_the_end(compiler, recorder, libraries, tool, build, where):
    check(tool, recorder, roots_program(tool, compiler, libraries, build), where)


@every_tool
@every_build
def test_threads(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_threads.c", build), *THREADS)
