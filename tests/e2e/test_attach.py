# SPDX-License-Identifier: MIT
"""`seep attach`: what a process does while it is recorded is seen exactly, and it never notices."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from attached import SLOTS, Attachment, check_batch, check_no_fault, target
from harness import DEADLINE, SEEP, clean_environment, wait_until


@pytest.mark.parametrize("threads", [1, 4, 64])
def test_counts_are_the_programs_own(compiler, tmp_path, threads):
    with target(compiler, tmp_path, threads) as t:
        t.do("batch", 500)
        totals = check_batch(t, Attachment(t.pid, tmp_path, "--no-leak-scan"), 500)
        assert 0 < totals["older"] <= threads * SLOTS
        assert t.end() == 0


def test_cycles_in_a_storm_lose_nothing(compiler, tmp_path):
    """Between two looks at the accounts the recording has what was done there, but for the calls
    under way."""
    with target(compiler, tmp_path, 4) as t:
        for i in range(20):
            t.do("run")
            before = t.account()
            attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
            early = t.account()
            wait_until(lambda: t.account()["allocs"] > early["allocs"] + 1000, "the storm")
            if i % 2:
                t.do("stop")
            late = t.account()
            profile = attachment.leave()
            after = t.account()
            check_no_fault(profile)
            allocs, older = profile.totals["allocations"], profile.totals["older"]
            assert (
                late["allocs"] - early["allocs"] - t.threads
                <= allocs
                <= after["allocs"] - before["allocs"] + t.threads
            )
            assert older <= t.threads * (SLOTS + 1)
        t.do("stop")
        check_batch(t, Attachment(t.pid, tmp_path, "--no-leak-scan"), 300)
        assert t.end() == 0


def test_a_program_that_ends_is_recorded_to_its_end(compiler, tmp_path):
    with target(compiler, tmp_path) as t:
        t.do("keep", 40)
        attachment = Attachment(t.pid, tmp_path)
        t.do("run")
        t.do("stop")
        t.do("drop")
        assert t.end() == 0
        profile = attachment.ended()
        check_no_fault(profile)
        assert profile.totals["live_blocks"] == 0
        assert profile.totals["older"] >= 40
        assert "LEAKS" not in attachment.said()


def test_commands_take_a_process_that_is_attached_to(compiler, tmp_path):
    def run(*words):
        return subprocess.run([SEEP, *words, str(t.pid)], capture_output=True, text=True,
                              env=clean_environment(), timeout=DEADLINE)

    with target(compiler, tmp_path, 1) as t:
        attachment = Attachment(t.pid, tmp_path)
        t.do("keep", 40)
        shown, searched = run("report", "--cost=live"), run("leaks")
        assert (shown.returncode, shown.stderr) == (0, "") and "40x): " in shown.stdout
        assert (searched.returncode, searched.stderr) == (
            0,
            "",
        ) and "still reachable" in searched.stdout
        attachment.leave()
        assert "not searched" not in attachment.said()
        t.do("drop")
        assert t.end() == 0


def test_blocks_that_are_older_are_no_error(compiler, tmp_path):
    with target(compiler, tmp_path, 1) as t:
        t.do("keep", 123)
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        t.do("drop")
        t.do("batch", 1)
        profile = attachment.leave()
        check_no_fault(profile)
        assert (profile.totals["older"], profile.totals["allocations"]) == (123, 1)
        said = subprocess.run(
            [SEEP, "info", str(attachment.path)], capture_output=True, text=True, timeout=DEADLINE
        ).stdout
        assert re.search(r"older +123 ", said) and re.search(r"older +123 ", attachment.said())
        assert t.end() == 0


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, "duration"])
def test_ways_to_leave(compiler, tmp_path, way):
    with target(compiler, tmp_path, 2) as t:
        t.do("run")
        attachment = Attachment(
            t.pid,
            tmp_path,
            "--no-leak-scan",
            *(["--duration", "300ms"] if way == "duration" else []),
        )
        if way != "duration":
            attachment.process.send_signal(way)
        profile = attachment.ended()
        assert t.process.poll() is None
        check_no_fault(profile)
        assert "left process" in attachment.said()
        t.do("stop")
        assert t.end() == 0


def test_nothing_of_ours_stays_open(compiler, tmp_path):
    with target(compiler, tmp_path, 2) as t:
        before = sorted(os.listdir(f"/proc/{t.pid}/fd"))
        tasks = len(os.listdir(f"/proc/{t.pid}/task"))
        maps = []
        for _ in range(3):
            attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
            t.do("batch", 10)
            assert sorted(os.listdir(f"/proc/{t.pid}/fd")) == before
            attachment.leave()
            with open(f"/proc/{t.pid}/maps", encoding="utf-8") as f:
                maps.append(f.read())
        assert sorted(os.listdir(f"/proc/{t.pid}/fd")) == before
        assert len(os.listdir(f"/proc/{t.pid}/task")) == tasks
        assert "seep-ledger" not in maps[-1]
        assert len(maps[1].splitlines()) == len(maps[2].splitlines())
        assert "from before" in attachment.said()
        assert t.end() == 0


class Interrupted:
    """A running attached_handler.c, in the handler of a signal that interrupted an allocation
    function."""

    def __init__(self, program, *words):
        self.process = subprocess.Popen(
            [program, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
        self.pid = self.process.pid

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def end(self):
        self.process.stdin.write(b"quit\n")
        self.process.stdin.close()
        return self.process.wait(DEADLINE)


@pytest.mark.parametrize("stack", ["same", "alternate"])
def test_a_handler_comes_back_to_code_that_was_patched(compiler, tmp_path, stack):
    """Attached and left while a handler has interrupted the first instructions, which are
    elsewhere then."""
    t = Interrupted(compiler.build("attached_handler.c"), stack)
    for function, steps in (
        ("malloc", range(1, 5)),
        ("free", range(1, 4)),
        ("realloc", range(1, 4)),
    ):
        for step in steps:
            assert t.say(f"{function} {step}") == "in"
            attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
            if step % 2:
                assert t.say("go") == "done"
                profile = attachment.leave()
            else:
                profile = attachment.leave()
                assert t.say("go") == "done"
            check_no_fault(profile)
    assert t.end() == 0


def test_a_handler_comes_back_to_an_agent_that_has_left(compiler, tmp_path):
    """It is waited for; and when it takes too long, the memory stays that it comes back to."""
    t = Interrupted(compiler.build("attached_handler.c"), "same")
    for step in (1, 9):
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        assert t.say(f"malloc {step}") == "in"
        check_no_fault(attachment.leave())
        assert t.say("go") == "done"
    attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
    assert t.say("malloc 100000") == "over"
    profile = attachment.leave()
    check_no_fault(profile)
    assert profile.totals["allocations"] == 2
    assert t.end() == 0


def waits_for_answer(pid):
    state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return state == "S" and any(link.startswith("socket:") for link in links)


def test_detached_by_several_at_once(compiler, tmp_path):
    with target(compiler, tmp_path, 4) as t:
        t.do("run")
        for _ in range(3):
            attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
            os.kill(attachment.process.pid, signal.SIGSTOP)  # until all have asked
            command = [SEEP, "detach", str(t.pid)]
            asked = [
                subprocess.Popen(
                    command, stderr=subprocess.PIPE, text=True, env=clean_environment()
                )
                for _ in range(3)
            ]
            for p in asked:
                wait_until(lambda pid=p.pid: waits_for_answer(pid), "ask")
            os.kill(attachment.process.pid, signal.SIGCONT)
            for p in asked:
                said = p.communicate(timeout=DEADLINE)[1]
                assert (p.returncode, said) == (0, "")
            check_no_fault(attachment.ended())
        t.do("stop")
        assert t.end() == 0
