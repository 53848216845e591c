# SPDX-License-Identifier: MIT
"""Processes that nobody recorded: the heap walk lists exactly the blocks that the program says
it has, `leaks` and `why` judge them."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import DEADLINE, MACHINE, NARROW, SEEP, Compiler, clean_environment, wait_until

# Bytes of what the loader gets for each thread, 280 or 296 (with words of 4 bytes about half of
# that); in a hole that is 16 larger malloc leaves nothing over.
THREAD_DATA = (280, 296, 312, 140, 148, 156, 164, 172)


@contextmanager
def started(program, *words, env=None):
    """The running program, and its blocks: address to usable size."""
    truth, out = os.pipe()
    other = subprocess.Popen(
        [program, *words],
        stdin=subprocess.PIPE,
        pass_fds=(3,),
        preexec_fn=lambda: os.dup2(out, 3),
        # Few variables: libraries that change one copy the list of all into a block of their own.
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **(env or {})},
    )
    os.close(out)
    blocks = {}
    with os.fdopen(truth) as lines:
        for line in lines:
            if line == "ready\n":
                break
            address, size = line.split()
            blocks[int(address, 16)] = int(size)
        else:
            raise AssertionError("the program ended early")
    try:
        yield other, blocks
    finally:
        other.stdin.close()
        other.wait(timeout=DEADLINE)


def seep(*words):
    done = subprocess.run(
        [SEEP, *map(str, words)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    return done.returncode, done.stdout, done.stderr


def listed(pid):
    status, out, err = seep("report", "--blocks", "--csv", "-q", pid)
    assert (status, err) == (0, "")
    rows = list(csv.reader(io.StringIO(out)))[1:]
    return {int(row[0], 16): int(row[1]) for row in rows}


WAYS = [("plain",), ("threads",), ("trim",), ("align",), ("mapped",), ("foreign",), ("holes",),
        ("plain", "threads", "trim", "align", "mapped", "foreign", "holes")]
SETTINGS = [
    {},
    {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"},
    {"MALLOC_ARENA_MAX": "1"},
    {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=2"},
]


def check_blocks(program, ways, env=None, static=0):
    with started(program, *ways, env=env) as (process, truth):
        found = listed(process.pid)
    assert {a: found.get(a) for a in truth} == truth
    others = [size for address, size in found.items() if address not in truth]
    assert len([s for s in others if s not in THREAD_DATA]) <= static
    assert len(others) <= static + (6 if "threads" in ways else 0)


@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
def test_every_block_that_is_live_is_listed_and_nothing_else(compiler, ways):
    check_blocks(compiler.build("heap_walk.c"), ways)


@pytest.mark.parametrize("env", SETTINGS[1:], ids=str)
def test_whatever_malloc_is_told_to_do(compiler, env):
    check_blocks(compiler.build("heap_walk.c"), ("threads", "trim", "align"), env)


@pytest.mark.parametrize("how", ["-static", "-static-pie"])
def test_in_static_programs(compiler, how):
    """What the C library needs for itself has no dlsym to hide behind: at most some blocks of
    its own."""
    program = compiler.build("heap_walk.c", flags=("-O0", "-fno-builtin", "-g", how))
    check_blocks(program, ("plain", "threads", "align"), static=8)


MUSL_WAYS = [
    ("plain",), ("threads",), ("align",), ("mapped",),
    ("plain", "threads", "trim", "align", "mapped"),
]


@pytest.mark.parametrize("how", [(), ("-static",)], ids=" ".join)
@pytest.mark.parametrize("ways", MUSL_WAYS, ids=" ".join)
def test_of_musl_programs(compiler, ways, how):
    """Its malloc knows what it was asked for, so sizes are exact; malloc_usable_size() is the
    same."""
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    program = compiler.build(
        "heap_walk.c", cc="musl-gcc", flags=("-O0", "-fno-builtin", "-g", *how)
    )
    with started(program, *ways) as (process, truth):
        assert listed(process.pid) == truth


@pytest.mark.parametrize("how", [(), ("-static",)], ids=" ".join)
def test_what_a_musl_program_lost(compiler, how):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    program = compiler.build(
        "heap_walk.c", cc="musl-gcc", flags=("-O0", "-fno-builtin", "-g", *how)
    )
    with started(program, "lost", "threads") as (process, _):
        status, out, err = seep("leaks", process.pid)
    assert re.search(r"definitely lost +128 B in 1 block\n", out) and re.search(
        r"indirectly lost +300 B in 1 block ", out
    ), out
    assert status == 1 and "was not recorded" in err and re.search(r"possibly lost +0 B", out)


LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Library, archive, what the C++ library has for exceptions when there is no memory, how many blocks
# the loader and the libraries have.
ALLOCATORS = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc.a", 81920, 1),
    "tcmalloc": ("libtcmalloc.so.4", "libtcmalloc.a", 73728, 9),
    "tcmalloc_minimal": ("libtcmalloc_minimal.so.4", "libtcmalloc_minimal.a", 73728, 3),
    "mimalloc": ("libmimalloc.so.2", None, 0, 0),
}
LOADER_MOST = 512  # bytes of what the loader gets for a thread, and of other small ones
LINKED = [
    (name, how)
    for name in ALLOCATORS
    for how in ("preloaded", "linked in")
    if how == "preloaded" or ALLOCATORS[name][1]
]


def program_of(compiler, name, how):
    """The program with allocator NAME, and the environment that it needs."""
    library, archive, _, _ = ALLOCATORS[name]
    file = LIBRARIES / (archive if how == "linked in" else library)
    if not file.exists():
        pytest.skip(f"{file.name} is not installed (packaging/install-deps test)")
    if how == "linked in":
        return (
            compiler.build(
                "heap_walk.c",
                libs=(str(file), "-lm", "-lpthread", "-ldl", "-lunwind", "-llzma", "-lstdc++"),
                name=f"heap_walk-{name}",
            ),
            {},
        )
    return compiler.build("heap_walk.c"), {"LD_PRELOAD": str(file)}


def check_of(name, program, ways, env):
    _, _, pool, few = ALLOCATORS[name]
    with started(program, *ways, env=env) as (process, truth):
        status, out, err = seep("report", "--blocks", "--csv", process.pid)
    assert status == 0 and "cannot be walked" not in err
    found = {int(row[0], 16): int(row[1]) for row in list(csv.reader(io.StringIO(out)))[1:]}
    # where a block with an alignment begins in its place is written down nowhere; where it ends is
    # known
    if name == "mimalloc":
        starts = {address + size: address for address, size in truth.items()}
        found = {
            starts.get(a + size, a): a + size - starts.get(a + size, a)
            for a, size in found.items()
            if starts.get(a + size, a) >= a
        }
    assert {a: found.get(a) for a in truth} == truth
    others = [size for address, size in found.items() if address not in truth]
    assert {size for size in others if size > LOADER_MOST} <= {pool} and len(others) <= few + (
        6 if "threads" in ways else 0
    )


@pytest.mark.parametrize("name, how", LINKED)
@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
def test_of_other_allocators(compiler, ways, name, how):
    """What is in the caches of threads is free; sizes are those of classes, and
    malloc_usable_size() gives the same."""
    program, env = program_of(compiler, name, how)
    check_of(name, program, ways, env)


WAYS_TOLD = [
    ("tcmalloc", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1"),
    ("tcmalloc", "TCMALLOC_AGGRESSIVE_DECOMMIT=t"),
    ("tcmalloc", "TCMALLOC_SKIP_SBRK=t"),
    ("tcmalloc", "TCMALLOC_SAMPLE_PARAMETER=1024"),
    ("mimalloc", "MIMALLOC_PAGE_RESET=1 MIMALLOC_RESET_DELAY=0"),
    ("mimalloc", "MIMALLOC_EAGER_COMMIT=0 MIMALLOC_DECOMMIT_DELAY=0"),
    ("mimalloc", "MIMALLOC_RESERVE_OS_MEMORY=1000000"),
]


@pytest.mark.parametrize("name, told", WAYS_TOLD)
def test_whatever_other_allocators_are_told_to_do(compiler, name, told):
    """Memory given back, small caches, blocks that are sampled, memory in one piece."""
    program, env = program_of(compiler, name, "preloaded")
    check_of(
        name,
        program,
        ("plain", "threads", "trim", "mapped", "foreign"),
        {**env, **dict(word.split("=") for word in told.split())},
    )


@pytest.mark.parametrize("name, how", LINKED)
def test_what_a_program_with_another_allocator_lost(compiler, name, how):
    program, env = program_of(compiler, name, how)
    with started(program, "lost", "threads", env=env) as (process, _):
        status, out, err = seep("leaks", process.pid)
    assert re.search(
        r"128 B in 1 block definitely lost,\n +and 320 B in 1 block reachable only through it", out
    ), out
    own = "MallocExtension" in out  # tcmalloc replaces one of its own and forgets it
    assert re.search(
        r"definitely lost +(128 B in 1 block|136 B in 2 blocks)\n"
        if own
        else r"definitely lost +128 B in 1 block\n",
        out,
    ), out
    assert (
        status == 1
        and "was not recorded" in err
        and "cannot be walked" not in err
        and re.search(r"possibly lost +0 B", out)
    )


@pytest.mark.parametrize("name", ["tcmalloc", "mimalloc"])
def test_blocks_with_an_alignment_are_held_by_pointers_to_where_they_begin(compiler, name):
    program, env = program_of(compiler, name, "preloaded")
    with started(program, "align", env=env) as (process, truth):
        _, out, _ = seep("leaks", "--json", "-q", process.pid)
    found = json.loads(out)["leaks"]
    assert (
        found["possible"]["blocks"] == 0
        and found["definite"]["bytes"] <= 8
        and found["reachable"]["blocks"] >= len(truth)
    )


def test_leaks_says_what_is_lost_and_that_there_are_no_stacks(compiler):
    with started(compiler.build("heap_walk.c"), "lost", "threads") as (process, _):
        status, out, err = seep("leaks", process.pid)
        _, text, _ = seep("leaks", "--json", "--blocks", "-q", process.pid)
    assert status == 1 and "was not recorded" in err and "seep record" in err
    assert re.search(r"definitely lost +136 B in 1 block\n", out) and re.search(
        r"indirectly lost +312 B in 1 block ", out
    )
    assert "[136 bytes]" in out and "age" not in out
    leaks = json.loads(text)
    assert leaks["recorded"] is False and leaks["leaks"]["scanned"]
    lost = [b for s in leaks["sites"] for b in s["blocks"]]
    assert sorted((b["leak"], b["size"], b["age_ms"]) for b in lost) == [
        ("definite", 136, None),
        ("indirect", 312, None),
    ]
    assert b"lost" in bytes.fromhex([b["content"] for b in lost if b["leak"] == "definite"][0])


def test_why_and_retained_name_the_variable_and_the_type(compiler):
    with started(compiler.build("heap_walk.c"), "lost") as (process, _):
        _, out, _ = seep("report", "--blocks", "--csv", "-q", process.pid)
        address = [row[0] for row in csv.reader(io.StringIO(out)) if row[1] == "200"][0]
        status, out, err = seep("why", "--json", process.pid, address)
        assert status == 0, err
        answer = json.loads(out)
        status, out, err = seep("report", "--retained", process.pid)
    assert answer["recorded"] is False and answer["root"]["variable"]["name"] == "held_by_global"
    assert answer["path"][-1]["member"] == ".other"
    assert status == 0 and re.search(r" 336 B +2  global held_by_global ", out)
    assert re.search(r" 448 B +2  lost: ", out)


@pytest.mark.parametrize("how", ["-pie", "-static", "-static-pie"])
def test_thread_local_variables_hold(compiler, how):
    with started(
        compiler.build("heap_walk.c", flags=("-O0", "-fno-builtin", "-g", how)), "lost"
    ) as (process, _):
        status, out, err = seep("leaks", "--json", "-q", process.pid)
        sums = json.loads(out)["leaks"]
        _, out, _ = seep("report", "--blocks", "--csv", "-q", process.pid)
        address = [row[0] for row in csv.reader(io.StringIO(out)) if row[1] == "408"][0]
        _, out, err = seep("why", "--json", process.pid, address)
    assert (
        status,
        sums["definite"]["bytes"],
        sums["indirect"]["bytes"],
        sums["possible"]["bytes"],
    ) == (1, 136, 312, 0)
    root = json.loads(out)["root"]
    assert root["kind"] == "tls" and root["variable"]["name"] == "held_by_thread"


def test_objects_are_known_by_their_class_and_text_by_its_looks(compiler):
    with started(compiler.build("heap_walk_class.cpp")) as (process, _):
        status, out, err = seep("leaks", "-q", process.pid)
        _, blocks, _ = seep("report", "--blocks", "-q", process.pid)
    assert status == 1, err
    assert re.search(r"120 B in 3 blocks definitely lost\n +site #\d+, class shop::Basket\n +\[40 "
                     r"bytes, object\]", out), out
    assert re.search(
        r"1000 B in 1 block definitely lost\n +site #\d+\n +\[1000 bytes, text\]", out
    ), out
    assert blocks.count("[40 bytes, object]") == 5


narrow = pytest.mark.skipif(
    MACHINE is not None or not NARROW or not shutil.which(NARROW.gxx),
    reason="make check-agents runs all tests with such programs"
    if MACHINE
    else "no compiler for programs with words of 4 bytes (packaging/install-deps test)",
)


@narrow
@pytest.mark.parametrize(
    "ways",
    [("plain", "threads", "align", "mapped"), ("trim",), ("foreign",), ("holes",)],
    ids=" ".join,
)
def test_of_programs_with_words_of_4_bytes(compiler, ways):
    check_blocks(Compiler(compiler.folder, NARROW).build("heap_walk.c"), ways)


@narrow
def test_what_a_program_with_words_of_4_bytes_lost_has_its_class(compiler):
    with started(Compiler(compiler.folder, NARROW).build("heap_walk_class.cpp")) as (
        process,
        _,
    ):
        _, out, err = seep("leaks", "-q", process.pid)
    each = {"i386": 44, "arm": 36}[NARROW.name]  # its malloc aligns to 16, or to 8
    assert re.search(rf"{3 * each} B in 3 blocks definitely lost\n +site #\d+, class shop::Basket\n"
                     rf" +\[{each} bytes, object\]", out), (out, err)


def test_other_views_need_a_recording(compiler):
    with started(compiler.build("heap_walk.c"), "lost") as (process, _):
        status, out, err = seep("report", "--flat", process.pid)
    assert (status, out) == (2, "") and "--blocks and --retained" in err and "seep record" in err


def test_the_program_goes_on_as_if_nothing_had_happened(compiler):
    with started(compiler.build("heap_walk.c"), "threads") as (process, truth):
        before = os.listdir(f"/proc/{process.pid}/fd"), open(f"/proc/{process.pid}/maps").read()
        for _ in range(5):
            assert truth.items() <= listed(process.pid).items()
        assert (
            os.listdir(f"/proc/{process.pid}/fd"),
            open(f"/proc/{process.pid}/maps").read(),
        ) == before
        assert "TracerPid:\t0\n" in open(f"/proc/{process.pid}/status").read()
    assert process.returncode == 0


# ---- refusals ----


def refusal(pid):
    status, out, err = seep("leaks", pid)
    assert (status, out) == (3, ""), err
    return err


@pytest.mark.parametrize("library", ["libtcmalloc_debug.so.4", "libtcmalloc_minimal_debug.so.4"])
def test_another_allocator_is_named(compiler, library):
    """These put words of their own around each block."""
    if not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed (packaging/install-deps test)")
    with started(compiler.build("heap_walk.c"), "lost", env={"LD_PRELOAD": library}) as (
        process,
        _,
    ):
        err = refusal(process.pid)
    assert library in err and "tcmalloc" in err and "glibc" in err


def test_a_zombie_is_named(compiler):
    child = subprocess.Popen(["/bin/true"])
    wait_until(
        lambda: "State:\tZ" in open(f"/proc/{child.pid}/status").read(), "the child has ended"
    )
    assert "zombie" in refusal(child.pid) and str(os.getpid()) in refusal(child.pid)
    child.wait()


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not here")
def test_a_process_that_is_traced_already_is_named_with_its_tracer(compiler):
    with started(compiler.build("heap_walk.c"), "lost") as (process, _):
        tracer = subprocess.Popen(
            ["strace", "-p", str(process.pid), "-o", "/dev/null"], stderr=subprocess.DEVNULL
        )
        try:
            wait_until(
                lambda: "TracerPid:\t0\n" not in open(f"/proc/{process.pid}/status").read(),
                "it is traced",
            )
            err = refusal(process.pid)
        finally:
            tracer.kill()
            tracer.wait()
    assert "already traced by" in err and f"({tracer.pid})" in err


def test_no_process_and_a_thread_are_named():
    assert "no process" in refusal(2 ** 22 - 3)
    assert "thread of the kernel" in refusal(2) or "no process" in refusal(2)


# ---- beside a recording ----

SCRIPTS = {"bash": ["bash", "-c", "for i in {1..2000}; do b[$i]=$i; done; echo up; read x"],
           "perl": ["perl", "-e", '$| = 1; my @a = map {{a => $_}} 1..5000; print "up\n"; <STDIN>']}


def blocks_of(argv, recorded, folder):
    """How many blocks a search finds in a program that waits, recorded or not."""
    record = [SEEP, "record", "-q", "-o", folder / "run.seep", "--"] if recorded else []
    process = subprocess.Popen(
        [*record, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment({"PERL_HASH_SEED": "0"}),
    )
    assert process.stdout.readline() == b"up\n"
    wait_until(
        lambda: not recorded or open(f"/proc/{process.pid}/task/{process.pid}/children").read(),
        "the program runs",
    )
    pid = (
        int(open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0])
        if recorded
        else process.pid
    )
    wait_until(
        lambda: open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "S", "it waits"
    )
    _, out, err = seep("leaks", "--json", "-q", pid)
    process.stdin.close()
    process.wait(timeout=DEADLINE)
    found = json.loads(out)
    assert found["recorded"] is recorded, err
    return [found["leaks"][c]["blocks"] for c in ("definite", "indirect", "possible", "reachable")]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_walk_finds_what_a_recording_has(name, tmp_path):
    assert blocks_of(SCRIPTS[name], False, tmp_path) == blocks_of(SCRIPTS[name], True, tmp_path)
