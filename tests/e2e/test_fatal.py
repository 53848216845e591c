# SPDX-License-Identifier: MIT
"""Signals that end a program are seen by us first, and by nobody else: what the program sees of
them, and how it and its children end."""
import os
import pty
import re
import resource
import select
import signal
import subprocess
from pathlib import Path

import pytest

from harness import (
    DEADLINE, SEEP, Profile, Truth, caught, clean_environment, run, shell_status, wait_until,
)
from leaks import BUILDS, build_for, check_verdicts, seep_verdicts
from plain import Started, child_of, preloaded, start_recorded

STEPS = {
    "dispositions": ("query", "signal", "query", "raise", "signal_default", "query"),
    "flags": ("default", "query", "default", "ignore", "raise", "default", "query"),
    "stack": ("stack", "thread", "enable", "stack", "disable", "stack", "thread"),
    "stack-of-handlers": (
        "handle", "query", "raise", "enable", "query", "raise", "disable", "query", "raise",
        "handle", "default",
    ),
    "stack-first": ("enable", "handle", "query", "raise", "thread", "disable", "raise"),
    "without-handler": ("take", "query", "take"),
    "old-ways": ("old", "query"),
    "children-TERM": ("children:15", "query", "children:15", "default", "children:15", "end:15"),
    "children-SEGV": ("children:11", "stack", "end:11"),
    "children-ABRT": ("children:6", "end:6"),
    "children-INT": ("ignore", "children:2", "query"),
    "once": ("once", "children:15", "handle", "query"),
    "once-then-end": ("once", "enable", "query", "children:11", "end:11", "end:11"),
    "children-handled": ("handle", "enable", "children:15", "query"),
}


@pytest.fixture
def fatal(compiler):
    return compiler.build("fatal.c", libs=("-pthread",))


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("follow", ["exec", "all"])
def test_the_program_sees_nothing_of_it(fatal, recorder, name, follow):
    bare = recorder.bare(fatal, *STEPS[name])
    seen = recorder.record(fatal, *STEPS[name], options=["-q", f"--follow={follow}"])
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)


@pytest.mark.parametrize("name", STEPS)
def test_nor_when_the_library_is_preloaded(fatal, recorder, name):
    bare, folder = recorder.bare(fatal, *STEPS[name]), recorder.folder()
    seen = run(preloaded([fatal, *STEPS[name]]), cwd=folder, folder=folder)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)


def test_what_is_ignored_from_the_start_stays_so(fatal, recorder):
    ignoring = ["/bin/sh", "-c", 'trap "" INT TERM PIPE; exec "$@"', "sh"]
    bare = recorder.bare(*ignoring, fatal, "query", "end:15", "children:2")
    seen = recorder.bare(
        *ignoring, SEEP, "record", "-q", "-o",
        recorder.folder() / "out.seep",
        fatal, "query", "end:15", "children:2",
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) and bare.status == 5


# ---- what is left behind ----

def core_facts(folder, program):
    """Signal, its code and address, and where it struck, from a core file."""
    words = [
        "info registers rip", "p $_siginfo.si_signo", "p $_siginfo.si_code",
        "p $_siginfo._sifields._sigfault.si_addr",
    ]
    shown = subprocess.run(
        [
            "gdb",
            "-batch",
            "-nx",
            *(x for w in words for x in ("-ex", w)),
            program,
            next(folder.glob("core*")),
        ],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    lines = [line.split() for line in shown.stdout.splitlines()]
    return [
        w[-1] if w[0] == "rip" else w[2:]
        for w in lines
        if w and (w[0] == "rip" or w[0].startswith("$"))
    ]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT])
def test_the_core_file_is_the_same(fatal, recorder, need, number):
    need("gdb")
    if (
        open("/proc/sys/kernel/core_pattern").read().startswith(("|", "/"))
        or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0
    ):
        pytest.skip("core files are not written into the current folder here")
    found = []
    for front in ([], [SEEP, "record", "-q", "-o", "out.seep"]):
        folder = recorder.folder()
        process = subprocess.Popen(
            [*front, fatal, f"end:{int(number)}"],
            cwd=folder,
            env=clean_environment(),
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2
            ),
        )
        assert shell_status(process.wait(DEADLINE)) == 128 + number
        found.append(core_facts(folder, fatal))
    # where nothing was at fault, the sender is in the place of the address
    facts = 4 if number == signal.SIGSEGV else 3
    assert found[0][:facts] == found[1][:facts] and found[0][1] == [str(int(number))]


# ---- orders ----

def check_lost(file, truth):
    check_verdicts("seep", seep_verdicts(file, truth.leaks), truth.leaks)


