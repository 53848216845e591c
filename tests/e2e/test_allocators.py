# SPDX-License-Identifier: MIT
"""Other allocators, linked or preloaded, and another libc: the same exact counts, the same
output."""
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, MACHINE, PLAIN, check_clean, check_sites, check_total

ALLOCATORS = ["jemalloc", "tcmalloc", "tcmalloc_minimal", "mimalloc"]
PROGRAMS = {"entry_points.c": (), "realloc_forms.c": (), "random_trace.c": ("5", "1", "20000")}


def library(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        found = Path(folder) / f"lib{name}.so"
        if found.exists():
            return found
    return pytest.skip(f"lib{name}.so is not installed")


def check_same(recorder, program, *args, options=(), env=None, own=True):
    bare, seen = recorder.bare(program, *args, env=env), recorder.record(
        program, *args, options=options, env=env
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False)
    if own:
        check_total(seen.truth, seen.profile.own(program), peak=False)
    check_clean(seen.profile)
    return seen


# jemalloc has no pvalloc: memory of the libc would be given to another allocator's free.
def flags_for(name):
    return (*PLAIN, "-DWITHOUT_VALLOC") if name == "jemalloc" else PLAIN


@pytest.mark.parametrize("source", PROGRAMS)
@pytest.mark.parametrize("name", ALLOCATORS)
def test_a_linked_allocator_is_recorded_exactly(compiler, recorder, name, source):
    path = library(name)
    program = compiler.build(source, flags=flags_for(name), libs=["-Wl,--no-as-needed", str(path)])
    check_same(recorder, program, *PROGRAMS[source])


@pytest.mark.parametrize("source", PROGRAMS)
@pytest.mark.parametrize("name", ALLOCATORS)
def test_a_preloaded_allocator_is_recorded_exactly(compiler, recorder, name, source):
    program = compiler.build(source, flags=flags_for(name))
    check_same(recorder, program, *PROGRAMS[source], env={"LD_PRELOAD": str(library(name))})


@pytest.mark.parametrize("name", ALLOCATORS)
def test_new_and_delete_of_another_allocator_are_recorded_exactly(compiler, recorder, name):
    program = compiler.build("operators.cpp", libs=["-Wl,--no-as-needed", str(library(name))])
    check_same(recorder, program)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_the_allocator_in_use_is_the_programs_own(compiler, recorder, name, tmp_path):
    """Its usable sizes differ from the libc's: the output shows who served the calls."""
    path = library(name)
    program = compiler.build(
        "entry_points.c", flags=flags_for(name), libs=["-Wl,--no-as-needed", str(path)]
    )
    plain = compiler.build("entry_points.c", flags=flags_for(name))
    assert (
        recorder.record(program).stdout
        == recorder.bare(program).stdout
        != recorder.bare(plain).stdout
    )


@pytest.mark.parametrize("name", ALLOCATORS)
def test_threads_on_another_allocator_are_counted_exactly(compiler, recorder, name):
    program = compiler.build("random_trace.c", flags=("-O1", "-fno-builtin", "-g", "-fno-inline"),
                             libs=["-Wl,--no-as-needed", str(library(name))])
    seen = recorder.record(program, "9", "8", "50000")
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    check_clean(seen.profile)


@pytest.fixture
def musl(compiler):
    if not MACHINE and not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    return lambda source: compiler.build(source, cc="musl-gcc", flags=(*PLAIN, "-DWITHOUT_VALLOC"))


@pytest.mark.parametrize("source", PROGRAMS)
def test_a_musl_program_is_recorded_exactly(musl, recorder, source):
    program = musl(source)
    seen = check_same(recorder, program, *PROGRAMS[source])
    check_total(seen.truth, seen.profile.totals)


def test_threads_of_a_musl_program_are_counted_exactly(musl, recorder):
    seen = recorder.record(musl("random_trace.c"), "3", "8", "50000")
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    check_clean(seen.profile)


def test_a_thousand_musl_threads_come_and_go(musl, recorder):
    program = musl("many_threads.c")
    check_same(recorder, program, "1000")


@pytest.mark.parametrize("way", ["fork", "vfork", "threaded-fork", "exec"])
def test_children_of_a_musl_program_leave_it_exact(musl, recorder, way):
    program = musl("children.c")
    bare, seen = recorder.bare(program, way), recorder.record(program, way)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    if way == "exec":
        assert sorted(p.totals["live_bytes"] for p in seen.profiles()) == [50, 99]
    else:
        check_sites(seen.truth, seen.profile, peak=False, temporary=False)


@pytest.mark.parametrize(
    "way,status", [("_exit", 5), ("kill", 137), ("abort", 134), ("segv", 139), ("thread_exit", 6)]
)
def test_however_a_musl_program_ends_the_recording_is_complete(musl, recorder, way, status):
    seen = recorder.record(musl("endings.c"), way)
    assert seen.status == status
    check_sites(seen.truth, seen.profile)


@pytest.mark.parametrize("case", ["second_page", "across", "remapped", "shrunk", "many"])
def test_mappings_of_a_musl_program_are_exact(musl, recorder, case):
    program = musl("mappings.c")
    if case == "shrunk" and MACHINE and MACHINE.qemu and recorder.bare(program, case).status == 139:
        pytest.skip(f"{MACHINE.qemu} unmaps what lies behind a mapping that becomes smaller")
    seen = recorder.record(program, case)
    assert (
        sum(
            s["live_bytes"]
            for s in seen.profile.json["sites"]
            if s["kind"] in ("mmap", "mremap")
            and s["stack"]
            and seen.profile.frame(s["stack"][0])["module"] == str(program)
        )
        == seen.truth.facts["mapped"]
    )


def test_stacks_of_a_musl_program_reach_main(musl, recorder):
    seen = recorder.record(musl("depth8.c"), "4096")
    stacks = {tuple(seen.profile.names(s["stack"])) for s in seen.profile.heap_sites()}
    assert len(stacks) == 256
    assert all(s[0] == "leaf" and s[17] == "main" for s in stacks)


def test_a_program_with_its_own_malloc_inside_is_told_or_recorded(recorder, tmp_path):
    """An allocator linked statically into the executable: its calls still go through the
    interposed symbols."""
    archive = Path("/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a")
    if not archive.exists():
        pytest.skip("libjemalloc_pic.a is not installed")
    program = tmp_path / "inside"
    source = tmp_path / "inside.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int main(void) { for (int i = 0; i < 50; i++) if (!malloc(100)) return 1; return 0; }\n"
    )
    subprocess.run(
        [
            "gcc", "-O0", "-fno-builtin", "-g", "-rdynamic", str(source), "-Wl,--whole-archive",
            str(archive), "-Wl,--no-whole-archive", "-lm", "-ldl", "-lpthread", "-lstdc++", "-o",
            str(program),
        ],
        check=True,
        timeout=DEADLINE,
    )
    seen = recorder.record(program)
    assert seen.status == 0
    assert seen.profile.totals["allocations"] >= 50 or any(w for w in seen.profile.json["warnings"])


@pytest.mark.parametrize("name", [None, *ALLOCATORS])
def test_small_blocks_of_many_threads_are_told_apart(compiler, recorder, name):
    """Several blocks in 32 bytes, each of another thread."""
    libs = ["-Wl,--no-as-needed", str(library(name))] if name else []
    seen = recorder.record(compiler.build("small_blocks.c", libs=libs), 4, 300000)
    assert seen.status == 0
    check_clean(seen.profile)
    found, facts = seen.profile.by_function()["hammer"], seen.truth.facts
    assert found["allocations"] == facts["allocs"]
    assert found["frees"] == facts["frees"]
    assert found["bytes_allocated"] == facts["bytes"]
    assert (found["live_blocks"], found["live_bytes"]) == (0, 0)


def test_small_blocks_of_musl_threads_are_told_apart(musl, recorder):
    seen = recorder.record(musl("small_blocks.c"), 4, 50000)
    assert seen.status == 0
    check_clean(seen.profile)
    assert seen.profile.by_function()["hammer"]["frees"] == seen.truth.facts["frees"]
