# SPDX-License-Identifier: MIT
"""Children of every kind, and every way to end."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import pages
from harness import SEEP, check_clean, check_sites, check_total, clean_environment


def by_pid(recording):
    return {p.json["pid"]: p for p in recording.profiles()}


@pytest.fixture
def children(compiler):
    return compiler.build("children.c")


@pytest.mark.parametrize("way", ["vfork", "spawn", "fork-exec"])
def test_executed_children_are_followed_each_into_its_own_file(children, recorder, way):
    bare, seen = recorder.bare(children, way), recorder.record(children, way)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.totals)
    found = by_pid(seen)
    assert len(found) == len(seen.truth.children) + 1
    for child in seen.truth.children:
        totals = found[child["pid"]].totals
        assert (totals["live_blocks"], totals["live_bytes"]) == (
            child["blocks"],
            11 * child["blocks"],
        )
        check_clean(found[child["pid"]])


@pytest.mark.parametrize("options", [(), ("--follow=none",), ("--follow=all",)])
def test_a_named_pipe_is_no_program_and_nobody_waits_for_its_writer(recorder, tmp_path, options):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "pipe").chmod(0o755)
    command = ["/bin/sh", "-c", "ulimit -v 90000000; ./pipe; echo $?"]
    bare, seen = recorder.bare(*command, cwd=tmp_path), recorder.record(
        *command, options=options, cwd=tmp_path
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"126\n", 0)


@pytest.mark.parametrize("way", ["vfork", "spawn", "system", "popen", "fork-exec"])
def test_children_that_are_not_followed_leave_the_parent_exact(children, recorder, way):
    bare, seen = recorder.bare(children, way), recorder.record(
        children, way, options=["--follow=none"]
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert len(seen.files()) == 1
    # a stream of the libc holds more at its peak
    check_sites(seen.truth, seen.profile, peak=way != "popen")
    check_clean(seen.profile)


def test_shells_started_by_system_are_followed_and_do_not_disturb(children, recorder):
    bare, seen = recorder.bare(children, "system"), recorder.record(children, "system")
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert len(seen.files()) == 4
    check_sites(seen.truth, seen.profile)


@pytest.mark.parametrize("way", ["fork", "raw-clone"])
def test_a_forked_child_is_left_alone_by_default(children, recorder, way):
    bare, seen = recorder.bare(children, way), recorder.record(children, way)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert len(seen.files()) == 1
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.totals)
    check_clean(seen.profile)


def test_a_followed_fork_has_its_own_file_with_inherited_blocks_once(children, recorder):
    bare, seen = recorder.bare(children, "fork"), recorder.record(
        children, "fork", options=["--follow=all"]
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.totals)
    check_clean(seen.profile)
    (child,) = seen.truth.children
    found = by_pid(seen)
    assert set(found) == {seen.profile.json["pid"], child["pid"]}
    own = found[child["pid"]]
    assert (own.totals["live_blocks"], own.totals["live_bytes"]) == (
        child["live_blocks"],
        child["live_bytes"],
    )
    functions = own.by_function()
    assert functions["before_child"]["live_blocks"] == 6
    assert (functions["in_child"]["live_blocks"], functions["in_child"]["live_bytes"]) == (3, 210)
    check_clean(own)


def test_a_child_made_behind_the_libcs_back_is_followed_too(children, recorder):
    seen = recorder.record(children, "raw-clone", options=["--follow=all"])
    (child,) = seen.truth.children
    own = by_pid(seen)[child["pid"]]
    assert (own.totals["live_blocks"], own.totals["live_bytes"]) == (
        child["live_blocks"],
        child["live_bytes"],
    )
    check_sites(seen.truth, seen.profile)
    check_clean(own)


@pytest.mark.parametrize("follow", ["exec", "all"])
def test_forking_while_threads_allocate_is_harmless(children, recorder, follow):
    bare = recorder.bare(children, "threaded-fork")
    seen = recorder.record(children, "threaded-fork", options=[f"--follow={follow}"])
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    check_clean(seen.profile)
    found = by_pid(seen)
    assert len(found) == (21 if follow == "all" else 1)
    for pid, profile in found.items():
        if pid != seen.profile.json["pid"]:
            mine = profile.by_function()["in_child"]
            assert (mine["live_blocks"], mine["live_bytes"]) == (1, 71)
            assert profile.errors == []
            assert all("during the fork" in warning for warning in profile.json["warnings"])


def test_exec_in_place_gives_one_file_for_each_program(children, recorder):
    bare, seen = recorder.bare(children, "exec"), recorder.record(children, "exec")
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"", 7)
    profiles = seen.profiles()
    assert sorted(p.totals["live_bytes"] for p in profiles) == [50, 99]
    assert len({p.json["pid"] for p in profiles}) == 1
    for profile in profiles:
        check_clean(profile)


SUMMARY_HEAD = re.compile(rb"^  (.+) \(pid (\d+)\), ", re.M)
ALSO = re.compile(
    rb"^seep: also (.+) \(pid (\d+)\): peak ([\d.]+) (B|KiB|MiB), ([\d,]+) allocations?, in (.+)$",
    re.M,
)
UNITS = {b"B": 1, b"KiB": 1024, b"MiB": 1024 * 1024}


def test_the_file_and_the_summary_are_about_the_last_program_of_the_process(compiler, recorder):
    known = compiler.build("known.c")
    seen = recorder.record("/usr/bin/env", "/bin/sh", "-c", 'exec "$0"', known)
    pid, shell = seen.profile.json["pid"], Path("/bin/sh").resolve().name
    assert [str(f.relative_to(seen.folder)) for f in seen.files()] == [
        "out.seep",
        f"out.seep.d/{shell}.{pid}.seep",
        f"out.seep.d/env.{pid}.seep",
    ]
    assert [Path(p.json["program"]).name for p in seen.profiles()] == ["known", shell, "env"]
    head = SUMMARY_HEAD.search(seen.stderr)[1].removeprefix(b"...")  # of a long path the name stays
    assert str(known).encode().endswith(head) and head.endswith(b"known")
    for _, _, _, _, _, path in ALSO.findall(seen.stderr):
        assert Path(path.decode()).exists()
    newest = subprocess.run(
        [SEEP, "report", "--json"],
        cwd=seen.folder,
        env=clean_environment(),
        capture_output=True,
        check=True,
    )
    assert json.loads(newest.stdout)["program"].endswith("known")


def test_without_children_the_process_is_still_followed_into_its_next_program(compiler, recorder):
    known = compiler.build("known.c")
    seen = recorder.record(
        "/bin/sh", "-c", '/bin/true; exec "$0"', known, options=["--follow=none"]
    )
    assert [f.parent.name for f in seen.files()] == [seen.folder.name, "out.seep.d"]
    assert seen.profile.json["program"].endswith("known")


def test_the_summary_is_about_the_process_that_was_started(children, recorder):
    seen = recorder.record(children, "spawn")
    assert int(SUMMARY_HEAD.search(seen.stderr)[2]) == seen.profile.json["pid"]
    assert b"most of the work" not in seen.stderr
    assert {int(found[1]) for found in ALSO.findall(seen.stderr)} == {
        child["pid"] for child in seen.truth.children
    }


def test_the_summary_is_about_the_busiest_when_the_starter_only_waits(recorder):
    seen = recorder.record("/bin/sh", "-c", "perl -e '@a = map { \"word $_\" } 1..100000'; exit 3")
    busiest = max(seen.profiles(), key=lambda p: p.totals["allocations"])
    assert seen.status == 3 and busiest.json["pid"] != seen.profile.json["pid"]
    first = seen.stderr.splitlines()[0]
    assert first.startswith(
        b"seep: most of the work was done by pid %d, not by /bin/sh itself" % busiest.json["pid"]
    )
    assert int(SUMMARY_HEAD.search(seen.stderr)[2]) == busiest.json["pid"]


def test_others_are_listed_by_peak_and_not_without_end(recorder):
    seen = recorder.record("/bin/sh", "-c", "for i in 1 2 3 4 5 6; do ls; done; ls -l; exit 3")
    found = ALSO.findall(seen.stderr)
    peaks = [float(size) * UNITS[unit] for _, _, size, unit, _, _ in found]
    assert len(found) == 5 and peaks == sorted(peaks, reverse=True)
    assert b"seep: and 2 more; 'seep info FILE'" in seen.stderr


HELPERS = ("perl", "-e", "@a = map { \"word $_\" } 1..100000; system('/bin/true') for 1..3")
COUNTED = b"seep: and 3 small processes, each with less than 1 % of that peak"


def test_small_helpers_are_counted(recorder):
    seen = recorder.record(*HELPERS, small=())
    assert COUNTED + b", not kept (--keep-small keeps them)\n" in seen.stderr
    assert (
        ALSO.findall(seen.stderr) == []
        and len(seen.files()) == 1
        and not (seen.folder / "out.seep.d").exists()
    )


def test_small_helpers_are_kept_on_demand_and_with_an_event_log(recorder):
    for options in (["--keep-small"], ["--events"]):
        seen = recorder.record(*HELPERS, small=(), options=options)
        assert COUNTED + b"\n" in seen.stderr and len(seen.profiles()) == 4


@pytest.mark.parametrize("fault", ["lose", "free", "crash"])
def test_a_small_helper_with_a_fault_is_kept(compiler, recorder, tmp_path, fault):
    source = tmp_path / "faulty.c"
    source.write_text("#include <stdlib.h>\n#include <string.h>\n"
                      "int main(int argc, char **argv)\n{\n    char *volatile p = malloc(argc > 1 "
                      "? 100 : 1 << 20);\n"
                      "    if (argc == 1)\n        return system(getenv(\"HELPER\"));\n"
                      "    if (!strcmp(argv[1], \"crash\"))\n        abort();\n"
                      "    if (!strcmp(argv[1], \"free\"))\n        free(p + 16);\n"
                      "    p = 0;\n    return 0;\n}\n")
    program = compiler.build(str(source))
    seen = recorder.record(
        program, small=(), env={**os.environ, "HELPER": f"{program} {fault} 2>/dev/null; true"}
    )
    kept = [p for p in seen.profiles() if p.json["args"][1:] == [fault]]
    assert (
        len(kept) == 1
        and b"also %s (pid %d)" % (bytes(program), kept[0].json["pid"]) in seen.stderr
    )
    words = {
        "lose": b"LOST 100 B in 1 block",
        "free": b"1 INVALID FREE",
        "crash": b"ended by a signal",
    }
    assert words[fault] in seen.stderr


def test_a_pattern_with_a_place_for_each_process_is_kept_to(compiler, recorder):
    known, folder = compiler.build("known.c"), recorder.folder()
    subprocess.run(
        [
            SEEP,
            "-q",
            "-o",
            folder / "%e-%p",
            *HELPERS[:1],
            "-e",
            f"@a = map {{ $_ }} 1..100000; system('{known}')",
        ],
        cwd=folder,
        env=clean_environment(),
        check=False,
    )
    assert sorted(f.name.split("-")[0] for f in folder.iterdir()) == ["known", "perl"]


def test_a_folder_of_an_earlier_run_is_not_mixed_with_this_one(recorder):
    seen = recorder.record("/bin/sh", "-c", "ls; ls; exit 3")
    assert len(seen.files()) == 3
    (seen.folder / "out.seep").unlink()
    again = [SEEP, "-o", "out.seep", "/bin/sh", "-c", "ls; exit 3"]
    refused = subprocess.run(
        again, cwd=seen.folder, env=clean_environment(), capture_output=True, check=False
    )
    assert (
        refused.returncode == 2
        and refused.stderr
        == b"seep: out.seep.d has recordings of an earlier run; -f removes them\n"
    )
    assert (
        subprocess.run(
            [again[0], "-f", *again[1:]],
            cwd=seen.folder,
            env=clean_environment(),
            capture_output=True,
            check=False,
        ).returncode
        == 3
    )
    assert len(seen.files()) == 2
    subprocess.run(
        [SEEP, "-f", "-o", "out.seep", "/bin/true"],
        cwd=seen.folder,
        env=clean_environment(),
        capture_output=True,
        check=True,
    )
    assert len(seen.files()) == 1 and not (seen.folder / "out.seep.d").exists()


def test_the_folder_is_all_processes_together(compiler, recorder):
    budgets = compiler.build("budgets.c")
    seen = recorder.record("/bin/sh", "-c", '"$0" lose:3:10; "$0" lose:1:70; ls; exit 3', budgets)

    def ask(*words, status=0):
        done = subprocess.run(
            [SEEP, *words, "out.seep.d"],
            cwd=seen.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    pids = {p.json["pid"] for p in seen.profiles()}
    assert len(pids) == 4
    reports = json.loads(ask("report", "--json"))["processes"]
    assert {r["pid"] for r in reports} == pids
    assert [r["totals"]["peak_bytes"] for r in reports] == sorted(
        (r["totals"]["peak_bytes"] for r in reports), reverse=True
    )
    for pid in pids:
        assert re.search(rf"^== .* \(pid {pid}\), peak ", ask("report"), re.M)
    assert (
        sum(
            r["leaks"]["definite"]["bytes"]
            for r in json.loads(ask("leaks", "--json", status=1))["processes"]
        )
        == 100
    )
    leaks = ask("leaks", status=1)
    assert leaks.startswith("out.seep.d: 4 processes, most lost first\n")
    assert re.findall(r"definitely lost +(\d+) B", leaks) == ["70", "30"]
    assert leaks.count("definitely lost   ") == 2 and "2 processes lost nothing definitely" in leaks
    assert "of 8 budgets broken (4 processes)" in ask("check", status=1)
    assert (
        ask("info").startswith("out.seep.d: 4 processes, largest peak first\n")
        and "100 B" in ask("info").splitlines()[-1]
    )
    page = pages.page_of("out.seep.d", cwd=seen.folder)
    assert (
        page.data["together"]
        and page.data["compare"] is None
        and {r.data["meta"]["pid"] for r in page.recordings} == pids
    )
    assert all(len(r.rows("processes")) == 4 for r in page.recordings)
    assert (
        "is a folder"
        in subprocess.run(
            [SEEP, "top", "--batch", "1", "out.seep.d"],
            cwd=seen.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        ).stderr
    )
    alone = subprocess.run(
        [SEEP, "report", "--json", "."],
        cwd=seen.folder / "out.seep.d",
        env=clean_environment(),
        capture_output=True,
        check=True,
    )
    assert len(json.loads(alone.stdout)["processes"]) == 3


def test_the_table_of_a_folder_says_who_was_ended_by_a_signal(compiler, recorder):
    seen = recorder.record(
        "/bin/sh", "-c", '"$0" keep:1 abort; "$0" keep:1; exit 0', compiler.build("budgets.c")
    )
    for command in ("report", "leaks", "info"):
        done = subprocess.run(
            [SEEP, command, "out.seep.d"],
            cwd=seen.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert len(re.findall(r"\S  ended by SIGABRT  \(", done.stdout)) == 1, (
            command,
            done.stdout,
        )


def test_a_child_that_loses_memory_is_named_first(compiler, recorder):
    seen = recorder.record("/bin/sh", "-c", 'ls; "$0" lose:3:10; ls', compiler.build("budgets.c"))
    first = next(line for line in seen.stderr.splitlines() if line.startswith(b"seep: also "))
    assert b"/budgets (pid " in first and b", LOST 30 B in 3 blocks, in " in first


BIG = 'python3 -c "b = bytearray(200 << 20)"'
OWN_RSS = r'sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/fact rss=\1/p" /proc/$$/status >&3'


@pytest.mark.parametrize("what", [f"{BIG}; {OWN_RSS}", f"{BIG}; exec sh -c '{OWN_RSS}; :'"],
                         ids=["a-child", "a-child-and-another-program"])
def test_the_peak_of_resident_memory_is_the_programs_own(recorder, what):
    seen = recorder.record("/bin/sh", "-c", what)
    peak, told = seen.profile.totals["rss_peak_bytes"], 1024 * seen.truth.facts["rss"]
    assert abs((peak or told) - told) < 8 << 20  # the second one may be too quick to be measured


def test_resident_memory_of_the_last_moment_is_right_or_unknown(compiler, recorder, tmp_path):
    """With a child nobody can say how much it was: 100 MiB, just before the end."""
    source = tmp_path / "last.c"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void)\n{\n    int bad = system(\"true\");\n    for (int i = 0; i < 100; i++)\n"
        "        bad += !memset(malloc(1 << 20), 1, 1 << 20);\n    return bad;\n}\n"
    )
    for _ in range(5):
        seen = recorder.record(compiler.build(str(source)), options=["--follow=none"])
        assert seen.status == 0
        assert (seen.profile.totals["rss_peak_bytes"] or 1 << 30) >= 98 << 20
        assert (b"peak RSS" in seen.stderr) == (seen.profile.totals["rss_peak_bytes"] is not None)


def test_a_heap_that_is_not_touched_is_not_resident(compiler, recorder, tmp_path):
    source = tmp_path / "untouched.c"
    source.write_text("#include <stdlib.h>\nint main(void)\n{\n    return !malloc(50 << 20);\n}\n")
    seen = recorder.record(compiler.build(str(source)))
    assert 0 < seen.profile.totals["rss_peak_bytes"] < 20 << 20
    assert b"less than the heap" in seen.stderr


def test_a_daemon_is_recorded_to_its_end(children, recorder):
    seen = recorder.record(children, "daemon", options=["--follow=all"])
    assert seen.status == 0
    (child,) = seen.truth.children
    own = by_pid(seen)[child["pid"]]
    assert (own.totals["live_blocks"], own.totals["live_bytes"]) == (
        child["live_blocks"],
        child["live_bytes"],
    )
    check_clean(own)


ENDINGS = {
    "return": 5,
    "exit": 5,
    "_exit": 5,
    "quick_exit": 5,
    "thread_exit": 6,
    "pthread_exit": 8,
    "abort": signal.SIGABRT,
    "kill": signal.SIGKILL,
    "term": signal.SIGTERM,
    "segv": signal.SIGSEGV,
    "overflow": signal.SIGSEGV,
}


@pytest.mark.parametrize("way", ENDINGS)
def test_however_it_ends_the_recording_is_complete(compiler, recorder, way):
    program = compiler.build("endings.c")
    seen = recorder.record(program, way)
    killed = isinstance(ENDINGS[way], signal.Signals)
    assert seen.status == ENDINGS[way] + (128 if killed else 0)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.own(program))
    check_clean(seen.profile)
    ended = (
        {"code": None, "signal": int(ENDINGS[way])}
        if killed
        else {"code": ENDINGS[way], "signal": None}
    )
    assert seen.profile.json["exit"] == ended


def test_ending_while_threads_allocate_is_harmless(compiler, recorder):
    program = compiler.build("endings.c")
    for _ in range(5):
        seen = recorder.record(program, "busy_exit")
        assert seen.status == 5
        check_sites(seen.truth, seen.profile)
