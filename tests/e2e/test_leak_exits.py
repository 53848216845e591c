# SPDX-License-Identifier: MIT
"""Every way to end: what is lost then is known, what is freed at the last moment is no leak."""
import signal
import subprocess

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment
from leaks import (
    BUILDS, build_for, check, check_verdicts, every_build, memcheck_reports, memcheck_verdicts,
    seep_verdicts,
)

# LeakSanitizer looks in a function of atexit() only, and cannot bear the end of the main thread.
WAYS = {
    "return": "all",
    "exit": "all",
    "losing": "all",
    "thread": "all",
    "busy": "all",
    "twice": "all",
    "failed_exec": "all",
    "vfork": "all",
    "spawn": "all",
    "_exit": "not sanitizer",
    "quick_exit": "not sanitizer",
    "two_threads": "not sanitizer",
    "pthread_exit": "not sanitizer",
}
CASES = [
    (tool, way)
    for way, tools in WAYS.items()
    for tool in ("seep", "memcheck", "sanitizer")
    if f"not {tool}" != tools
]


def program(compiler, build=BUILDS[0], tool="seep"):
    return build_for(tool, compiler, "leak_exits.c", build)


def check_way(tool, recorder, built, way):
    """Of two threads that call exit() at once, glibc before 2.41 may let one end the process
    while the other is on its way to the first function that anybody could have registered.  This
    is said; another try must be searched."""
    if (tool, way) == ("seep", "two_threads"):
        for _ in range(5):
            seen = recorder.record(built, way)
            assert seen.status == 5
            if seen.profile.json["leaks"]["scanned"]:
                break
            assert b"without going through the C library" in b" ".join(seen.stderr.split())
        check_verdicts(
            tool, seep_verdicts(seen.folder / "out.seep", seen.truth.leaks), seen.truth.leaks
        )
    else:
        check(tool, recorder, built, way, status=5)


@pytest.mark.parametrize("tool,way", CASES)
def test_ways_to_end(compiler, recorder, tool, way):
    check_way(tool, recorder, program(compiler, tool=tool), way)


@every_build
@pytest.mark.parametrize("way", WAYS)
def test_ways_to_end_of_every_build(compiler, recorder, build, way):
    check_way("seep", recorder, program(compiler, build), way)


SIGNALS = {
    "int": "INT",
    "term": "TERM",
    "hup": "HUP",
    "quit": "QUIT",
    "abort": "ABRT",
    "segv": "SEGV",
    "bus": "BUS",
    "fpe": "FPE",
    "ill": "ILL",
    "pipe": "PIPE",
    "alarm": "ALRM",
    "suspend": "TERM",
    "overflow": "SEGV",
    "thread_overflow": "SEGV",
    "thread_crashes": "SEGV",
    "handler": "SEGV",
    "handler_once": "SEGV",
}