def test_ctrl_c_gives_the_leaks_of_a_server(compiler, recorder):
    """The key goes to the whole group of the terminal: the tool, too."""
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_exits.c", BUILDS[0])
    told = folder / "truth"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT, 0o600), 3)
        os.execve(
            SEEP,
            ["seep", "record", "-o", "out.seep", str(program), "order", "at once"],
            clean_environment(),
        )
    try:
        text = b""
        while b"ready" not in text:
            text += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        while b"next:" not in text:
            text += os.read(terminal, 4096)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGINT
    assert b"LEAKS: " in text
    check_lost(folder / "out.seep", Truth(told.read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_one_order_may_come_twice(compiler, recorder, number):
    """timeout(1) and others send it to the process and then to its group."""
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_exits.c", BUILDS[0])
    with start_recorded(folder, program, "order", "at once") as tool:
        tool.said(b"ready\n")
        child = child_of(tool)
        for pid in (tool.pid, child, child):
            os.kill(pid, number)
        done = tool.finish()
    assert done.status == 128 + number
    check_lost(folder / "out.seep", done.truth)


def test_the_second_order_does_not_wait(compiler, recorder):
    """The tool cannot answer; the first order would wait for it."""
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_exits.c", BUILDS[0])
    with start_recorded(folder, program, "order", "at once") as tool:
        tool.said(b"ready\n")
        child = child_of(tool)
        stat = Path(f"/proc/{child}/stat")
        os.kill(tool.pid, signal.SIGSTOP)
        try:
            os.kill(child, signal.SIGINT)

            def ended():
                os.kill(child, signal.SIGTERM)
                return stat.read_text().rpartition(")")[2].split()[0] == "Z"
            wait_until(ended, "it ends")
        finally:
            os.kill(tool.pid, signal.SIGCONT)
        done = tool.finish()
    assert done.status == 128 + signal.SIGTERM
    assert Profile(folder / "out.seep").json["leaks"]["scanned"] is False


def test_without_the_tool_the_program_ends_all_the_same(compiler, recorder):
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_exits.c", BUILDS[0])
    with start_recorded(folder, program, "order", "at once") as tool:
        tool.said(b"ready\n")
        child = os.pidfd_open(child_of(tool))
        tool.process.kill()
        tool.process.wait(DEADLINE)
        signal.pidfd_send_signal(child, signal.SIGTERM)
        assert select.select([child], [], [], DEADLINE)[0]
        os.close(child)


# ---- programs of others ----

PROGRAMS = {
    "sleep": (["sleep", "1000"], signal.SIGTERM),
    "cat": (["cat"], signal.SIGINT),
    "python": (["python3", "-c", "input()"], signal.SIGTERM),
    "python-handles": (["python3", "-c", "input()"], signal.SIGINT),
    "python-faulthandler": (["python3", "-X", "faulthandler", "-c", "input()"], signal.SIGSEGV),
    "bash": (["bash", "-c", "read line"], signal.SIGHUP),
    "bash-trap": (
        ["bash", "-c", "trap 'echo trapped; exit 3' TERM; read line; exit 4"],
        signal.SIGTERM,
    ),
    "dash": (["dash", "-c", "read line"], signal.SIGQUIT),
    "sqlite": (["sqlite3"], signal.SIGABRT),
    "redis": (
        ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", ""],
        signal.SIGTERM,
    ),
}
HANDLE_IT = ["python-handles", "python-faulthandler", "bash-trap", "redis"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_programs_end_as_ever(recorder, need, name):
    argv, number = PROGRAMS[name]
    need(argv[0])
    ends = []
    for start in (
        lambda folder: Started(folder, *argv, library=None),
        lambda folder: start_recorded(folder, *argv),
    ):
        with start(recorder.folder()) as program:
            child = program.pid if not ends else child_of(program)
            waits_in_call(child, argv[0])
            if name in HANDLE_IT:
                wait_until(lambda: caught(child) >> (number - 1) & 1, f"{name} has its handler")
                waits_in_call(child, argv[0])
            os.kill(child, number)
            program.process.wait(DEADLINE)
            ends.append((shell_status(program.process.returncode), stable(program.stdout())))
    assert ends[0] == ends[1]


def waits_in_call(pid, name):
    """It has become that program, and waits for something: for input, a client or time."""
    folder = Path(f"/proc/{pid}")
    wait_until(
        lambda: (folder / "comm").read_text().strip().startswith(name[:7])
        and (folder / "syscall").read_text().split()[0]
        in ("0", "35", "230", "232", "281", "7", "270", "23"),
        f"{name} waits",
    )


def stable(output):
    """Without what differs from run to run: the log of a server."""
    return b"" if b"Redis" in output else output


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="its system call is written for x86-64")
def test_a_stack_that_was_set_behind_our_back_is_the_handlers(compiler, recorder):
    program = compiler.build("raw_stack.c")
    assert subprocess.run([program], capture_output=True, timeout=DEADLINE).stdout == b"1 1\n"
    assert recorder.record(program).stdout == b"1 1\n"
