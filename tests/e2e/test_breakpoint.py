# SPDX-License-Identifier: MIT
"""record --engine breakpoint: the same numbers as with the library, and a program that notices
nothing, whatever becomes of seep."""
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from harness import (DEADLINE, PLAIN, SEEP, Profile, check_clean, check_sites, check_total,
                     clean_environment, run, wait_until)
from leaks import check_verdicts, seep_verdicts, waiting

ENGINE = ("--engine", "breakpoint")


@pytest.fixture(scope="module")
def stops(compiler):
    return compiler.build("stops.c")


@pytest.fixture(scope="module", autouse=True)
def has_engine(compiler, tmp_path_factory):
    """A build without Zydis, or for another processor, says that it has none."""
    folder = tmp_path_factory.mktemp("tried")
    tried = run([SEEP, "record", "-q", *ENGINE, "-o", folder / "x.seep", "--", "/bin/true"],
                folder=folder)
    if b"built without breakpoints" in tried.stderr:
        pytest.skip("this build has no breakpoints")
    assert tried.status == 0


def sites_of(profile):
    """What tells a call stack apart, and all its exact numbers."""
    def places(stack):
        return [tuple(profile.frame(i)[key] for key in ("module", "function", "line"))
                for i in stack]

    numbers = ("allocations", "bytes_allocated", "frees", "live_blocks", "live_bytes", "temporary")
    return sorted((s["kind"], places(s["stack"]), *(s[key] for key in numbers))
                  for s in profile.heap_sites())


@pytest.mark.parametrize("source", ["entry_points.c", "realloc_forms.c", "operators.cpp",
                                    "escapes.cpp"])
def test_every_function_is_counted_exactly(compiler, recorder, source):
    program = compiler.build(source)
    bare = recorder.bare(program)
    seen = recorder.record(program, options=ENGINE)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.own(program))
    assert seen.profile.totals["lost_events"] == 0
    assert {f: seen.profile.kinds_of(f) for f in seen.truth.kinds} == \
        {f: {k} for f, k in seen.truth.kinds.items()}


def test_a_second_release_by_another_function_is_no_part_of_the_first(compiler, recorder):
    """When another thread had the address in between."""
    seen = recorder.record(compiler.build("released_twice.cpp"), options=ENGINE)
    assert (seen.status, [(e["type"], e["count"]) for e in seen.profile.errors]) == (
        0,
        [("double-free", 1)],
    )


def test_call_stacks_are_those_of_the_library(compiler, recorder):
    program = compiler.build("depth8.c")
    # All rounds where they take seconds; elsewhere the processor is emulated.
    rounds = () if os.uname().machine == "x86_64" else ("4096",)
    ours, theirs = (recorder.record(program, *rounds, options=("--engine", engine)).profile
                    for engine in ("breakpoint", "preload"))
    assert sites_of(ours) == sites_of(theirs)
    check_clean(ours)


def test_sixteen_threads_at_once(stops, recorder):
    seen = recorder.record(stops, "threads", options=ENGINE)
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False)
    check_clean(seen.profile)


def test_blocks_that_one_thread_gets_and_another_releases(compiler, recorder):
    """By two functions in turn, at the same address: each is a release of its own."""
    seen = recorder.record(compiler.build("passed_on.cpp"), options=ENGINE)
    assert seen.status == 0, seen.stderr
    made = seen.profile.by_function()["main"]
    assert (made["allocations"], made["frees"]) == (
        seen.truth.facts["blocks"],
        seen.truth.facts["blocks"],
    )
    assert (seen.profile.totals["mismatched"], seen.profile.errors) == (0, [])


def counts_of(seen, program):
    """Of each process: its own allocations, and the bytes that are left."""
    own = (p.own(program) for p in seen.profiles())
    return sorted((o["allocations"], o["live_bytes"]) for o in own if o["allocations"])


def test_children_of_every_kind(stops, recorder):
    bare = recorder.bare(stops, "children")
    seen = recorder.record(stops, "children", options=(*ENGINE, "--follow=all"))
    assert (seen.stdout, seen.status) == (bare.stdout, 0)
    # three grandchildren, the main process (three blocks, the last alive), two forked children
    # (each a copy of the first two, one with 20 more)
    assert counts_of(seen, stops) == [(2, 1500), (3, 2222), (7, 777), (7, 777), (7, 777),
                                      (22, 500 + 20 * 33)]


