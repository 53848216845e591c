# SPDX-License-Identifier: MIT
"""A server with eight workers under load is searched a thousand times: no request fails, nothing
is called lost that is not."""
import os
import re
import signal
import socket

import pytest

from harness import wait_until
from leaks import LOST, build_for, leaks_json, told_verdicts
from plain import Started, child_of, start_recorded

SEARCHES = 1000
CONNECTIONS = 6


@pytest.fixture(scope="module")
def program(compiler):
    return build_for("seep", compiler, "leak_server.c", ("gcc", "-O2"))


class Server:
    """The server under the tool, and clients that keep it busy."""

    def __init__(self, folder, program):
        self.it = start_recorded(folder, program, "serve")
        self.it.said(b"port ")
        self.pid, self.port = child_of(self.it), int(
            re.search(rb"port (\d+)\n", self.it.stdout())[1]
        )
        (folder / "load").mkdir()
        self.load = Started(folder / "load", program, "load", self.port, CONNECTIONS, library=None)

    def ask(self, line):
        with socket.create_connection(("127.0.0.1", self.port), 30) as s:
            s.sendall(line + b"\n")
            return s.makefile("rb").readline()

    def finish(self):
        """Returns the number of answers that the clients got; all of them were right."""
        told = re.fullmatch(rb"answered (\d+) failed (\d+)\n", self.load.finish().stdout)
        assert int(told[2]) == 0
        done = self.it.finish()
        assert (done.status, re.sub(rb"port \d+\n", b"", done.stdout)) == (
            0,
            b"failed 0 interrupted 0\n",
        )
        return int(told[1])


@pytest.fixture
def server(recorder, program):
    made = Server(recorder.folder(), program)
    with made.it, made.load:
        yield made


def lost_in(told):
    return {kind: told["leaks"][kind]["blocks"] for kind in LOST if told["leaks"][kind]["blocks"]}


def test_a_thousand_searches_under_load(server):
    for turn in range(SEARCHES):
        told = leaks_json(server.pid, show="definite,indirect,possible", status=(0,))
        assert told["leaks"]["scanned"] and not lost_in(told), f"search {turn}: {told}"
        assert told["leaks"]["reachable"]["blocks"] > 0
    assert server.finish() > SEARCHES


def test_a_stopped_program_is_searched_and_stays_stopped(server):
    def state():
        with open(f"/proc/{server.pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0]
    os.kill(server.pid, signal.SIGSTOP)
    wait_until(lambda: state() == "T", "it stops")
    for _ in range(3):
        told = leaks_json(server.pid, show="definite,indirect,possible", status=(0,))
        assert told["leaks"]["scanned"] and not lost_in(told)
        # The kernel lets it go and stops it again, which takes a processor's attention.
        wait_until(lambda: state() == "T", "it is stopped again")
    os.kill(server.pid, signal.SIGCONT)  # a handler of the server counts it
    assert server.ask(b"turn ab") == b"baab\n"


def test_what_a_busy_server_loses_is_found(server):
    """... and with --new each only once.

    Blocks that large have mappings of their own.  Where malloc hands out memory again, a pointer to
    what lay there before may be in a block that its owner has not filled yet, and holds the new one
    for a moment (docs/LEAKS.md, --fill).
    """
    for size in (700001, 700003, 700003):
        assert server.ask(b"leak %d" % size) == b"ok\n"
    functions = ["leaked_block"]
    wanted = {"leaked_block": {"definite": (700001 + 2 * 700003, 3)}}
    assert told_verdicts(leaks_json(server.pid), functions).lost() == wanted
    assert told_verdicts(leaks_json(server.pid), functions).lost() == wanted
    assert server.ask(b"leak 700005") == b"ok\n"
    assert told_verdicts(leaks_json("--new", server.pid), functions).lost() == {
        "leaked_block": {"definite": (700005, 1)}
    }
    assert told_verdicts(leaks_json("--new", server.pid), functions).lost() == {}
    server.finish()
    at_end = told_verdicts(leaks_json(server.it.folder / "out.seep"), functions).lost()
    assert at_end == {"leaked_block": {"definite": (700001 + 2 * 700003 + 700005, 4)}}
