# SPDX-License-Identifier: MIT
"""Functions of the program's own that allocate (--hook), and allocators that are known by their
names."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, PLAIN, SEEP, check_clean, run

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
RULES = (
    "alloc=arena_take:2", "alloc=pool_get:2", "free=pool_put:2", "calloc=pool_zeroed:3",
    "realloc=pool_resize:3", "alloc=long_call:6",
)
# By who uses them: allocations, frees, bytes, live blocks, live bytes, as the program is written.
EXPECTED = {
    "use_arena": (10, 0, 400, 10, 400),
    "use_pool": (30, 29, 30 * 48, 1, 48),
    "use_zeroed": (5, 5, 150, 0, 0),
    "use_resize": (1, 0, 56, 1, 56),
}
FIELDS = "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes"


def engine(seen):
    return json.loads(
        run([SEEP, "info", "--json", seen.folder / "out.seep"], cwd=seen.folder).stdout
    )["engine"]


def counts(seen, name):
    found = seen.profile.by_function().get(name)
    return found and tuple(found[f] for f in FIELDS)


def check_pools(seen):
    assert seen.status == 0 and seen.stdout == b"136\n", seen.stderr
    for name, wanted in EXPECTED.items():
        assert counts(seen, name) == wanted, name
    check_clean(seen.profile)


def hooks(*rules):
    return ("--hook", ",".join(rules))


@pytest.mark.parametrize("how", [(), ("-static",), ("-static-pie",)])
def test_pools_and_arenas_are_recorded(compiler, recorder, how):
    seen = recorder.record(
        compiler.build("own_pools.c", flags=(*PLAIN, *how)), options=hooks(*RULES)
    )
    assert engine(seen) == "inject"
    check_pools(seen)
    assert b"calls are not seen" not in seen.stderr


def test_by_pattern_and_twice(compiler, recorder):
    seen = recorder.record(
        compiler.build("own_pools.c"),
        options=(
            *hooks("alloc=arena_*:2", "alloc=pool_g?t:2", *RULES[2:]),
            "--hook",
            "free=pool_p*:2",
        ),
    )
    check_pools(seen)
    assert b"calls are not seen of" not in seen.stderr


def addresses(program):
    listed = subprocess.run(
        ["nm", str(program)], check=True, capture_output=True, text=True, timeout=DEADLINE
    ).stdout
    return {
        line.split()[2]: int(line.split()[0], 16)
        for line in listed.splitlines()
        if len(line.split()) == 3
    }


@pytest.mark.parametrize("how", [(), ("-static",), ("-no-pie",)])
def test_a_stripped_program_by_address(compiler, recorder, tmp_path, need, how):
    need("strip", "nm")
    program = tmp_path / "stripped"
    shutil.copy(compiler.build("own_pools.c", flags=(*PLAIN, *how)), program)
    at = addresses(program)
    subprocess.run(["strip", str(program)], check=True, timeout=DEADLINE)
    by_address = [
        re.sub(
            r"=(\w+)", lambda m: f"={'stripped+' if m[1] != 'pool_get' else ''}{at[m[1]]:#x}", rule
        )
        for rule in RULES
    ]
    seen = recorder.record(program, options=hooks(*by_address))
    assert seen.status == 0 and seen.stdout == b"136\n", seen.stderr
    pool = [s for s in seen.profile.heap_sites() if s["kind"] == "pool"]
    # The block of long_call goes with that of malloc which it is.
    sums = tuple(sum(s[f] for s in pool) for f in FIELDS[:3])
    assert sums == (47, 35, 400 + 30 * 48 + 150 + 56 + 100)


def test_what_cannot_be_hooked_is_told_by_name(compiler, recorder):
    seen = recorder.record(
        compiler.build("own_pools.c", flags=("-O2", "-g")),
        options=hooks(
            "alloc=pool_get:2", "free=pool_none", "alloc=no_such_*", "free=0x3", "alloc=tiny"
        ),
    )
    said = seen.stderr.decode()
    for name in ("pool_none", "no_such_*", "0x3", "tiny"):
        assert f"calls are not seen of {name}: " in said, said
    assert "of tiny: it is too short" in said
    assert counts(seen, "use_pool")[0] == 30


def test_what_is_never_seen_freed_is_no_leak(compiler, recorder):
    """Half of a pool cannot be hooked: what the other half hands out is in doubt, and that is
    said."""
    program = compiler.build("bitmap_pool.c")
    whole = recorder.record(program, options=hooks("alloc=slot_take:1", "free=slot_give:1"))
    assert counts(whole, "work")[:2] == (20, 20) and whole.profile.json["unseen"] == []
    half = recorder.record(program, options=hooks("alloc=slot_take:1", "free=slot_none"))
    assert counts(half, "work")[:2] == (20, 0)
    assert half.profile.json["leaks"]["definite"] == {"blocks": 0, "bytes": 0}
    assert ["custom allocator" in text for text in half.profile.json["unseen"]] == [True]


def test_check_takes_hooks(compiler, recorder):
    program = compiler.build("bitmap_pool.c")
    for free, status in (("slot_give:1", 0), ("slot_none", 1)):
        done = run(
            [SEEP, "check", *hooks("alloc=slot_take:1", f"free={free}"), "--", program],
            cwd=recorder.folder(),
        )
        assert done.status == status, done.stderr


def test_wrong_words_are_refused(recorder):
    for words, said in {
        "alloc": "expected alloc=NAME",
        "alloc=": "a name is missing",
        "alloc=x:y": "from 0 to 12",
        "free=x:0": "from 1 to 12",
        "calloc=x:1": "from 2 to 12",
        "alloc=0xzz": "is not an address",
    }.items():
        done = run([SEEP, "record", "--hook", words, "true"], cwd=recorder.folder())
        assert done.status == 2 and said in done.stderr.decode(), words
    done = run(
        [SEEP, "record", "--engine=preload", "--hook", "alloc=x", "true"], cwd=recorder.folder()
    )
    assert done.status == 2 and b"use --engine inject" in done.stderr


# ---- allocators that are known by their names ----

NAMES = (
    "malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign",
    "reallocarray",
)
TRACE = "5", "3", "6000"


def library(name):
    path = LIBRARIES / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return str(path)


def prefixed(prefix, *more):
    return (*PLAIN, "-DWITHOUT_VALLOC", *(f"-D{n}={prefix}{n}" for n in NAMES), *more)


def check_trace(recorder, program, names=True):
    bare, seen = recorder.bare(program, *TRACE), recorder.record(program, *TRACE)
    assert (seen.stdout, seen.status) == (bare.stdout, 0), seen.stderr
    assert engine(seen) == "inject"
    check_clean(seen.profile)
    for name, counted in seen.truth.sites.items():
        found = seen.profile.by_function().get(name) if names else seen.profile.below(name)
        assert found and [found[f] for f in FIELDS] == [
            counted[k] for k in ("allocs", "frees", "bytes", "live_blocks", "live_bytes")
        ], name


def test_jemalloc_with_a_prefix(compiler, recorder, tmp_path, need):
    """As programs have it that do not want to take malloc's place."""
    need("objcopy")
    renamed, archive = tmp_path / "names", tmp_path / "libje.a"
    renamed.write_text(
        "".join(
            f"{n} je_{n}\n" for n in (*NAMES, "mallocx", "rallocx", "dallocx", "sdallocx", "valloc")
        )
    )
    subprocess.run(
        ["objcopy", f"--redefine-syms={renamed}", library("libjemalloc_pic.a"), str(archive)],
        check=True,
        timeout=DEADLINE,
    )
    program = compiler.build(
        "random_trace.c",
        flags=prefixed("je_"),
        more=("by_prefix.c",),
        name="with-je",
        libs=(str(archive), "-lm", "-ldl", "-lstdc++"),
    )
    check_trace(recorder, program)


