# SPDX-License-Identifier: MIT
"""Reports on demand when the circumstances are bad: the tool dies, limits, crowds, odd names,
folders that vanish."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, check_clean, clean_environment, run, wait_until
from plain import (
    LIBRARY, Started, find_reports, live, own, preloaded, run_plain, seep, start_recorded, sum_of,
)
from test_lifetimes import LIMITS


def total(folder, **which):
    return sum_of(m.by_function() for m in find_reports(folder, **which))


def attendant_of(folder):
    """The tool that the library started for a program in FOLDER."""
    def look():
        for entry in Path("/proc").iterdir():
            try:
                if (
                    entry.name.isdigit()
                    and b"attend" in (entry / "cmdline").read_bytes().split(b"\0")
                    and (entry / "cwd").resolve() == folder.resolve()
                ):
                    return int(entry.name)
            except OSError:
                continue
        return None
    return wait_until(look, "the attendant")


def test_the_program_outlives_its_attendant(steps, recorder):
    folder = recorder.folder()
    script = (
        "+red:5:10", "ready", "wait", "+green:5:10", "snapshot:nobody hears it", "tag:nor this",
        "usr1", "ready", "exit:6",
    )
    with Started(folder, steps, *script) as program:
        program.said(b"ready\n")
        os.kill(attendant_of(folder), signal.SIGKILL)
        program.say()
        done = program.finish()
    assert (done.status, done.stdout) == (6, b"ready\nready\n")


def test_the_program_outlives_the_recorder(steps, recorder):
    folder = recorder.folder()
    script = (
        "+red:5:10", "ready", "wait", "+green:5:10", "snapshot:nobody hears it", "tag:nor this",
        "ready", "exit:6",
    )
    with start_recorded(folder, steps, *script) as program:
        program.said(b"ready\n")
        program.signal(signal.SIGKILL)
        program.process.wait(DEADLINE)
        program.say()
        wait_until(lambda: program.stdout() == b"ready\nready\n", "the program goes on")


def test_an_attendant_that_stands_still_holds_nobody_up_for_long(steps, recorder):
    folder = recorder.folder()
    with Started(
        folder, steps, "+red:5:10", "ready", "wait", "snapshot:late", "usr1", "ready", "exit:6"
    ) as program:
        program.said(b"ready\n")
        attendant = attendant_of(folder)
        os.kill(attendant, signal.SIGSTOP)
        try:
            program.say()
            assert program.finish().status == 6
        finally:
            os.kill(attendant, signal.SIGCONT)
        wait_until(lambda: total(folder) == {"red": 50}, "its report, late")


@pytest.mark.parametrize("mode", ["plain", "recorded"])
def test_a_crowd_of_threads_asks_at_once(compiler, recorder, mode):
    crowd, folder = compiler.build("crowd.c"), recorder.folder()
    if mode == "plain":
        done = run_plain(folder, crowd, "8", "10")
    else:
        with start_recorded(folder, crowd, "8", "10") as program:
            done = program.finish()
        profile = Profile(folder / "out.seep")
        check_clean(profile)
        assert len([s for s in profile.json["snapshots"] if s["type"] == "snapshot"]) == 80
        assert len(profile.json["tags"]) == 80
    assert (done.status, done.stdout) == (0, b"done\n")
    found = find_reports(folder)
    assert [m.seq for m in found] == list(range(1, len(found) + 1)) and len(found) >= 80
    if mode == "plain":
        assert own(total(folder), done.truth) == live(done.truth.sites) == {"asker": 800}


def test_signals_until_the_last_moment_do_no_harm(steps, recorder):
    for _ in range(10):
        folder = recorder.folder()
        with Started(folder, steps, "+red:100:10", "ready", "-red:50") as program:
            program.said(b"ready\n")
            while program.process.poll() is None:
                program.signal(signal.SIGUSR1)
            done = program.finish()
        assert done.status == 0 and own(total(folder), done.truth) == {"red": 500}


def test_a_child_that_is_not_recorded_may_ask_and_gets_nothing(steps, recorder):
    folder = recorder.folder()
    done = run_plain(
        folder, steps, "+red:1:10", "fork", "snapshot:x", "tag:y", "on", "off", "there:1",
        "+green:1:1", "_exit:3",
    )
    assert (done.status, done.stdout) == (3, b"report 1: no\nchild: status 3\n")
    assert [m.by_function() for m in find_reports(folder)] == [{"red": 10}]


LABELS = ["a/b", "../../x", "new\nline", "quote\"\\", "größe", "x" * 300, "@", "1", "end", " "]


@pytest.mark.parametrize("label", LABELS, ids=range(len(LABELS)))
def test_any_label_will_do(steps, recorder, label):
    folder = recorder.folder()
    with start_recorded(
        folder, steps, "+red:1:10", f"snapshot:{label}", f"tag:{label}", "there:1", "ready", "wait"
    ) as program:
        program.said(b"ready\n")
        pid = find_reports(folder)[0].pid
        outside = seep("snapshot", pid, label)
        assert outside.returncode == 0, outside.stderr
        program.say()
        done = program.finish()
    assert (done.status, done.stdout) == (0, b"report 1: yes\nready\n")
    profile = Profile(folder / "out.seep")
    kept = [s["label"] for s in profile.json["snapshots"][:2]] + [
        t["label"] for t in profile.json["tags"]
    ]
    printable = label.replace("\n", " ")  # from the command line
    assert len(kept) == 3 and all(
        k and (label.startswith(k) or printable.startswith(k)) and len(k) >= min(len(label), 100)
        for k in kept
    )
    assert sorted(p.name for p in folder.iterdir() if p.suffix == ".memlog") == [
        f"steps-{pid}-1.memlog",
        f"steps-{pid}-2.memlog",
    ]


@pytest.mark.parametrize(
    "name", ["my prog-1", "größe", "-dash", "a" * 200, "x.memlog", "new\nline"]
)
def test_any_name_of_a_program_will_do(steps, recorder, name):
    folder = recorder.folder()
    program = folder / name
    shutil.copy(steps, program)
    done = run_plain(folder, program, "+red:1:10", "exit:3")
    assert done.status == 3
    (only,) = folder.glob("*-1.memlog")
    assert only.read_text().startswith("+10\n\tred\t(")


def test_a_folder_that_vanishes_is_replaced_by_tmpdir(steps, recorder):
    base = recorder.folder()
    start, spare = base / "start", base / "spare"
    start.mkdir()
    spare.mkdir()
    with Started(
        base, steps, "+red:1:10", "ready", "wait", "+red:1:10",
        cwd=start,
        env={"TMPDIR": str(spare)},
    ) as program:
        program.said(b"ready\n")
        start.rmdir()
        program.signal(signal.SIGUSR1)
        assert program.report(1, spare).by_function() == {"red": 10}
        program.say()
        done = program.finish()
    assert done.status == 0 and total(spare) == {"red": 20}
    assert (
        len(
            [
                line
                for line in done.stderr.splitlines()
                if line.startswith(b"seep: ") and os.fsencode(spare) in line
            ]
        )
        == 1
    )


def test_neither_folder_is_writable_and_that_is_told(steps, recorder):
    base = recorder.folder()
    start = base / "start"
    start.mkdir()
    with Started(
        base, steps, "+red:1:10", "ready", "wait", "exit:4",
        cwd=start,
        env={"TMPDIR": str(base / "nowhere")},
    ) as program:
        program.said(b"ready\n")
        start.rmdir()
        program.say()
        done = program.finish()
    assert done.status == 4 and any(line.startswith(b"seep: ") for line in done.stderr.splitlines())


@pytest.mark.parametrize("limit", LIMITS)
def test_under_limits_the_program_is_unharmed(compiler, recorder, limit):
    program = compiler.build("entry_points.c")
    limited = ["/bin/sh", "-c", f'ulimit {LIMITS[limit]}; exec "$@"', "sh"]
    bare, folder = run([*limited, program], folder=recorder.folder()), recorder.folder()
    seen = run([*limited, *preloaded([program])], cwd=folder, folder=folder)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert find_reports(folder) or any(
        line.startswith(b"seep: ") for line in seen.stderr.splitlines()
    ), "neither report nor reason"


PRELOADS = {
    "by path": lambda folder: [f"LD_PRELOAD={LIBRARY}"],
    "by name": lambda folder: ["LD_PRELOAD=libseep.so", f"LD_LIBRARY_PATH={LIBRARY.parent}"],
    "relative": lambda folder: [f"LD_PRELOAD={os.path.relpath(LIBRARY, folder)}"],
    "with another": lambda folder: [f"LD_PRELOAD=libm.so.6:{LIBRARY}"],
    "after another": lambda folder: [f"LD_PRELOAD={LIBRARY} libm.so.6"],
}


@pytest.mark.parametrize("how", PRELOADS)
def test_however_the_library_is_named(steps, recorder, how):
    folder = recorder.folder()
    done = run(
        [
            "/usr/bin/env",
            "-i",
            *PRELOADS[how](folder),
            steps, "+red:1:10", f"chdir:{folder.parent}", "snapshot:x", "+red:1:10",
        ],
        cwd=folder,
        folder=folder,
    )
    assert (done.status, done.stderr) == (0, b"")
    assert total(folder) == {"red": 20}


def test_a_daemon_reports_where_it_was_started(compiler, recorder):
    folder = recorder.folder()
    done = run_plain(
        folder, compiler.build("children.c"), "daemon", env={"SEEP_OPTIONS": "--follow=all"}
    )
    assert done.status == 0
    (child,) = done.truth.children
    reports = wait_until(lambda: find_reports(folder, pid=child["pid"]), "the daemon's report")
    assert sum(sum_of(m.by_function() for m in reports).values()) == child["live_bytes"]


def test_a_musl_program_has_its_reports(recorder, compiler, need):
    need("musl-gcc")
    program = compiler.build(
        "steps.c", cc="musl-gcc", flags=("-O0", "-fno-builtin", "-g"), name="steps"
    )
    folder = recorder.folder()
    done = run_plain(
        folder, program, "+red:3:10", "usr1", "snapshot:a", "there:2", "-red:1", "exit:3"
    )
    assert (done.status, done.stdout) == (3, b"report 2: yes\n")
    assert own(total(folder), done.truth) == {"red": 20}


def test_nothing_else_appears_beside_the_program(steps, recorder):
    folder = recorder.folder()
    subprocess.run(
        preloaded([steps, "+red:1:10", "usr1", "snapshot:x"]),
        cwd=folder,
        env=clean_environment(),
        check=True,
        timeout=DEADLINE,
    )
    assert {p.suffix for p in folder.iterdir()} == {".memlog"}


def test_a_hard_limit_on_file_sizes_is_named(tmp_path):
    """The ledger is a file in memory, and the kernel counts it as one: the hint must not send
    the user elsewhere."""
    seen = subprocess.run(
        ["sh", "-c", 'ulimit -f 64; exec "$0" record -o out.seep sleep 1', SEEP],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert seen.returncode == 0
    assert "ulimit -f" in seen.stderr and "ulimit -v" not in seen.stderr


def test_too_few_descriptors_are_the_only_reason_that_is_told(tmp_path, steps):
    seen = subprocess.run(
        ["sh", "-c", 'ulimit -n 12; exec "$0" record -o out.seep "$1" +red:1:1', SEEP, str(steps)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=False,
    )
    assert seen.returncode == 0
    assert (
        all("(ulimit -n)" in line for line in seen.stderr.splitlines())
        and "nothing was recorded" in seen.stderr
    )


def test_a_log_of_events_fits_into_a_small_limit_on_data(tmp_path, steps):
    seen = subprocess.run(
        [
            "sh", "-c",
            'ulimit -d 20000; exec "$0" record -q --events -o out.seep "$1" +red:10:100 -red:4',
            SEEP, str(steps),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=False,
    )
    assert (seen.returncode, seen.stderr) == (0, "")
    told = subprocess.run(
        [SEEP, "events", "out.seep"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=True,
    )
    assert told.stderr == "" and [f" {word} " in told.stdout for word in ("malloc", "free")] == [
        True,
        True,
    ]


def test_a_small_stack_is_enough_for_every_command(tmp_path, steps):
    """libdw alone takes 150 KB of it; the program gets the limit that was set."""
    def limited(*words):
        return subprocess.run(
            ["sh", "-c", 'ulimit -s 128; exec "$0" "$@"', SEEP, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
            check=False,
        )

    seen = limited("record", "-q", "-o", "told.seep", "sh", "-c", "ulimit -s")
    assert (seen.returncode, seen.stdout) == (0, "128\n"), seen.stderr
    seen = limited("record", "-q", "--keep-graph", "-o", "out.seep", str(steps), "+red:10:100")
    assert seen.returncode == 0, seen.stderr
    for words in (
        ["report"],
        ["leaks"],
        ["html", "-o", "page.html"],
        ["sql", "out.seep", "SELECT count(*) FROM hold"],
    ):
        assert limited(*words, *([] if words[0] == "sql" else ["out.seep"])).returncode in (
            0,
            1,
        ), words


@pytest.mark.parametrize("limit,told", [
    ("ulimit -f 64", "the size of files is limited (ulimit -f), and its ledger counts as one"),
    ("ulimit -d 3000", "its data is limited to less than 4 MiB (ulimit -d)"),
    ("ulimit -f 4194304", None), ("ulimit -v 1000000", None), ("ulimit -d 9000", None)])
def test_limits_that_a_shell_sets_before_it_becomes_the_program_are_those_that_count(
    tmp_path, limit, told
):
    """Those of seep are others.  Where the ledger fits into them, the program is recorded and
    nothing is said."""
    seen = subprocess.run(
        [SEEP, "record", "-o", "out.seep", "sh", "-c", f"{limit}; exec sleep 0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=False,
    )
    assert seen.returncode == 0
    if told:
        assert (
            "the program was replaced by one that is not recorded: " in seen.stderr
            and told in seen.stderr
        )
        assert "statically" not in seen.stderr
    else:
        assert "ulimit" not in seen.stderr and "nothing is recorded" not in seen.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_a_program_behind_chroot_runs_and_the_reason_is_among_those_told(tmp_path):
    """Its loader would not find our library there."""
    root = tmp_path / "root"
    source = tmp_path / "says.c"
    root.mkdir()
    source.write_text("#include <stdio.h>\nint main(void) { return puts(\"there\") < 0; }\n")
    subprocess.run(["cc", "-static", "-o", root / "says", source], check=True)
    seen = subprocess.run(
        [SEEP, "record", "-o", "out.seep", "chroot", root, "/says"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=False,
    )
    assert (seen.returncode, seen.stdout) == (0, "there\n")
    assert (
        "the program was replaced by one that is not recorded: " in seen.stderr
        and "behind chroot" in seen.stderr
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_without_proc_it_is_said(tmp_path):
    def inside(*words):
        script = 'mount -t tmpfs none /proc && exec "$0" "$@"'
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", script, SEEP, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    if subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/proc"], capture_output=True, check=False
    ).returncode:
        pytest.skip("no mount namespaces here")
    recorded = inside("record", "true")
    assert recorded.returncode == 3 and "without /proc" in recorded.stderr
    asked = inside("snapshot", "1")
    assert asked.returncode == 3 and "/proc is not mounted" in asked.stderr


@pytest.mark.parametrize("around", ["tool", "program"])
def test_a_faked_clock_changes_no_duration(tmp_path, need, around):
    """faketime makes the C library tell another time; the agent asks the kernel, and so does the
    tool."""
    need("faketime")
    fake, tool = ["faketime", "2020-01-01 00:00:00"], [SEEP, "record", "-q", "-o", "out.seep", "--"]
    command = [*fake, *tool, "date", "+%Y"] if around == "tool" else [*tool, *fake, "date", "+%Y"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2020\n"), done.stderr
    assert Profile(tmp_path / "out.seep").json["duration_ms"] < 1000 * DEADLINE
