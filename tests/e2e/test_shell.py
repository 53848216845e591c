# SPDX-License-Identifier: MIT
"""`seep shell`: every command by -c and at a prompt; hostile lines; and a program that never
notices."""
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from harness import DEADLINE, SEEP, clean_environment, wait_until
from plain import Started, child_of, start_recorded

PROMPT = b"seep> "


class Program:
    """shelled.c under `seep record`; what it keeps and loses is what it was told to."""

    def __init__(self, folder, binary, options=()):
        self.folder, self.lines = folder, 0
        self.it = start_recorded(folder, binary, options=options)
        self.it.said(b"ready\n")
        self.pid = child_of(self.it)
        self.recording = folder / "out.seep"

    def do(self, line):
        self.it.say(line.encode() + b"\n")
        self.lines += 1
        self.it.said(b"done\n", self.lines)

    def end(self):
        self.it.process.stdin.close()
        self.it.process.wait(DEADLINE)

    def goes_on(self):
        """It answers, and is still recorded."""
        self.do("keep 1 8")
        assert b"running" in shell(self.pid, "-c", "status").stdout


@pytest.fixture(scope="module")
def binary(compiler):
    return compiler.build("shelled.c", flags=("-O1", "-g"))


@pytest.fixture
def program(binary, recorder):
    made = Program(recorder.folder(), binary)
    with made.it:
        made.do("keep 4 1000")
        made.do("lose 3 100")
        made.do("free 1")
        yield made


@pytest.fixture(scope="module")
def recording(binary, tmp_path_factory):
    """A recording with two named moments: 3 kept blocks of 1000 bytes, 2 of 10 and 3 lost ones
    of 100."""
    made = Program(tmp_path_factory.mktemp("recording"), binary, options=("--events",))
    with made.it:
        made.do("keep 3 1000")
        assert shell(made.pid, "-c", "tag early; snapshot later").returncode == 0
        made.do("keep 2 10")
        made.do("lose 3 100")
        made.end()
    return made.recording


def environment(folder=None, **more):
    state = {"XDG_STATE_HOME": str(folder)} if folder else {}
    return clean_environment({"TERM": "xterm", "NO_COLOR": "1", "SEEP_PAGER": "", **state, **more})


def shell(*argv, text=b"", cwd=None, **how):
    return subprocess.run(
        [SEEP, "shell", *map(str, argv)],
        input=text,
        capture_output=True,
        timeout=DEADLINE,
        env=environment(),
        cwd=cwd,
        **how,
    )


class Prompt:
    """The shell in a terminal of its own."""

    def __init__(self, *argv, folder, cwd=None, **env):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or folder)
            os.execve(SEEP, ["seep", "shell", *map(str, argv)], environment(folder, **env))
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if self.terminal is not None:
            os.close(self.terminal)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def type(self, text):
        os.write(self.terminal, text.encode() if isinstance(text, str) else text)

    def shows(self, wanted, count=1):
        """All that came until WANTED did, so often; what came behind it is for the next time."""
        end = time.monotonic() + 60
        wanted = wanted if isinstance(wanted, bytes) else wanted.encode()
        while self.text.count(wanted) < count:
            left = end - time.monotonic()
            assert left > 0, f"{wanted!r} did not come: {self.text!r}"
            if select.select([self.terminal], [], [], left)[0]:
                try:
                    more = os.read(self.terminal, 65536)
                except OSError:
                    more = b""
                assert more, f"{wanted!r} did not come: {self.text!r}"
                self.text += more
        *parts, self.text = self.text.split(wanted, count)
        return (wanted.join(parts) + wanted).decode(errors="replace")

    def ask(self, line):
        """A line, and what came until the next prompt."""
        self.type(line + "; source /dev/null; show searchpath\n")
        seen = self.shows("searchpath: \r\n")
        self.shows(PROMPT)
        return seen

    def ends(self):
        def over():
            done, status = os.waitpid(self.pid, os.WNOHANG)
            return (os.waitstatus_to_exitcode(status),) if done else None
        status = wait_until(over, "the shell ends")[0]
        self.pid = 0
        return status

    def close(self):
        os.close(self.terminal)
        self.terminal = None


