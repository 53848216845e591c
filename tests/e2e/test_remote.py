# SPDX-License-Identifier: MIT
"""`seep serve` and `seep connect`: the same numbers as recorded here, whatever carries them; peers that are wrong, silent or gone."""
import hashlib
import hmac
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading

import pytest

from harness import DEADLINE, SEEP, Profile, caught, check_clean, check_sites, clean_environment, wait_until
from plain import Started, seep

VERSION, GREETING, HELLO, WELCOME, REQUEST, ANSWER, STATUS, LIST, PROCESS, FAULT, CHUNK, ALIVE = 1, *range(1, 12)
TOKEN = b"a token of sixteen bytes or more"


# ---- the protocol once more, from docs/PROTOCOL.md ----

def text(value):
    return struct.pack("<H", len(value)) + value


def frame(kind, body):
    return struct.pack("<IHH", len(body), kind, 0) + body


def greeting(version=VERSION, flags=0, nonce=bytes(32)):
    return frame(GREETING, b"SEEPWIRE" + struct.pack("<IBBHI", version, 1, 8, 62, flags) + nonce + text(b"a test"))


def hello(version=VERSION, nonce=bytes(32), proof=bytes(32)):
    return frame(HELLO, b"SEEPWIRE" + struct.pack("<II", version, 0) + nonce + proof + text(b"a test"))


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
        super().__init__(folder, *within, SEEP, "serve", "--listen", listen or folder / "s", *options, *(("--", *argv) if argv else ()), library=None,
                         env={"TMPDIR": str(folder / "tmp")})
        said = wait_until(lambda: b"serving: " in self.stderr() and self.stderr(), "it serves", process=self.process).decode()
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


def connect(target, *words):
    return seep("connect", target.where, *words)


def fetch(target, out, *options):
    """Connect beside the test, until all is over there."""
    return subprocess.Popen([SEEP, "connect", target.where, "-q", "-o", out, *options], env=clean_environment(), stderr=subprocess.PIPE)


def fetched(process):
    said = process.communicate(timeout=DEADLINE)[1].decode()
    assert process.returncode == 0, said
    return said


def sites_of(profile):
    """What does not depend on where things were loaded, and when."""
    counts = ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes", "leaked_blocks", "leaked_bytes", "kind")
    return sorted((tuple(profile.names(s["stack"])), *(s[c] for c in counts)) for s in profile.json["sites"] if s["kind"] not in ("mmap", "mremap"))


SCRIPT = ("+red:50:100", "+green:20:333", "-red:30", "+blue:7:1000", "-blue:3", "tag:middle", "+red:10:64")


@pytest.mark.parametrize("listen", [None, "127.0.0.1:0", "[::1]:0"])
def test_the_report_is_that_of_a_local_recording(steps, recorder, listen):
    local = recorder.record(steps, *SCRIPT, "ready", "wait", stdin=b"\n")
    folder = recorder.folder()
    with Target(folder, steps, *SCRIPT, "ready", "wait", listen=listen) as target:
        target.said(b"ready\n")
        host = fetch(target, folder / "far.seep")
        target.say()
        assert fetched(host) == ""
        done = target.finish()
    assert done.status == 0
    far = Profile(folder / "far.seep")
    check_clean(far)
    check_sites(done.truth, far)
    assert sites_of(far) == sites_of(local.profile)
    assert far.json["leaks"]["definite"] == local.profile.json["leaks"]["definite"]
    assert [s["label"] for s in far.json["snapshots"]] == [s["label"] for s in local.profile.json["snapshots"]]
    assert target.left() == [], "what was fetched is not kept"
    assert not (folder / "s").exists()


