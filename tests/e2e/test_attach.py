# SPDX-License-Identifier: MIT
"""`seep attach`: what a process does while it is recorded is seen exactly, and it never notices."""
import os
import re
import signal
import struct
import subprocess
from contextlib import contextmanager

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment, end_process, wait_until

ACCOUNT = struct.Struct("4Q")
SLOTS = 64  # of each thread


class Target:
    """A running attached.c and its accounts."""

    def __init__(self, program, threads, folder):
        self.file, self.threads = folder / "accounts", threads
        self.process = subprocess.Popen([program, str(threads), str(self.file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=clean_environment())
        self.pid = self.process.pid
        self.wait_answer()

    def wait_answer(self):
        assert self.process.stdout.readline() == b"done\n"

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.process.stdin.flush()
        self.wait_answer()

    def account(self):
        data = self.file.read_bytes()
        rows = [ACCOUNT.unpack_from(data, i * ACCOUNT.size) for i in range(self.threads)]
        return dict(zip(("allocs", "bytes", "frees", "errors"), map(sum, zip(*rows))))

    def end(self):
        self.do("quit")
        return self.process.wait(DEADLINE)


@contextmanager
def target(compiler, tmp_path, threads=4, **how):
    made = Target(compiler.build("attached.c", libs=("-lpthread",), **how), threads, tmp_path)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.process.wait(DEADLINE)


class Attachment:
    """`seep attach` at work."""

    def __init__(self, pid, folder, *options):
        self.pid, self.path, self.errors = pid, folder / "out.seep", folder / "errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([SEEP, "attach", "-v", "-f", "-o", str(self.path), *options, str(pid)], stderr=errors,
                                            env=clean_environment())
        wait_until(lambda: " by inject, to " in self.said() or self.process.poll() is not None, "attach")

    def said(self):
        return self.errors.read_text(errors="replace")

    def ended(self):
        assert self.process.wait(DEADLINE) == 0, self.said()
        return Profile(self.path)

    def leave(self):
        done = subprocess.run([SEEP, "detach", str(self.pid)], capture_output=True, text=True, env=clean_environment(),
                              timeout=DEADLINE)
        assert (done.returncode, done.stderr) == (0, "")
        return self.ended()


def check_no_fault(profile):
    totals = profile.totals
    assert profile.errors == []
    assert (totals["unknown_frees"], totals["double_frees"], totals["mismatched"], totals["lost_events"]) == (0, 0, 0, 0)


def difference(after, before):
    return {key: after[key] - before[key] for key in after}


def check_batch(t, attachment, rounds):
    """Everything stood still at both ends: all numbers are the program's own."""
    before = t.account()
    t.do("batch", rounds)
    truth = difference(t.account(), before)
    profile = attachment.leave()
    check_no_fault(profile)
    totals = profile.totals
    assert (totals["allocations"], totals["bytes_allocated"]) == (truth["allocs"], truth["bytes"])
    assert totals["frees"] + totals["older"] == truth["frees"]
    return totals


@pytest.mark.parametrize("threads", [1, 4, 64])
def test_counts_are_the_programs_own(compiler, tmp_path, threads):
    with target(compiler, tmp_path, threads) as t:
        t.do("batch", 500)
        totals = check_batch(t, Attachment(t.pid, tmp_path, "--no-leak-scan"), 500)
        assert 0 < totals["older"] <= threads * SLOTS
        assert t.end() == 0


def test_cycles_in_a_storm_lose_nothing(compiler, tmp_path):
    """Between two looks at the accounts the recording has what was done there, but for the calls under way."""
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
            assert late["allocs"] - early["allocs"] - t.threads <= allocs <= after["allocs"] - before["allocs"] + t.threads
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
        assert (searched.returncode, searched.stderr) == (0, "") and "still reachable" in searched.stdout
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
        said = subprocess.run([SEEP, "info", str(attachment.path)], capture_output=True, text=True, timeout=DEADLINE).stdout
        assert re.search(r"older +123 ", said) and re.search(r"older +123 ", attachment.said())
        assert t.end() == 0


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, "duration"])
def test_ways_to_leave(compiler, tmp_path, way):
    with target(compiler, tmp_path, 2) as t:
        t.do("run")
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan", *(["--duration", "300ms"] if way == "duration" else []))
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


