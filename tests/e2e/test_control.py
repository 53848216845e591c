# SPDX-License-Identifier: MIT
"""`seep ps` and `seep control`: what a program tells about itself is what they say."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from harness import DEADLINE, Profile, check_clean, wait_until
from plain import Started, child_of, own, seep, start_recorded


def control(*words):
    done = seep("control", "--json", *words)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def listed(pid):
    done = seep("ps", "--json")
    assert done.returncode == 0, done
    return {p["pid"]: p for p in json.loads(done.stdout)["processes"]}.get(pid)


def live_of(profile, truth):
    sums = {}
    for site in profile.json["sites"]:
        name = profile.json["frames"][site["stack"][0]]["function"]
        sums[name] = sums.get(name, 0) + site["live_bytes"]
    return own({name: amount for name, amount in sums.items() if amount}, truth)


def test_stop_and_start_leave_out_what_lies_between(steps, recorder):
    """The same gate as SEEP_DISABLE(): blocks that are known are followed, blocks got meanwhile
    may be released."""
    folder = recorder.folder()
    script = (
        "+red:5:100", "ready", "wait", "+green:4:1000", "-red:2", "ready", "wait", "-green:3",
        "+blue:2:70", "ready", "wait",
    )
    with start_recorded(folder, steps, *script) as program:
        program.said(b"ready\n")
        pid = child_of(program)
        assert (control(pid, "status")["on"], control(program.pid, "stop")["on"]) == (True, False)
        assert listed(pid)["state"] == "off"
        program.say()
        program.said(b"ready\n", 2)
        now = control(pid, "start")
        assert (now["on"], now["live_bytes"], now["live_blocks"], now["lost"]) == (True, 300, 3, 0)
        program.say()
        program.said(b"ready\n", 3)
        now = control(pid, "status")
        assert (now["live_bytes"], now["allocations"], now["frees"], now["events"]) == (
            440, 7, 2, 9,
        )
        program.say()
        truth = program.finish().truth
    profile = Profile(folder / "out.seep")
    check_clean(profile)
    assert live_of(profile, truth) == {"red": 300, "blue": 140}


def test_start_switches_on_what_was_started_off(steps, recorder):
    folder = recorder.folder()
    with start_recorded(
        folder, steps, "+red:5:100", "ready", "wait", "+blue:3:70", options=("--start-off",)
    ) as program:
        program.said(b"ready\n")
        assert control(program.pid, "start")["live_bytes"] == 0
        program.say()
        truth = program.finish().truth
    profile = Profile(folder / "out.seep")
    assert live_of(profile, truth) == {"blue": 210}
    assert not any("switched on" in w or "--start-off" in w for w in profile.json["warnings"])


def test_after_a_reset_only_new_blocks_count_and_older_releases_are_no_errors(steps, recorder):
    folder = recorder.folder()
    script = (
        "+red:10:100", "+green:2:1000", "ready", "wait", "-red:4", "+red:3:100", "-red:7",
        "+blue:5:70", "-blue:1", "ready", "wait",
    )
    with start_recorded(folder, steps, *script) as program:
        program.said(b"ready\n")
        pid = child_of(program)
        now = control(pid, "reset")
        assert (now["live_bytes"], now["live_blocks"], now["events"], now["older"]) == (0, 0, 0, 0)
        program.say()
        program.said(b"ready\n", 2)
        now = control(pid, "status")
        # All ten of the first red ones were released, and one of the later three: oldest first.
        assert (now["older"], now["live_bytes"], now["allocations"], now["frees"]) == (
            10,
            200 + 280,
            8,
            2,
        )
        program.say()
        truth = program.finish().truth
    profile = Profile(folder / "out.seep")
    check_clean(profile)
    totals = profile.json["totals"]
    assert live_of(profile, truth) == {"red": 200, "blue": 280}
    assert (totals["allocations"], totals["frees"], totals["older"], totals["live_bytes"]) == (
        8, 2, 10, 480,
    )
    assert totals["peak_bytes"] == 300 + 350 - 100 and not profile.json["warnings"]
    assert b"10 releases of blocks from before" in seep("info", folder / "out.seep").stdout
    assert b"older" in seep("report", "--summary", folder / "out.seep").stdout


def test_a_reset_among_threads_that_allocate_loses_nothing(compiler, recorder):
    """Whatever happens at the moment: at the end, with all released, nothing is live, and no
    release was an error."""
    folder = recorder.folder()
    with start_recorded(folder, compiler.build("churn_threads.c"), "4") as program:
        program.said(b"ready\n")
        for _ in range(5):
            done = seep("control", program.pid, "reset")
            assert done.returncode in (0, 3), done
        program.say()
        program.finish()
    totals = Profile(folder / "out.seep").json["totals"]
    assert (totals["unknown_frees"], totals["double_frees"], totals["mismatched"]) == (0, 0, 0)
    assert (totals["live_blocks"], totals["live_bytes"]) == (0, 0)


def test_depth_is_of_the_whole_recording_and_can_be_raised_again(steps, recorder):
    folder = recorder.folder()
    with start_recorded(folder, steps, "+red:1:100", "ready", "wait") as program:
        program.said(b"ready\n")
        assert control(program.pid, "depth", "1")["depth"] == 1
        short = json.loads(seep("report", "--json", program.pid).stdout)
        assert {len(s["stack"]) for s in short["sites"]} == {1}
        assert control(program.pid, "depth", "all")["depth"] is None
        whole = json.loads(seep("report", "--json", program.pid).stdout)
        assert max(len(s["stack"]) for s in whole["sites"]) > 2


def test_what_cannot_be_done_is_told(steps, recorder):
    folder = recorder.folder()
    with start_recorded(folder, steps, "ready", "wait", options=("--events",)) as program:
        program.said(b"ready\n")
        done = seep("control", program.pid, "reset")
        assert done.returncode == 3 and b"--events" in done.stderr
        for words in ((), ("stat",), ("depth",), ("depth", "x"), ("depth", "0"), ("stop", "now")):
            assert seep("control", program.pid, *words).returncode == 2, words
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    done = seep("control", stranger.pid, "stop")
    assert (
        done.returncode == 3
        and b"is not being recorded" in done.stderr
        and listed(stranger.pid) is None
    )
    stranger.communicate()


def test_ps_lists_what_is_recorded_and_nothing_else(steps, recorder):
    folder = recorder.folder()
    with start_recorded(
        folder, steps, "+red:3:1000", "fork", "ready", "wait", options=("--follow=all",)
    ) as program, Started(
        recorder.folder(), steps, "+green:1:50", "moment:x", "ready", "wait"
    ) as plain:
        wait_until(lambda: b"ready" in program.stdout(), "ready")
        parent = child_of(program)
        child = int(open(f"/proc/{parent}/task/{parent}/children").read().split()[0])
        wait_until(
            lambda: (listed(parent), listed(child), listed(plain.pid)).count(None) == 0 or None,
            "three",
        )
        row = listed(parent)
        assert (row["state"], row["engine"], row["live_bytes"]) == ("on", "preload", 3000)
        assert row["program"].endswith("steps") and row["user"] and row["since_ms"] > 1e12
        assert listed(program.pid) is None and listed(os.getpid()) is None
        text = seep("ps").stdout.decode()
        assert text.split()[0] == "PID" and str(plain.pid) in text
        plain.say()
    wait_until(lambda: listed(plain.pid) is None or None, "the plain one is gone")


def test_a_stopped_observer_is_silent_and_a_dead_one_is_gone(steps, recorder):
    folder = recorder.folder()
    with start_recorded(folder, steps, "ready", "wait") as program:
        program.said(b"ready\n")
        pid = child_of(program)
        os.kill(program.pid, signal.SIGSTOP)
        try:
            assert listed(pid)["state"] == "silent"
        finally:
            os.kill(program.pid, signal.SIGCONT)
        os.kill(program.pid, signal.SIGKILL)
        program.process.wait(DEADLINE)
        # What it had started holds its socket until that has ended, too.
        wait_until(lambda: listed(pid)["state"] == "gone", "nobody speaks for it any more")
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: listed(pid) is None, "there is no such process")


@pytest.mark.parametrize(
    "spaces",
    [("--pid", "--fork", "--mount-proc"), ("--mount",), ("--net",), ("--user", "--map-root-user")],
    ids=lambda s: s[0],
)
def test_programs_in_namespaces_of_their_own_are_controlled_from_outside(steps, recorder, spaces):
    if (
        not shutil.which("unshare")
        or subprocess.run(["unshare", *spaces, "true"], capture_output=True).returncode
    ):
        pytest.skip("no such namespaces here")
    folder = recorder.folder()
    script = ("+red:5:100", "ready", "wait", "+blue:2:70", "ready", "wait")
    with start_recorded(folder, "unshare", *spaces, steps, *script) as program:
        program.said(b"ready\n")
        pid = wait_until(
            lambda: next(
                (
                    p["pid"]
                    for p in json.loads(seep("ps", "--json").stdout)["processes"]
                    if p["live_bytes"] == 500
                    and p["program"].endswith("steps")
                    and descends(p["pid"], program.pid)
                ),
                None,
            ),
            "it is listed",
        )
        assert control(pid, "stop")["on"] is False
        program.say()
        program.said(b"ready\n", 2)
        assert control(pid, "status")["live_bytes"] == 500
        assert seep("leaks", pid).returncode == 0
        program.say()
        program.finish()


def descends(pid, ancestor):
    while pid > 1 and pid != ancestor:
        try:
            pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return pid == ancestor