def test_commands_are_about_the_process_as_it_is_now(steps, recorder, monkeypatch):
    folder = recorder.folder()
    monkeypatch.chdir(folder)
    with Target(folder, steps, "+red:5:100", "ready", "wait", "-red:5", "+green:3:10", "ready", "wait") as target:
        target.said(b"ready\n")
        pid = target.program()
        report = json.loads(connect(target, "report", "--json").stdout)
        assert (report["pid"], report["totals"]["live_bytes"]) == (pid, 500)
        assert connect(target, "export", "--to", "collapsed").stdout.decode().strip().endswith("red 500")
        assert connect(target, "sql", "select sum(live_bytes) from site").stdout.split()[-1] == b"500"
        assert b"500" in connect(target, "top", "--batch", "1").stdout
        assert json.loads(connect(target, "info", "--json").stdout)["pid"] == pid
        leaks = json.loads(connect(target, "leaks", "--json").stdout)
        assert leaks["leaks"]["scanned"] is True
        block = next(line.split()[0] for line in connect(target, "report", "--blocks").stdout.decode().splitlines() if line.strip().startswith("0x"))
        assert block in connect(target, "why", block).stdout.decode()
        assert json.loads(connect(target, "control", "--json", "stop").stdout)["on"] is False
        assert json.loads(connect(target, "control", "--json", "start").stdout)["on"] is True
        assert connect(target, "check", "--max-live", "499").returncode == 1
        assert connect(target, "check", "--max-live", "500", "--max-leaked", "1G", "--max-leaks", "100").returncode == 0
        said = connect(target, "snapshot", "half")
        assert said.returncode == 0 and (folder / f"steps-{pid}-1.memlog").read_text().startswith("+500\n"), said
        before = seep("connect", target.where, "-p", pid, "export", "--to", "json", "-o", folder / "x.json")
        assert before.returncode == 0
        target.say()
        target.said(b"ready\n", 2)
        assert json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"] == 30
        unknown = seep("connect", target.where, "-p", os.getpid(), "report")
        assert unknown.returncode == 3 and b"not among those recorded there" in unknown.stderr
        host = fetch(target, folder / "far.seep")
        target.say()
        fetched(host)
        target.finish()
    assert [s["label"] for s in Profile(folder / "far.seep").json["snapshots"]] == ["half"]


def test_only_commands_about_one_process_are_run(steps, recorder):
    with Target(recorder.folder(), steps, "ready", "wait", options=("--hold", "0")) as target:
        wrong = connect(target, "detach")
        assert wrong.returncode == 2 and b"cannot be asked of a target" in wrong.stderr
        assert b"did you mean report" in connect(target, "reprot").stderr
        assert connect(target, "-o", "x", "report").returncode == 2
        target.say()
        target.finish()


