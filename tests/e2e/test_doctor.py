# SPDX-License-Identifier: MIT
"""`seep doctor`: what it says about a process or a program is what happens then."""
import json
import os
import subprocess

import pytest

from harness import SEEP, wait_until
from plain import child_of, seep, start_recorded


def doctor(*words):
    done = seep("doctor", "--json", *words)
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["works"] else 1), done
    return found["works"], {c["check"]: (c["good"], c["says"]) for c in found["checks"]}


def test_a_program_that_can_be_recorded_and_those_that_cannot(compiler, steps):
    works, checks = doctor(steps)
    assert works and checks["record"][0] and checks["proc"][0]
    static = compiler.build("steps.c", flags=("-O0", "-static"))
    works, checks = doctor(static)
    assert works and "statically linked" in checks["record"][1]
    works, checks = doctor("no-such-program-anywhere")
    assert not works and not checks["record"][0]


def test_a_running_process_can_be_looked_into_and_goes_on():
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    works, checks = doctor(process.pid)
    assert (
        works
        and checks["leaks"][0]
        and checks["attach"][0]
        and checks["recorded"] == (False, "it is not being recorded")
    )
    assert process.communicate(b"on\n")[0] == b"on\n"


def test_a_recorded_process_is_said_to_be_one(steps, recorder):
    with start_recorded(recorder.folder(), steps, "ready", "wait") as program:
        program.said(b"ready\n")
        works, checks = doctor(child_of(program))
        assert works and checks["recorded"][0] and "preload" in checks["recorded"][1]


def test_the_dead_and_the_zombies_are_told_apart():
    gone = subprocess.Popen(["true"])
    gone.wait()
    works, checks = doctor(gone.pid)
    assert not works and "there is no process" in checks["process"][1]
    zombie = subprocess.Popen(["true"])
    wait_until(
        lambda: open(f"/proc/{zombie.pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
        or None,
        "a zombie",
    )
    works, checks = doctor(zombie.pid)
    assert not works and "is a zombie" in checks["process"][1]
    said = seep("leaks", zombie.pid)
    assert said.returncode == 3 and checks["process"][1].encode() in said.stderr
    zombie.wait()


def traced_child(tracer):
    """strace tries what the kernel can do with children of its own first."""
    for pid in open(f"/proc/{tracer}/task/{tracer}/children").read().split():
        try:
            status = open(f"/proc/{pid}/status").read()
        except OSError:
            continue
        if "Name:\tsleep\n" in status and f"TracerPid:\t{tracer}\n" in status:
            return int(pid)
    return None


def test_who_traces_a_process_already_is_named(need):
    need("strace")
    process = subprocess.Popen(["strace", "-o", os.devnull, "sleep", "1000"])
    child = None
    try:
        child = wait_until(lambda: traced_child(process.pid), "it is traced", process=process)
        works, checks = doctor(child)
        assert not works and f"already traced by strace ({process.pid})" in checks["leaks"][1]
    finally:
        os.kill(child or process.pid, 9)
        process.wait()


def test_another_users_process_is_told_by_its_cause(public_folder):
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    process = subprocess.Popen(["sleep", "1000"])
    try:
        done = subprocess.run(
            [
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", SEEP, "doctor",
                str(process.pid),
            ],
            capture_output=True,
            cwd=public_folder,
        )
        assert done.returncode == 1 and b"belongs to another user" in done.stdout, done
    finally:
        process.kill()
        process.wait()
