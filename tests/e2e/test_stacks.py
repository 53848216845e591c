# SPDX-License-Identifier: MIT
"""Captured stacks are the real ones, compared with names the program knows and with an
independent unwind."""
import gzip
import subprocess

import pytest

from harness import DEADLINE, PLAIN, PROGRAMS, SEEP, stack_matches

VARIANTS = {
    "gcc-O0": ("gcc", PLAIN),
    "gcc-O2": ("gcc", ("-O2", "-g")),
    "gcc-O3-avx": ("gcc", ("-O3", "-g", "-mavx", "-mstackrealign")),
    "gcc-frame-pointers": ("gcc", ("-O2", "-g", "-fno-omit-frame-pointer")),
    "clang-O0": ("clang", PLAIN),
    "clang-O2": ("clang", ("-O2", "-g")),
}


def has_avx():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        return " avx " in f.read()


@pytest.fixture
def chains(compiler, tmp_path):
    library = compiler.library("chain.c", name="libchain.so")

    def build(cc, flags):
        bare = tmp_path / "nocfi.o"
        no_cfi = [
            "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer",
            "-fcf-protection=none",
        ]
        subprocess.run(
            [cc, "-O2", "-g", *no_cfi, "-c", str(PROGRAMS / "stacks_nocfi.c"), "-o", str(bare)],
            check=True,
            timeout=DEADLINE,
        )
        return compiler.build(
            "stacks.c",
            cc=cc,
            flags=flags,
            more=["stacks_asm.S"],
            libs=[str(bare), str(library), f"-Wl,-rpath,{library.parent}", "-Wl,-z,lazy"],
        )
    return build


def check_stacks(profile, stacks):
    sites = {s["bytes_allocated"]: s for s in profile.heap_sites() if s["allocations"] == 1}
    wrong = {}
    for size, wanted in stacks:
        site = sites.get(size)
        names = profile.names(site["stack"]) if site else None
        if not names or not stack_matches(names, wanted):
            wrong[size] = (names, wanted)
    assert not wrong, f"(found, wanted): {wrong}"


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_known_call_chain_is_captured(chains, recorder, variant):
    if "avx" in variant and not has_avx():
        pytest.skip("this processor has no AVX")
    cc, flags = VARIANTS[variant]
    seen = recorder.record(chains(cc, flags))
    assert seen.status == 0
    assert len(seen.truth.stacks) == 21
    check_stacks(seen.profile, seen.truth.stacks)


