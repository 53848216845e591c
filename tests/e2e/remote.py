# SPDX-License-Identifier: MIT
"""remote.py -- targets, hosts and the protocol between them (docs/PROTOCOL.md), for tests of
serve, connect and seep-target."""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import threading

from harness import (
    BUILD, DEADLINE, SEEP, Profile, caught, check_sites, clean_environment, wait_until,
)
from plain import Started, seep

(
    VERSION, GREETING, HELLO, WELCOME, REQUEST, ANSWER, STATUS, LIST, PROCESS, FAULT, CHUNK, ALIVE,
) = 1, *range(1, 12)
JOURNAL, STATE = 64, 66  # of targets without a ledger
TARGET = BUILD / "src" / "target" / "seep-target"
TOKEN = b"a token of sixteen bytes or more"


# ---- the protocol once more, from docs/PROTOCOL.md ----

def text(value):
    return struct.pack("<H", len(value)) + value


def frame(kind, body):
    return struct.pack("<IHH", len(body), kind, 0) + body


def greeting(version=VERSION, flags=0, nonce=bytes(32)):
    return frame(
        GREETING,
        b"SEEPWIRE" + struct.pack("<IBBHI", version, 1, 8, 62, flags) + nonce + text(b"a test"),
    )


def hello(version=VERSION, nonce=bytes(32), proof=bytes(32), flags=0):
    return frame(
        HELLO, b"SEEPWIRE" + struct.pack("<II", version, flags) + nonce + proof + text(b"a test")
    )


def request(kind, pid=0, flags=0, number=0, address=0, label=b""):
    return frame(REQUEST, struct.pack("<IIIIQ", kind, pid, flags, number, address) + text(label))


class Wire:
    """A connection, message by message."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(DEADLINE)

    def read(self, count):
        got = b""
        while len(got) < count:
            more = self.sock.recv(count - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    def receive(self):
        length, kind, zero = struct.unpack("<IHH", self.read(8))
        assert zero == 0 and length <= 65536
        return kind, self.read(length)

    def fault(self):
        kind, body = self.receive()
        assert kind == FAULT
        return struct.unpack_from("<I", body)[0], body[6:].decode()

    def ended(self):
        """The other side closes, whatever it still sends."""
        try:
            while self.sock.recv(65536):
                pass
        except ConnectionError:
            pass
        return True


def dial(where):
    if "/" in where:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(where)
    else:
        host, port = where.rsplit(":", 1)
        sock = socket.create_connection((host.strip("[]"), int(port)))
    return Wire(sock)


# ---- targets ----

class Target(Started):
    """`seep serve` with a program; WHERE it says that it listens."""

    def __init__(self, folder, *argv, listen=None, options=(), within=()):
        (folder / "tmp").mkdir(exist_ok=True)
        super().__init__(
            folder, *within, SEEP, "serve", "--listen",
            listen or folder / "s",
            *options,
            *(("--", *argv) if argv else ()),
            library=None,
            env={"TMPDIR": str(folder / "tmp")},
        )
        said = wait_until(
            lambda: b"serving: " in self.stderr() and self.stderr(),
            "it serves",
            process=self.process,
        ).decode()
        self.where = said.split("serving: 'seep connect ")[1].split("'")[0].split()[0]

    def program(self):
        """The process that is recorded."""
        def find():
            done = seep("connect", self.where, "ps", "--json")
            assert done.returncode == 0, done
            return [p["pid"] for p in json.loads(done.stdout)["processes"]]
        return wait_until(find, "the program")[0]

    def left(self):
        return sorted((self.folder / "tmp").rglob("*"))


class Light(Started):
    """A target without the tool, with a program; WHERE it says that it listens."""

    def __init__(self, folder, *argv, listen=None, options=(), command=(TARGET,)):
        super().__init__(
            folder,
            *command,
            "--listen",
            listen or folder / "s",
            *options,
            "--",
            *argv,
            library=None,
        )
        said = wait_until(
            lambda: b"serving: " in self.stderr() and self.stderr(),
            "it serves",
            process=self.process,
        ).decode()
        self.where = said.split("serving: 'seep connect ")[1].split("'")[0]

    def report(self):
        done = seep("connect", self.where, "report", "--json")
        assert done.returncode == 0, done
        return Look(json.loads(done.stdout))

    def fetch(self, folder, *options):
        done = subprocess.run(
            [SEEP, "connect", self.where, "--no-summary", "-o", folder / "out.%p.seep", *options],
            capture_output=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done
        return {int(p.name.split(".")[1]): Profile(p) for p in folder.glob("out.*.seep")}


class Look(Profile):
    """A report that is there already."""

    def __init__(self, told):
        self.json, self.totals, self.errors = told, told["totals"], told["errors"]


def connect(target, *words):
    return seep("connect", target.where, *words)


def fetch(target, out, *options):
    """Connect beside the test, until all is over there."""
    return subprocess.Popen(
        [SEEP, "connect", target.where, "-q", "-o", out, *options],
        env=clean_environment(),
        stderr=subprocess.PIPE,
    )


def fetched(process):
    said = process.communicate(timeout=DEADLINE)[1].decode()
    assert process.returncode == 0, said
    return said


def sites_of(profile):
    """What does not depend on where things were loaded, and when."""
    counts = (
        "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
        "leaked_blocks", "leaked_bytes", "kind",
    )
    return sorted(
        (tuple(profile.names(s["stack"])), *(s[c] for c in counts))
        for s in profile.json["sites"]
        if s["kind"] not in ("mmap", "mremap")
    )


def connected(target):
    """Hosts that have a process of the target's: children of the one that listens."""
    def children(pid):
        return [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]

    def hosts(pid):
        try:
            ours = os.readlink(f"/proc/{pid}/exe") == str(SEEP.resolve())
            return len(children(pid)) if ours else 0
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            return 0
    return sum(hosts(c) for c in children(target.pid))


