# SPDX-License-Identifier: MIT
"""`seep serve --light -p PID` and `seep-target -p PID`: processes that run already are recorded
for a host that keeps the ledger, and left as they were."""
import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, caught, clean_environment, end_process, wait_until
from plain import seep
from remote import TARGET
from attached import SLOTS, check_no_fault, difference, target


WAYS = {"seep": [SEEP, "serve", "--light"], "seep-target": [TARGET]}


class Served:
    """A target without a ledger, attached to PIDS."""

    def __init__(self, folder, *pids, by="seep", options=()):
        self.where, self.errors = folder / "s", folder / "errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [*WAYS[by], "--listen", self.where, *options, *(f"-p{p}" for p in pids)],
                stderr=errors,
                env=clean_environment(),
            )
        wait_until(
            lambda: "serving: " in self.said() or self.process.poll() is not None, "it serves"
        )

    def said(self):
        return self.errors.read_text(errors="replace")

    def recorded(self):
        done = seep("connect", self.where, "ps", "--json")
        return (
            {p["pid"] for p in json.loads(done.stdout)["processes"]}
            if done.returncode == 0
            else set()
        )

    def await_processes(self, *pids):
        wait_until(lambda: self.recorded() == set(pids), "all are recorded", process=self.process)

    def host(self, folder):
        """One that has connected, and takes all there is."""
        made = subprocess.Popen(
            [SEEP, "connect", self.where, "-q", "-o", folder / "far.%p.seep"],
            env=clean_environment(),
            stderr=subprocess.PIPE,
        )
        wait_until(
            lambda: caught(made.pid) >> signal.SIGINT - 1 & 1, "the host waits", process=made
        )
        return made


@contextlib.contextmanager
def served(folder, *pids, by="seep", options=()):
    made = Served(folder, *pids, by=by, options=options)
    try:
        yield made
    finally:
        end_process(made.process)


def fetched(host, folder, pid):
    said = host.communicate(timeout=DEADLINE)[1].decode()
    assert host.returncode == 0 and not said, said
    return Profile(folder / f"far.{pid}.seep")