# What each command must print.  {pid} is the process, {file} the recording.  The status of -c is 0
# unless a third is there.
ON_PROCESS = [
    ("dump", r"kept.*mislaid|mislaid.*kept"),
    ("dump allocations", r"not freed 2\.9 KiB in 3 blocks"),
    ("dump average {pid}", r"kept"),
    ("dump badfree", r""),
    ("dump bytes-leaked", r"mislaid"),
    ("dump leaks -l {pid}", r"mislaid \[[^]]*shelled\.c:\d+\] \(.*/shelled\)"),
    ("dump mismatched", r""),
    ("dump stacks", r"kept"),
    ("dump total", r"by 4 calls"),
    ("dump tsc", r"kept"),
    ("du us", r"2\.9 KiB +not freed"),
    ("help", r"proclist"),
    ("help dump", r"bytes-leaked"),
    ("help leaks", r"usage: seep leaks"),
    ("proclist", r"\*{pid} \+ .*shelled"),
    ("reset", r"process {pid}: on, depth all, 0 B in 0 blocks"),
    ("scan", r"process {pid} scanning 6 allocations\s+process {pid}\s+leaks reported: 3\s+new "
             r"leaks found: 3\s+leaked bytes: 300"),
    ("scan; scan new", r"scanning 0 allocations\s+process {pid}\s+leaks reported: 0\s+new leaks "
                       r"found: 0"),
    ("scan all {pid}; scan {pid} leak",
     r"scanning 3 allocations\s+process {pid}\s+leaks reported: 3\s+new leaks found: 0\s+leaked "
     r"bytes: 300"),
    ("set depth 2; show info", r"stack depth: 2"),
    ("set process {pid}; status", r"process {pid} "),
    ("set searchpath /usr:/tmp; show searchpath; set searchpath ''", r"searchpath: /usr:/tmp"),
    ("show info", r"follow fork: no\s+follow exec: yes\s+do trace: yes\s+stack depth: all"),
    ("stop; status; start", r"status: stopped.*: on,"),
    ("stop {pid}; start {pid}; status {pid}", r"status: running"),
    ("status", r"bytes used: 3300\s+number of open allocations: 6\s+total number of allocations: "
               r"7\s+average allocation: 550"),
    ("report --cost live", r"kept"),
    ("leaks --no-pager", r"definitely lost +300 B in 3 blocks", 1),
    ("why #1", r"kept"),
    ("tag here; diff here", r"0 calls"),
    ("snapshot; diff 1", r"snapshot 1 of PID {pid}.*0 calls"),
    ("snapshot {pid} two; diff 1 end", r"snapshot 1 'two'.*0 calls"),
    ("top --batch 1", r"kept"),
    ("sql 'SELECT count(*) AS n, sum(size) FROM block WHERE size = 1000'", r"3 +3000"),
    ("export collapsed", r"kept \d+"),
    ("export --to json", r'"live_bytes": 3300'),
    ("info", r"being recorded"),
    ("html -q -o page.html; proclist", r"available processes:"),
    ("dump -l", r"kept \[[^]]*shelled\.c:\d+\] \(.*/shelled\)"),
    ("tag there {pid}; diff there", r"0 calls"),
    ("reset {pid}", r"process {pid}: on, depth all, 0 B in 0 blocks"),
    ("set depth 3 {pid}; set depth all; show info", r"depth 3.*stack depth: all"),
    ("show searchpath", r"searchpath: \n"),
    ("save saved.seep; source /dev/null; status", r"bytes used: 3300"),
]
ON_RECORDING = [
    ("dump usage", r"2\.9 KiB +not freed"),
    ("dump leaks", r"mislaid"),
    ("proclist", r"out\.seep x"),
    ("status", r"bytes used: 3320\s+number of open allocations: 8\s+total number of allocations: "
               r"8\s.*number of leaks: 3\s+number of leaked bytes: 300\s+status: recording"),
    ("scan", r"scanning 8 allocations\s+.*leaks reported: 3"),
    ("show info", r"do trace: no\s+stack depth: all"),
    ("report --flat", r"kept"),
    ("leaks", r"definitely lost +300 B in 3 blocks", 1),
    ("why #1", r"kept"),
    ("diff early end", r"\+320 B"),
    ("diff @early", r"\+320 B"),
    ("diff 1", r"\+320 B"),
    ("top --batch 1", r"kept"),
    ("sql 'SELECT count(*) AS n FROM block'", r"n\s+8\s"),
    ("export collapsed", r"kept \d+"),
    ("events --csv", r"mislaid"),
    ("info", r"whole"),
    ("set process {file}; status", r"status: recording"),
    ("save copy.seep; source /dev/null; diff copy.seep {file}", r"0 calls"),
    ("html -q -o page.html; help html", r"usage: seep html"),
]
# What ends the table: each has its own tests, by -c and at a prompt.
ALONE = {"detach", "quit"}


