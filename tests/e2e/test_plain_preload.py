# SPDX-License-Identifier: MIT
"""The library alone, by LD_PRELOAD: reports beside the program, and a program that notices
nothing."""
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import (
    DEADLINE, PLAIN, PROGRAMS, SEEP, Profile, clean_environment, end_process, run, wait_until,
)
from plain import (
    LIBRARY, Started, difference, find_reports, live, own, preloaded, run_plain, seep, sum_of,
)

WORK = ("+red:10:100", "+green:20:30", "-red:4")


def sums(reports):
    return sum_of(m.by_function() for m in reports)


def strangers(stderr):
    """Lines on stderr that are not ours."""
    return [line for line in stderr.splitlines() if not line.startswith(b"seep: ")]


@pytest.mark.parametrize("way", ["exit:5", "_exit:5", "quick_exit:5", "group_exit:5"])
def test_after_an_exit_the_report_is_there_at_once(steps, recorder, way):
    folder = recorder.folder()
    with Started(folder, steps, *WORK, way) as program:
        done = program.finish()
        if not way.startswith("group"):  # a bare system call cannot be made to wait
            assert program.path(1).exists()
        only = program.report(1)
    assert done.status == 5 and strangers(done.stderr) == []
    assert (
        own(only.by_function(), done.truth) == live(done.truth.sites) == {"red": 600, "green": 600}
    )
    assert find_reports(folder)[0].path == only.path and len(find_reports(folder)) == 1


@pytest.mark.parametrize(
    "way,status",
    [
        ("kill", signal.SIGKILL),
        ("segv", signal.SIGSEGV),
        ("abort", signal.SIGABRT),
        ("raise:15", signal.SIGTERM),
        ("raise:2", signal.SIGINT),
    ],
)
def test_after_death_by_a_signal_the_report_appears(steps, recorder, way, status):
    folder = recorder.folder()
    with Started(folder, steps, *WORK, "moment:x", way) as program:
        done = program.finish()
        only = program.report(1)
    assert done.status == 128 + status
    assert (
        own(only.by_function(), done.truth) == live(done.truth.sites) == {"red": 600, "green": 600}
    )


ENDINGS = {
    "return": 5,
    "thread_exit": 6,
    "pthread_exit": 8,
    "busy_exit": 5,
    "overflow": 128 + signal.SIGSEGV,
}


@pytest.mark.parametrize("way", ENDINGS)
def test_other_endings_have_their_report_too(compiler, recorder, way):
    with Started(recorder.folder(), compiler.build("endings.c"), way) as program:
        done = program.finish()
        assert done.status == ENDINGS[way]
        assert own(program.report(1).by_function(), done.truth) == live(done.truth.sites)


def test_what_exit_handlers_and_destructors_free_is_not_in_the_report(compiler, recorder):
    folder = recorder.folder()
    done = run_plain(folder, compiler.build("lifecycle.cpp"))
    (only,) = find_reports(folder, "lifecycle")
    assert done.status == 0 and len(done.truth.sites) == 8
    assert own(only.by_function(), done.truth) == live(done.truth.sites)


def test_the_destructor_of_a_library_comes_before_the_report(compiler, recorder):
    library = compiler.library("late.cpp", cc="g++", name="liblate.so")
    program = compiler.build(
        "late.cpp", flags=(*PLAIN, "-DPROGRAM"), libs=[str(library)], name="late"
    )
    folder = recorder.folder()
    done = run_plain(folder, program)
    (only,) = find_reports(folder, "late")
    assert live(done.truth.sites) == {"holder::~holder": 2002}
    assert own(only.by_function(), done.truth) == live(done.truth.sites)