def is_patched(pid):
    """Whether any of the C library's code in the process is not that of its file."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if words[1] == "r-xp" and "libc.so" in words[-1]:
            start, end = (int(n, 16) for n in words[0].split("-"))
            with open(words[-1], "rb") as file, open(f"/proc/{pid}/mem", "rb") as memory:
                file.seek(int(words[2], 16))
                memory.seek(start)
                return memory.read(end - start) != file.read(end - start).ljust(end - start, b"\0")
    raise AssertionError("no C library")


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize(
    "by, way", [("seep", "interrupt"), ("seep", "detach"), ("seep-target", "interrupt")]
)
def test_counts_are_the_programs_own_and_it_is_left_as_it_was(compiler, tmp_path, threads, by, way):
    with target(compiler, tmp_path, threads) as t, served(
        tmp_path, t.pid, by=by, options=["--no-leak-scan"]
    ) as s:
        s.await_processes(t.pid)
        host, before = s.host(tmp_path), t.account()
        assert is_patched(t.pid)
        t.do("batch", 500)
        truth = difference(t.account(), before)
        if way == "detach":
            assert seep("detach", t.pid).returncode == 0
        else:
            s.process.send_signal(signal.SIGINT)
        profile = fetched(host, tmp_path, t.pid)
        assert s.process.wait(DEADLINE) == 0
        check_no_fault(profile)
        totals = profile.totals
        assert (totals["allocations"], totals["bytes_allocated"]) == (
            truth["allocs"],
            truth["bytes"],
        )
        assert (
            totals["frees"] + totals["older"] == truth["frees"]
            and totals["older"] <= threads * SLOTS
        )
        assert profile.json["exit"] == {"code": None, "signal": None}
        assert not is_patched(t.pid)
        t.do("batch", 10)
        assert t.end() == 0


@pytest.mark.parametrize("by", WAYS)
def test_several_processes_until_they_end(compiler, tmp_path, by):
    with contextlib.ExitStack() as all_of_them:
        folders = [tmp_path / name for name in "ab"]
        for folder in folders:
            folder.mkdir()
        ones = [all_of_them.enter_context(target(compiler, folder, 2)) for folder in folders]
        s = all_of_them.enter_context(
            served(tmp_path, *(t.pid for t in ones), by=by, options=["--no-leak-scan"])
        )
        s.await_processes(*(t.pid for t in ones))
        host = s.host(tmp_path)
        for t in ones:
            t.do("batch", 50)
            assert t.end() == 0
        assert s.process.wait(DEADLINE) == 0
        host.communicate(timeout=DEADLINE)
        for t in ones:
            profile = Profile(tmp_path / f"far.{t.pid}.seep")
            check_no_fault(profile)
            assert profile.totals["allocations"] > 0


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("end", ["exit", "killed"])
def test_when_it_ends_by_itself_that_is_its_end(compiler, tmp_path, by, end):
    """And what it lost is searched for before it does."""
    with target(compiler, tmp_path, 2) as t, served(
        tmp_path, t.pid, by=by, options=["--wait"]
    ) as s:
        host = s.host(tmp_path)
        wait_until(lambda: is_patched(t.pid), "it attaches", process=s.process)
        t.do("batch", 20)
        if end == "exit":
            assert t.end() == 0
        else:
            t.process.kill()
        profile = fetched(host, tmp_path, t.pid)
        assert s.process.wait(DEADLINE) == 0
        assert profile.json["exit"] == {"code": 0 if end == "exit" else None, "signal": None}
        assert profile.json["leaks"]["scanned"] is (end == "exit")
        assert b"while the process went on" not in seep("leaks", profile.path).stdout


@pytest.mark.parametrize("by", WAYS)
def test_it_is_recorded_by_one_at_a_time(compiler, tmp_path, by):
    with target(compiler, tmp_path, 1) as t, served(
        tmp_path, t.pid, by=by, options=["--hold=0"]
    ) as s:
        s.await_processes(t.pid)
        for words in (
            [SEEP, "attach"],
            *(
                [*words, "--listen", tmp_path / "other", "--hold=0", "-p"]
                for words in WAYS.values()
            ),
        ):
            done = subprocess.run(
                [*words, str(t.pid)], capture_output=True, timeout=DEADLINE, env=clean_environment()
            )
            assert done.returncode == 3 and b"is being recorded already" in done.stderr
        done = seep("control", t.pid, "status")
        assert done.returncode == 3 and (
            b"whose ledger a host keeps" in done.stderr or by == "seep-target"
        )
        assert s.recorded() == {t.pid} and t.end() == 0 and s.process.wait(DEADLINE) == 0


def is_over(pid):
    return (
        not Path(f"/proc/{pid}").exists()
        or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    )


@pytest.mark.parametrize(
    "by, who", [("seep", 0), ("seep", 1), ("seep-target", 0), ("seep-target", 1)]
)
def test_whoever_is_killed_the_process_goes_on(compiler, tmp_path, by, who):
    """WHO: the process that attaches, or the one that talks to hosts."""
    with target(compiler, tmp_path, 2) as t, served(
        tmp_path, t.pid, by=by, options=["--hold=0"]
    ) as s:
        s.await_processes(t.pid)
        child = int(
            Path(f"/proc/{s.process.pid}/task/{s.process.pid}/children").read_text().split()[0]
        )
        attaches, talks = (s.process.pid, child) if by == "seep" else (child, s.process.pid)
        host = s.host(tmp_path)
        os.kill(talks if who else attaches, signal.SIGKILL)
        s.process.wait(DEADLINE)
        wait_until(lambda: is_over(talks) and is_over(attaches), "both are gone")
        if not who:
            assert fetched(host, tmp_path, t.pid).json["exit"] == {"code": None, "signal": None}
            assert s.process.returncode == (-signal.SIGKILL if by == "seep" else 3)
        else:
            host.kill()
            host.wait(DEADLINE)
            assert s.process.returncode == (3 if by == "seep" else -signal.SIGKILL)
        t.do("batch", 500)
        if not who:
            assert is_patched(t.pid)
            leave(t.pid, tmp_path, by)
        assert not is_patched(t.pid) and t.end() == 0


def leave(pid, folder, by):
    """What was left in PID is taken out: by `seep detach`, or by the next seep-target."""
    if by == "seep":
        assert seep("detach", pid).returncode == 0
        return
    again = folder / "again"
    again.mkdir()
    with served(again, pid, by=by, options=["--hold=0"]) as s:
        s.await_processes(pid)
        s.process.send_signal(signal.SIGTERM)
        assert s.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("by", WAYS)
def test_it_waits_for_a_host_before_it_attaches(compiler, tmp_path, by):
    with target(compiler, tmp_path, 1) as t, served(
        tmp_path, t.pid, by=by, options=["--wait", "--hold=0"]
    ) as s:
        t.do("batch", 10)
        assert not is_patched(t.pid)
        host = s.host(tmp_path)
        wait_until(lambda: is_patched(t.pid), "it attaches", process=s.process)
        s.process.send_signal(signal.SIGINT)
        assert s.process.wait(DEADLINE) == 0 and not is_patched(t.pid)
        profile = fetched(host, tmp_path, t.pid)
        assert (
            b"was not searched for leaks:\nthe recording ended while the process went on"
            in seep("leaks", profile.path).stdout
        )
        assert t.end() == 0


def test_what_seep_target_cannot_attach_to_is_told(compiler, tmp_path):
    """And a process that it had attached to is left again."""
    done = subprocess.Popen(["true"])
    done.wait(DEADLINE)
    with target(compiler, tmp_path, 1) as t:
        for words, status, text in (
            ([f"-p{done.pid}"], 3, f"there is no process {done.pid}"),
            ([f"-p{t.pid}", "-p", "2"], 3, "process 2"),
            (["-p", str(t.pid), "--", "true"], 2, "either a program is started, or -p"),
            (["-p", "0"], 2, "numbers of 1 to 16 processes"),
            ([f"-p{n}" for n in range(1, 18)], 2, "numbers of 1 to 16 processes"),
        ):
            tried = subprocess.run(
                [TARGET, "--listen", tmp_path / "s", "--hold=0", *words],
                capture_output=True,
                text=True,
                timeout=DEADLINE,
            )
            assert tried.returncode == status and text in tried.stderr, tried.stderr
            assert not is_patched(t.pid)
        t.do("batch", 10)
        assert t.end() == 0
