# SPDX-License-Identifier: MIT
"""Headers in front of what a library hands out: such blocks are held, those that are lost stay
lost, and nothing else passes for one."""
import ctypes.util

import pytest

from harness import SEEP, rust
from leaks import (
    BY_TOOL, BUILDS, build_for, check_running, check_verdicts, every_build, every_tool, leaks_json,
    seep_verdicts, waiting,
)
from test_leaks_real import REDIS_WORK, redis

CASES = ["counted", "texts", "contexts", "links", "members", "others"]
WITH_HEADERS = {"counted_new", "text_new", "kept_contexts", "link_new", "member_new"}


def without_headers(truth):
    """What a tool says that knows nothing of headers: these blocks are possibly lost."""
    said = {}
    for function, kinds in truth.items():
        if function in WITH_HEADERS:
            kinds = dict(kinds)
            size, blocks = kinds.pop("reachable")
            more = kinds.get("possible", (0, 0))
            kinds["possible"] = (size + more[0], blocks + more[1])
        said[function] = kinds
    return said


def program(compiler, tool="seep", build=BUILDS[0]):
    return build_for(tool, compiler, "leak_headers.c", build)


def check(tool, recorder, path, *cases):
    done, verdicts = BY_TOOL[tool](recorder, path, *cases)
    assert done.status == 0, done.stderr.decode(errors="replace")[-3000:]
    truth = done.truth.leaks
    check_verdicts(tool, verdicts, without_headers(truth) if tool == "memcheck" else truth)


@every_tool
@every_build
def test_headers(compiler, recorder, need, tool, build):
    """LeakSanitizer takes all pointers to the inside for good ones, Memcheck none of these."""
    need(*(["valgrind"] if tool == "memcheck" else []))
    check(tool, recorder, program(compiler, tool, build), *CASES)


@pytest.mark.parametrize("case", [*CASES, "single_texts"])
def test_a_library_alone(compiler, recorder, case):
    check("seep", recorder, program(compiler), case)


def test_headers_in_a_running_program(compiler, recorder):
    check_running(recorder, program(compiler), *CASES)


def test_headers_can_be_switched_off(compiler, recorder):
    with waiting(recorder, program(compiler), *CASES) as (it, pid, truth):
        check_verdicts("seep", seep_verdicts(pid, truth, "--no-idioms"), without_headers(truth))
        assert it.finish().status == 0


RUST = """use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;

type Line = [u64; 9];
const NOTHING: AtomicPtr<Line> = AtomicPtr::new(std::ptr::null_mut());
static KEPT: [AtomicPtr<Line>; 200] = [NOTHING; 200];

#[inline(never)]
fn counted(i: u64) -> *const Line { Arc::into_raw(Arc::new([i; 9])) }

#[inline(never)]
fn wipe() {
    let mut a = [1usize; 4096];
    for x in a.iter_mut() { unsafe { std::ptr::write_volatile(x, 0) } }
}

fn main() {
    for i in 0..200 {
        let p = counted(i as u64);
        if i % 20 != 7 { KEPT[i].store(p as *mut _, Ordering::SeqCst); }
    }
    wipe();
    println!("{}", KEPT.iter().map(|p| p.load(Ordering::SeqCst)).filter(|p| !p.is_null())
        .map(|p| unsafe { (*p)[8] }).sum::<u64>());
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
def test_rust(recorder, need, tmp_path, level):
    """Arc::into_raw gives the address behind two counts."""
    need("rustc")
    program = rust(tmp_path, RUST, f"-Copt-level={level}")
    leaks = leaks_json(recorder.record(program).folder / "out.seep")["leaks"]
    assert (leaks["definite"]["blocks"], leaks["definite"]["bytes"]) == (10, 10 * 88)
    assert leaks["possible"]["blocks"] == 0


def test_strings_of_redis_are_held(recorder, need):
    """Its strings have headers of 1, 3 and 5 bytes; most of their places made few of them."""
    need("redis-server", "redis-cli")
    folder = recorder.folder()
    work = REDIS_WORK + "".join(
        f"SET word{i} {'y' * (i % 400)}z\nHSET table{i % 7} field{i} {'v' * (i % 90)}w\n"
        for i in range(2000)
    )
    redis(folder, [SEEP, "record", "-q", "-o", folder / "out.seep", "--"], work)
    told = leaks_json(folder / "out.seep", show="possible")
    assert told["leaks"]["definite"]["blocks"] == 0
    assert told["leaks"]["idiom"]["blocks"] > 4000
    doubtful = {
        told["frames"][i]["function"]
        for site in told["sites"]
        for i in site["stack"][:3]
        if site["leak"]["possible"]["blocks"]
    }
    assert not {name for name in doubtful if "sds" in name}, doubtful


@pytest.fixture
def gobject():
    library = ctypes.util.find_library("gobject-2.0")
    if not library:
        pytest.skip("libgobject-2.0 is not installed")
    return library


@every_build
def test_objects_of_glib_behind_their_private_data(compiler, recorder, gobject, build):
    path = build_for("seep", compiler, "leak_instances.c", build, libs=["-ldl"])
    done = recorder.record(path, gobject, env={"G_SLICE": "always-malloc"})
    truth = done.truth.leaks
    found = seep_verdicts(done.folder / "out.seep", truth)
    assert truth and {name: found[name] for name in truth} == truth


def test_objects_of_glib_in_a_running_program(compiler, recorder, gobject):
    path = build_for("seep", compiler, "leak_instances.c", BUILDS[0], libs=["-ldl"])
    with waiting(recorder, path, gobject, env={"G_SLICE": "always-malloc"}) as (it, pid, truth):
        found = seep_verdicts(pid, truth)
        done = it.finish()
    assert truth and {name: found[name] for name in truth} == truth
    assert (done.status, done.stdout) == (0, b"ready\n")
