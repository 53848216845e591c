# SPDX-License-Identifier: MIT
"""`seep top`: what it shows is what the program holds; keys, sizes, signals, terminals."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, clean_environment, wait_until
from screens import Terminal, rows
from watched import held, watched


@pytest.fixture
def terminal(need, tmp_path):
    need("tmux")
    opened = []

    def open_one(columns=80, lines=24, **env):
        folder = tmp_path / f"terminal{len(opened)}"
        folder.mkdir()
        opened.append(Terminal(folder, columns, lines, **env))
        return opened[-1]
    yield open_one
    for one in opened:
        one.tmux("kill-server")  # of its own socket


def chosen(screen):
    return [line for line in screen.splitlines() if line.startswith(">")]


def test_a_key_shows_all_frames(recorder, compiler, terminal):
    file = recorder.record(compiler.build("wordy.cpp"), "100").folder / "out.seep"
    t = terminal(columns=120)
    t.run(SEEP, "top", file)
    t.shows(lambda s: rows(s)["add_entry"].blocks == 200, "its own code")
    t.press("a")
    t.shows(lambda s: "add_entry" not in rows(s) and "allocate" in s, "the library's code")
    t.press("a")
    t.shows(lambda s: rows(s)["add_entry"].blocks == 200, "its own code again")
    t.press("Enter")
    t.shows(lambda s: "site #" in s and "call stack" in s, "the stack")


def test_a_key_shows_what_mmap_gave(recorder, compiler, terminal):
    """Two blocks and 32 mappings of 1 MiB."""
    file = recorder.record(compiler.build("beside.c")).folder / "out.seep"
    t = terminal(columns=120)
    t.run(SEEP, "top", "--group-by", "function", file)
    t.shows(lambda s: rows(s)["main"].live == 2 << 20, "the heap")
    t.press("m")
    t.shows(lambda s: "of mmap" in s and rows(s)["main"].live == 32 << 20, "mappings")
    t.press("m")
    t.shows(lambda s: "of heap and mmap" in s and rows(s)["main"].live == 34 << 20, "both")
    t.press("m")
    t.shows(lambda s: " mmap" not in s and rows(s)["main"].live == 2 << 20, "the heap again")


def test_keys_of_a_running_program(steps, recorder, terminal):
    script = (
        "+red:10:100", "+green:30:7", "ready", "wait", "+blue:5:20", "ready", "wait", "-red:5",
        "ready", "wait",
    )
    with watched(recorder, steps, *script) as program:
        t = terminal()
        t.run(SEEP, "top", program.target)
        screen = t.shows(
            lambda s: "▼LIVE" in s and "q quit" in s.splitlines()[-1],
            "the first screen, to its last line",
        )
        assert held(screen) == {"red": (1000, 10), "green": (210, 30)}
        t.press("s", "s")
        t.shows("▼BLOCKS")
        assert list(rows(t.show())) == ["green", "red"]
        t.press("<", "<")
        t.shows("▼LIVE")
        t.press("d")
        t.shows("compared with this moment")
        program.say()
        t.shows(lambda s: "blue" in rows(s), "blue")
        changes = {name: row.change for name, row in rows(t.show()).items()}
        assert changes == {"red": 0, "green": 0, "blue": 100}
        t.press("d")
        t.shows(lambda s: "compared with 60 seconds ago" in s and "±start" in s, "the start again")
        t.press("/")
        t.type("gre[")
        t.press("Enter")
        assert len(rows(t.shows("not a regular expression"))) == 3
        t.press("/")
        t.press("C-u")
        t.type("^green$")
        t.press("Enter")
        t.shows(lambda s: list(rows(s)) == ["green"] and "/^green$/" in s, "green alone")
        t.press("/", "C-u", "Enter")
        t.shows(lambda s: len(rows(s)) == 3, "all again")
        t.press("g")
        t.shows("FUNCTION")
        t.press("g", "g", "g")
        t.shows(lambda s: "THREAD" in s and list(rows(s)) == ["steps"], "threads")
        t.press("g")
        t.shows("up to 128 B")
        t.press("g")
        t.shows(lambda s: "SITE" in s and len(rows(s)) == 3, "stacks again")
        t.press("t")
        t.type("steps")
        t.press("Enter")
        t.shows(lambda s: "thread steps" in s and len(rows(s)) == 3, "of the thread")
        t.press("t", "C-u")
        t.type("nobody")
        t.press("Enter")
        t.shows("nothing matches")
        t.press("t", "C-u", "Enter")
        t.shows(lambda s: len(rows(s)) == 3, "of all threads")
        t.press("p")
        t.shows("PAUSED")
        program.say()
        program.said(b"ready\n", 3)
        before = t.show()
        t.press("Down")
        t.shows(lambda s: chosen(s) and "green" in chosen(s)[0], "the second line")
        assert rows(before)["red"].live == rows(t.show())["red"].live == 1000
        t.press("p")
        t.shows(lambda s: rows(s)["red"].live == 500, "half of red")
        t.press("q")
        t.shows("status=0")
        program.say()


def test_texts_in_place_of_the_table(steps, recorder, terminal):
    with watched(recorder, steps, "+red:10:100", "+green:30:7", "ready", "wait") as program:
        t = terminal(100, 50)
        t.run(SEEP, "top", program.target)
        t.shows("▼LIVE")
        t.press("Enter")
        screen = t.shows("call stack")
        assert (
            "1000 B live in 10 blocks, 100 B on average" in screen
            and "red [" in screen
            and "main [" in screen
        )
        source = (Path(__file__).parents[1] / "programs" / "steps.c").read_text().splitlines()
        line = next(i for i, text in enumerate(source) if text.startswith("MAKER(red)"))
        assert (
            re.search(rf"> +{line + 1}  MAKER\(red\)", screen)
            and f"{line + 2}  MAKER(green)" in screen
        )
        t.press("q")
        t.shows("▼LIVE")
        t.press("l")
        screen = t.shows("still reachable")
        assert re.search(r"definitely lost +0 B in 0 blocks", screen) and re.search(
            r"still reachable +1\.2 KiB in 40 blocks", screen
        )
        t.press("q", "w")
        screen = t.shows("what keeps a typical block")
        assert "static shelves" in screen and ".block[" in screen
        t.press("q", "h")
        t.shows("compare with the last snapshot")
        t.press("Escape")
        t.shows("▼LIVE")
        t.press("n")
        t.shows("snapshot 1: 1.2 KiB live")
        assert (program.folder / f"steps-{program.target}-1.memlog").exists()
        t.shows(
            lambda s: (t.press("d"), "compared with snapshot 1 (top)" in t.show())[1],
            "the snapshot as what is compared with",
        )
        t.shows("±snap 1")
        t.press("q")
        t.shows("status=0")
        program.say()


def test_every_size_of_the_terminal(steps, recorder, terminal):
    with watched(
        recorder,
        steps,
        *(f"+{c}:{n}:{n}" for c in ("red", "green", "blue") for n in (1, 2, 3)),
        "ready",
        "wait",
    ) as program:
        t = terminal()
        t.run(SEEP, "top", "--interval", "100ms", program.target)
        t.shows("▼LIVE")
        for columns, lines in (
            (200, 60),
            (60, 15),
            (40, 10),
            (20, 6),
            (10, 4),
            (3, 3),
            (2, 2),
            (1, 1),
            (80, 2),
            (2, 24),
            (140, 40),
        ):
            t.resize(columns, lines)
            t.shows(
                lambda s: len(s.splitlines()) <= lines
                and max(map(len, s.splitlines() or [""])) <= columns,
                "the new size",
            )
            t.press("Down", "Up", "End", "Home", "PageDown")
        t.shows(
            lambda s: "▼LIVE" in s and "q quit" in s.splitlines()[-1] and len(s.splitlines()) == 40,
            "all again",
        )
        t.press("q")
        t.shows("status=0")
        program.say()


def test_stopped_and_continued_by_the_shell(steps, recorder, terminal):
    with watched(
        recorder, steps, "+red:10:100", "ready", "wait", "+blue:5:20", "ready", "wait"
    ) as program:
        t = terminal()
        t.type("echo the shell is here")
        t.press("Enter")
        t.run(SEEP, "top", program.target)
        t.shows("▼LIVE")
        t.press("C-z")
        screen = t.shows("Stopped")
        assert "the shell is here" in screen and "LIVE" not in screen
        program.say()
        program.said(b"ready\n", 2)
        t.resize(100, 30)
        t.type("fg; echo again=$?")
        t.press("Enter")
        t.shows(
            lambda s: held(s) == {"red": (1000, 10), "blue": (100, 5)}
            and len(s.splitlines()) == 30,
            "both colours, in the new size",
        )
        t.press("q")
        assert "the shell is here" in t.shows("again=0")
        program.say()


def test_the_end_of_the_program_is_told_and_the_picture_stays(steps, recorder, terminal):
    with watched(recorder, steps, "+red:10:100", "ready", "wait", "-red:0") as program:
        t = terminal()
        t.run(SEEP, "top", program.target)
        t.shows("▼LIVE")
        program.say()
        program.finish()
        screen = t.shows("the program has ended")
        assert held(screen) == {"red": (1000, 10)}
        t.press("s")
        t.shows("▼±start")
        t.press("Enter")
        t.shows("red [")
        t.press("q", "l")
        t.shows("the program has ended")
        t.press("q")
        t.shows("status=0")


def test_the_end_of_whoever_records_is_told(steps, recorder, terminal):
    with watched(recorder, steps, "+red:10:100", "ready", "wait") as program:
        t = terminal()
        t.run(SEEP, "top", program.target)
        t.shows("▼LIVE")
        program.process.kill()
        program.process.wait()
        screen = t.shows("no more updates")
        assert held(screen) == {"red": (1000, 10)}
        t.press("q")
        t.shows("status=0")


def test_keys_work_while_whoever_records_is_silent(steps, recorder, terminal):
    with watched(recorder, steps, "+red:10:100", "ready", "wait") as program:
        t = terminal()
        t.run(SEEP, "top", program.target)
        t.shows("▼LIVE")
        program.signal(signal.SIGSTOP)
        try:
            t.press("l")
            t.shows("searching the memory")
            t.press("n")
            t.shows("not finished yet")
            t.press("s")
            t.shows("▼±")
            t.press("q")
            t.shows("the search is cancelled")
            t.press("l")
            t.shows("searching the memory")
            t.press("Escape")
            t.shows("the search is cancelled")
            t.press("q")
            t.shows("status=0")
        finally:
            program.signal(signal.SIGCONT)
        program.say()


def test_time_of_a_recording(steps, recorder, terminal):
    done = recorder.record(
        steps, "+red:10:100", "spin:400", "snapshot:one", "spin:400", "+green:3:7", "snapshot:two",
        "spin:400", "-red:0",
    )
    path = done.folder / "out.seep"
    t = terminal()
    t.run(SEEP, "top", path)
    t.shows(lambda s: held(s) == {"green": (21, 3)}, "the end")
    t.press("[")
    t.shows(
        lambda s: "snapshot 2 two" in s
        and rows(s)["red"].live == 1000
        and rows(s)["green"].live == 21,
        "the second snapshot",
    )
    t.press("[")
    t.shows(lambda s: "snapshot 1 one" in s and "green" not in rows(s), "the first snapshot")
    t.press("[")
    t.shows("there is no earlier tag or snapshot")
    t.press("]")
    t.shows("snapshot 2 two")
    t.press("Right")
    position = re.compile(r"heap, at (.*?) of ")
    after = position.search(
        t.shows(lambda s: "snapshot" not in s and "green" in rows(s), "a moment later")
    ).group(1)
    # Two moments of a run that was held up may be the same in tenths of a second.
    t.shows(lambda s: position.search(s).group(1) != after or t.press("Left"), "a moment before")
    t.press("b")
    t.shows(lambda s: "green" not in rows(s), "the beginning")
    t.press("Space")
    t.shows(
        lambda s: held(s) == {"green": (21, 3)} and "  x1" not in s, "the end, reached by itself"
    )
    t.press("w")
    t.shows("what keeps a typical block")
    t.press("q", "q")
    t.shows("status=0")


@pytest.mark.parametrize("kind", ["vt100", "xterm-256color", "linux", "screen"])
def test_terminals_of_other_types(steps, recorder, terminal, kind):
    path = recorder.record(steps, "+red:10:100", "moment:end").folder / "out.seep"
    t = terminal()
    t.run("env", f"TERM={kind}", "LC_ALL=C", SEEP, "top", path)
    screen = t.shows("*LIVE")
    assert held(screen) == {"red": (1000, 10)} and screen.isascii()
    t.press("q")
    t.shows("status=0")


@pytest.mark.parametrize("kind", ["dumb", "no-such-terminal"])
def test_a_terminal_that_cannot_show_it_is_told(steps, recorder, terminal, kind):
    path = recorder.record(steps, "+red:10:100", "moment:end").folder / "out.seep"
    t = terminal()
    t.run("env", f"TERM={kind}", SEEP, "top", path)
    screen = t.shows("status=2")
    assert kind in screen and "--batch N" in screen.replace("\n", "")


def usual_signals():
    """Who runs the tests may ignore some."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Line:
    """A bare terminal: what was written to it, and its modes."""

    def __init__(self, *argv, **env):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.written = b""
        self.process = subprocess.Popen(
            [SEEP, "top", *map(str, argv)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=clean_environment({"TERM": "xterm-256color", **env}),
            start_new_session=True,
            preexec_fn=usual_signals,
        )
        os.set_blocking(self.master, False)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            os.close(fd)

    def read(self):
        try:
            self.written += os.read(self.master, 65536)
        except BlockingIOError:
            pass
        return self.written

    def gets(self, text):
        wait_until(lambda: text in self.read(), f"{text} on the terminal")

    def end(self):
        status = (
            wait_until(lambda: (self.read(), self.process.poll())[1] is not None, "it ends")
            and self.process.returncode
        )
        self.read()
        return status, termios.tcgetattr(self.slave) == self.before


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV])
def test_a_signal_leaves_the_terminal_as_it_was(steps, recorder, sent):
    path = recorder.record(steps, "+red:10:100", "moment:end").folder / "out.seep"
    with Line(path) as line:
        line.gets(b"q qui")
        assert termios.tcgetattr(line.slave) != line.before
        line.process.send_signal(sent)
        assert line.end() == (-sent, True)
    assert line.written.count(b"\x1b[?1049h") == line.written.count(b"\x1b[?1049l") == 1


