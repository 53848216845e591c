# SPDX-License-Identifier: MIT
"""`seep attach` and `seep record -p`: several processes at once, names of processes, refusals."""
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from attached import OWN_NAME, Attachment, check_no_fault, difference, target
from harness import DEADLINE, SEEP, Profile, clean_environment, wait_until


@contextmanager
def two_targets(compiler, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with target(compiler, tmp_path / "one", 2, name=f"{OWN_NAME}-one") as one:
        with target(compiler, tmp_path / "other", 1, name=f"{OWN_NAME}-other") as other:
            yield one, other


def seep_at_work(tmp_path, expected, *words):
    """seep, when it has said EXPECTED times that it records."""
    with open(tmp_path / "errors", "wb") as errors:
        seep = subprocess.Popen(
            [SEEP, *words],
            stderr=errors,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
    wait_until(
        lambda: (tmp_path / "errors").read_text().count("seep: recording ") >= expected,
        "attach",
        process=seep,
    )
    return seep


def check_file(path, truth):
    profile = Profile(path)
    check_no_fault(profile)
    assert (profile.totals["allocations"], profile.totals["bytes_allocated"]) == (
        truth["allocs"],
        truth["bytes"],
    )


@pytest.mark.parametrize("end", ["signal", "detach"])
def test_several_processes_at_once(compiler, tmp_path, end):
    with two_targets(compiler, tmp_path) as both:
        seep = seep_at_work(
            tmp_path, 2, "attach", "-v", "--no-leak-scan", "-o", str(tmp_path / "%p.seep"),
            str(both[0].pid),
            Path(f"/proc/{both[1].pid}/exe").readlink().name,
        )
        truths = []
        for t in both:
            before = t.account()
            t.do("batch", 200)
            truths.append(difference(t.account(), before))
        if end == "signal":
            seep.send_signal(signal.SIGTERM)
        else:
            done = subprocess.run(
                [SEEP, "detach", *(str(t.pid) for t in both)],
                capture_output=True,
                text=True,
                env=clean_environment(),
                timeout=DEADLINE,
            )
            assert (done.returncode, done.stderr) == (0, "")
        assert seep.wait(DEADLINE) == 0, (tmp_path / "errors").read_text()
        for t, truth in zip(both, truths):
            check_file(tmp_path / f"{t.pid}.seep", truth)
            assert t.end() == 0
        assert (tmp_path / "errors").read_text().count("allocations  ") == 2


def test_record_takes_processes_and_a_program(compiler, tmp_path):
    with two_targets(compiler, tmp_path) as both:
        seep = seep_at_work(
            tmp_path, 3, "record", "-v", "--no-leak-scan", "-o", str(tmp_path / "%e.%p.seep"),
            "-p", str(both[0].pid), "--pid", str(both[1].pid), "cat",
        )
        truths = []
        for t in both:
            before = t.account()
            t.do("batch", 200)
            truths.append(difference(t.account(), before))
            assert t.end() == 0
        seep.stdin.close()
        assert seep.wait(DEADLINE) == 0, (tmp_path / "errors").read_text()
        assert len(list(tmp_path.glob("cat.*.seep"))) == 1
        for t, truth in zip(both, truths):
            profile = Profile(next(tmp_path.glob(f"*.{t.pid}.seep")))
            check_no_fault(profile)
            assert profile.totals["allocations"] == truth["allocs"]


def test_names_that_are_not_one_process(compiler, tmp_path):
    def refused(*words):
        done = subprocess.run(
            [SEEP, "attach", *words],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == 2
        return done.stderr

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with target(compiler, tmp_path / "a", 1, name=f"{OWN_NAME}-twin") as one:
        with target(compiler, tmp_path / "b", 1, name=f"{OWN_NAME}-twin") as other:
            said = refused(Path(f"/proc/{one.pid}/exe").readlink().name)
            assert "is the name of 2 processes" in said
            assert f" {one.pid} " in said and f" {other.pid} " in said
            assert "%p" in refused("-o", str(tmp_path / "x.seep"), str(one.pid), str(other.pid))
    assert "neither a process id nor the name of a process" in refused("no-such-process-anywhere")
    gone = shutil.copy(shutil.which("true"), tmp_path / "attached-gone")
    with subprocess.Popen([gone]) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        assert "neither a process id nor the name of a process" in refused(gone.name)


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
