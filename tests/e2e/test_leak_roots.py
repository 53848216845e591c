# SPDX-License-Identifier: MIT
"""Every place that can hold a block does so; places that only look like it do not."""
import pytest

from harness import PLAIN
from leaks import BUILDS, build_for, check, check_running, every_build, every_tool

ROOTS = [
    "variables", "library", "plugin", "closed", "keys", "mappings", "shm", "not_for_children",
    "libc", "kernel", "coroutine",
]
STACKS = ["stack", "coroutine_ends", "altstack", "altstack_block", "altstack_mapping"]
THREADS = ["gone", "arena", "result", "owning", "own_stack", "raw_thread", "waiting", "registers"]


@pytest.fixture(scope="session")
def libraries(compiler, tmp_path_factory):
    """A folder with the library in its four roles."""
    folder = tmp_path_factory.mktemp("libraries")
    for role, flags in (
        ("linked", ["-DLEAK_INITIAL"]),
        ("initial", ["-DLEAK_INITIAL"]),
        ("plugin", []),
        ("passing", []),
    ):
        name = f"libleak_{role}.so"
        (folder / name).symlink_to(
            compiler.library("leak_lib.c", flags=(*PLAIN, *flags), name=name)
        )
    return folder


def roots_program(tool, compiler, libraries, build, flags=()):
    linked = (libraries / "libleak_linked.so").resolve()
    libs = [str(linked), f"-Wl,-rpath,{linked.parent}", "-ldl"]
    return build_for(tool, compiler, "leak_roots.c", build, flags=flags, libs=libs)


@every_tool
@every_build
def test_every_kind_of_root(compiler, recorder, libraries, tool, build):
    check(
        tool,
        recorder,
        roots_program(tool, compiler, libraries, build),
        *ROOTS,
        env={"LEAK_FOLDER": str(libraries)},
    )


@every_tool
@pytest.mark.parametrize("build", [BUILDS[0], BUILDS[3]], ids="".join)
@pytest.mark.parametrize("where", STACKS)
def test_stacks_at_the_end(compiler, recorder, libraries, tool, build, where):
    check(tool, recorder, roots_program(tool, compiler, libraries, build), where)


@every_tool
@every_build
def test_threads(compiler, recorder, tool, build):
    check(tool, recorder, build_for(tool, compiler, "leak_threads.c", build), *THREADS)


@every_build
def test_every_kind_of_root_of_a_running_program(compiler, recorder, libraries, build):
    """Searched in a copy: what children do not get, and memory shared with others, counts too."""
    check_running(
        recorder,
        roots_program("seep", compiler, libraries, build),
        *ROOTS,
        env={"LEAK_FOLDER": str(libraries)},
    )


@pytest.mark.parametrize("where", STACKS)
def test_stacks_of_a_running_program(compiler, recorder, libraries, where):
    check_running(recorder, roots_program("seep", compiler, libraries, BUILDS[0]), where)


@every_build
def test_threads_of_a_running_program(compiler, recorder, build):
    check_running(recorder, build_for("seep", compiler, "leak_threads.c", build), *THREADS)


def test_memory_that_the_program_names(compiler, recorder, libraries):
    """SEEP_ROOT; the others do not know it."""
    check("seep", recorder, roots_program("seep", compiler, libraries, BUILDS[0]), "given")


def test_memory_that_the_program_has_made_read_only(compiler, recorder, libraries):
    """Memcheck and LeakSanitizer do not search it."""
    check("seep", recorder, roots_program("seep", compiler, libraries, BUILDS[0]), "sealed")
    check_running(recorder, roots_program("seep", compiler, libraries, BUILDS[0]), "sealed")


def test_large_memory_of_which_little_is_used(compiler, recorder, libraries):
    check("seep", recorder, roots_program("seep", compiler, libraries, BUILDS[0]), "sparse")
    check_running(recorder, roots_program("seep", compiler, libraries, BUILDS[0]), "sparse")


def test_a_program_at_a_fixed_address(compiler, recorder, libraries):
    program = roots_program("seep", compiler, libraries, BUILDS[0], flags=["-no-pie", "-fno-pie"])
    check("seep", recorder, program, *ROOTS, "given", env={"LEAK_FOLDER": str(libraries)})
