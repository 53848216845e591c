# SPDX-License-Identifier: MIT
"""Programs that an agent is written into at their first allocation, because preloading does not
reach them or by --engine: the same counts as the program's own, and as by preloading."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, PLAIN, SEEP, check_clean, check_sites, check_total, run

STATIC = {"static": "-static", "static-pie": "-static-pie"}
PROGRAMS = {"entry_points.c": (), "realloc_forms.c": (), "random_trace.c": ("5", "3", "6000")}


def engine(seen):
    return json.loads(
        run([SEEP, "info", "--json", seen.folder / "out.seep"], cwd=seen.folder).stdout
    )["engine"]


def check_same(recorder, program, *args, options=()):
    """As if nobody looked, and recorded exactly, by injection."""
    bare, seen = recorder.bare(program, *args), recorder.record(program, *args, options=options)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status), seen.stderr
    assert seen.status == 0
    assert engine(seen) == "inject"
    check_sites(seen.truth, seen.profile, peak=False)
    check_clean(seen.profile)
    return seen


@pytest.mark.parametrize("source", PROGRAMS)
@pytest.mark.parametrize("how", STATIC)
def test_a_static_program_is_recorded_exactly(compiler, recorder, how, source):
    check_same(recorder, compiler.build(source, flags=(*PLAIN, STATIC[how])), *PROGRAMS[source])


@pytest.mark.parametrize("source", ["realloc_forms.c", "random_trace.c"])
def test_a_static_musl_program_is_recorded_exactly(compiler, recorder, need, source):
    need("musl-gcc")
    program = compiler.build(source, cc="musl-gcc", flags=(*PLAIN, "-static", "-DWITHOUT_VALLOC"))
    check_same(recorder, program, *PROGRAMS[source])


def test_a_static_cxx_program_is_recorded(compiler, recorder):
    """Its operators may be its own, so what they call is recorded."""
    program = compiler.build("operators.cpp", flags=(*PLAIN, "-static"))
    bare, seen = recorder.bare(program), recorder.record(program)
    assert (seen.stdout, seen.status) == (bare.stdout, 0)
    for name, counts in seen.truth.sites.items():
        found = seen.profile.below(name)
        assert (found["allocations"], found["frees"]) == (counts["allocs"], counts["frees"]), name
    check_clean(seen.profile)


def test_stacks_of_a_static_program_reach_main(compiler, recorder):
    seen = recorder.record(compiler.build("depth8.c", flags=(*PLAIN, "-static")), "4096")
    stacks = {tuple(seen.profile.names(s["stack"])) for s in seen.profile.heap_sites() if "leaf" in
              seen.profile.names(s["stack"])}
    assert len(stacks) == 256
    assert all(s[0] == "leaf" and s[17] == "main" for s in stacks)


@pytest.mark.parametrize("source", PROGRAMS)
def test_injected_and_preloaded_are_the_same(compiler, recorder, source):
    program = compiler.build(source)
    one, other = (recorder.record(program, *PROGRAMS[source], options=(f"--engine={e}",))
                  for e in ("preload", "inject"))
    assert one.stdout == other.stdout and (one.status, other.status) == (0, 0)
    assert (engine(one), engine(other)) == ("preload", "inject")
    check_sites(other.truth, other.profile, peak=False)
    check_total(other.truth, other.profile.own(program), peak=False)
    check_clean(other.profile)
    fields = "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes"
    by = [
        {name: [s[f] for f in fields] for name, s in seen.profile.by_function().items()}
        for seen in (one, other)
    ]
    mine = [name for name in by[0] if name in one.truth.sites]
    if source != "random_trace.c":  # threads take turns as they like
        assert {n: by[0][n] for n in mine} == {n: by[1].get(n) for n in mine}


def test_an_allocator_in_the_program_is_recorded(compiler, recorder):
    """It hands out memory of its own, which no pointer leads to in the end."""
    program = compiler.build("own_malloc.c", flags=(*PLAIN, "-rdynamic"))
    seen = recorder.record(program)
    assert seen.status == 0 and engine(seen) == "inject"
    assert seen.profile.by_function()["main"]["live_bytes"] == seen.truth.facts["lost"]
    assert seen.profile.json["unseen"] == []
    assert (
        "has its own malloc"
        in recorder.record(program, options=("--engine=preload",)).stderr.decode()
    )


def test_registers_are_what_the_compiler_expects(compiler, recorder):
    program = compiler.build("own_registers.c", flags=("-O2", "-g", "-fno-builtin", "-rdynamic"))
    bare, seen = recorder.bare(program), recorder.record(program)
    assert (seen.status, seen.stdout) == (0, bare.stdout)
    assert engine(seen) == "inject"
    assert seen.profile.by_function()["main"]["allocations"] == 1000
    assert seen.profile.by_function()["main"]["live_blocks"] == 0


def test_jemalloc_linked_in_is_recorded_exactly(compiler, recorder):
    archive = Path("/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a")
    if not archive.exists():
        pytest.skip("libjemalloc_pic.a is not installed")
    libs = [
        "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", "-lm", "-ldl", "-lpthread",
        "-lstdc++",
    ]
    program = compiler.build(
        "random_trace.c", flags=(*PLAIN, "-DWITHOUT_VALLOC"), libs=libs, name="with-jemalloc"
    )
    check_same(recorder, program, *PROGRAMS["random_trace.c"])


def test_a_stripped_static_program_is_known_by_its_code(compiler, recorder, tmp_path, need):
    need("strip")
    program = tmp_path / "stripped"
    shutil.copy(compiler.build("random_trace.c", flags=(*PLAIN, "-static")), program)
    subprocess.run(["strip", str(program)], check=True, timeout=DEADLINE)
    bare, seen = recorder.bare(program, "5", "1", "6000"), recorder.record(
        program, "5", "1", "6000"
    )
    assert (seen.stdout, seen.status) == (bare.stdout, 0)
    totals, truth = seen.profile.totals, seen.truth.total
    assert totals["allocations"] >= truth["allocs"] and totals["frees"] >= truth["frees"]
    assert totals["allocations"] - truth["allocs"] < 30  # what the C library needs for itself
    check_clean(seen.profile)


def test_what_has_no_malloc_is_refused_and_not_run(tmp_path, need):
    need("strip")
    (tmp_path / "bare.c").write_text(
        "void _start(void) { __asm__ volatile(\"syscall\" :: \"a\"(60), \"D\"(7)); }\n"
    )
    subprocess.run(
        ["gcc", "-static", "-nostdlib", "-s", "bare.c", "-o", "bare"],
        cwd=tmp_path,
        check=True,
        timeout=DEADLINE,
    )
    done = run([SEEP, "record", "./bare"], cwd=tmp_path)
    assert done.status == 3 and b"statically linked and stripped" in done.stderr
    assert list(tmp_path.glob("*.seep")) == []


def test_a_program_that_allocates_nothing_is_told(tmp_path):
    (tmp_path / "none.c").write_text(
        "#include <unistd.h>\n" "int main(void) { _exit(write(1, \"hi\\n\", 3) == 3 ? 5 : 6); }\n"
    )
    subprocess.run(
        ["gcc", "-static", "none.c", "-o", "none"], cwd=tmp_path, check=True, timeout=DEADLINE
    )
    done = run([SEEP, "record", "-o", "x.seep", "./none"], cwd=tmp_path)
    assert (done.status, done.stdout) == (5, b"hi\n")


def test_signals_and_statuses_come_through(compiler, recorder):
    """The program is traced until it allocates, and then no more."""
    program = compiler.build("signals.c", flags=(*PLAIN, "-static"))
    assert recorder.record(program).status == recorder.bare(program).status


def test_a_static_rust_program_is_recorded(recorder, tmp_path, need):
    need("rustc")
    source = tmp_path / "boxes.rs"
    source.write_text(
        "fn make(i: usize) -> Box<[u8]> { vec![i as u8; 1000 + i].into_boxed_slice() }\n"
        "fn main() { let all: Vec<_> = (0..64).map(make).collect();\n"
        "    println!(\"{}\", all.iter().map(|b| b.len()).sum::<usize>()); }\n"
    )
    program = tmp_path / "boxes"
    made = subprocess.run(
        ["rustc", "-g", "-C", "target-feature=+crt-static", "-o", str(program), str(source)],
        capture_output=True,
        timeout=DEADLINE,
    )
    if made.returncode:
        pytest.skip("rustc does not link static programs here")
    seen = recorder.record(program)
    assert seen.status == 0 and seen.stdout == b"66016\n"
    assert engine(seen) == "inject"
    assert seen.profile.below("boxes::make")["bytes_allocated"] == 66016


@pytest.mark.parametrize("engine", ["inject", "breakpoint"])
@pytest.mark.parametrize("library", ["tcmalloc", "mimalloc"])
def test_one_function_for_free_and_delete_is_no_mismatch(recorder, tmp_path, library, engine):
    source, program = tmp_path / "deletes.cc", tmp_path / "deletes"
    source.write_text("int main() { for (int i = 0; i < 9; i++) {\n"
                      "int *volatile p = new int[9]; delete[] p;\n"
                      "int *volatile q = new int; delete q; } }\n")
    built = subprocess.run(["g++", "-O1", "-o", program, source, f"-l{library}"], timeout=DEADLINE,
                           capture_output=True)
    if built.returncode:
        pytest.skip(f"lib{library} is not installed")
    seen = recorder.record(program, options=("--engine", engine))
    assert seen.status == 0 and seen.profile.own(program)["allocations"] == 18
    assert seen.profile.errors == [] and seen.profile.totals["mismatched"] == 0


# ---- static programs that a recorded program starts ----


def recorded(seen, name):
    """The one recording of the program NAME."""
    found = [p for p in seen.profiles() if Path(p.json["program"]).name == name]
    assert len(found) == 1, (name, [p.json["program"] for p in seen.profiles()], seen.stderr)
    return found[0]


def check_child(seen, name="own_pools"):
    functions = recorded(seen, name).by_function()
    assert [functions["pool_get"][f] for f in ("allocations", "frees", "bytes_allocated")] == [
        1,
        0,
        4096,
    ]
    assert [functions["long_call"][f] for f in ("allocations", "frees", "bytes_allocated")] == [
        1,
        1,
        100,
    ]


@pytest.mark.parametrize("how", ["spawn", "spawnp", "vfork", "fork", "become", "thread"])
def test_a_static_child_is_recorded(compiler, recorder, how):
    child = compiler.build("own_pools.c", flags=(*PLAIN, "-static"))
    seen = recorder.record(compiler.build("starter.c"), how, child)
    assert (seen.status, seen.stdout) == (0, b"136\n"), seen.stderr
    check_child(seen)


def test_static_children_of_a_shell(compiler, recorder):
    child = compiler.build("own_pools.c", flags=(*PLAIN, "-static-pie"), name="several")
    seen = recorder.record("sh", "-c", f"for i in 1 2 3; do {child} & done; wait; exec {child}")
    assert (seen.status, seen.stdout) == (0, b"136\n" * 4), seen.stderr
    found = [p for p in seen.profiles() if Path(p.json["program"]).name == "several"]
    assert len(found) == 4
    assert all(p.by_function()["pool_get"]["bytes_allocated"] == 4096 for p in found)


def test_static_children_that_threads_start_at_once(compiler, recorder):
    """Each of them stops before or after the thread that started it, in any order."""
    child = compiler.build("own_pools.c", flags=(*PLAIN, "-static"), name="several")
    starters = compiler.build("starters.c", flags=(*PLAIN, "-pthread"))
    seen = recorder.record(starters, "3", child)
    assert (seen.status, seen.stdout) == (0, b"136\n" * 24), seen.stderr
    found = [p for p in seen.profiles() if Path(p.json["program"]).name == "several"]
    assert len(found) == 24
    assert all(p.by_function()["pool_get"]["bytes_allocated"] == 4096 for p in found)


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_what_a_static_child_starts_is_recorded(compiler, recorder, how):
    static = compiler.build("starter.c", flags=(*PLAIN, "-static"), name="between")
    child = compiler.build("own_pools.c")
    seen = recorder.record(compiler.build("starter.c"), how, static, how, child)
    assert (seen.status, seen.stdout) == (0, b"136\n"), seen.stderr
    recorded(seen, "between")
    check_child(seen)


def test_a_program_whose_exec_fails_goes_on(compiler, recorder):
    """Nothing of the preparations is left: its leaks are searched for as ever."""
    child = compiler.build("own_pools.c", flags=(*PLAIN, "-static"))
    seen = recorder.record(compiler.build("starter.c"), "fail", child)
    assert (seen.status, seen.stdout) == (0, b"goes on\n"), seen.stderr
    info = json.loads(
        run([SEEP, "info", "--json", seen.folder / "out.seep"], cwd=seen.folder).stdout
    )
    assert info["leak_search"]["trouble"] is None


@pytest.mark.parametrize("how", ["spawn", "vfork"])
def test_what_cannot_be_recorded_is_told_by_name(compiler, recorder, need, tmp_path, how):
    need("strip")
    child = tmp_path / "nameless"
    subprocess.run(
        ["gcc", "-static", "-nostdlib", "-O1", "-xc", "-", "-o", str(child)],
        check=True,
        timeout=DEADLINE,
        input=b"void _start(void) { __asm__(\"xor %edi, %edi; mov $60, %eax; syscall\"); }",
    )
    subprocess.run(["strip", str(child)], check=True, timeout=DEADLINE)
    seen = recorder.record("sh", "-c", f"{compiler.build('starter.c')} {how} {child}; {child}")
    said = seen.stderr.decode()
    assert seen.status == 0 and said.count("not recorded, started by process") == 1, said
    assert str(child) in said and "statically linked and stripped" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("how", ["spawn", "vfork", "fork"])
@pytest.mark.parametrize("raised", [True, False])
def test_children_with_elevated_privileges_are_told_by_name(
    compiler, recorder, tmp_path, how, raised
):
    """The loader of such a program passes our library over.  One that would run as another user
    does, but is ours already, is recorded."""
    child = tmp_path / "elevated"
    shutil.copy(compiler.build("own_pools.c"), child)
    if os.statvfs(child).f_flag & os.ST_NOSUID:
        pytest.skip("the directory of tests is mounted with nosuid")
    os.chown(child, 65534 if raised else 0, 0)
    child.chmod(0o4755)
    seen = recorder.record("sh", "-c", f"{compiler.build('starter.c')} {how} {child} && "
                                       f"{compiler.build('starter.c')} {how} {child}")
    said = seen.stderr.decode()
    assert (seen.status, seen.stdout) == (0, b"136\n" * 2), said
    assert said.count("not recorded, started by process") == raised, said
    assert (f"{child} runs with elevated privileges" in said) == raised
    assert sum(Path(p.json["program"]).name == "elevated" for p in seen.profiles()) == (
        0 if raised else 2
    )


@pytest.mark.parametrize("flags", [(), ("-static",), ("-static-pie",)])
def test_what_mallocs_own_pointers_lead_to_is_lost(compiler, recorder, flags):
    seen = recorder.record(compiler.build("last_lost.c", flags=("-O1", "-g", *flags)))
    assert seen.profile.json["leaks"]["definite"] == {
        "blocks": 1,
        "bytes": 5000,
    }, seen.profile.json["leaks"]