def test_what_a_killed_seep_left_is_told_and_taken_out(compiler, tmp_path):
    with target(compiler, tmp_path, 4) as t:
        t.do("run")
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        end_process(attachment.process, signal.SIGKILL)
        early = t.account()
        wait_until(lambda: t.account()["allocs"] > early["allocs"] + 1000, "the program goes on")
        again = Attachment(t.pid, tmp_path, "--no-leak-scan")
        assert "by a seep that is gone" in again.said()
        t.do("stop")
        check_no_fault(again.leave())
        check_batch(t, Attachment(t.pid, tmp_path, "--no-leak-scan"), 200)
        assert t.end() == 0


def shell(tmp_path):
    return subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            cwd=tmp_path, env=clean_environment())


def tell(process, line):
    process.stdin.write(line + "; echo done\n")
    process.stdin.flush()
    while process.stdout.readline() != "done\n":
        pass


@pytest.mark.parametrize("follow", ["exec", "all"])
def test_programs_that_it_starts_are_followed(tmp_path, follow):
    """A shell, which forks and executes; --follow=all has the forked children, too."""
    process = shell(tmp_path)
    tell(process, "true")
    with open(tmp_path / "said", "wb") as errors:
        seep = subprocess.Popen([SEEP, "attach", "-v", f"--follow={follow}", "--no-leak-scan", "-o",
                                 str(tmp_path / "%e.%p.seep"), str(process.pid)],
                                stderr=errors, env=clean_environment())
    wait_until(lambda: "by inject, to" in (tmp_path / "said").read_text(), "attach", process=seep)
    tell(process, "ls -l / >/dev/null")
    tell(process, "(x=1; : ${x}; ls / >/dev/null; true)")
    process.stdin.write("exec ls -l /\n")
    process.stdin.close()
    process.stdout.read()
    assert process.wait(DEADLINE) == 0
    assert seep.wait(DEADLINE) == 0, (tmp_path / "said").read_text()
    profiles = [Profile(f) for f in sorted(tmp_path.glob("*.seep"))]
    names = sorted(os.path.basename(p.json["program"]) for p in profiles)
    assert names.count("ls") == 3, (tmp_path / "said").read_text()
    assert names.count("sh") == (1 if follow == "exec" else names.count("sh"))
    for p in profiles:
        check_no_fault(p)
    assert all(p.totals["allocations"] > 0 for p in profiles if p.json["program"].endswith("ls"))


def test_operators_of_cxx_and_what_they_throw(compiler, tmp_path):
    program = compiler.build("attached_cxx.cpp", flags=("-O1", "-std=c++17", "-g", "-fno-builtin"))
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=clean_environment())

    def go():
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"caught 7\n"

    go()  # the run-time library gets its own memory for exceptions
    attachment = Attachment(process.pid, tmp_path, "--no-leak-scan")
    go()
    profile = attachment.leave()
    check_no_fault(profile)
    kinds = {}
    for site in profile.heap_sites():
        if profile.innermost(site) == "blocks":
            kinds[site["kind"]] = kinds.get(site["kind"], 0) + site["allocations"]
    assert kinds == {"new": 30, "new[]": 20}
    go()
    process.stdin.close()
    assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize("kind", ["static", "static-pie", "musl"])
def test_programs_of_other_makes(compiler, tmp_path, need, kind):
    if kind == "musl":
        need("musl-gcc")
    how = {"cc": "musl-gcc"} if kind == "musl" else {"flags": ("-O1", "-g", f"-{kind}")}
    with target(compiler, tmp_path, 4, name=f"attached-{kind}", **how) as t:
        t.do("run")
        check_no_fault(Attachment(t.pid, tmp_path, "--no-leak-scan").leave())
        t.do("stop")
        check_batch(t, Attachment(t.pid, tmp_path, "--no-leak-scan"), 300)
        assert t.end() == 0


def test_what_cannot_be_attached_to_is_refused(compiler, tmp_path):
    def refused(pid):
        done = subprocess.run([SEEP, "attach", "-o", str(tmp_path / "x.seep"), str(pid)],
                              capture_output=True, text=True, env=clean_environment(),
                              timeout=DEADLINE)
        assert done.returncode == 3
        return done.stderr

    with target(compiler, tmp_path, 1) as t:
        attachment = Attachment(t.pid, tmp_path, "--no-leak-scan")
        assert f"process {t.pid} is being recorded already" in refused(t.pid)
        attachment.leave()
        assert t.end() == 0
    gone = subprocess.Popen(["/bin/true"])
    gone.wait(DEADLINE)
    assert f"there is no process {gone.pid}\n" in refused(gone.pid)
    assert "is a thread of the kernel" in refused(2) or os.path.exists("/proc/2/exe")