def test_each_signal_gives_the_increment_and_all_of_them_the_state(steps, recorder):
    folder = recorder.folder()
    parts = [
        ("+red:10:100", "+green:20:30"),
        ("-red:4", "+blue:1:7777"),
        ("-green", "+red:3:1"),
        ("-blue", "-red"),
    ]
    script = [
        word for i, part in enumerate(parts) for word in (*part, f"moment:m{i}", "ready", "wait")
    ]
    with Started(folder, steps, *script) as program:
        reports = []
        for i in range(len(parts)):
            program.said(b"ready\n", i + 1)
            program.signal(signal.SIGUSR1)
            reports.append(program.report(i + 1))
            program.say()
        done = program.finish()
        reports.append(program.report(len(parts) + 1))
    assert done.status == 0 and strangers(done.stderr) == []
    moments, before = done.truth.moments, {}
    for i, report in enumerate(reports[:-1]):
        assert own(report.by_function(), done.truth) == difference(moments[f"m{i}"], before)
        before = moments[f"m{i}"]
    assert reports[1].by_function()["red"] == -400 and reports[3].by_function()["blue"] == -7777
    assert own(sums(reports), done.truth) == live(done.truth.sites) == {}
    assert [
        stack for stack in sum_of(m.by_stack() for m in reports) if stack[0][0] in done.truth.sites
    ] == []


def test_the_largest_come_first_with_names_and_lines(steps, recorder):
    folder = recorder.folder()
    done = run_plain(folder, steps, "+red:1:10", "+green:1:3000", "+blue:1:200")
    (only,) = find_reports(folder, "steps")
    assert [stack[0][0] for _, stack in only.entries[:3]] == ["green", "blue", "red"]
    amounts = [amount for amount, _ in only.entries]
    assert amounts == sorted(amounts, reverse=True)
    names = [frame[0] for frame in only.entries[0][1]]
    assert names[:5] == ["green", "shelf_put", "allocate", "step", "main"]
    for _, module, line in only.entries[0][1][:5]:
        assert Path(module).resolve() == steps.resolve()
        assert (
            line
            and line.rpartition(":")[0].endswith("steps.c")
            and int(line.rpartition(":")[2]) > 0
        )
    assert done.status == 0


def test_reports_go_where_the_program_was_started(steps, recorder):
    folder, elsewhere = recorder.folder(), recorder.folder()
    with Started(
        folder, steps, "+red:1:50", "usr1", f"chdir:{elsewhere}", "+red:1:60", "usr1", "ready",
        "wait",
    ) as program:
        program.said(b"ready\n")
        program.report(1)
        program.say()
        done = program.finish()
    reports = find_reports(folder, "steps")
    assert own(sums(reports), done.truth) == {"red": 110} and len(reports) >= 2
    assert list(elsewhere.iterdir()) == []


def test_without_a_writable_folder_reports_go_to_tmpdir_and_that_is_said_once(
    steps, recorder, public_folder
):
    program = shutil.copy(steps, public_folder)
    spare = public_folder / "spare"
    spare.mkdir()
    spare.chmod(0o777)
    drop = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    )
    public_folder.chmod(0o555)
    done = run(
        [*drop, *preloaded([program, "+red:1:50", "usr1", "+red:1:70", "usr1", "-red:1"])],
        cwd=public_folder,
        folder=recorder.folder(),
        env={"TMPDIR": str(spare)},
    )
    assert done.status == 0, done.stderr
    reports = find_reports(spare, "steps")
    assert own(sums(reports), done.truth) == live(done.truth.sites) == {"red": 70}
    said = [line for line in done.stderr.splitlines() if os.fsencode(spare) in line]
    assert (
        len(said) == 1 and said[0].startswith(b"seep: ") and os.fsencode(public_folder) in said[0]
    )
    assert find_reports(public_folder) == []


def below(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))


@pytest.mark.parametrize("home", ["", "not/there"])
def test_nothing_is_made_below_the_home_of_the_program(steps, recorder, public_folder, home):
    folder, place = recorder.folder(), public_folder / home
    for env in (
        {"HOME": str(place)},
        {"HOME": str(public_folder), "XDG_CACHE_HOME": str(place / "cache")},
    ):
        run_plain(folder, steps, "+red:1:10", env={"XDG_CACHE_HOME": "", **env})
    assert len(find_reports(folder, "steps")) == 2
    assert below(public_folder) == []


