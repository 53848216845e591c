# SPDX-License-Identifier: MIT
"""`seep attach` to programs of all makes: static ones, C++, with children, in
vfork, in sandboxes and roots of their own."""
import json
import os
import signal
import subprocess

import pytest

from attached import Attachment, check_batch, check_no_fault, target
from harness import DEADLINE, SEEP, Profile, clean_environment, wait_until


def test_a_process_inside_vfork_is_waited_for(compiler, tmp_path):
    process = subprocess.Popen(
        [compiler.build("attached_vfork.c")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )

    def say(line):
        process.stdin.write(line + b"\n")
        process.stdin.flush()

    for _ in range(3):
        say(b"vfork")
        assert process.stdout.readline() == b"inside\n"
        with open(tmp_path / "errors", "wb") as errors:
            seep = subprocess.Popen(
                [
                    SEEP, "attach", "-v", "-f", "-o", str(tmp_path / "out.seep"), "--no-leak-scan",
                    str(process.pid),
                ],
                stderr=errors,
                env=clean_environment(),
            )
        with pytest.raises(subprocess.TimeoutExpired):
            seep.wait(0.5)
        assert " by inject, to " not in (tmp_path / "errors").read_text()
        say(b"go")
        assert process.stdout.readline() == b"done\n"
        wait_until(
            lambda: " by inject, to " in (tmp_path / "errors").read_text(), "attach", process=seep
        )
        say(b"allocate")
        assert process.stdout.readline() == b"done\n"
        seep.send_signal(signal.SIGTERM)
        assert seep.wait(DEADLINE) == 0
        profile = Profile(tmp_path / "out.seep")
        check_no_fault(profile)
        assert profile.totals["allocations"] == 10
    process.stdin.close()
    assert process.wait(DEADLINE) == 0


def test_a_process_whose_first_thread_has_ended(compiler, tmp_path):
    """Its program, its call stacks and what it lost are found through another thread."""
    program = compiler.build("headless.c", libs=("-ldl",))
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment()
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(2):
            attachment = Attachment(process.pid, tmp_path)
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.readline() == b"done\n"
            profile = attachment.leave()
            check_no_fault(profile)
            made = profile.by_function()["make"]
            assert (made["allocations"], made["frees"], made["bytes_allocated"]) == (
                10,
                7,
                10 * 321,
            )
            assert profile.json["program"] == str(program)
        process.stdin.close()
        assert process.wait(DEADLINE) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the filters of a process")
def test_a_process_that_may_call_next_to_nothing(compiler, tmp_path):
    """Its filter ends it at any system call that is not its own."""
    with subprocess.Popen(
        [compiler.build("walled.c")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(3):
            attachment = Attachment(process.pid, tmp_path)
            if "filters system calls" in attachment.said():
                pytest.skip("the kernel does not show filters here")
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.readline() == b"done\n"
            profile = attachment.leave()
            check_no_fault(profile)
            made = profile.by_function()["fill"]
            assert (made["allocations"], made["frees"], made["bytes_allocated"]) == (
                200,
                190,
                200 * 77,
            )
        process.stdin.close()
        assert process.wait(DEADLINE) == 0


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


def test_a_static_program_that_has_not_allocated_yet_is_left_whole(compiler, tmp_path, need):
    """The breakpoints at which it was to be recorded would be its end."""
    need("musl-gcc")
    program = compiler.build("latecomer.c", cc="musl-gcc", flags=("-O0", "-fno-builtin", "-static"))
    os.mkfifo(tmp_path / "go")
    go = os.open(tmp_path / "go", os.O_RDWR)
    process = shell(tmp_path)
    tell(process, "true")
    for _ in range(2):
        attachment = Attachment(process.pid, tmp_path, "--no-leak-scan")
        process.stdin.write(f"{program} <go; echo $?\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        attachment.leave()
        os.write(go, b"x")
        assert process.stdout.readline() == "6\n"
    os.close(go)
    process.stdin.close()
    assert process.wait(DEADLINE) == 0


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
@pytest.mark.parametrize("proc", [False, True], ids=["nothing", "an empty directory"])
def test_a_root_without_proc_is_told(compiler, tmp_path, proc):
    """The program goes on; with /proc in its root it could be recorded."""
    root = tmp_path / "root"
    (root / "proc" if proc else root).mkdir(parents=True)
    with subprocess.Popen(
        [compiler.build("rooted.c"), str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as other:
        assert other.stdout.readline() == b"there\n"
        done = subprocess.run(
            [SEEP, "attach", str(other.pid)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert (
            done.returncode == 3 and "it has no /proc in its root directory (chroot)" in done.stderr
        ), done
        other.stdin.close()
        assert other.wait(DEADLINE) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_a_program_in_a_root_of_its_own_stays_the_same_program(compiler, tmp_path):
    """As in a container: it has another name there, and the agent that was written into it is in
    no file."""
    root = tmp_path / "root"
    root.mkdir()
    enter = [
        "unshare", "-m", "sh", "-c", 'mount --rbind / "$1" && exec chroot "$@"', "sh", str(root),
    ]
    with subprocess.Popen(
        [*enter, compiler.build("rooted.c"), "/"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
    ) as other:
        assert other.stdout.readline() == b"there\n"
        attachment = Attachment(other.pid, tmp_path)

        def elapsed():
            assert attachment.process.poll() is None, attachment.said()
            return json.loads(
                subprocess.run(
                    [SEEP, "report", "--json", str(other.pid)],
                    capture_output=True,
                    env=clean_environment(),
                    timeout=DEADLINE,
                    check=True,
                ).stdout
            )["duration_ms"]

        wait_until(lambda: elapsed() > 2000, "it was looked at")
        assert attachment.leave().totals["allocations"] > 1000
        assert "became another program" not in attachment.said()
        other.stdin.close()
        assert other.wait(DEADLINE) == 0