def test_mimalloc_by_its_own_names(compiler, recorder):
    check_trace(
        recorder,
        compiler.build("random_trace.c", flags=prefixed("mi_"), libs=(library("libmimalloc.so"),)),
    )


def test_tcmalloc_by_its_own_names(compiler, recorder):
    """What it lacks is made of what it has, by functions in between."""
    flags = prefixed("tc_", "-DWITHOUT_ALIGNED_ALLOC")
    check_trace(recorder, compiler.build("random_trace.c", flags=flags, more=("by_prefix.c",),
                                         libs=(library("libtcmalloc_minimal.so"),)), names=False)


def test_tcmalloc_linked_in(compiler, recorder):
    libs = (
        "-Wl,--whole-archive", library("libtcmalloc_minimal.a"), "-Wl,--no-whole-archive",
        "-lstdc++", "-lm",
    )
    check_trace(
        recorder,
        compiler.build(
            "random_trace.c", flags=(*PLAIN, "-DWITHOUT_VALLOC"), libs=libs, name="with-tc"
        ),
    )


RUST = """
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};
struct Bump;
static mut MEMORY: [u8; 1 << 20] = [0; 1 << 20];
static NEXT: AtomicUsize = AtomicUsize::new(0);
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = NEXT.fetch_add((layout.size() + 63) & !15, Ordering::Relaxed);
        ((std::ptr::addr_of_mut!(MEMORY) as usize + at + 31) & !15) as *mut u8
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
ALLOCATOR
static GLOBAL: Bump = Bump;
#[inline(never)]
fn keep() -> Vec<Box<[u8; 40]>> { (0..100).map(|_| Box::new([7u8; 40])).collect() }
fn main() {
    let kept = keep();
    drop(keep());
    println!("{}", kept.len());
    std::mem::forget(kept);
}
"""