def words_of(case, **names):
    line, pattern, status = (*case, 0)[:3]
    for name, value in names.items():
        line, pattern = line.replace("{%s}" % name, str(value)), pattern.replace(
            "{%s}" % name, str(value)
        )
    return line, re.compile(pattern, re.S), status


@pytest.mark.parametrize("case", ON_PROCESS, ids=lambda c: c[0])
def test_a_command_about_a_process_by_option(program, case):
    line, pattern, status = words_of(case, pid=program.pid)
    done = shell(program.pid, "-c", line, cwd=program.folder)
    assert (done.returncode, done.stderr) == (status, b""), done
    assert pattern.search(done.stdout.decode()), done.stdout.decode()


@pytest.mark.parametrize("case", ON_RECORDING, ids=lambda c: c[0])
def test_a_command_about_a_recording_by_option(recording, case, tmp_path):
    line, pattern, status = words_of(case, file=recording)
    done = shell(recording, "-c", line, cwd=tmp_path)
    assert done.returncode == status, done
    assert pattern.search(done.stdout.decode()), done.stdout.decode()


def test_every_command_has_its_line(recording):
    """The tables above are what the other tests go by, each line of them by -c and at a prompt."""
    listed = set(re.findall(r"^  ([a-z]+)\b", shell(recording, "-c", "help").stdout.decode(), re.M))
    tested = {
        re.match(r"[a-z]+", part.strip())[0]
        for line, *_ in ON_PROCESS + ON_RECORDING
        for part in line.split(";")
    }
    assert {"dump", "proclist", "scan"} < listed <= tested | ALONE


@pytest.mark.parametrize("prompts", [False, True])
def test_detach_ends_the_recording_and_the_program_goes_on(program, tmp_path, prompts):
    if prompts:
        with Prompt(program.pid, folder=tmp_path) as prompt:
            prompt.shows(PROMPT)
            prompt.ask("detach")
            seen = prompt.ask("status") + prompt.ask("dump")
            prompt.type("quit\n")
            assert prompt.ends() == 0
    else:
        seen = shell(
            program.pid, "-c", f"detach {program.pid}; status; dump; quit; nonsense"
        ).stdout.decode()
    assert "bytes used: 3300" in seen and "status: detached" in seen and "mislaid" in seen
    program.do("keep 1 8")
    assert wait_until(
        lambda: b"number of leaks: 3" in shell(program.recording, "-c", "status").stdout,
        "the recording",
    )
    assert shell(program.pid, "-c", "status").returncode == 3