def test_a_stack_that_is_cut_short_is_marked(chains, recorder):
    seen = recorder.record(chains(*VARIANTS["gcc-O0"]))
    assert seen.profile.totals["truncated_stacks"] == 1
    assert [site.get("truncated", False) for site in seen.profile.json["sites"]].count(True) == 1

    def told(*command):
        done = subprocess.run([SEEP, *command, seen.files()[0]], capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    flat = told("report", "--flat", "--cost=total", "-n", "1000", "--no-pager")
    assert flat.count("cut off here") == 1
    tree = told("report", "--tree", "--cost=total", "--threshold=0", "--no-pager")
    assert tree.count("[stack lost]") == 1
    collapsed = told("export", "--to", "collapsed", "--cost=total").splitlines()
    lost = [line for line in collapsed if "[stack lost]" in line]
    assert len(lost) == 1 and lost[0].startswith("[stack lost];"), lost
    for name in ("speedscope", "callgrind", "gprof2dot", "dhat", "massif", "firefox", "svg"):
        assert "[stack lost]" in told("export", "--to", name), name
    pprof = gzip.decompress(
        subprocess.run(
            [SEEP, "export", "--to", "pprof", seen.files()[0]], capture_output=True, check=True
        ).stdout
    )
    assert b"[stack lost]" in pprof


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_inlined_frames_are_named_and_jumps_leave_none(compiler, recorder, cc):
    seen = recorder.record(compiler.build("inlined.c", cc=cc, flags=("-O2", "-g")))
    profile = seen.profile
    sites = {s["bytes_allocated"]: s for s in profile.heap_sites()}
    assert len(seen.truth.stacks) == 2
    for size, wanted in seen.truth.stacks:
        found = [
            (
                f"({profile.frame(i)['function']})"
                if profile.frame(i)["inlined"]
                else profile.frame(i)["function"]
            )
            for i in sites[size]["stack"]
        ]
        assert found[:len(wanted)] == wanted


def test_inlined_functions_are_named_with_what_they_stand_in(compiler, recorder):
    """As those that are not inlined, though g++ has no linkage names for these."""
    seen = recorder.record(compiler.build("within.cpp", flags=("-O2", "-g")))
    named = {}
    for site in seen.profile.heap_sites():
        inlined = [
            seen.profile.frame(i)["function"]
            for i in site["stack"]
            if seen.profile.frame(i)["inlined"]
        ]
        named[site["bytes_allocated"] // site["allocations"]] = next(
            (name for name in inlined if name != "keep"), None
        )
    assert len(seen.truth.within) == 6
    assert {size: named[size] for size in seen.truth.within} == seen.truth.within


def test_a_hundred_thousand_frames_are_captured_whole(compiler, recorder):
    seen = recorder.record(compiler.build("deep.c"), 100000)
    assert seen.status == 0
    profile = seen.profile
    (bottom,) = [s for s in profile.heap_sites() if profile.innermost(s) == "at_bottom"]
    names = profile.names(bottom["stack"])
    assert names.count("descend") == seen.truth.facts["frames"]
    assert names[seen.truth.facts["frames"] + 1] == "body"
    assert profile.by_function()["descend"]["allocations"] == 11


def test_lines_are_those_of_the_call(compiler, recorder):
    program = compiler.build("depth8.c")
    seen = recorder.record(program, 64)
    source = (PROGRAMS / "depth8.c").read_text().splitlines()
    for site in seen.profile.heap_sites():
        leaf = seen.profile.frame(site["stack"][0])
        assert leaf["file"].endswith("depth8.c") and "return malloc(4);" in source[leaf["line"] - 1]


def verify(recorder, *argv, captures, **how):
    env = {**how.pop("env", {}), "SEEP_TEST_VERIFY": "1"}
    seen = recorder.record(*argv, env=env, **how)
    checked = differing = backtraces = 0
    for profile in seen.profiles():
        totals = profile.totals
        checked += totals.get("verify_captures", 0)
        backtraces += totals.get("verify_backtraces", 0)
        differing += totals.get("verify_differences", 0) + totals.get(
            "verify_backtrace_differences", 0
        )
    assert differing == 0
    assert checked >= captures
    assert backtraces > 0
    return seen


@pytest.mark.parametrize(
    "cc,flags",
    [("g++", PLAIN), ("g++", ("-O2", "-g")), ("clang++", ("-O2", "-g"))],
    ids=["gcc-O0", "gcc-O2", "clang-O2"],
)
def test_every_stack_of_the_stress_program_equals_a_full_unwind(
    compiler, recorder, plugs, cc, flags
):
    program = compiler.build("stress.cpp", cc=cc, flags=flags)
    seen = verify(recorder, program, 60000, 4, *plugs, captures=200000, timeout=120)
    assert (seen.stdout, seen.status) == (b"done\n", 0)


def test_every_stack_of_known_chains_equals_a_full_unwind(chains, recorder):
    verify(recorder, chains(*VARIANTS["gcc-O2"]), captures=20)


def test_every_stack_of_swapped_libraries_equals_a_full_unwind(compiler, recorder, plugs):
    verify(recorder, compiler.build("dl_swap.c"), *plugs, "50", captures=500)


def test_every_stack_of_coroutines_equals_a_full_unwind(compiler, recorder):
    verify(recorder, compiler.build("coroutines.c"), captures=3000)


SQL = b"""CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO t SELECT i, 'row ' || i FROM n;
SELECT count(*), sum(length(b)) FROM t WHERE b LIKE '%7%'; UPDATE t SET b = b || b;
SELECT max(b) FROM t;
"""


def test_every_stack_of_sqlite_equals_a_full_unwind(recorder, need):
    need("sqlite3")
    seen = verify(recorder, "sqlite3", ":memory:", stdin=SQL, captures=3000)
    assert seen.stdout.startswith(b"813|")


def test_every_stack_of_python_equals_a_full_unwind(recorder):
    script = "import json, re; print(len(json.dumps([{str(i): [i] * 3} for i in range(3000)])))"
    seen = verify(
        recorder, "/usr/bin/python3", "-c", script, env={"PYTHONMALLOC": "malloc"}, captures=50000
    )
    assert seen.status == 0


def test_every_stack_of_perl_equals_a_full_unwind(recorder, need):
    need("perl")
    script = 'my %h; $h{$_ % 997} .= "x$_" for 1..50000; print scalar(keys %h), "\\n"'
    assert verify(recorder, "perl", "-e", script, captures=1000).stdout == b"997\n"


def test_every_stack_of_git_equals_a_full_unwind(recorder, need, tmp_path):
    need("git")
    assert (
        verify(recorder, "git", "init", "-q", str(tmp_path / "repository"), captures=100).status
        == 0
    )


def test_every_stack_of_the_compiler_equals_a_full_unwind(recorder, tmp_path):
    out = tmp_path / "sample.o"
    seen = verify(
        recorder, "g++", "-std=c++17", "-O1", "-c", str(PROGRAMS / "sample.cpp"), "-o", str(out),
        captures=100000,
        timeout=180,
    )
    assert seen.status == 0 and out.stat().st_size > 0


def test_every_stack_around_signals_equals_a_full_unwind(compiler, recorder):
    verify(recorder, compiler.build("signals.c"), captures=1000)


def test_stacks_of_interrupted_and_interrupting_calls_are_whole(compiler, recorder):
    profile = recorder.record(compiler.build("signals.c")).profile
    stacks = {}
    for site in profile.json["sites"]:
        names = profile.names(site["stack"])
        stacks.setdefault(names[0], []).append(names)
    assert all(names[:3] == ["churner", "on_timer", "main"] for names in stacks["churner"])
    assert stacks["handler_mapping"] and stacks["handler_allocating"]
    for names in stacks["handler_mapping"] + stacks["handler_allocating"]:
        assert "main" in names
        assert {"on_timer", "raiser", "on_other_stack"} & set(names)
