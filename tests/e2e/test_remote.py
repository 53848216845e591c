# SPDX-License-Identifier: MIT
"""`seep serve` and `seep connect`: the same numbers as recorded here, whatever carries them;
hosts that come and go."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

from harness import (
    DEADLINE, SEEP, Profile, caught, check_clean, check_sites, clean_environment, wait_until,
)
from plain import Started, seep
from remote import Light, Target, connect, connected, fetch, fetched, sites_of

SCRIPT = (
    "+red:50:100", "+green:20:333", "-red:30", "+blue:7:1000", "-blue:3", "tag:middle",
    "+red:10:64",
)


@pytest.mark.parametrize("listen", [None, "127.0.0.1:0", "[::1]:0"])
def test_the_report_is_that_of_a_local_recording(steps, recorder, listen):
    local = recorder.record(steps, *SCRIPT, "ready", "wait", stdin=b"\n")
    folder = recorder.folder()
    with Target(folder, steps, *SCRIPT, "ready", "wait", listen=listen) as target:
        target.said(b"ready\n")
        host = fetch(target, folder / "far.seep")
        target.say()
        assert fetched(host) == ""
        done = target.finish()
    assert done.status == 0
    far = Profile(folder / "far.seep")
    check_clean(far)
    check_sites(done.truth, far)
    assert sites_of(far) == sites_of(local.profile)
    assert far.json["leaks"]["definite"] == local.profile.json["leaks"]["definite"]
    assert [s["label"] for s in far.json["snapshots"]] == [
        s["label"] for s in local.profile.json["snapshots"]
    ]
    assert target.left() == [], "what was fetched is not kept"
    assert not (folder / "s").exists()


def test_commands_are_about_the_process_as_it_is_now(steps, recorder, monkeypatch):
    folder = recorder.folder()
    monkeypatch.chdir(folder)
    with Target(
        folder, steps, "+red:5:100", "ready", "wait", "-red:5", "+green:3:10", "ready", "wait"
    ) as target:
        target.said(b"ready\n")
        pid = target.program()
        report = json.loads(connect(target, "report", "--json").stdout)
        assert (report["pid"], report["totals"]["live_bytes"]) == (pid, 500)
        assert (
            connect(target, "export", "--to", "collapsed")
            .stdout.decode()
            .strip()
            .endswith("red 500")
        )
        assert (
            connect(target, "sql", "select sum(live_bytes) from site").stdout.split()[-1] == b"500"
        )
        assert b"500" in connect(target, "top", "--batch", "1").stdout
        assert json.loads(connect(target, "info", "--json").stdout)["pid"] == pid
        leaks = json.loads(connect(target, "leaks", "--json").stdout)
        assert leaks["leaks"]["scanned"] is True
        block = next(
            line.split()[0]
            for line in connect(target, "report", "--blocks").stdout.decode().splitlines()
            if line.strip().startswith("0x")
        )
        assert block in connect(target, "why", block).stdout.decode()
        assert json.loads(connect(target, "control", "--json", "stop").stdout)["on"] is False
        assert json.loads(connect(target, "control", "--json", "start").stdout)["on"] is True
        assert connect(target, "check", "--max-live", "499").returncode == 1
        assert (
            connect(
                target, "check", "--max-live", "500", "--max-leaked", "1G", "--max-leaks", "100"
            ).returncode
            == 0
        )
        said = connect(target, "snapshot", "half")
        assert said.returncode == 0 and (folder / f"steps-{pid}-1.memlog").read_text().startswith(
            "+500\n"
        ), said
        before = seep(
            "connect", target.where, "-p", pid, "export", "--to", "json", "-o", folder / "x.json"
        )
        assert before.returncode == 0
        target.say()
        target.said(b"ready\n", 2)
        assert json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"] == 30
        unknown = seep("connect", target.where, "-p", os.getpid(), "report")
        assert unknown.returncode == 3 and b"not among those recorded there" in unknown.stderr
        host = fetch(target, folder / "far.seep")
        target.say()
        fetched(host)
        target.finish()
    assert [s["label"] for s in Profile(folder / "far.seep").json["snapshots"]] == ["half"]


@pytest.mark.parametrize("kind", [Target, Light])
def test_a_report_of_nothing_is_a_file_here_too(steps, recorder, kind, monkeypatch):
    folder = recorder.folder()
    monkeypatch.chdir(folder)
    with kind(folder, steps, "ready", "wait", options=["--hold=0"]) as target:
        target.said(b"ready\n")
        assert connect(target, "control", "reset").returncode == 0
        told = json.loads(connect(target, "snapshot", "--json").stdout)
        assert (
            told["live_blocks"] == 0
            and (folder / told["report"]).read_text() == ""
            and "/" not in told["report"]
        )
        assert (
            connect(target, "snapshot", "second").returncode == 0
            and len(list(folder.glob("*.memlog*"))) == 2
        )
        target.say()
        target.finish()


def test_only_commands_about_one_process_are_run(steps, recorder):
    with Target(recorder.folder(), steps, "ready", "wait", options=("--hold", "0")) as target:
        wrong = connect(target, "detach")
        assert wrong.returncode == 2 and b"cannot be asked of a target" in wrong.stderr
        assert b"did you mean report" in connect(target, "reprot").stderr
        assert connect(target, "-o", "x", "report").returncode == 2
        target.say()
        target.finish()


def test_the_program_goes_on_when_a_host_leaves_and_it_may_come_back(steps, recorder):
    folder = recorder.folder()
    with Target(
        folder, steps, "+red:5:100", "ready", "wait", "+green:2:50", "ready", "wait"
    ) as target:
        target.said(b"ready\n")
        first = fetch(target, folder / "first.seep")
        wait_until(
            lambda: connected(target) == 1 and caught(first.pid) >> signal.SIGINT - 1 & 1,
            "it is connected, and waits",
        )
        first.send_signal(signal.SIGINT)
        fetched(first)
        killed = fetch(target, folder / "killed.seep")
        wait_until(lambda: connected(target) == 1, "it is connected")
        killed.kill()
        killed.communicate()
        target.say()
        target.said(b"ready\n", 2)
        last = fetch(target, folder / "last.seep")
        target.say()
        fetched(last)
        done = target.finish()
    now = Profile(folder / "first.seep")
    assert (now.totals["live_bytes"], now.json["leaks"]["scanned"]) == (500, True)
    end = Profile(folder / "last.seep")
    check_clean(end)
    check_sites(done.truth, end)


def test_an_ended_program_can_be_looked_at_until_its_recording_is_fetched(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "exit:3") as target:
        wait_until(lambda: b"waiting for a host" in target.stderr(), "it has ended")
        assert json.loads(connect(target, "report", "--json").stdout)["exit"]["code"] == 3
        assert json.loads(connect(target, "leaks", "--json").stdout)["leaks"]["scanned"] is True
        [process] = json.loads(connect(target, "ps", "--json").stdout)["processes"]
        assert process["state"] == "ended"
        refused = connect(target, "control", "status")
        assert refused.returncode == 3 and b"has ended" in refused.stderr
        fetched(fetch(target, folder / "far.seep"))
        assert target.finish().status == 3
    assert Profile(folder / "far.seep").totals["live_bytes"] == 500


def test_what_nobody_fetches_stays_and_is_told(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", options=("--hold", "0")) as target:
        said = target.finish().stderr.decode()
    [file] = [p for p in target.left() if p.suffix == ".seep"]
    assert f"no host has fetched 1 recording: see {file.parent}" in said
    assert Profile(file).totals["live_bytes"] == 500


def test_a_recording_with_a_name_stays_on_the_target_too(steps, recorder):
    folder = recorder.folder()
    with Target(
        folder, steps, "+red:5:100", "ready", "wait", options=("-o", folder / "here.seep")
    ) as target:
        target.said(b"ready\n")
        host = fetch(target, folder / "there.seep")
        target.say()
        fetched(host)
        target.finish()
    assert (folder / "here.seep").read_bytes() == (folder / "there.seep").read_bytes()


def test_the_program_may_wait_for_a_host(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", options=("--wait",)) as target:
        assert (
            json.loads(connect(target, "ps", "--json").stdout)["processes"] == [] or target.stdout()
        )
        fetched(fetch(target, folder / "far.seep"))
        assert target.finish().stdout == b"ready\n"
    assert Profile(folder / "far.seep").totals["live_bytes"] == 500


def test_forked_and_executed_processes_are_of_the_same_session(steps, recorder):
    folder = recorder.folder()
    script = (
        "read x; exec 4<&0; $0 +red:5:100 ready wait <&4 & $0 +green:7:10 ready wait <&4 & wait"
    )
    with Target(folder, "/bin/sh", "-c", script, steps, options=("--follow=all",)) as target:
        assert target.program()
        host = fetch(target, folder / "%e.%p.seep")
        target.say(b"go\n")
        target.said(b"ready\n", 2)
        found = json.loads(connect(target, "ps", "--json").stdout)["processes"]
        found = [p for p in found if p["state"] == "on" and p["program"].endswith("steps")]
        assert sorted(p["live_bytes"] for p in found) == [70, 500]
        for p in found:
            report = seep("connect", target.where, "-p", p["pid"], "report", "--json")
            assert json.loads(report.stdout)["totals"]["live_bytes"] == p["live_bytes"]
        target.process.stdin.close()
        fetched(host)
        target.process.wait(DEADLINE)
    files = sorted(folder.glob("*.seep"))
    assert sorted(
        Profile(f).totals["live_bytes"] for f in files if f.name.startswith("steps.")
    ) == [70, 500]


def test_a_process_that_runs_already_is_served(steps, recorder):
    folder, other = recorder.folder(), recorder.folder()
    with Started(
        other, steps, "ready", "wait", "+red:5:100", "ready", "wait", library=None
    ) as program:
        program.said(b"ready\n")
        with Target(folder, options=("-p", program.pid)) as target:
            assert target.program() == program.pid
            program.say()
            program.said(b"ready\n", 2)
            assert (
                json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"]
                == 500
            )
            host = fetch(target, folder / "far.seep")
            program.say()
            fetched(host)
            target.process.wait(DEADLINE)
        program.finish()
    assert Profile(folder / "far.seep").totals["live_bytes"] == 500


def test_several_processes_that_run_already_are_of_one_session(steps, recorder):
    """Each is asked by its number, as it is now; each becomes a recording, when it ends."""
    folder, blocks = recorder.folder(), {5: 100, 7: 10, 9: 1}
    with contextlib.ExitStack() as stack:
        programs = [
            stack.enter_context(
                Started(
                    recorder.folder(), steps, "ready", "wait", f"+red:{n}:{size}", "ready", "wait",
                    library=None,
                )
            )
            for n, size in blocks.items()
        ]
        for program in programs:
            program.said(b"ready\n")
        sizes = dict(zip((p.pid for p in programs), (n * size for n, size in blocks.items())))
        target = stack.enter_context(
            Target(folder, options=[word for pid in sizes for word in ("-p", pid)])
        )
        wait_until(
            lambda: {
                p["pid"] for p in json.loads(connect(target, "ps", "--json").stdout)["processes"]
            }
            == set(sizes),
            "all are recorded",
        )
        for program in programs:
            program.say()
            program.said(b"ready\n", 2)
        for pid, size in sizes.items():
            assert (
                json.loads(connect(target, "-p", str(pid), "report", "--json").stdout)["totals"][
                    "live_bytes"
                ]
                == size
            )
        host = fetch(target, folder / "far.%p.seep")
        for program in programs:
            program.say()
            program.finish()
        fetched(host)
        assert target.process.wait(DEADLINE) == 0
        assert target.left() == []
    assert {
        int(p.name.split(".")[1]): Profile(p).totals["live_bytes"]
        for p in folder.glob("far.*.seep")
    } == sizes


# ---- names ----

def test_names_are_found_on_the_host(compiler, recorder):
    """The program that runs has no symbols; the one below --sysroot, and the debug file in
    --debug-path, do."""
    full = compiler.build("steps.c", name="remote-steps")
    folder = recorder.folder()
    bare = folder / "remote-steps"
    subprocess.run(["strip", "-o", bare, full], check=True)
    root = folder / "root"
    (root / str(folder)[1:]).mkdir(parents=True)
    shutil.copy(full, root / str(bare)[1:])
    with Target(folder, bare, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")

        def functions(*words):
            """With a cache of names of its own: it goes by build id."""
            done = subprocess.run(
                [SEEP, "connect", target.where, *words, "report", "--json"],
                capture_output=True,
                timeout=DEADLINE,
                env=clean_environment({"XDG_CACHE_HOME": str(recorder.folder())}),
            )
            return {f["function"] for f in json.loads(done.stdout)["frames"]}
        assert "red" not in functions()
        assert "red" in functions("--sysroot", root)
        assert "red" in functions("--debug-path", full.parent)
        host = subprocess.Popen(
            [SEEP, "connect", target.where, "--sysroot", root, "-o", folder / "far.seep"],
            env=clean_environment({"XDG_CACHE_HOME": str(recorder.folder())}),
            stderr=subprocess.PIPE,
        )
        target.say()
        assert "red steps.c" in host.communicate(timeout=DEADLINE)[1].decode()
        target.finish()


def test_real_programs(recorder, need):
    need("python3", "sqlite3")
    folder = recorder.folder()
    for name, argv in (
        ("python", [shutil.which("python3"), "-c", "x = [str(i) for i in range(20000)]; input()"]),
        ("sqlite", [shutil.which("sqlite3"), ":memory:"]),
    ):
        with Target(folder, *argv) as target:
            target.program()
            assert connect(target, "report", "--flat", "-n", "3").returncode == 0
            host = fetch(target, folder / f"{name}.seep")
            target.say(
                b"create table t(a); insert into t values(1);\n" if name == "sqlite" else b"\n"
            )
            target.process.stdin.close()
            fetched(host)
            assert target.process.wait(DEADLINE) == 0
        profile = Profile(folder / f"{name}.seep")
        assert profile.totals["allocations"] > 100 and profile.totals["lost_events"] == 0
