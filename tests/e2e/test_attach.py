# SPDX-License-Identifier: MIT
"""`seep attach`: what a process does while it is recorded is seen exactly, and it never notices."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment, wait_until

ACCOUNT = struct.Struct("4Q")
SLOTS = 64  # of each thread


class Target:
    """A running attached.c and its accounts."""

    def __init__(self, program, threads, folder):
        self.file, self.threads = folder / "accounts", threads
        self.process = subprocess.Popen(
            [program, str(threads), str(self.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
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


OWN_NAME = f"attached-{os.getpid()}"  # other runs of these tests may be under way


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
            self.process = subprocess.Popen(
                [SEEP, "attach", "-v", "-f", "-o", str(self.path), *options, str(pid)],
                stderr=errors,
                env=clean_environment(),
            )
        wait_until(
            lambda: re.search(" by (inject|preload), to ", self.said())
            or self.process.poll() is not None,
            "attach",
        )

    def said(self):
        return self.errors.read_text(errors="replace")

    def ended(self):
        assert self.process.wait(DEADLINE) == 0, self.said()
        return Profile(self.path)

    def leave(self):
        done = subprocess.run(
            [SEEP, "detach", str(self.pid)],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert (done.returncode, done.stderr) == (0, ""), self.said()
        return self.ended()


def check_no_fault(profile):
    totals = profile.totals
    assert profile.errors == []
    assert (
        totals["unknown_frees"], totals["double_frees"], totals["mismatched"],
        totals["lost_events"],
    ) == (0, 0, 0, 0)


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