def test_views_that_stay_are_left_for_the_prompt(program, tmp_path):
    with Prompt(program.pid, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        for line, shown, key in (
            ("top", "kept", b"q"),
            ("top", "kept", b"\x03"),
            ("html --serve", "http://", b"\x03"),
        ):
            prompt.type(line + "\n")
            prompt.shows(shown)
            prompt.type(key)
            prompt.shows(PROMPT)
            assert "status: running" in prompt.ask("status")
    program.goes_on()


def test_every_command_about_a_process_at_the_prompt(binary, recorder, tmp_path):
    folder = recorder.folder()
    made = Program(folder, binary)
    with made.it:
        for line in ("keep 4 1000", "lose 3 100", "free 1"):
            made.do(line)
        with Prompt(made.pid, folder=tmp_path, cwd=folder) as prompt:
            prompt.shows(PROMPT)
            # Numbers of snapshots and what a search found before depend on what was asked first.
            for case in (
                c for c in ON_PROCESS if not re.match(r"reset|scan|snapshot|set depth", c[0])
            ):
                line, pattern, _ = words_of(case, pid=made.pid)
                seen = prompt.ask(line).replace("\r\n", "\n")
                assert pattern.search(seen), (line, seen)
            assert "leaks reported: 3" in prompt.ask("scan all")
            assert "leaks reported: 0" in prompt.ask("scan new")
            assert "leaks reported: 3" in prompt.ask("sc leak")
            assert "snapshot 1 'one'" in prompt.ask("snapshot one")
            assert "stack depth: 5" in prompt.ask("set depth 5; show info")
            assert "0 B in 0 blocks" in prompt.ask("reset")
            prompt.type("quit\n")
            assert prompt.ends() == 0
        made.goes_on()


def test_every_command_about_a_recording_at_the_prompt(recording, tmp_path):
    with Prompt(recording, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        for case in ON_RECORDING:
            line, pattern, _ = words_of(case, file=recording)
            seen = prompt.ask(line).replace("\r\n", "\n")
            assert pattern.search(seen), (line, seen)
        prompt.type(b"\x04")
        assert prompt.ends() == 0


@pytest.mark.parametrize("prompts", [False, True])
def test_dump_of_invalid_frees_has_those_stacks_alone(compiler, recorder, tmp_path, prompts):
    """Of all kinds that there are; how many is what the program did."""
    seen = recorder.record(compiler.build("invalid.cpp"), "all", options=["--keep-going"])
    wrong = {key: {} for key in ("badfree", "mismatched")}
    for fault in seen.profile.errors:
        if fault["alloc_stack"]:
            key = "mismatched" if fault["type"] == "mismatched" else "badfree"
            name = seen.profile.names(fault["alloc_stack"])[0]
            wrong[key][name] = wrong[key].get(name, 0) + fault["count"]
    assert sum(wrong["badfree"].values()) >= 2 and sum(wrong["mismatched"].values()) == 5
    for key, made in wrong.items():
        if prompts:
            with Prompt(seen.profile.path, folder=tmp_path) as prompt:
                prompt.shows(PROMPT)
                told = prompt.ask(f"dump {key}")
        else:
            told = shell(seen.profile.path, "-c", f"dump {key}").stdout.decode()
        entries = re.findall(
            r"^ +\d+\. +(\d+) +\w+ frees, by .*?^        (\w+)", told.replace("\r", ""), re.M | re.S
        )
        sums = {}
        for count, name in entries:
            sums[name] = sums.get(name, 0) + int(count)
        assert sums == made, told


def test_commands_come_from_standard_input(program):
    done = shell(
        program.pid,
        text=b"# a comment\n\n status ; show searchpath\nproclist\nnonsense\nquit\nstatus\n",
    )
    assert (
        done.returncode == 2
        and done.stderr == b"seep: 'nonsense' is not a command; 'help' lists them\n"
    )
    assert done.stdout.count(b"bytes used: 3300") == 1 and b"searchpath: \n" in done.stdout
    program.goes_on()


def test_a_script_in_a_file_is_read_once(program, tmp_path):
    """Commands that end give nothing back to the file that is read."""
    script = tmp_path / "script"
    script.write_text("status\nshow searchpath\n" * 3 + f"source {tmp_path / 'more'}\n")
    (tmp_path / "more").write_text("proclist")
    with open(script) as stdin:
        done = subprocess.run(
            [SEEP, "shell", str(program.pid)],
            stdin=stdin,
            capture_output=True,
            timeout=DEADLINE,
            env=environment(),
        )
    assert done.returncode == 0, done
    assert done.stdout.count(b"bytes used") == 3 and done.stdout.count(b"available") == 1


def test_results_go_to_files_and_commands(recording, tmp_path):
    out = tmp_path / "out"
    assert shell(recording, "-c", f"dump usage >{out}").returncode == 0
    first = out.read_text()
    assert "kept" in first
    done = shell(recording, "-c", f"status >{out}")
    assert done.returncode == 2 and b"exists" in done.stderr and out.read_text() == first
    assert shell(
        recording, "-c", f"status >>'{out}'"
    ).returncode == 0 and out.read_text().startswith(first)
    assert shell(
        recording, "-c", f"status >! {out}"
    ).returncode == 0 and out.read_text().startswith("recording ")
    done = shell(recording, "-c", "dump | grep -c 'by malloc'; status | sed 's/;/x/' | head -1")
    assert done.returncode == 0 and re.fullmatch(rb"\d+\nrecording .*\n", done.stdout), done
    assert shell(recording, "-c", "report --flat | true").returncode == 0
    assert shell(recording, "-c", "status | exit 7").returncode == 7
    assert shell(recording, "-c", "export json | head -c 10").returncode == 0
    for line in ("dump", "status", "help", "scan", "proclist", "export json"):
        done = shell(recording, "-c", f"{line} >/dev/full")
        assert done.returncode == 1 and b"No space left" in done.stderr, (line, done)


HOSTILE = {
    b"dump 'usage": b"a quote is not closed",
    b'report -i "x': b"a quote is not closed",
    b"status | 'x": b"a quote is not closed",
    b"status >": b"into which file",
    b"status |": b"to which command",
    b">x": b"a command is expected",
    b"|x": b"a command is expected",
    b"status >a >b": b"one place for the result",
    b"status >a b": b"behind the place",
    b"quit >x": b"has no result",
    b"s": b"can be save, scan, set",
    b"st": b"can be start, status, stop",
    b"d": b"can be detach, diff, dump",
    b"dumq": b"did you mean 'dump'",
    b"xyzzy": b"is not a command",
    b"x" * 100000: b"is not a command",
    b"dump " + b"y" * 100000: b"is none of",
    b"y" * (3 << 20): b"longer than 1 MiB",
    b"sta\0tus": b"NUL",
    b"dump b": b"can be badfree, bytes-leaked",
    b"dump us us": b"one word too many",
    b"scan no": b"is none of",
    b"scan all all": b"one word too many",
    b"set": b"is expected",
    b"set x y": b"is none of",
    b"set depth": b"how many frames",
    b"set depth 5": b"is a recording",
    b"set searchpath /nonexistent": b"is not a folder",
    b"set process other.example:4576": b"seep shell other.example:4576",
    b"set process /nonexistent": b"neither a process nor a recording",
    b"show": b"is expected",
    b"status 4194304": b"there is no process",
    b"status -5": b"one word too many",
    b"start": b"is a recording",
    b"reset 99999999999999999999": b"is not a process id",
    b"tag": b"which name",
    b"quit now": b"one word too many",
    b"source": b"one file",
    b"source /nonexistent": b"cannot read",
    b"status >/nonexistent/x": b"cannot write",
    b"help xyzzy": b"is not a command",
    b"report --nonsense": b"nonsense",
    b"why": b"",
    b"\xff\xfe\x1b[2J": b"is not a command",
}


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: repr(line[:24]))
def test_hostile_lines_are_refused_and_the_next_one_is_done(recording, line, tmp_path):
    done = shell(recording, text=line + b"\nshow searchpath\n", cwd=tmp_path)
    assert done.returncode == (
        3 if line in (b"set depth 5", b"status 4194304", b"start") else 2
    ), done
    assert (
        HOSTILE[line] in done.stderr
        and done.stderr.startswith(b"seep: ")
        and b"\x1b" not in done.stderr
    )
    assert done.stdout == b"searchpath: \n"


def test_files_that_read_each_other_end(recording, tmp_path):
    script = tmp_path / "again"
    script.write_text(f"source {script}\n")
    done = shell(recording, "-c", f"source {script}")
    assert done.returncode == 2 and done.stderr.count(b"too deep") == 1


def test_status_is_that_of_the_last_command_that_failed(recording):
    assert shell(recording, "-c", "status; help").returncode == 0
    assert shell(recording, "-c", "start; xyzzy; status").returncode == 2
    assert shell(recording, "-c", "xyzzy; start; status").returncode == 3
    assert shell(recording, "-c", "leaks; status").returncode == 1
    assert shell(recording, "-c", "status", "-c", "xyzzy").returncode == 2
    assert shell("/nonexistent", "-c", "status").returncode == 2
    assert shell("4194304", "-c", "status").returncode == 3
    assert shell(os.devnull, "-c", "status").returncode == 4


def test_the_shell_stays_when_the_program_has_ended(program, tmp_path):
    with Prompt(program.pid, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        assert "status: running" in prompt.ask("status")
        program.end()
        seen = prompt.ask("status")
        assert (
            f"process {program.pid} (shelled) has ended; its recording is {program.recording}"
            in seen.replace("\r\n", "")
        )
        assert "status: exited" in seen and "number of leaks: 3" in seen
        assert "kept" in prompt.ask("report --cost live") and "mislaid" in prompt.ask("leaks")
        assert "there is no process to change" in prompt.ask("stop")
        assert f"{program.pid} x " in prompt.ask("proclist")
        prompt.type("quit\n")
        assert prompt.ends() == 0


def test_a_process_of_plain_preloading_has_its_last_look(binary, tmp_path):
    """No recording will be in a file: what the shell saw last is kept."""
    with Started(tmp_path, binary) as program:
        program.said(b"ready\n")
        program.say(b"keep 5 100\n")
        program.said(b"done\n")
        with Prompt(program.pid, folder=tmp_path) as prompt:
            prompt.shows(PROMPT)
            assert "open allocations: 5" in prompt.ask("status")
            program.process.stdin.close()
            program.process.wait(DEADLINE)
            seen = prompt.ask("status")
            assert (
                "from the last look at it" in seen
                and "open allocations: 5" in seen
                and "status: exited" in seen
            )
            assert "kept" in prompt.ask("dump")
            prompt.type(b"\x04")
            assert prompt.ends() == 0


def test_ctrl_c_ends_a_command_and_not_the_shell(program, tmp_path):
    with Prompt(program.pid, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        prompt.type("half a line")
        prompt.shows("half a line")
        prompt.type(b"\x03")
        prompt.shows(PROMPT)
        prompt.type("status | (echo reading && sleep 600)\n")
        prompt.shows("reading\r\n")
        prompt.type(b"\x03")
        prompt.shows(PROMPT)
        prompt.type("leaks --every 100s\n")
        prompt.shows("definitely lost")
        prompt.type(b"\x03")
        prompt.shows(PROMPT)
        assert "running" in prompt.ask("status")
    program.goes_on()


@pytest.mark.parametrize("how", ["end of input", "hangup", "SIGTERM", "SIGKILL"])
def test_whatever_ends_the_shell_the_program_goes_on(program, tmp_path, how):
    with Prompt(program.pid, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        assert "running" in prompt.ask("status")
        if how == "end of input":
            prompt.type(b"\x04")
        elif how == "hangup":
            prompt.close()
        else:
            os.kill(prompt.pid, getattr(signal, how))
        assert prompt.ends() == (-signal.SIGKILL if how == "SIGKILL" else 0)
    program.goes_on()


def test_several_processes(binary, recorder):
    both = [Program(recorder.folder(), binary) for _ in range(2)]
    with both[0].it, both[1].it:
        both[0].do("keep 1 11")
        both[1].do("keep 1 22")
        first, second = both[0].pid, both[1].pid
        done = shell(
            first, second, "-c", f"proclist; status; status {second}; set process {second}; status"
        )
        assert done.returncode == 0, done
        assert re.findall(rb"bytes used: (\d+)", done.stdout) == [b"11", b"22", b"22"]
        assert f"*{first} + ".encode() in done.stdout and f" {second} + ".encode() in done.stdout
        # the number of the seep that records it stands for the process
        assert b"bytes used: 22" in shell(both[1].it.pid, "-c", "status").stdout


# ---- a program that the shell starts ----

def fifo_for(folder):
    """A pipe that the program reads its lines from, and its end for us."""
    os.mkfifo(folder / "lines")
    return os.open(folder / "lines", os.O_RDWR)


def test_a_program_is_started_and_goes_on_behind_the_shell(binary, tmp_path):
    lines = fifo_for(tmp_path)
    with Prompt("--", binary, tmp_path / "lines", folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        os.write(lines, b"keep 3 1000\nlose 2 10\n")
        prompt.shows("done", 2)
        prompt.type(b"\x03")  # at the prompt, and for nobody else
        prompt.shows(PROMPT)
        seen = prompt.ask("status")
        assert "open allocations: 5" in seen and "status: running" in seen
        pid = int(re.search(r"process (\d+) ", seen)[1])
        assert "leaks reported: 2" in prompt.ask("scan")
        prompt.type("quit\n")
        assert f"(pid {pid}) goes on and is recorded" in prompt.shows("ends the recording")
        assert prompt.ends() == 0
    assert b"bytes used: 3020" in shell(pid, "-c", "status").stdout
    os.write(lines, b"end 5\n")
    file = tmp_path / f"shelled.{pid}.seep"
    wait_until(
        lambda: file.exists()
        and b"whole"
        in subprocess.run(
            [SEEP, "info", file], capture_output=True, timeout=DEADLINE, env=environment()
        ).stdout
        and not os.path.exists(f"/proc/{pid}"),
        "its end",
    )
    assert b"number of leaks: 2" in shell(file, "-c", "status").stdout
    os.close(lines)


def test_the_end_of_a_started_program_is_told(binary, tmp_path):
    lines = fifo_for(tmp_path)
    with Prompt("--", binary, tmp_path / "lines", folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        os.write(lines, b"lose 2 10\nend 5\n")
        prompt.shows("done")
        pid = int(re.search(r"shelled\.(\d+)\.seep", prompt.ask("show info"))[1])
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "its end")
        seen = prompt.ask("status")
        assert "status: exited" in seen and "number of leaks: 2" in seen
        prompt.type(b"\x04")
        assert prompt.ends() == 0
    os.close(lines)


def test_a_program_that_is_over_at_once_has_its_recording(tmp_path):
    done = shell("-c", "status; info", "--", "/bin/true", cwd=tmp_path)
    assert done.returncode == 0 and b"status: " in done.stdout, done
    assert b"program      /bin/true" in done.stdout
    done = shell("-c", "status", "--", "/nonexistent", cwd=tmp_path)
    assert done.returncode == 127 and done.stderr.count(b"\n") == 1, done
    assert shell("-c", "status", "--", cwd=tmp_path).returncode == 2