def test_the_program_goes_on_when_a_host_leaves_and_it_may_come_back(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", "wait", "+green:2:50", "ready", "wait") as target:
        target.said(b"ready\n")
        first = fetch(target, folder / "first.seep")
        wait_until(lambda: connected(target) == 1 and caught(first.pid) >> signal.SIGINT - 1 & 1, "it is connected, and waits")
        first.send_signal(signal.SIGINT)
        fetched(first)
        killed = fetch(target, folder / "killed.seep")
        wait_until(lambda: connected(target) == 1, "it is connected")
        killed.kill()
        killed.communicate()
        target.say()
        target.said(b"ready\n", 2)
        last = fetch(target, folder / "last.seep")
        target.say()
        fetched(last)
        done = target.finish()
    now = Profile(folder / "first.seep")
    assert (now.totals["live_bytes"], now.json["leaks"]["scanned"]) == (500, True)
    end = Profile(folder / "last.seep")
    check_clean(end)
    check_sites(done.truth, end)


def connected(target):
    """Hosts that have a process of the target's: children of the one that listens."""
    def children(pid):
        return [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    return sum(len(children(c)) for c in children(target.pid) if os.readlink(f"/proc/{c}/exe") == str(SEEP.resolve()))


def test_an_ended_program_can_be_looked_at_until_its_recording_is_fetched(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "exit:3") as target:
        wait_until(lambda: b"waiting for a host" in target.stderr(), "it has ended")
        assert json.loads(connect(target, "report", "--json").stdout)["exit"]["code"] == 3
        assert json.loads(connect(target, "leaks", "--json").stdout)["leaks"]["scanned"] is True
        [process] = json.loads(connect(target, "ps", "--json").stdout)["processes"]
        assert process["state"] == "ended"
        refused = connect(target, "control", "status")
        assert refused.returncode == 3 and b"has ended" in refused.stderr
        fetched(fetch(target, folder / "far.seep"))
        assert target.finish().status == 3
    assert Profile(folder / "far.seep").totals["live_bytes"] == 500


def test_what_nobody_fetches_stays_and_is_told(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", options=("--hold", "0")) as target:
        said = target.finish().stderr.decode()
    [file] = [p for p in target.left() if p.suffix == ".seep"]
    assert f"no host has fetched 1 recording: see {file.parent}" in said
    assert Profile(file).totals["live_bytes"] == 500


def test_a_recording_with_a_name_stays_on_the_target_too(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", "wait", options=("-o", folder / "here.seep")) as target:
        target.said(b"ready\n")
        host = fetch(target, folder / "there.seep")
        target.say()
        fetched(host)
        target.finish()
    assert (folder / "here.seep").read_bytes() == (folder / "there.seep").read_bytes()


def test_the_program_may_wait_for_a_host(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", options=("--wait",)) as target:
        assert json.loads(connect(target, "ps", "--json").stdout)["processes"] == [] or target.stdout()
        fetched(fetch(target, folder / "far.seep"))
        assert target.finish().stdout == b"ready\n"
    assert Profile(folder / "far.seep").totals["live_bytes"] == 500


def test_forked_and_executed_processes_are_of_the_same_session(steps, recorder):
    folder = recorder.folder()
    script = "read x; exec 4<&0; $0 +red:5:100 ready wait <&4 & $0 +green:7:10 ready wait <&4 & wait"
    with Target(folder, "/bin/sh", "-c", script, steps, options=("--follow=all",)) as target:
        assert target.program()
        host = fetch(target, folder / "%e.%p.seep")
        target.say(b"go\n")
        target.said(b"ready\n", 2)
        found = json.loads(connect(target, "ps", "--json").stdout)["processes"]
        found = [p for p in found if p["state"] == "on" and p["program"].endswith("steps")]
        assert sorted(p["live_bytes"] for p in found) == [70, 500]
        for p in found:
            report = seep("connect", target.where, "-p", p["pid"], "report", "--json")
            assert json.loads(report.stdout)["totals"]["live_bytes"] == p["live_bytes"]
        target.process.stdin.close()
        fetched(host)
        target.process.wait(DEADLINE)
    files = sorted(folder.glob("*.seep"))
    assert sorted(Profile(f).totals["live_bytes"] for f in files if f.name.startswith("steps.")) == [70, 500]


def test_a_process_that_runs_already_is_served(steps, recorder):
    folder, other = recorder.folder(), recorder.folder()
    with Started(other, steps, "ready", "wait", "+red:5:100", "ready", "wait", library=None) as program:
        program.said(b"ready\n")
        with Target(folder, options=("-p", program.pid)) as target:
            assert target.program() == program.pid
            program.say()
            program.said(b"ready\n", 2)
            assert json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"] == 500
            host = fetch(target, folder / "far.seep")
            program.say()
            fetched(host)
            target.process.wait(DEADLINE)
        program.finish()
    assert Profile(folder / "far.seep").totals["live_bytes"] == 500


# ---- names ----

def test_names_are_found_on_the_host(compiler, recorder):
    """The program that runs has no symbols; the one below --sysroot, and the debug file in --debug-path, do."""
    full = compiler.build("steps.c", name="remote-steps")
    folder = recorder.folder()
    bare = folder / "remote-steps"
    subprocess.run(["strip", "-o", bare, full], check=True)
    root = folder / "root"
    (root / str(folder)[1:]).mkdir(parents=True)
    shutil.copy(full, root / str(bare)[1:])
    with Target(folder, bare, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")

        def functions(*words):
            """With a cache of names of its own: it goes by build id."""
            done = subprocess.run([SEEP, "connect", target.where, *words, "report", "--json"], capture_output=True, timeout=DEADLINE,
                                  env=clean_environment({"XDG_CACHE_HOME": str(recorder.folder())}))
            return {f["function"] for f in json.loads(done.stdout)["frames"]}
        assert "red" not in functions()
        assert "red" in functions("--sysroot", root)
        assert "red" in functions("--debug-path", full.parent)
        host = subprocess.Popen([SEEP, "connect", target.where, "--sysroot", root, "-o", folder / "far.seep"],
                                env=clean_environment({"XDG_CACHE_HOME": str(recorder.folder())}), stderr=subprocess.PIPE)
        target.say()
        assert "red steps.c" in host.communicate(timeout=DEADLINE)[1].decode()
        target.finish()


# ---- addresses ----

def test_sockets_are_private_and_only_stale_ones_are_replaced(steps, recorder):
    folder = recorder.folder()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(folder / "s"))
    stale.close()
    with Target(folder, steps, "ready", "wait", options=("--hold", "0")) as target:
        assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600
        second = seep("serve", "--listen", folder / "s", "--", "/bin/true")
        assert second.returncode == 2 and b"already listens" in second.stderr
        target.say()
        target.finish()
    (folder / "s").write_text("a file")
    refused = seep("serve", "--listen", folder / "s", "--", "/bin/true")
    assert refused.returncode == 2 and b"is not a socket" in refused.stderr
    assert (folder / "s").read_text() == "a file"
    nobody = seep("connect", folder / "gone/s", "report")
    assert nobody.returncode == 3 and b"nobody can be reached" in nobody.stderr


def test_the_users_own_socket_is_the_default(steps, recorder):
    folder = recorder.folder()
    path = f"/run/user/{os.geteuid()}" if os.path.isdir(f"/run/user/{os.geteuid()}") else f"/tmp/seep-{os.geteuid()}"
    if os.path.exists(f"{path}/seep.sock"):
        pytest.skip("somebody uses the socket of this user")
    with Target(folder, steps, "+red:5:100", "ready", "wait", listen=".") as target:
        target.said(b"ready\n")
        assert json.loads(seep("connect", ".", "report", "--json").stdout)["totals"]["live_bytes"] == 500
        fake = folder / "bin"
        fake.mkdir()
        (fake / "ssh").write_text(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\necho "$2" >>{folder}/asked\nshift 2\n'
                                  f'[ "$1" = seep ] || exit 9\nshift\nexec {SEEP} "$@"\n')
        (fake / "ssh").chmod(0o755)
        done = subprocess.run([SEEP, "connect", "ssh:me@there", "report", "--json"], capture_output=True, timeout=DEADLINE,
                              env=clean_environment({"PATH": f"{fake}:{os.environ['PATH']}"}))
        assert json.loads(done.stdout)["totals"]["live_bytes"] == 500
        assert set((folder / "asked").read_text().split()) == {"me@there"}
        host = fetch(target, folder / "far.seep")
        target.say()
        fetched(host)
        target.finish()


# ---- tokens ----

@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_bytes(TOKEN + b"\n")
    path.chmod(0o600)
    return path


def test_other_addresses_need_a_token_on_both_sides(recorder, token):
    for words in (["serve", "--listen", "0.0.0.0:0", "--", "/bin/true"], ["connect", "192.0.2.1:4576", "report"]):
        done = seep(*words)
        assert done.returncode == 2 and b"--token-file" in done.stderr and b"ssh -L" in done.stderr, words
    folder = recorder.folder()
    with Target(folder, "/bin/sh", "-c", "read x", listen="0.0.0.0:0", options=("--token-file", token, "--hold", "0")) as target:
        assert b"not encrypted" in target.stderr()
        near = target.where.replace("0.0.0.0", "127.0.0.1")
        assert seep("connect", near, "--token-file", token, "ps").returncode == 0
        none = seep("connect", near, "ps")
        assert none.returncode == 3 and b"wants a token" in none.stderr
        wrong = token.with_name("wrong")
        wrong.write_bytes(b"another token of sixteen bytes")
        wrong.chmod(0o600)
        refused = seep("connect", near, "--token-file", wrong, "ps")
        assert refused.returncode == 3 and b"the token is wrong" in refused.stderr
        wait_until(lambda: b"a host was refused: the token is wrong" in target.stderr(), "the target says so, too")
        target.say()
        target.process.wait(DEADLINE)


def test_a_token_is_nobody_elses(recorder, token):
    token.chmod(0o644)
    done = seep("serve", "--token-file", token, "--", "/bin/true")
    assert done.returncode == 2 and b"chmod 600" in done.stderr
    token.write_bytes(b"short")
    token.chmod(0o600)
    assert b"16 to 1024 bytes" in seep("connect", "./s", "--token-file", token).stderr


def test_proofs_are_those_of_the_document(recorder, token):
    """Computed here by another implementation; and neither side sends the token."""
    with Target(recorder.folder(), "/bin/sh", "-c", "read x", options=("--token-file", token, "--hold", "0")) as target:
        wire, mine = dial(target.where), bytes(range(32))
        kind, body = wire.receive()
        assert kind == GREETING and body[:12] == b"SEEPWIRE" + struct.pack("<I", VERSION) and body[16] & 1
        theirs = body[20:52]

        def proof(who):
            return hmac.new(TOKEN, who.ljust(16, b"\0") + theirs + mine, hashlib.sha256).digest()
        wire.sock.sendall(hello(nonce=mine, proof=proof(b"seep host")))
        kind, body = wire.receive()
        assert kind == WELCOME and body[:32] == proof(b"seep target")
        wire.sock.close()
        target.say()
        target.process.wait(DEADLINE)


def test_a_target_that_does_not_know_the_token_is_not_asked(token):
    server = Server(lambda wire: (wire.sock.sendall(greeting(flags=1)), wire.receive(),
                                  wire.sock.sendall(frame(WELCOME, bytes(32) + struct.pack("<II", 1, 0) + text(b"vm"))), wire.ended()))
    done = seep("connect", server.where, "--token-file", token, "ps")
    assert done.returncode == 3 and b"does not know the token" in done.stderr
    server.close()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else")
def test_other_users_of_the_machine_are_not_heard(recorder):
    with Target(recorder.folder(), "/bin/sh", "-c", "read x", listen="127.0.0.1:0", options=("--hold", "0")) as target:
        host, port = target.where.split(":")
        script = f"exec 3<>/dev/tcp/{host}/{port}; head -c 300 <&3"
        got = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "bash", "-c", script], capture_output=True, timeout=DEADLINE)
        assert b"belongs to another user" in got.stdout and b"SEEPWIRE" not in got.stdout, got
        target.say()
        target.process.wait(DEADLINE)


# ---- peers that are wrong, silent or gone ----

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


def test_other_versions_are_told_by_both_sides(steps, recorder):
    server = Server(lambda wire: (wire.sock.sendall(greeting(version=9)), wire.ended()))
    done = seep("connect", server.where, "ps")
    assert done.returncode == 3 and b"speaks version 9" in done.stderr and b"version 1" in done.stderr
    server.close()
    with Target(recorder.folder(), steps, "ready", "wait", options=("--hold", "0")) as target:
        wire = dial(target.where)
        assert wire.receive()[0] == GREETING
        wire.sock.sendall(hello(version=9))
        code, why = wire.fault()
        assert code == 3 and "version 9" in why and "version 1" in why
        assert wire.ended()
        wait_until(lambda: b"version 9" in target.stderr(), "the target says so, too")
        target.say()
        target.finish()


def test_bytes_of_others_are_refused_and_disturb_nobody(steps, recorder):
    wrong = [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 64, b"\xff" * 64, frame(REQUEST, b""), hello()[:-1] + b"", frame(HELLO, b"SEEPWIRE"),
             struct.pack("<IHH", 65537, HELLO, 0) + bytes(1000)]
    after = [frame(99, b"x"), frame(CHUNK, b"x"), frame(REQUEST, b"short"), greeting(), struct.pack("<IHH", 1 << 31, REQUEST, 0)]
    with Target(recorder.folder(), steps, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")
        for bytes_ in wrong:
            wire = dial(target.where)
            wire.sock.sendall(bytes_)
            wire.sock.shutdown(socket.SHUT_WR)
            assert wire.ended()
        for bytes_ in after:
            wire = dial(target.where)
            wire.sock.sendall(hello() + bytes_)
            assert wire.ended()
        for kind in (0, 7, 8, 15, 20, 1 << 31):
            wire = welcomed(target)
            wire.sock.sendall(request(kind))
            got, body = wire.receive()
            assert got == ANSWER and struct.unpack_from("<I", body)[0] == 3
            wire.sock.close()
        assert json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"] == 500
        host = fetch(target, recorder.folder() / "far.seep")
        target.say()
        fetched(host)
        target.finish()


def welcomed(target):
    wire = dial(target.where)
    assert wire.receive()[0] == GREETING
    wire.sock.sendall(hello())
    assert wire.receive()[0] == WELCOME
    return wire


def test_memory_is_read_of_recorded_processes_only(steps, recorder):
    with Target(recorder.folder(), steps, "+red:1:64", "ready", "wait", options=("--hold", "0")) as target:
        target.said(b"ready\n")
        pid = target.program()
        address = int(connect(target, "sql", "select printf('0x%x', address) from block limit 1").stdout.split()[-1], 16)
        wire = welcomed(target)
        wire.sock.sendall(request(18, pid, number=64, address=address))
        kind, body = wire.receive()
        assert kind == ANSWER and struct.unpack_from("<IIQQQ", body)[0] == 0
        assert wire.receive() == (CHUNK, b"\1" * 64)
        for who, where, count in ((os.getpid(), address, 64), (pid, address, 0), (pid, address, 1 << 21), (pid, 16, 64)):
            wire.sock.sendall(request(18, who, number=count, address=where))
            kind, body = wire.receive()
            assert kind == ANSWER and struct.unpack_from("<I", body)[0] == 3
        wire.sock.close()
        target.say()
        target.finish()


def record_session(target):
    """What a target sends for a list and a look, message by message."""
    wire, said = dial(target.where), []
    said.append(wire.receive())
    wire.sock.sendall(hello())
    said.append(wire.receive())
    wire.sock.sendall(request(16))
    said.append(wire.receive())
    said += [wire.receive() for _ in range(struct.unpack_from("<II", said[-1][1])[1])]
    wire.sock.close()
    return said


def test_a_connection_that_is_cut_at_any_message_is_told(steps, recorder):
    """By a target that is gone after each message, and in the middle of each; then by a host."""
    with Target(recorder.folder(), steps, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")
        target.program()
        said = record_session(target)
        whole = [frame(kind, body) for kind, body in said]
        for cut in range(len(whole)):
            for part in (b"", whole[cut][:4], whole[cut][:-1]):
                def answer(wire, cut=cut, part=part):
                    for i in range(cut):
                        wire.sock.sendall(whole[i])
                        if i < 2:  # the host answers the greeting, and asks when it is welcome
                            wire.receive()
                    wire.sock.sendall(part)
                server = Server(answer)
                done = seep("connect", server.where, "ps")
                assert done.returncode == 3 and done.stderr.startswith(b"seep: "), (cut, done)
                server.close()
        for stop in range(3):
            wire = dial(target.where)
            for i in range(stop):
                wire.receive()
                wire.sock.sendall((hello(), request(3, target.program(), flags=1))[i])
            wire.sock.close()
        assert json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"] == 500
        host = fetch(target, recorder.folder() / "far.seep")
        target.say()
        fetched(host)
        target.finish()


def test_a_target_promises_no_more_than_it_sends(steps, recorder):
    """Lies about the number of bytes or processes are refused, and nothing is allocated for them."""
    begin = greeting(), frame(WELCOME, bytes(32) + struct.pack("<II", 1, 0) + text(b"vm"))
    process = frame(PROCESS, struct.pack("<IIIIQQ", 0, 77, 2, 0, 0, 0) + text(b"preload") + text(b"x"))

    def lies(size, chunk):
        def answer(wire):
            wire.sock.sendall(begin[0])
            wire.receive()
            wire.sock.sendall(begin[1])
            kind = struct.unpack_from("<I", wire.receive()[1])[0]
            if kind == 16:
                wire.sock.sendall(frame(LIST, struct.pack("<IIII", 1, 1, 1, 0)) + process)
            else:
                wire.sock.sendall(frame(ANSWER, struct.pack("<IIQQQ", 0, 0, 0, 0, size) + text(b"")) + frame(CHUNK, chunk))
            wire.ended()
        return answer
    for size, chunk in ((1 << 62, b"x"), (4, b"12345"), (4, b""), (5, b"12345")):
        server = Server(lies(size, chunk))
        done = seep("connect", server.where, "report")
        assert done.returncode in (3, 4), done
        server.close()


def test_silent_peers_are_left(steps, recorder):
    """Neither side waits for ever for one that says nothing."""
    server = Server(lambda wire: wire.ended())
    done = seep("connect", server.where, "ps")
    assert done.returncode == 3 and b"does not answer" in done.stderr
    server.close()
    with Target(recorder.folder(), steps, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")
        silent = [dial(target.where) for _ in range(20)]
        refused = [w for w in silent if w.receive()[0] == FAULT]
        assert len(refused) >= 4, "16 at a time"
        for wire in silent:
            assert wire.ended()
        wait_until(lambda: connected(target) == 0, "their processes are gone")
        assert json.loads(connect(target, "report", "--json").stdout)["totals"]["live_bytes"] == 500
        host = fetch(target, recorder.folder() / "far.seep")
        target.say()
        fetched(host)
        target.finish()


def test_fifty_connections_under_load_lose_no_event(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "ready", "wait", "churn:300000", "+red:5:100", "ready", "wait", listen="127.0.0.1:0") as target:
        target.said(b"ready\n")
        pid = target.program()
        target.say()
        for i in range(50):
            wire = dial(target.where)
            if i % 5:
                wire.receive()
                wire.sock.sendall(hello())
            if i % 5 > 1:
                wire.sock.sendall(request(3, pid, flags=1))
            if i % 5 > 2:
                wire.receive()
            wire.sock.close()
        target.said(b"ready\n", 2)
        host = fetch(target, folder / "far.seep")
        target.say()
        fetched(host)
        done = target.finish()
    profile = Profile(folder / "far.seep")
    check_clean(profile)
    check_sites(done.truth, profile)


def test_when_the_target_is_killed_the_host_says_so(steps, recorder):
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", "wait") as target:
        target.said(b"ready\n")
        host = fetch(target, folder / "far.seep")
        wait_until(lambda: connected(target) == 1, "it is connected")
        program = target.program()
        target.process.kill()
        target.process.wait()
        assert b"trying again" in host.stderr.readline()
        host.send_signal(signal.SIGINT)  # no need to wait for the end of its patience
        said = host.communicate(timeout=DEADLINE)[1].decode()
        assert host.returncode == 3 and "nobody can be reached" in said
        assert not (folder / "far.seep").exists() or not (folder / "far.seep").stat().st_size
        os.kill(program, signal.SIGKILL)


@pytest.fixture
def two_machines():
    """Two network namespaces with a link between them, as words in front of a command each, and a way to switch the link."""
    names = [f"seep-{os.getpid()}-{i}" for i in (1, 2)]

    def ip(*words):
        return subprocess.run(["ip", *words], capture_output=True, text=True)
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root, and ip of iproute2")
    try:
        steps = [["netns", "add", n] for n in names]
        steps.append(["-n", names[0], "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", names[1]])
        for i, n in enumerate(names):
            steps += [["-n", n, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "v0"], ["-n", n, "link", "set", "v0", "up"],
                      ["-n", n, "link", "set", "lo", "up"]]
        for words in steps:
            done = ip(*words)
            if done.returncode:
                pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")
        yield [["ip", "netns", "exec", n] for n in names], lambda state: ip("-n", names[0], "link", "set", "v0", state)
    finally:
        for n in names:
            ip("netns", "del", n)


def test_a_link_that_was_down_loses_nothing(steps, recorder, token, two_machines):
    """The host notices, both go on, and the host comes back by itself."""
    (there, here), link = two_machines
    folder = recorder.folder()
    with Target(folder, steps, "+red:5:100", "ready", "wait", "+green:7:10", "ready", "wait", within=there, listen="10.77.0.1:0",
                options=("--token-file", token)) as target:
        target.said(b"ready\n")
        with open(folder / "host", "wb") as out:
            host = subprocess.Popen([*here, SEEP, "connect", target.where, "--token-file", token, "-o", folder / "far.seep"],
                                    env=clean_environment(), stderr=out)
        said = folder / "host"
        wait_until(lambda: "connected to" in said.read_text(), "it is connected", process=host)
        link("down")
        target.say()
        target.said(b"ready\n", 2)
        wait_until(lambda: "trying again" in said.read_text(), "the host notices", process=host)
        link("up")
        wait_until(lambda: "connected to 10.77.0.1" in said.read_text().split("trying again")[1], "it is back", process=host)
        target.say()
        assert host.wait(DEADLINE) == 0, said.read_text()
        done = target.finish()
    profile = Profile(folder / "far.seep")
    check_clean(profile)
    check_sites(done.truth, profile)


def test_real_programs(recorder, need):
    need("python3", "sqlite3")
    folder = recorder.folder()
    for name, argv in (("python", [shutil.which("python3"), "-c", "x = [str(i) for i in range(20000)]; input()"]),
                       ("sqlite", [shutil.which("sqlite3"), ":memory:"])):
        with Target(folder, *argv) as target:
            target.program()
            assert connect(target, "report", "--flat", "-n", "3").returncode == 0
            host = fetch(target, folder / f"{name}.seep")
            target.say(b"create table t(a); insert into t values(1);\n" if name == "sqlite" else b"\n")
            target.process.stdin.close()
            fetched(host)
            assert target.process.wait(DEADLINE) == 0
        profile = Profile(folder / f"{name}.seep")
        assert profile.totals["allocations"] > 100 and profile.totals["lost_events"] == 0