@pytest.mark.parametrize("way", SIGNALS)
def test_a_signal_is_an_end(compiler, recorder, way):
    number = signal.Signals[f"SIG{SIGNALS[way]}"]
    done = recorder.record(program(compiler), way, "at once")
    assert done.status == 128 + number == recorder.bare(program(compiler), way, "at once").status
    check_verdicts(
        "seep", seep_verdicts(done.folder / "out.seep", done.truth.leaks), done.truth.leaks
    )
    assert done.profile.json["exit"] == {"code": None, "signal": number}
    assert "LEAKS: " in done.stderr.decode() and "not searched" not in done.stderr.decode()
    shown = subprocess.run(
        [SEEP, "leaks", done.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=60,
    )
    assert "searched for leaks before a signal ended it, after " in shown.stdout


@every_build
@pytest.mark.parametrize("way", ["term", "segv", "abort", "overflow", "thread_overflow"])
def test_a_signal_is_an_end_of_every_build(compiler, recorder, build, way):
    done = recorder.record(program(compiler, build), way, "at once")
    check_verdicts(
        "seep", seep_verdicts(done.folder / "out.seep", done.truth.leaks), done.truth.leaks
    )


def test_what_only_exit_would_have_freed_is_held(compiler, recorder):
    """Nothing of it is lost: variables and libc's list have it."""
    done = recorder.record(program(compiler), "term")
    check_verdicts(
        "seep", seep_verdicts(done.folder / "out.seep", done.truth.leaks), done.truth.leaks
    )


def test_kill_leaves_no_time_and_that_is_said(compiler, recorder):
    done = recorder.record(program(compiler), "kill")
    assert done.status == 137
    assert done.profile.json["leaks"]["scanned"] is False
    assert done.profile.totals["live_blocks"] > 0
    shown = subprocess.run(
        [SEEP, "leaks", done.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert "definitely lost" not in shown.stdout and "not searched" in shown.stdout + shown.stderr
    assert "LEAKS" not in done.stderr.decode()


@pytest.mark.parametrize("way", ["term", "segv"])
def test_a_signal_is_not_waited_for_when_nobody_wants_to_know(compiler, recorder, way):
    done = recorder.record(program(compiler), way, options=["--no-leak-scan"])
    assert done.status == 128 + signal.Signals[f"SIG{SIGNALS[way]}"]
    assert done.profile.json["leaks"]["scanned"] is False


def test_a_search_can_be_switched_off(compiler, recorder):
    done = recorder.record(program(compiler), "exit", options=["--no-leak-scan"])
    assert done.status == 5
    assert done.profile.json["leaks"]["scanned"] is False


def files_by_program(recording):
    return {Profile(f).json["args"][0].rpartition("/")[2]: f for f in recording.files()}


@pytest.mark.parametrize("way", ["exec", "thread_exec"])
def test_exec_is_an_end(compiler, recorder, way):
    path = program(compiler)
    done = recorder.record(path, way, path.with_name("leak_exits"), "return")
    assert done.status == 5
    assert len(done.files()) == 2
    for file in done.files():
        check_verdicts("seep", seep_verdicts(file, done.truth.leaks), done.truth.leaks)


def test_exec_of_another_program(compiler, recorder):
    done = recorder.record(program(compiler), "exec", "/bin/echo", "word")
    assert (done.status, done.stdout) == (0, b"word\n")
    check_verdicts(
        "seep",
        seep_verdicts(files_by_program(done)["leak_exits"], done.truth.leaks),
        done.truth.leaks,
    )


IN_CHILD = {"kept_in_child": {"definite": (5021, 1)}, "lost_in_child": {"definite": (5023, 1)}}
BOTH = {"lost_at_exit": {"definite": (5033, 1)}, "kept_at_exit": {"reachable": (5031, 1)}}
IN_PARENT = {"kept_in_child": {"reachable": (5021, 1)}}


def by_pid(first, second):
    """The child's is the one that knows lost_in_child."""
    return (first, second) if "lost_in_child" in second else (second, first)


def test_a_child_loses_what_its_parent_keeps(compiler, recorder):
    done = recorder.record(program(compiler), "fork", options=["--follow=all"])
    assert done.status == 5
    functions = {**BOTH, **IN_CHILD}
    parent, child = by_pid(*(seep_verdicts(f, functions) for f in done.files()))
    check_verdicts("seep", child, {**BOTH, **IN_CHILD})
    check_verdicts("seep", parent, {**BOTH, **IN_PARENT})


def test_memcheck_agrees_about_children(compiler, recorder, need):
    need("valgrind")
    done, reports = memcheck_reports(recorder, program(compiler), "fork")
    assert done.status == 5
    functions = {**BOTH, **IN_CHILD}
    parent, child = by_pid(*(memcheck_verdicts(r, functions) for r in reports))
    check_verdicts("memcheck", child, {**BOTH, **IN_CHILD})
    check_verdicts("memcheck", parent, {**BOTH, **IN_PARENT})


def test_a_program_that_holds_nothing_needs_no_search(recorder):
    """Its recording says that nothing is lost, and where its memory was at the end, as with a
    search."""
    done = recorder.record(
        "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done", options=["--follow=exec"]
    )
    assert done.status == 0
    found = sorted(done.folder.glob("out.seep.d/*.seep"))
    assert len(found) == 8
    for path in found:
        made = Profile(path).json
        leaks = made["leaks"]
        assert (
            leaks["scanned"] and leaks["scan"]["when"] == "exit" and leaks["scan"]["threads"] == 1
        )
        assert all(
            leaks[word] == {"blocks": 0, "bytes": 0}
            for word in ("definite", "indirect", "possible", "reachable")
        )
        assert (
            made["resident"]["rss_bytes"]
            and made["totals"]["allocations"] == made["totals"]["frees"]
        )


def test_whoever_waits_for_the_program_does_not_wait_for_the_search(compiler, recorder):
    done = recorder.record(compiler.build("departs.c"), "parent", options=["--follow=exec"])
    assert (done.stdout, done.status) == (b"wrong 0 seen 1\n", 0)
    heaps = [p for p in done.profiles() if p.totals["live_blocks"] > 300000]
    assert heaps
    for heap in heaps:
        assert heap.json["leaks"]["scanned"] is True
        assert heap.json["leaks"]["definite"] == {"bytes": 7770, "blocks": 10}


def test_memory_that_no_copy_can_have_is_searched_before_the_program_leaves(compiler, recorder):
    done = recorder.record(compiler.build("departs.c"), "hidden")
    assert done.status == 7
    assert (
        done.profile.json["leaks"]["scanned"] is True
        and done.profile.json["leaks"]["definite"]["blocks"] == 0
    )


def test_pages_that_were_never_used_are_not_read(compiler, recorder):
    done = recorder.record(compiler.build("departs.c"), "unused")
    found = done.profile.json["leaks"]
    assert done.status == 7 and found["scanned"] is True and found["reachable"]["bytes"] >= 1 << 30
    assert found["scan"]["heap_bytes"] < 1 << 20
