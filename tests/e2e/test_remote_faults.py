# SPDX-License-Identifier: MIT
"""Connections that come and go under load, targets that are killed, links that are down: nothing
is lost that the mode promises, and both ends say what happened."""
import contextlib
import fcntl
import os
import signal
import subprocess

import pytest

from harness import DEADLINE, SEEP, Profile, check_sites, clean_environment, wait_until
from remote import TARGET, Light, Target, come_and_go, connected, fetch


def test_when_the_target_is_killed_the_host_says_so(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")
        host = fetch(target, folder / "far.seep")
        wait_until(lambda: connected(target) == 1, "it is connected")
        program = target.program()
        target.process.kill()
        target.process.wait()
        assert b"trying again" in host.stderr.readline()
        host.send_signal(signal.SIGINT)  # no need to wait for the end of its patience
        said = host.communicate(timeout=DEADLINE)[1].decode()
        assert host.returncode == 3 and "nobody can be reached" in said
        assert not (folder / "far.seep").exists() or not (folder / "far.seep").stat().st_size
        os.kill(program, signal.SIGKILL)


def start(kind, machines, folder, token, steps):
    """A target on one of two machines, and a host on the other that stays; what the host says is
    in the second."""
    where = {"command": (*machines.there, TARGET)} if kind is Light else {"within": machines.there}
    target = kind(
        folder, steps, *WORK, listen="10.77.0.1:0", options=("--token-file", token), **where
    )
    target.said(b"ready\n")
    with open(folder / "host", "wb") as out:
        host = subprocess.Popen(
            [
                *machines.here,
                SEEP, "connect", target.where, "--token-file", token, "-o",
                folder / "far.seep",
            ],
            env=clean_environment(),
            stderr=out,
        )
    said = folder / "host"
    wait_until(lambda: "connected to" in said.read_text(), "it is connected", process=host)
    return target, host, said


WORK = ("+red:5:100", "ready", "wait", "churn:300000", "+green:7:10", "ready", "wait")


def check(target, host, said, folder):
    target.say()
    assert host.wait(DEADLINE) == 0, said.read_text()
    done = target.finish()
    profile = Profile(folder / "far.seep")
    assert profile.totals["lost_events"] == 0 and profile.json["complete"] is True
    check_sites(done.truth, profile)
    return done


@pytest.mark.parametrize("dark", ["link is down", "link says nothing"])
@pytest.mark.parametrize("kind", [Target, Light])
def test_a_link_that_was_down_loses_nothing(steps, recorder, token, two_machines, kind, dark):
    """The host notices, both go on, and the host comes back by itself.  A light target leaves
    the host before the program's patience ends."""
    folder = recorder.folder()
    target, host, said = start(kind, two_machines, folder, token, steps)
    with target:
        if dark == "link is down":
            two_machines.link("down")
        else:
            two_machines.mute(True)
        target.say()
        target.said(b"ready\n", 2)
        wait_until(lambda: "trying again" in said.read_text(), "the host notices", process=host)
        if dark == "link is down":
            two_machines.link("up")
        else:
            two_machines.mute(False)
        wait_until(
            lambda: "connected" in said.read_text().split("trying again")[1],
            "it is back",
            process=host,
        )
        done = check(target, host, said, folder)
    assert kind is Target or b"the host is lost" in done.stderr


@pytest.mark.parametrize("kind", [Target, Light])
def test_a_slow_link_loses_nothing(steps, recorder, token, two_machines, kind):
    folder = recorder.folder()
    two_machines.rate("2mbit")
    target, host, said = start(kind, two_machines, folder, token, steps)
    with target:
        target.say()
        target.said(b"ready\n", 2)
        check(target, host, said, folder)
    assert "trying again" not in said.read_text()


def is_free(folder):
    """Nobody of ours holds it any more."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(held)


def test_an_empty_folder_of_a_killed_target_is_removed_by_the_next(steps, recorder):
    """Not one that has a recording, that is in use, or that is somebody else's."""
    folder = recorder.folder()
    (folder / "tmp").mkdir()
    kept, strange = folder / "tmp" / "seep-serve-kept00", folder / "tmp" / "other-empty"
    for made in (kept, strange):
        made.mkdir(mode=0o700)
    (kept / "prog.1.seep").write_text("what no host has fetched")

    def folders():
        return set((folder / "tmp").iterdir()) - {kept, strange}

    with Target(folder, steps, "ready", "wait") as killed:
        killed.said(b"ready\n")
        (left,) = folders()
        pid = killed.program()
        killed.process.kill()
        killed.process.wait(DEADLINE)
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(FileNotFoundError):
        for file in left.iterdir():
            file.unlink()  # what a checkpoint wrote
    left.mkdir(exist_ok=True)
    wait_until(lambda: is_free(left), "the processes that the killed one had started end")
    with Target(folder, steps, "ready", "wait", options=["--hold=0"]) as first:
        first.said(b"ready\n")
        (used,) = folders()
        assert used != left
        with Target(
            folder, steps, "ready", "wait", listen=folder / "s2", options=["--hold=0"]
        ) as second:
            second.said(b"ready\n")
            assert (
                len(folders()) == 2
                and used in folders()
                and (kept / "prog.1.seep").exists()
                and strange.exists()
            )
            second.say()
            second.finish()
        first.say()
        first.finish()


def test_thirty_hosts_that_come_and_go_lose_no_event(steps, recorder):
    """make stress does it with a thousand."""
    assert come_and_go(recorder, steps, Target, 30) == 6


def test_thirty_hosts_that_come_and_go_lose_no_event_of_a_light_target(steps, recorder):
    come_and_go(recorder, steps, Light, 30)
