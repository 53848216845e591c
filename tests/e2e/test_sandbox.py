# SPDX-License-Identifier: MIT
"""Filters of system calls (seccomp): a program under one does what it does without seep,
whichever call it forbids and however, and is recorded as far as it goes."""
import os
import re
import subprocess

import pytest
from harness import DEADLINE, PLAIN, ROOT, SEEP, clean_environment, wait_until

# What src/agent calls.
CALLS = """brk clock_gettime close connect faccessat fcntl ftruncate futex getpid getppid
    getsockopt gettid madvise memfd_create mincore
           mmap mprotect munmap nanosleep openat ppoll prctl pread64 prlimit64 process_vm_readv
           pwrite64 read readlinkat rt_sigaction
           rt_sigpending rt_sigprocmask rt_tgsigqueueinfo sched_yield sendmsg sendto sigaltstack
               socket tgkill""".split()
FEW = "madvise memfd_create getpid gettid mmap mprotect prctl openat".split()
WORK = 4066  # allocations after the filter is there


def numbers(names):
    text = subprocess.run(
        ["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", text))
    return [known[name] for name in names]


@pytest.fixture(scope="module")
def program(compiler):
    return compiler.build("sandboxed.c", flags=(*PLAIN, f"-I{ROOT / 'src'}"))


def bare(*words, **how):
    return subprocess.run(
        [str(w) for w in words],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=False,
        **how,
    )


def compare(recorder, *words, options=(), **variables):
    """Runs WORDS without and with seep: what they print and how they end is the same.  Gives
    both."""
    without = recorder.bare(*words, env=variables)
    done = recorder.record(*words, options=["-q", *options], env=variables)
    assert (done.stdout, done.status) == (without.stdout, without.status), (
        words,
        options,
        done.stderr,
    )
    assert not [line for line in done.stderr.splitlines() if not line.startswith(b"seep:")]
    return done, without


def allocations(done):
    return done.profile.totals["allocations"]


def test_every_call_forbidden_in_turn(recorder, program):
    for call, number in zip(CALLS, numbers(CALLS)):
        done, without = compare(recorder, program, "now", "kill", number)
        if without.status == 0:
            assert allocations(done) >= WORK and done.profile.json["complete"], call


def test_every_call_forbidden_before_the_program_begins(recorder, program):
    unheard = []
    for call, number in zip(CALLS, numbers(CALLS)):
        done, without = compare(
            recorder, program, "exec", "kill", number, program, "bare", "kill", "0"
        )
        if without.status == 0 and allocations(done) < WORK:
            unheard.append(call)
            assert b"not recorded" in done.stderr and b"seccomp" in done.stderr
            assert any("seccomp" in line for line in done.profile.json["unseen"])
    assert set(unheard) <= {"connect", "madvise", "sendmsg", "socket"}


@pytest.mark.parametrize("action", ["trap", "trap0", "errno", "errno0"])
def test_other_answers_of_a_filter(recorder, program, action):
    for number in numbers(FEW):
        compare(recorder, program, "syscall", action, number)


def test_threads_and_children(recorder, program):
    for call, number in zip(FEW, numbers(FEW)):
        compare(recorder, program, "now", "kill", number, THREADS="1")
        compare(recorder, program, "thread", "kill", number)
        compare(recorder, program, "fork", "kill", number, options=["--follow=all", "--track-fds"])


def test_without_memory_from_the_kernel(recorder, program):
    """What the ledger needs was got on the way in."""
    forbidden = ",".join(numbers(["mmap", "mprotect", "munmap", "madvise", "gettid", "openat"]))
    done, _ = compare(recorder, program, "now", "kill", forbidden)
    assert (
        allocations(done) >= WORK
        and done.profile.json["complete"]
        and not done.profile.json["unseen"]
    )


def test_strict_mode(recorder, program):
    done, without = compare(recorder, program, "strict", "kill", "0")
    assert without.stdout == b"strict\n" and allocations(done) >= 2000


def test_filter_that_nobody_sees_loaded(recorder, program):
    """The observer notices it; what needs a call after that is not recorded, and the recording
    says why."""
    forbidden = ",".join(numbers(["mmap", "mprotect", "getpid", "gettid", "madvise"]))
    done, _ = compare(recorder, program, "raw", "kill", forbidden)
    assert allocations(done) >= 4000 and not done.profile.json["complete"]
    assert any("seccomp" in line for line in done.profile.json["unseen"])
    assert b"seccomp" in bare(SEEP, "info", done.profile.path).stdout


def test_who_only_asks_is_in_no_sandbox(recorder, program):
    done, without = compare(recorder, program, "asks", "kill", "0")
    assert without.stdout == b"done\n"
    assert done.profile.json["leaks"] is not None


def test_seep_itself_under_a_filter(program, tmp_path):
    """Filters that it inherits it has tried before the program begins."""
    for call in ["memfd_create", "gettid", "tgkill", "prlimit64"]:
        command = [program, "exec", "kill", *numbers([call])]
        without = bare(*command, program, "bare", "kill", "0")
        out = tmp_path / f"{call}.seep"
        done = bare(*command, SEEP, "record", "-q", "-o", out, "--", program, "bare", "kill", "0")
        assert (done.stdout, done.returncode) == (without.stdout, without.returncode), call
        if without.returncode == 0:
            text = bare(SEEP, "report", "--json", out).stdout
            assert int(re.search(rb'"allocations": *(\d+)', text)[1]) >= WORK, call


@pytest.mark.parametrize("call", ["memfd_create", "socketpair"])
def test_plain_preload(program, tmp_path, call):
    """A filter that its parent has too is that of a container: the tool tries it.  Another one
    lets nothing be recorded."""
    library = SEEP.parent / "agent" / "libseep.so"
    for inner in (
        [program, "bare", "kill", "0"],
        ["/bin/sh", "-c", f"{program} bare kill 0; echo $?"],
    ):
        words = [program, "exec", "kill", *numbers([call]), "/usr/bin/env"]
        without = bare(*words, *inner)
        if call == "socketpair" and inner[0] == "/bin/sh":
            continue
        done = bare(*words, f"LD_PRELOAD={library}", *inner, cwd=tmp_path)
        assert (done.stdout, done.returncode) == (without.stdout, without.returncode)
        if inner[0] == "/bin/sh":
            wait_until(
                lambda: os.listdir(tmp_path),
                "the report, which is written when the program has ended",
            )
        else:
            assert not os.listdir(tmp_path)