def test_a_cache_of_names_that_is_there_is_used(steps, recorder, public_folder):
    folder, cache = recorder.folder(), public_folder / ".cache" / "seep"
    cache.mkdir(parents=True)
    for _ in range(2):
        run_plain(
            folder, steps, "+red:1:10", env={"XDG_CACHE_HOME": "", "HOME": str(public_folder)}
        )
    first, second = find_reports(folder, "steps")
    assert any(name.endswith(".names") for name in below(cache))
    assert first.by_stack() == second.by_stack()


def test_the_temporary_folder_of_the_program_stays_empty(recorder, public_folder):
    """A script that makes one, and removes it with rmdir because nothing is left in it."""
    folder = recorder.folder()
    script = ("set -e; TMPDIR=$PWD/scratch; export TMPDIR; mkdir scratch; ls -A scratch; rmdir "
              "scratch; echo gone")
    done = run(preloaded(["/bin/sh", "-c", script]), cwd=public_folder, folder=folder,
               env={"XDG_RUNTIME_DIR": "", "SEEP_OPTIONS": f"-q -o {folder}/%e.%p.seep"})
    assert (done.status, done.stdout, done.stderr) == (0, b"gone\n", b"")
    assert len(list(folder.glob("*.seep"))) == 4 and below(public_folder) == []


def test_an_executed_program_has_reports_of_its_own(compiler, steps, recorder):
    folder = recorder.folder()
    known = compiler.build("known.c")
    done = run_plain(folder, steps, *WORK, "moment:before", f"exec:{known}")
    first, second = find_reports(folder, "steps"), find_reports(folder, "known")
    assert len(first) == len(second) == 1 and first[0].pid == second[0].pid
    assert own(first[0].by_function(), done.truth) == live(done.truth.moments["before"])
    assert own(second[0].by_function(), done.truth) == {
        n: b for n, b in live(done.truth.sites).items() if n not in ("red", "green")
    }


def test_a_program_that_executes_itself_overwrites_no_report(steps, recorder):
    folder = recorder.folder()
    script = folder / "again"
    script.write_text(f"#!/bin/sh\nexec {steps} +red:1:22 _exit:3\n")
    script.chmod(0o755)
    done = run_plain(folder, steps, "+red:1:11", f"exec:{script}")
    found = find_reports(folder, "steps")
    assert done.status == 3
    assert sorted(m.by_function()["red"] for m in found) == [11, 22]
    assert [m.seq for m in found] == [1, 2]


def test_a_forked_child_leaves_the_reports_of_its_parent_alone(steps, recorder):
    folder = recorder.folder()
    done = run_plain(folder, steps, "+red:2:100", "fork", "+green:5:5", "-red", "_exit:7")
    (only,) = find_reports(folder)
    assert (done.status, done.stdout) == (7, b"child: status 7\n")
    assert only.by_function().get("red") == 200 and "green" not in only.by_function()


def test_a_followed_child_has_its_own_reports(steps, recorder):
    folder = recorder.folder()
    done = run_plain(
        folder, steps, "+red:2:100", "fork", "+green:5:5", "-red:1", "_exit:7",
        env={"SEEP_OPTIONS": "--follow=all"},
    )
    assert done.status == 7
    child = wait_until(
        lambda: find_reports(folder, pid=done.truth.facts["child"]), "the child's report"
    )
    assert child[-1].seq == len(child)
    assert own(sums(child), done.truth) == {"red": 100, "green": 25}


def test_children_of_a_shell_each_have_a_report(steps, recorder):
    folder, elsewhere = recorder.folder(), recorder.folder()
    script = (f"{steps} +red:1:10; {steps} +red:1:20 & {steps} +red:1:30 _exit:1; wait; cd "
              f"{elsewhere}; {steps} +red:1:40")
    done = run(preloaded(["/bin/sh", "-c", script]), cwd=folder, folder=folder)
    assert (done.status, strangers(done.stderr)) == (0, [])
    assert sorted(m.by_function()["red"] for m in find_reports(folder, "steps")) == [10, 20, 30]
    assert [m.by_function()["red"] for m in find_reports(elsewhere, "steps")] == [40]
    assert len(find_reports(folder)) == 4  # the shell's own