def test_children_that_run_a_program(stops, recorder):
    seen = recorder.record(stops, "children", options=(*ENGINE, "--follow=exec"))
    assert counts_of(seen, stops) == [(3, 2222), (7, 777), (7, 777), (7, 777)]


def test_children_that_are_not_followed_run_free(stops, recorder):
    bare = recorder.bare(stops, "children")
    seen = recorder.record(stops, "children", options=(*ENGINE, "--follow=none"))
    assert (seen.stdout, seen.status) == (bare.stdout, 0)
    assert len(seen.files()) == 1
    assert seen.profile.own(stops)["allocations"] == 3


def test_signals_and_traps_are_the_programs_own(stops, recorder):
    bare = recorder.bare(stops, "signals")
    seen = recorder.record(stops, "signals", options=ENGINE)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    own = seen.profile.own(stops)
    assert (own["allocations"], own["live_blocks"]) == (5 + 6 + 1, 0)


def test_filters_of_system_calls_do_not_meet_ours(compiler, recorder):
    """mmap is the end of it, and we need pages near its code."""
    program = compiler.build("late_blocks.c", flags=PLAIN)
    bare = recorder.bare(program)
    seen = recorder.record(program, options=ENGINE)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"begin\nend\n", 3)


@pytest.mark.parametrize("how", ["-static", "-static-pie"])
def test_static_programs(compiler, recorder, how):
    program = compiler.build("realloc_forms.c", flags=(*PLAIN, how))
    seen = recorder.record(program, options=ENGINE)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.below("main"))


@pytest.mark.parametrize("engine", ["breakpoint", "preload", "inject"])
def test_a_program_whose_first_thread_ends_before_the_others(compiler, recorder, engine):
    program = compiler.build("headless.c", libs=("-ldl",))
    seen = recorder.record(program, options=("--engine", engine), stdin=b"xx")
    assert (seen.status, seen.stdout) == (0, b"ready\ndone\ndone\n")
    made = seen.profile.by_function()["make"]
    assert (made["allocations"], made["frees"], made["live_blocks"]) == (20, 14, 6)
    found = json.loads(
        run([SEEP, "leaks", "--json", seen.files()[0]], cwd=recorder.folder()).stdout
    )
    assert "make" in {found["frames"][s["stack"][0]]["function"] for s in found["sites"]}


def test_libraries_that_come_and_go(compiler, recorder):
    library = compiler.library("plug.c", flags=(*PLAIN, "-DPLUG=a"), name="libreload_stops.so")
    program = compiler.build("reloads.c", libs=["-ldl"])
    seen = recorder.record(program, "moving", "20", library, options=ENGINE)
    assert seen.status == 0
    lost = seen.truth.facts["lost"]
    sites = [s for s in seen.profile.heap_sites() if seen.profile.innermost(s) == "inner_a"]
    assert len(sites) == 1
    assert [sites[0][key] for key in ("allocations", "live_blocks", "live_bytes")] == \
        [2 * lost, lost, 101 * lost]


def children_with(pid, program):
    """The tracer is a child of the tool, too."""
    listed = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return [int(p) for p in listed if os.path.realpath(f"/proc/{p}/exe") == str(program)]