@pytest.mark.parametrize("own", [True, False])
def test_rust(recorder, tmp_path, need, own):
    """With a global allocator of its own, and with that of the system, which is malloc."""
    need("rustc")
    source = tmp_path / "boxes.rs"
    source.write_text(
        RUST.replace("ALLOCATOR", "#[global_allocator]" if own else "#[allow(dead_code)]")
    )
    subprocess.run(
        ["rustc", "-g", "-A", "warnings", "-o", str(tmp_path / "boxes"), str(source)],
        check=True,
        timeout=DEADLINE,
        capture_output=True,
    )
    seen = recorder.record(tmp_path / "boxes")
    assert seen.status == 0 and seen.stdout == b"100\n"
    assert engine(seen) == ("inject" if own else "preload")
    blocks = [
        s
        for s in seen.profile.heap_sites()
        if s["bytes_allocated"] == 40 * s["allocations"] and s["allocations"] >= 100
    ]
    assert (sum(s["allocations"] for s in blocks), sum(s["frees"] for s in blocks)) == (200, 100)
    check_clean(seen.profile)


GO = {"go": """package main
func main() { println(len(make([]byte, 1000))) }
""", "cgo": """package main
// #include <stdlib.h>
import "C"
import ("runtime"; "time")
func work(done chan int) {
    sum := 0
    for start := time.Now(); time.Since(start) < 100 * time.Millisecond; {
        for i := 0; i < 1000000; i++ { sum += i % 7 }
    }
    done <- sum
}
func main() {
    for i := 0; i < 100; i++ {
        p := C.malloc(64)
        if i < 90 { C.free(p) }
    }
    done := make(chan int)
    for i := 0; i < 8; i++ { go work(done) }
    for i := 0; i < 8; i++ { <-done; runtime.GC() } // signals stop the others
}
"""}


@pytest.mark.parametrize("kind", GO)
def test_go(recorder, tmp_path, need, kind):
    """Its own heap is not seen, and that is said; what its C code allocates is."""
    go = shutil.which("go") or "/usr/lib/go-1.19/bin/go"
    if not Path(go).exists():
        pytest.skip("go is not installed")
    (tmp_path / "main.go").write_text(GO[kind])
    env = {
        "GOCACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "GO111MODULE": "off",
        "CGO_ENABLED": "1" if kind == "cgo" else "0",
    }
    subprocess.run(
        [go, "build", "-o", "main", "main.go"], check=True, timeout=DEADLINE, cwd=tmp_path, env=env
    )
    seen = recorder.record(
        tmp_path / "main", options=() if kind == "cgo" else hooks("alloc=runtime.mallocgc")
    )
    assert seen.status == 0
    assert "Go's own heap is not" in seen.stderr.decode()
    if kind == "cgo":
        ours = [s for s in seen.profile.heap_sites() if s["bytes_allocated"] == 6400]
        assert [(s["allocations"], s["frees"]) for s in ours] == [(100, 90)]
