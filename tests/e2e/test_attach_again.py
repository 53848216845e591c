# SPDX-License-Identifier: MIT
"""`seep attach` after another seep: what a killed one recorded is continued or looked at, and
only the one that records a process leaves it."""
import json
import os
import select
import signal
import subprocess
from pathlib import Path

from harness import DEADLINE, SEEP, ask, clean_environment, end_process, wait_until
from attached import Attachment, Target, check_batch, check_no_fault, difference, target


def check_all(profile, truth, besides=0):
    """Everything from the beginning on; BESIDES: blocks that are in no account."""
    check_no_fault(profile)
    totals = profile.totals
    assert (totals["allocations"] - besides, totals["frees"] + totals["older"]) == (
        truth["allocs"],
        truth["frees"],
    )


def listed(pid):
    """Its state, as `seep ps` has it; None when it is not there."""
    done = subprocess.run(
        [SEEP, "ps", "--json"],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=True,
    )
    text = subprocess.run(
        [SEEP, "ps"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=True,
    )
    state = next(
        (p["state"] for p in json.loads(done.stdout)["processes"] if p["pid"] == pid), None
    )
    assert (
        f"process {pid}: its seep is gone: 'seep attach {pid}' takes it over" in text.stderr
    ) == (state == "gone")
    return state


def test_what_a_killed_seep_recorded_is_continued(compiler, tmp_path):
    """As often as that happens, and with all that was done while nobody was there."""
    with target(compiler, tmp_path, 4) as t:
        before = t.account()
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        for _ in range(3):
            t.do("run")
            early = t.account()
            wait_until(lambda: t.account()["allocs"] > early["allocs"] + 1000, "the program works")
            end_process(attachment.process, signal.SIGKILL)
            late = t.account()
            wait_until(lambda: t.account()["allocs"] > late["allocs"] + 1000, "the program goes on")
            assert listed(t.pid) == "gone"
            attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
            assert "this one goes on with its recording" in attachment.said()
            assert listed(t.pid) == "on"
        t.do("stop")
        check_all(attachment.leave(), difference(t.account(), before))
        check_batch(t, Attachment(t.pid, tmp_path, "--no-leak-scan"), 200)
        assert t.end() == 0


def test_what_a_killed_seep_recorded_can_be_looked_at(compiler, tmp_path):
    """By a search with call stacks, in which nothing is taken away from who continues the
    recording."""
    with target(compiler, tmp_path, 2) as t:
        t.do("batch", 100)
        before = t.account()
        attachment = Attachment(t.pid, tmp_path)
        t.do("keep", 20)
        end_process(attachment.process, signal.SIGKILL)
        for _ in range(2):
            seen = {}
            for command in "leaks", "report":
                done = subprocess.run(
                    [SEEP, command, "--json", str(t.pid)],
                    capture_output=True,
                    env=clean_environment(),
                    cwd=tmp_path,
                    timeout=DEADLINE,
                )
                assert done.returncode == 0, done.stderr
                seen[command] = json.loads(done.stdout)
            assert seen["leaks"]["leaks"]["definite"]["blocks"] == 0
            assert seen["leaks"]["leaks"]["reachable"]["blocks"] >= 20
            assert "get" in {frame["function"] for frame in seen["report"]["frames"]}
            assert seen["report"]["totals"]["allocations"] == 20
        again = Attachment(t.pid, tmp_path)
        t.do("batch", 100)
        check_all(again.leave(), difference(t.account(), before))
        assert t.end() == 0


def test_an_event_log_is_not_continued(compiler, tmp_path):
    """What came between is not in it: that is said, and a new recording begins."""
    with target(compiler, tmp_path, 2) as t:
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan", "--events")
        end_process(attachment.process, signal.SIGKILL)
        t.do("batch", 100)
        again = Attachment(t.pid, tmp_path, "--no-leak-scan")
        assert (
            "cannot be continued (its event log is incomplete), and a new one begins"
            in again.said()
        )
        check_batch(t, again, 100)
        assert t.end() == 0


def detach(pid):
    return ask("detach", pid, status=None)


def test_what_a_killed_seep_had_started_is_continued(compiler, tmp_path):
    """Its library is still in it, and works for nobody, until another seep comes; and again when
    that leaves it."""
    program = compiler.build("attached.c", libs=("-lpthread",))
    seep = subprocess.Popen(
        [
            SEEP, "record", "-q", "--engine=preload", "-o", str(tmp_path / "first.seep"), "--",
            program, "2", str(tmp_path / "accounts"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    t = Target.__new__(Target)
    t.process, t.file, t.threads = seep, tmp_path / "accounts", 2
    t.wait_answer()
    t.pid = wait_until(lambda: children_of(seep.pid, program), "the program")[0]
    watch = os.pidfd_open(t.pid)
    t.do("batch", 300)
    end_process(seep, signal.SIGKILL)
    t.do("batch", 300)
    wait_until(lambda: listed(t.pid) == "gone", "what that seep had started has ended, too")
    attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
    assert "this one goes on with its recording" in attachment.said()
    t.do("batch", 300)
    check_all(attachment.leave(), t.account(), besides=2)  # the C library's, for each thread
    t.process.stdin.close()
    assert select.select([watch], [], [], DEADLINE)[0], "the program has not ended"
    os.close(watch)


def children_of(pid, program):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(p) for p in listed if os.path.realpath(f"/proc/{p}/exe") == str(program)]


def test_only_who_records_a_process_leaves_it(compiler, tmp_path):
    """Neither whoever records its parent, nor anybody else."""
    with target(compiler, tmp_path, 1) as t:
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        with subprocess.Popen(["sleep", "1000"]) as other:
            done = detach(other.pid)
            other.kill()
        assert (done.returncode, "is not being recorded" in done.stderr) == (3, True), done.stderr
        with open(tmp_path / "said", "wb") as errors:
            seep = subprocess.Popen(
                [
                    SEEP, "record", "-v", "--follow=none", "-f", "-o",
                    str(tmp_path / "shell.seep"), "sh", "-c",
                    "sleep 1000 & echo $!; read x; kill $!",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=clean_environment(),
            )
        child = int(seep.stdout.readline())
        assert detach(child).returncode == 3
        seep.communicate("x\n", timeout=DEADLINE)
        assert seep.returncode == 0
        assert "continues without being recorded" not in (tmp_path / "said").read_text()
        check_batch(t, attachment, 100)
        assert t.end() == 0


def test_a_seep_that_is_slow_is_not_taken_for_gone(compiler, tmp_path):
    """Nobody else leaves the process in its place; it does so itself when it comes to it."""
    with target(compiler, tmp_path) as t:
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        os.kill(attachment.process.pid, signal.SIGSTOP)
        done = subprocess.run(
            [SEEP, "detach", str(t.pid)],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == 3 and "has not answered for" in done.stderr, done
        before = t.account()
        t.do("keep", 7)
        os.kill(attachment.process.pid, signal.SIGCONT)
        profile = attachment.ended()
        check_no_fault(profile)
        assert profile.totals["allocations"] >= difference(t.account(), before)["allocs"] >= 7
        assert t.end() == 0
