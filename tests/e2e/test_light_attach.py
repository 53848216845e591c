# SPDX-License-Identifier: MIT
"""`seep serve --light -p PID`: processes that run already are recorded for a host that keeps the ledger, and left as they were."""
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
from test_attach import SLOTS, check_no_fault, difference, target


class Served:
    """`seep serve --light -p`, of PIDS."""

    def __init__(self, folder, *pids, options=()):
        self.where, self.errors = folder / "s", folder / "errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([SEEP, "serve", "--light", "--listen", self.where, *options, *(f"-p{p}" for p in pids)],
                                            stderr=errors, env=clean_environment())
        wait_until(lambda: "serving: " in self.said() or self.process.poll() is not None, "it serves")

    def said(self):
        return self.errors.read_text(errors="replace")

    def recorded(self):
        done = seep("connect", self.where, "ps", "--json")
        return {p["pid"] for p in json.loads(done.stdout)["processes"]} if done.returncode == 0 else set()

    def await_processes(self, *pids):
        wait_until(lambda: self.recorded() == set(pids), "all are recorded", process=self.process)

    def host(self, folder):
        """One that has connected, and takes all there is."""
        made = subprocess.Popen([SEEP, "connect", self.where, "-q", "-o", folder / "far.%p.seep"], env=clean_environment(),
                                stderr=subprocess.PIPE)
        wait_until(lambda: caught(made.pid) >> signal.SIGINT - 1 & 1, "the host waits", process=made)
        return made


@contextlib.contextmanager
def served(folder, *pids, options=()):
    made = Served(folder, *pids, options=options)
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
@pytest.mark.parametrize("way", ["interrupt", "detach"])
def test_counts_are_the_programs_own_and_it_is_left_as_it_was(compiler, tmp_path, threads, way):
    with target(compiler, tmp_path, threads) as t, served(tmp_path, t.pid, options=["--no-leak-scan"]) as s:
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
        assert (totals["allocations"], totals["bytes_allocated"]) == (truth["allocs"], truth["bytes"])
        assert totals["frees"] + totals["older"] == truth["frees"] and totals["older"] <= threads * SLOTS
        assert profile.json["exit"] == {"code": None, "signal": None}
        assert not is_patched(t.pid)
        t.do("batch", 10)
        assert t.end() == 0


def test_several_processes_until_they_end(compiler, tmp_path):
    with contextlib.ExitStack() as all_of_them:
        folders = [tmp_path / name for name in "ab"]
        for folder in folders:
            folder.mkdir()
        ones = [all_of_them.enter_context(target(compiler, folder, 2)) for folder in folders]
        s = all_of_them.enter_context(served(tmp_path, *(t.pid for t in ones), options=["--no-leak-scan"]))
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


def test_it_is_recorded_by_one_at_a_time(compiler, tmp_path):
    with target(compiler, tmp_path, 1) as t, served(tmp_path, t.pid, options=["--hold=0"]) as s:
        s.await_processes(t.pid)
        for words in (["attach", t.pid], ["serve", "--light", "--listen", tmp_path / "other", "--hold=0", "-p", t.pid]):
            done = seep(*words)
            assert done.returncode == 3 and b"is being recorded already" in done.stderr
        done = seep("control", t.pid, "status")
        assert done.returncode == 3 and b"whose ledger a host keeps" in done.stderr
        assert s.recorded() == {t.pid} and t.end() == 0 and s.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("who", ["seep", "seep-target"])
def test_whoever_is_killed_the_process_goes_on(compiler, tmp_path, who):
    with target(compiler, tmp_path, 2) as t, served(tmp_path, t.pid, options=["--hold=0"]) as s:
        s.await_processes(t.pid)
        (child,) = Path(f"/proc/{s.process.pid}/task/{s.process.pid}/children").read_text().split()
        host = s.host(tmp_path)
        if who == "seep":
            s.process.kill()
        else:
            os.kill(int(child), signal.SIGKILL)
        s.process.wait(DEADLINE)
        wait_until(lambda: not Path(f"/proc/{child}").exists(), "seep-target is gone")
        if who == "seep":
            assert fetched(host, tmp_path, t.pid).json["exit"] == {"code": None, "signal": None}
        else:
            host.kill()
            host.wait(DEADLINE)
            assert s.process.returncode == 3
        t.do("batch", 500)
        if who == "seep":
            assert is_patched(t.pid) and seep("detach", t.pid).returncode == 0
        assert not is_patched(t.pid) and t.end() == 0


def test_it_waits_for_a_host_before_it_attaches(compiler, tmp_path):
    with target(compiler, tmp_path, 1) as t, served(tmp_path, t.pid, options=["--wait", "--no-leak-scan", "--hold=0"]) as s:
        t.do("batch", 10)
        assert not is_patched(t.pid)
        host = s.host(tmp_path)
        wait_until(lambda: is_patched(t.pid), "it attaches", process=s.process)
        s.process.send_signal(signal.SIGINT)
        assert s.process.wait(DEADLINE) == 0 and not is_patched(t.pid)
        fetched(host, tmp_path, t.pid)
        assert t.end() == 0


def test_seep_target_says_who_attaches(tmp_path):
    done = subprocess.run([TARGET, "-p", str(os.getpid())], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 2 and "'seep serve --light -p PID'" in done.stderr