def test_twenty_at_once_in_one_folder_do_not_meet(steps, recorder):
    folder = recorder.folder()
    command = [
        [*preloaded([steps, f"+red:{i}:10", "usr1", f"+green:{i}:1", "-red:1"])]
        for i in range(1, 21)
    ]
    running = [
        subprocess.Popen(c, cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL)
        for c in command
    ]
    for i, process in enumerate(running, 1):
        assert process.wait(DEADLINE) == 0
        found = find_reports(folder, "steps", process.pid)
        total = sums(found)
        assert (total.get("red", 0), total.get("green", 0)) == (10 * i - 10, i)
        assert [m.seq for m in found] == list(range(1, len(found) + 1)) and len(found) >= 2


def test_no_descriptor_and_no_child_is_left_to_be_seen(compiler, steps, recorder):
    descriptors = compiler.build("descriptors.c")
    bare, seen = run([descriptors], folder=recorder.folder()), run_plain(
        recorder.folder(), descriptors
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    seen = run_plain(recorder.folder(), steps, "alone", "usr1", "alone", "snapshot:x", "alone")
    assert (seen.stdout, seen.status) == (b"wait: -1 No child processes\nchildren: 0\n" * 3, 0)


def opened(command, folder, *options):
    """The files that COMMAND and all it starts open, in the order of that."""
    trace = folder / "opened"
    subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=open,openat", *options, "-o", trace, *command],
        cwd=folder, env=clean_environment(), check=True,
        stdout=subprocess.DEVNULL, timeout=DEADLINE,
    )
    return trace.read_text()


def test_a_report_alone_costs_neither_a_look_at_the_mappings_nor_a_file_to_try(
    steps, recorder, need
):
    need("strace")
    folder = recorder.folder()
    files = opened([steps, "+red:1:50"], folder, "-E", f"LD_PRELOAD={LIBRARY}")
    assert len(find_reports(folder, "steps")) == 1
    assert "smaps" not in files and "zstd" not in files and files.count("O_TMPFILE") == 1
    files = opened([SEEP, "record", "-o", "x.seep", steps, "+red:1:50"], folder)
    assert "smaps" in files and "zstd" in files and files.count("O_TMPFILE") >= 2


def test_whoever_looks_at_the_program_is_told_what_is_resident_now(steps, recorder):
    folder = recorder.folder()
    with Started(folder, steps, "+red:1:5000000", "ready", "wait", "+blue:1:7", "ready",
                 "wait") as program:
        seen = []
        for times in (1, 2):
            program.said(b"ready\n", times)
            report = seep("report", "--json", program.pid)
            assert report.returncode == 0, report.stderr
            seen.append(json.loads(report.stdout)["resident"])
            program.say()
        assert program.finish().status == 0
    assert all(now["rss_bytes"] >= 4 << 10 and now["allocator"] for now in seen), seen
    assert seen[1]["ms"] > seen[0]["ms"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_stay_closed_and_reports_appear(compiler, recorder, closed):
    program = compiler.build("realloc_forms.c")
    bare = run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", program], folder=recorder.folder())
    folder = recorder.folder()
    seen = run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *preloaded([program])],
        cwd=folder,
        folder=folder,
    )
    assert (seen.status, seen.stdout, strangers(seen.stderr)) == (
        bare.status,
        bare.stdout,
        bare.stderr.splitlines(),
    )
    (only,) = find_reports(folder, "realloc_forms")
    assert own(only.by_function(), seen.truth) == live(seen.truth.sites)