class Worker:
    """`stops works` under the tool, up to its first word."""

    def __init__(self, program, folder):
        self.tool = subprocess.Popen([SEEP, "record", "-q", *ENGINE, "-o", folder / "out.seep",
                                      "--", program, "works"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=clean_environment(), cwd=folder,
                                     start_new_session=True)
        assert self.tool.stdout.readline() == b"ready\n"
        children = wait_until(lambda: self.children(program), "the program")
        self.pid = children[0]

    def children(self, program):
        return children_with(self.tool.pid, program)

    def end(self):
        out, err = self.tool.communicate(b"x", DEADLINE)
        return self.tool.returncode, out, err


def test_leaks_of_a_running_program_and_at_its_end(stops, recorder):
    folder = recorder.folder()
    worker = Worker(stops, folder)
    done = run([SEEP, "leaks", "--json", str(worker.pid)], cwd=folder)
    assert done.status == 1, done.stderr
    found = json.loads(done.stdout)
    lost = [s for s in found["sites"] if found["frames"][s["stack"][0]]["function"] == "lose"]
    assert len(lost) == 1
    assert worker.end()[:2] == (7, b"end\n")
    done = run([SEEP, "leaks", folder / "out.seep"], cwd=folder)
    assert done.status == 1
    assert b"lose" in done.stdout


# Gives the processor of its argument to nobody else, but for the 50 ms of each second that the
# kernel keeps for others.
TAKES_PROCESSOR = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("taken", flush=True)
while True:
    pass
"""


@contextmanager
def taken_processor(number):
    with subprocess.Popen(
        [sys.executable, "-c", TAKES_PROCESSOR, str(number)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as other:
        try:
            if other.stdout.readline() != b"taken\n":
                pytest.skip("no right to take a processor")
            yield
        finally:
            other.kill()


def test_a_thread_that_gets_no_processor_is_waited_for(compiler, recorder):
    """Of one that does not stand still the registers are not known, and what it has in them alone
    would be called lost."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor, which we need ourselves")
    program = compiler.build("leak_threads.c", libs=("-lpthread",))
    with waiting(recorder, program, "registers", options=ENGINE) as (it, _, truth):
        (pid,) = children_with(it.pid, program)
        processor = min(os.sched_getaffinity(0))
        for tid in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(tid), {processor})
        for _ in range(4):
            with taken_processor(processor):
                check_verdicts("seep", seep_verdicts(pid, truth), truth)
        done = it.finish()
    assert (done.status, done.stdout) == (0, b"ready\n")


def test_leaks_of_a_program_that_a_signal_ends(stops, recorder):
    folder = recorder.folder()
    worker = Worker(stops, folder)
    os.kill(worker.pid, signal.SIGTERM)
    assert worker.end()[0] == -signal.SIGTERM
    done = run([SEEP, "leaks", folder / "out.seep"], cwd=folder)
    assert done.status == 1
    assert b"lose" in done.stdout


def test_leaks_of_a_program_that_becomes_another(stops, recorder):
    seen = recorder.record(stops, "becomes", options=ENGINE)
    assert seen.status == 0
    assert len(seen.files()) == 2
    first = [f for f in seen.files() if f.name != "out.seep"]
    done = run([SEEP, "leaks", "--json", *first], cwd=seen.folder)
    assert done.status == 1, done.stderr
    found = json.loads(done.stdout)
    lost = [s for s in found["sites"] if found["frames"][s["stack"][0]]["function"] == "lose"]
    assert [s["bytes_allocated"] for s in lost if s["class"] == "definite"].count(4321) == 1


def test_the_program_goes_on_when_seep_is_killed(stops, recorder):
    folder = recorder.folder()
    worker = Worker(stops, folder)
    pidfd = os.pidfd_open(worker.pid)
    worker.tool.kill()
    worker.tool.wait(DEADLINE)

    def is_free():
        return "TracerPid:\t0\n" in open(f"/proc/{worker.pid}/status").read()

    wait_until(is_free, "no tracer")
    worker.tool.stdin.write(b"x")
    worker.tool.stdin.flush()
    assert worker.tool.stdout.readline() == b"end\n"
    os.close(pidfd)


def recorded_for(duration, stops, folder):
    """Live bytes of `stops works`, whose recording ends before it: it goes on, and notices
    nothing."""
    tool = subprocess.Popen([SEEP, "record", "-q", *ENGINE, "--duration", duration,
                             "-o", folder / "out.seep", "--", stops, "works"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment(),
                            cwd=folder)
    wait_until(lambda: (folder / "out.seep").exists(), "the recording")
    out, _ = tool.communicate(b"x", DEADLINE)
    assert (tool.returncode, out) == (7, b"ready\nend\n")
    return Profile(folder / "out.seep").own(stops)["live_bytes"]


def test_the_program_goes_on_when_recording_ends_before_it(stops, recorder):
    """Where a second is over before it has begun, a longer one is needed."""
    assert any(recorded_for(duration, stops, recorder.folder()) >= 4321
               for duration in ("1s", "10s", "100s"))


def test_what_is_left_out(compiler, recorder):
    seen = recorder.record(compiler.build("depth8.c"), options=(*ENGINE, "--omit", "depth8"))
    assert seen.status == 0
    assert seen.profile.totals["allocations"] == 0


@pytest.mark.parametrize("option", ["--events", "--fill", "--sample", "--keep-going"])
def test_what_needs_the_library_is_refused(recorder, option):
    seen = recorder.record("/bin/true", options=(*ENGINE, option))
    assert seen.status == 2
    assert option.encode() in seen.stderr
