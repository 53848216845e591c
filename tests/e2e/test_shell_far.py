# SPDX-License-Identifier: MIT
"""`seep shell ADDR`: every command about the processes of a target, with and without a ledger
there, by -c and at a prompt; a target that never notices."""
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from harness import DEADLINE, Profile, wait_until
from remote import Light, Target
from test_shell import ON_PROCESS, PROMPT, Prompt, shell, words_of

KINDS = {"full": Target, "light": Light}


class Far:
    """shelled.c at a target; what it keeps and loses is what it was told to."""

    def __init__(self, kind, folder, binary, *options):
        self.folder, self.lines = folder, 0
        self.it = KINDS[kind](folder, binary, options=options)
        self.it.said(b"ready\n")

    def do(self, line):
        self.it.say(line.encode() + b"\n")
        self.lines += 1
        self.it.said(b"done\n", self.lines)

    def begin(self):
        for line in ("keep 4 1000", "lose 3 100", "free 1"):
            self.do(line)
        self.where = self.it.where
        self.pid = int(
            re.search(rb"\*(\d+) \+ .*shelled", shell(self.where, "-c", "proclist").stdout)[1]
        )

    def end(self):
        self.it.process.stdin.close()

    def goes_on(self):
        """It answers, and the next host is told so."""
        self.do("keep 1 8")
        wait_until(
            lambda: b"status: running" in shell(self.where, "-c", "status").stdout,
            "it runs, and the next one is let in",
        )


@pytest.fixture(scope="module")
def binary(compiler):
    return compiler.build("shelled.c", flags=("-O1", "-g"))


@pytest.fixture(params=KINDS)
def far(request, binary, recorder):
    made = Far(request.param, recorder.folder(), binary)
    with made.it:
        made.begin()
        made.kind = request.param
        yield made
        made.it.process.kill()  # it would wait for a host that fetches, for a minute


def cases(far):
    """Those of a local process, but for what depends on what was asked before, or is not known
    of a target."""
    for case in ON_PROCESS:
        if re.match(r"reset|scan|snapshot|set depth", case[0]) or (
            far.kind == "light" and case[0] == "show info"
        ):
            continue
        yield words_of(case, pid=far.pid)


def test_every_command_by_option(far):
    done = shell(
        far.where, far.pid, "-c", f"scan; scan new; scan {far.pid} leak; scan leak {far.pid}",
        cwd=far.folder,
    )
    assert re.findall(
        r"scanning (\d+) .*?reported: (\d+)\n new leaks found: (\d+)\n leaked bytes: (\d+)",
        done.stdout.decode(),
        re.S,
    ) == [
        ("6", "3", "3", "300"),
        ("0", "0", "0", "0"),
        ("3", "3", "0", "300"),
        ("3", "3", "0", "300"),
    ], done
    # All in one shell, with something between that no other command prints.
    all_cases = [case for case in cases(far) if case[0] != "help"]
    done = shell(
        far.where, "-c", "; help quit; ".join(line for line, _, _ in all_cases), cwd=far.folder
    )
    assert (done.returncode, done.stderr) == (max(status for _, _, status in all_cases), b""), done
    parts = done.stdout.decode().split(
        "  quit\n        leave; programs and their recordings go on\n"
    )
    assert len(parts) == len(all_cases)
    for (line, pattern, _), seen in zip(all_cases, parts):
        assert pattern.search(seen), (line, seen)
    done = shell(
        far.where,
        "-c",
        f"snapshot one; set depth 2; show info; reset; status {far.pid}; save now.seep; detach",
        cwd=far.folder,
    )
    assert (
        done.returncode == 3 and b"is ended there" in done.stderr and done.stderr.count(b"\n") == 1
    ), done
    assert re.search(rf"snapshot \d+ 'one' of PID {far.pid}.*stack depth: 2.*: on, depth 2, 0 B in "
                     rf"0 blocks.*bytes used: 0\n", done.stdout.decode(), re.S), done
    assert Profile(far.folder / "now.seep").json["pid"] == far.pid
    far.goes_on()