def test_a_key_press_that_ends_the_program_does_not_end_its_report(steps, recorder):
    """Ctrl-C reaches the whole group of the terminal."""
    folder = recorder.folder()
    process = subprocess.Popen(
        preloaded([steps, "+red:1:77", "ready", "wait"]),
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(DEADLINE) == -signal.SIGINT
        assert process.stdout.read() == b""  # nobody else holds it
        wait_until(lambda: find_reports(folder), "the report")
    finally:
        process.stdin.close()
        end_process(process)
    assert find_reports(folder)[0].by_function()["red"] == 77


def test_a_pipe_ends_when_the_program_ends(steps, recorder):
    folder = recorder.folder()
    done = run(
        ["/bin/sh", "-c", '"$@" | cat', "sh", *preloaded([steps, "+red:1:5", "ready"])],
        cwd=folder,
        folder=folder,
    )
    assert (done.status, done.stdout) == (0, b"ready\n")


def test_no_tool_beside_the_library_is_told_and_harmless(steps, recorder):
    folder = recorder.folder()
    alone = shutil.copy(LIBRARY, folder)
    done = run(
        preloaded([steps, "+red:1:5", "ready", "exit:4"], alone),
        cwd=folder,
        folder=folder,
        env={"PATH": "/nowhere"},
    )
    assert (done.status, done.stdout) == (4, b"ready\n")
    assert done.stderr.startswith(b"seep: ") and len(done.stderr.splitlines()) == 1
    assert find_reports(folder) == []


def test_there_is_no_report_about_the_tool_itself(steps, recorder):
    folder = recorder.folder()
    assert run_plain(folder, SEEP, "--version").status == 0
    done = run_plain(
        folder, SEEP, "record", "-q", "-o", folder / "out.seep", steps, "+red:1:10", "exit:4"
    )
    assert (done.status, done.stderr) == (4, b"")
    run_plain(folder, SEEP, "report", folder / "out.seep")
    assert find_reports(folder) == []
    assert Profile(folder / "out.seep").json["totals"]["live_bytes"] == 10


def test_wrong_options_in_the_environment_are_told_and_harmless(steps, recorder):
    folder = recorder.folder()
    done = run_plain(
        folder, steps, "+red:1:5", "ready", "exit:4", env={"SEEP_OPTIONS": "--no-such-option"}
    )
    assert (done.status, done.stdout) == (4, b"ready\n")
    assert b"--no-such-option" in done.stderr and strangers(done.stderr) == []


def test_an_event_log_that_has_no_place_is_told(steps, recorder):
    folder = recorder.folder()
    done = run_plain(folder, steps, "+red:1:5", env={"SEEP_OPTIONS": "--events"})
    assert (
        b"no event log: " in done.stderr
        and b"-o FILE" in done.stderr
        and strangers(done.stderr) == []
    )
    done = run_plain(folder, steps, "+red:1:5", env={"SEEP_OPTIONS": "--events -o log.seep"})
    assert b"no event log" not in done.stderr and (folder / "log.seep").exists()


REAL = {"python": ["/usr/bin/python3", "-c",
                   "import json, os; print(len(json.dumps(list(range(1000))))); os._exit(3)"],
        "perl": ["perl", "-e", "my %h = map { $_ => 1 } 1..1000; print scalar(keys %h), qq(\n); "
                               "exit 4"],
        "bash": ["bash", "-c", "a=(1 2 3); trap 'echo bye' EXIT; echo ${#a[@]} $(echo sub) | cat; "
                               "ls / >/dev/null & wait; exit 5"],
        "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t values (1), (2); "
                                           "select sum(a) from t;"],
        "find": ["sh", "-c", "find /etc -maxdepth 1 -name passwd | xargs -n 1 basename"]}


@pytest.mark.parametrize("name", REAL)
def test_real_programs_say_and_end_the_same(recorder, need, name):
    need(REAL[name][0])
    bare, folder = run(REAL[name], folder=recorder.folder()), recorder.folder()
    seen = run_plain(folder, *REAL[name])
    assert (seen.stdout, strangers(seen.stderr), seen.status) == (
        bare.stdout,
        bare.stderr.splitlines(),
        bare.status,
    )
    assert all(m.entries for m in find_reports(folder)) and find_reports(folder)


def test_a_compiler_and_all_its_parts_make_the_same_object(recorder):
    made = []
    for library in (False, True):
        folder = recorder.folder()
        argv = ["gcc", "-O2", "-c", str(PROGRAMS / "stacks.c"), "-o", "object.o"]
        done = run(preloaded(argv) if library else argv, cwd=folder, folder=folder)
        assert (done.status, done.stderr) == (0, b"")
        made.append((folder / "object.o").read_bytes())
    assert made[0] == made[1]
    assert {"cc1", "as"} <= {m.program for m in find_reports(folder)}