def welcomed(target):
    wire = dial(target.where)
    assert wire.receive()[0] == GREETING
    wire.sock.sendall(hello())
    assert wire.receive()[0] == WELCOME
    return wire


class Server:
    """Somebody else who listens; each connection is handed to ANSWER."""

    def __init__(self, answer):
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1:{self.sock.getsockname()[1]}"
        self.answer = answer
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                sock = self.sock.accept()[0]
            except OSError:
                return
            with sock:
                try:
                    self.answer(Wire(sock))
                except (EOFError, OSError):
                    pass

    def close(self):
        self.sock.close()

class Between:
    """Who passes on what hosts and the target at THERE say, and counts what that sends; requests
    of kind UNKNOWN are of a kind that no target knows."""

    def __init__(self, there, unknown=None):
        self.there, self.unknown, self.bytes, self.changed = there, unknown, 0, 0
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1:{self.sock.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.sock.close()

    def run(self):
        while True:
            try:
                host = self.sock.accept()[0]
            except OSError:
                return
            target = dial(self.there).sock
            target.settimeout(None)
            for way, ends in ((self.back, (target, host)), (self.forth, (host, target))):
                threading.Thread(target=self.carry, args=(way, *ends), daemon=True).start()

    def carry(self, way, source, to):
        try:
            way(source, to)
        except OSError:
            pass
        finally:
            for end in (source, to):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def back(self, target, host):
        while got := target.recv(65536):
            self.bytes += len(got)
            host.sendall(got)

    def forth(self, host, target):
        held = b""
        while got := host.recv(65536):
            held += got
            while len(held) >= 8 and len(held) >= 8 + struct.unpack_from("<I", held)[0]:
                end = 8 + struct.unpack_from("<I", held)[0]
                message, held = held[:end], held[end:]
                if (
                    struct.unpack_from("<H", message, 4)[0] == REQUEST
                    and struct.unpack_from("<I", message, 8)[0] == self.unknown
                ):
                    message = message[:8] + struct.pack("<I", 9999) + message[12:]
                    self.changed += 1
                target.sendall(message)


# ---- hosts that come and go ----

LOOK, ASK_JOURNAL = 3, 32


def talk(wire, i, asks):
    """Go so far as I says; whether the host got all that there was, which is not for those that
    come too soon."""
    if i % 5 == 0:
        return False
    kind, _ = wire.receive()
    if kind == FAULT or i % 5 == 1:
        return False
    wire.sock.sendall(hello())
    kind, body = wire.receive()
    if kind == FAULT or i % 5 == 2:
        return False
    wire.sock.sendall(asks)
    while i % 5 == 4 and kind not in (STATE, ANSWER, FAULT):
        kind, body = wire.receive()
    return kind in (STATE, ANSWER)


def come_and_go(recorder, steps, kind, times, every=10):
    """TIMES hosts connect to a program that works, and leave at any moment; the last one has
    each event.  How many got all that there was."""
    folder, current = recorder.folder(), 0
    rounds = times // every
    with kind(
        folder,
        steps,
        "ready",
        *["wait", "churn:20000"] * rounds,
        "+red:5:100",
        "ready",
        "wait",
        listen="127.0.0.1:0",
    ) as target:
        target.said(b"ready\n")
        pid = json.loads(seep("connect", target.where, "ps", "--json").stdout)["processes"][0][
            "pid"
        ]
        asks = request(ASK_JOURNAL) if kind is Light else request(LOOK, pid, flags=1)
        for i in range(times):
            if i % every == 0:
                target.say()
            wire = dial(target.where)
            try:
                current += talk(wire, i, asks)
            except (EOFError, ConnectionError):
                pass  # the target was not ready for another one
            wire.sock.close()
        target.said(b"ready\n", 2)
        host = subprocess.Popen(
            [SEEP, "connect", target.where, "-q", "-o", folder / "far.seep"],
            env=clean_environment(),
            stderr=subprocess.PIPE,
        )
        wait_until(
            lambda: caught(host.pid) >> signal.SIGINT - 1 & 1, "the last host waits", process=host
        )
        target.say()
        said = fetched(host)
        done = target.finish()
    assert not said, (said, done.stderr)
    profile = Profile(folder / "far.seep")
    assert profile.totals["lost_events"] == 0 and profile.errors == []
    check_sites(done.truth, profile)
    return current