def test_the_shell_stays_when_the_program_has_ended(far, tmp_path):
    with Prompt(far.where, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        for line, pattern, _ in cases(far):
            seen = prompt.ask(line).replace("\r\n", "\n")
            assert pattern.search(seen), (line, seen)
        far.end()
        wait_until(lambda: "status: exited" in prompt.ask("status"), "its end is seen")
        assert "number of leaks: 3" in prompt.ask("status") and "kept" in prompt.ask(
            "report --cost live"
        )
        assert "mislaid" in prompt.ask("leaks") and f"{far.pid} x " in prompt.ask("proclist")
        assert "there is no process to change" in prompt.ask("stop")
        prompt.ask("save end.seep")
        assert far.it.finish().status == 0, "the target need not keep what was saved"
        assert "number of leaks: 3" in prompt.ask("status"), "nor be there any more"
        prompt.type(b"\x04")
        assert prompt.ends() == 0
    end = Profile(tmp_path / "end.seep")
    assert end.totals["live_bytes"] == 3300 and end.json["leaks"]["definite"]["blocks"] == 3


def test_what_ends_while_nobody_types_is_fetched(far, tmp_path):
    """The target keeps it for a while only; here it is killed."""
    def fetched():
        return [
            p for p in Path(f"/proc/{prompt.pid}/fd").iterdir() if "seep-remote" in os.readlink(p)
        ]
    with Prompt(far.where, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        assert not fetched()
        far.end()
        wait_until(fetched, "the recording")
        far.it.process.kill()
        far.it.process.wait(DEADLINE)
        seen = prompt.ask("status")
        assert "status: exited" in seen and "number of leaks: 3" in seen
        prompt.type("quit\n")
        assert prompt.ends() == 0


@pytest.mark.parametrize("how", ["Ctrl-C", "end of input", "hangup", "SIGTERM", "SIGKILL"])
def test_whatever_ends_the_shell_the_program_goes_on(far, tmp_path, how):
    with Prompt(far.where, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        assert "running" in prompt.ask("status")
        if how == "Ctrl-C":
            prompt.type("half a line")
            prompt.shows("half a line")
            prompt.type(b"\x03")
            prompt.shows(PROMPT)
            prompt.type("status | (echo reading && sleep 600)\n")
            prompt.shows("reading\r\n")
            prompt.type(b"\x03")
            prompt.shows(PROMPT)
            assert "running" in prompt.ask("status")
            prompt.type("quit\n")
        elif how == "end of input":
            prompt.type(b"\x04")
        elif how == "hangup":
            prompt.close()
        else:
            os.kill(prompt.pid, getattr(signal, how))
        assert prompt.ends() == (-signal.SIGKILL if how == "SIGKILL" else 0)
    far.goes_on()


def test_a_target_that_is_gone_is_told_and_the_shell_stays(binary, recorder, tmp_path):
    made = Far("full", recorder.folder(), binary)
    with made.it:
        made.begin()
        with Prompt(made.where, folder=tmp_path) as prompt:
            prompt.shows(PROMPT)
            os.kill(made.pid, signal.SIGKILL)
            made.it.process.kill()
            made.it.process.wait(DEADLINE)
            assert "nobody can be reached" in prompt.ask("status")
            prompt.type(b"\x04")
            assert prompt.ends() == 0


def test_addresses(binary, recorder, token, tmp_path):
    made = Far("full", recorder.folder(), binary, "--token-file", token)
    with made.it:
        made.do("keep 2 10")
        done = shell(made.it.where, "--token-file", token, "-c", "status")
        assert done.returncode == 0 and b"bytes used: 20" in done.stdout, done
        done = shell(made.it.where, "-c", "status")
        assert done.returncode == 3 and b"wants a token" in done.stderr, done
        done = shell(made.it.where, made.it.where, "-c", "status")
        assert done.returncode == 2 and b"one target" in done.stderr
        done = shell(made.it.where, "--token-file", token, os.getpid(), "-c", "status")
        assert done.returncode == 3 and b"not among those recorded" in done.stderr
        made.it.process.kill()  # as above
    done = shell("--token-file", token, "/nonexistent", "-c", "status")
    assert done.returncode == 2 and b"--token-file" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert shell(f"127.0.0.1:{port}", "-c", "status").returncode == 3