def test_ctrl_c_leaves_as_q_does(steps, recorder):
    path = recorder.record(steps, "+red:10:100", "moment:end").folder / "out.seep"
    with Line(path) as line:
        line.gets(b"q qui")
        line.process.send_signal(signal.SIGINT)
        assert line.end() == (0, True)


def test_a_terminal_that_goes_away_ends_it(steps, recorder):
    with watched(recorder, steps, "+red:10:100", "ready", "wait") as program:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [SEEP, "top", str(program.target)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=clean_environment({"TERM": "xterm"}),
        )
        os.close(slave)
        try:
            written = b""
            while b"LIVE" not in written:
                written += os.read(master, 65536)
            os.close(master)
            assert process.wait(DEADLINE) == -signal.SIGHUP
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        program.say()


def test_no_colours_where_they_are_not_wanted(steps, recorder):
    path = recorder.record(steps, "+red:10:100", "moment:end").folder / "out.seep"
    colour = re.compile(rb"\x1b\[[0-9;]*3[0-7]")
    for env, options, coloured in (
        ({}, (), True),
        ({"NO_COLOR": "1"}, (), False),
        ({}, ("--color", "never"), False),
    ):
        with Line(*options, path, **env) as line:
            line.gets(b"q qui")
            os.write(line.master, b"q")
            assert line.end() == (0, True)
        assert bool(colour.search(line.written)) == coloured
