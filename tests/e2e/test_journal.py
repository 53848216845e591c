# SPDX-License-Identifier: MIT
"""The journal: the library alone beside the program, and a reader elsewhere that comes to the
same report as a local recording."""
import signal
import socket
import subprocess
import threading

import pytest

from harness import DEADLINE, SEEP, Profile, check_sites, clean_environment, wait_until
from plain import LIBRARY, Started, run_plain

KEYS = (
    "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
    "peak_blocks", "temporary", "unknown_frees", "double_frees", "mismatched", "mmap_calls",
    "mmap_bytes", "mmap_live_bytes", "truncated_stacks", "lost_events",
)
CLASSES = ("definite", "indirect", "possible", "reachable")


def journalled(folder, *argv, to="out.journal", options="", **how):
    """Run with nothing but the library, which writes to a file."""
    return run_plain(
        folder, *argv, env={"SEEP_OPTIONS": f"--journal={folder / to} {options}"}, **how
    )


def sites_of(profile):
    """Everything that is told of each stack; the environment variables that differ between the
    two runs are the program's."""
    found = {}
    for site in profile.json["sites"]:
        frames = [profile.frame(i) for i in site["stack"]]
        key = (site["kind"], tuple((f["function"], f["module"], f["line"]) for f in frames))
        counts = [
            site[k]
            for k in (
                "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes",
                "peak_bytes", "temporary",
            )
        ]
        found[key] = [a + b for a, b in zip(found.get(key, [0] * len(counts)), counts)]
    return found


def leaks_of(profile):
    return sorted(
        (site["kind"], profile.names(site["stack"]), site["leaked_blocks"], site["leaked_bytes"])
        for site in profile.json["sites"]
    )


def faults_of(profile):
    return sorted(
        (f["type"], f["count"], profile.names(f["stack"]), profile.names(f["alloc_stack"] or []))
        for f in profile.errors
    )


def check_same(local, remote, *, peak=True):
    keys = [k for k in KEYS if k in local.totals and (peak or not k.startswith("peak"))]
    assert {k: remote.totals[k] for k in keys} == {k: local.totals[k] for k in keys}
    ours, theirs = sites_of(remote), sites_of(local)
    assert {k: v for k, v in ours.items() if theirs.get(k) != v} == {} and set(ours) == set(theirs)
    assert faults_of(remote) == faults_of(local)
    assert remote.json["exit"] == local.json["exit"]
    if remote.json["leaks"]["scanned"] and local.json["leaks"]["scanned"]:
        assert {k: remote.json["leaks"][k] for k in CLASSES} == {
            k: local.json["leaks"][k] for k in CLASSES
        }
        assert leaks_of(remote) == leaks_of(local)


PROGRAMS = {
    "known.c": (),
    "realloc_forms.c": (),
    "temporaries.c": (),
    "pools.c": (),
    "resources.c": (),
    "operators.cpp": (),
    "lifecycle.cpp": (),
    "mappings.c": (),
}


@pytest.mark.parametrize("source", PROGRAMS)
def test_a_journal_comes_to_the_report_of_a_local_recording(compiler, recorder, source):
    program = compiler.build(source)
    local = recorder.record(program, *PROGRAMS[source], options=["--no-leak-scan"])
    folder = recorder.folder()
    done = journalled(folder, program, *PROGRAMS[source])
    assert done.status == local.status and done.stdout == local.stdout and done.stderr == b""
    remote = Profile(folder / "out.journal")
    check_same(local.profile, remote)
    assert remote.json["warnings"] == local.profile.json["warnings"]
    assert remote.json["complete"] is True and [p.name for p in folder.glob("out.journal*")] == [
        "out.journal"
    ]


@pytest.fixture
def program(compiler):
    return compiler.build("journalled.c")


def journals(folder):
    return {p.name: Profile(p) for p in sorted(folder.glob("out.journal*"))}


@pytest.mark.parametrize("way,status", [("exit", 9), ("_exit", 9), ("segv", 128 + signal.SIGSEGV)])
def test_every_way_to_end_is_told_with_all_events(program, recorder, way, status):
    folder = recorder.folder()
    done = journalled(folder, program, way, 20000)
    only = Profile(folder / "out.journal")
    assert done.status == status and only.json["complete"] is True and only.json["warnings"] == []
    assert only.json["exit"] == (
        {"code": 9, "signal": None} if status == 9 else {"code": None, "signal": signal.SIGSEGV}
    )
    check_sites(done.truth, only)


FLUSHED = 4096


def test_of_a_killed_program_only_the_last_buffer_is_missing(program, recorder):
    folder, pairs = recorder.folder(), 30000
    done = journalled(folder, program, "kill", 2 * pairs)
    only = Profile(folder / "out.journal")
    counts = only.by_function()["churn"]
    assert done.status == 128 + signal.SIGKILL
    assert 2 * pairs - FLUSHED <= counts["allocations"] + counts["frees"] <= 2 * pairs
    assert only.by_function()["made_by_parent"]["live_blocks"] == 50
    assert only.json["complete"] is False and "does not tell the end" in only.json["warnings"][0]


def test_a_forked_child_has_a_journal_that_begins_with_what_it_inherits(program, recorder):
    folder = recorder.folder()
    done = journalled(folder, program, "fork", options="--follow=all")
    found = journals(folder)
    assert done.status == 7 and len(found) == 2
    parent = found.pop("out.journal")
    (child,) = found.values()
    assert parent.by_function()["made_by_parent"]["live_blocks"] == 50
    assert child.json["exit"] == {"code": 7, "signal": None}
    check_sites(done.truth, child)  # nothing of it was freed before the fork


@pytest.mark.parametrize("way", ["exec", "spawn"])
def test_another_program_has_a_journal_of_its_own(program, recorder, way):
    folder = recorder.folder()
    done = journalled(folder, program, way)
    found = journals(folder)
    assert done.stdout.replace(b"worked\n", b"") == b"another\n"
    first = found.pop("out.journal")
    (second,) = found.values()
    assert first.by_function()["made_by_parent"]["live_blocks"] == 50
    assert second.json["program"].endswith("echo") and second.json["exit"]["code"] == 0
    assert first.json["complete"] is True


def test_a_file_that_exists_is_left_as_it_is(program, recorder):
    folder = recorder.folder()
    (folder / "out.journal").write_text("mine")
    journalled(folder, program, "exit")
    (made,) = [p for p in folder.glob("out.journal.*")]
    assert (folder / "out.journal").read_text() == "mine" and Profile(made).by_function()[
        "made_by_parent"
    ]["live_blocks"] == 50
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "options",
    [
        "--journal=/nowhere/at/all", "--journal=out --sample", "--journal=tcp:nobody:1",
        "--journal=out --follow=none",
    ],
)
def test_options_that_cannot_hold_are_told_and_nothing_is_recorded(program, recorder, options):
    folder = recorder.folder()
    done = run_plain(folder, program, "exit", env={"SEEP_OPTIONS": options})
    assert done.status == 9 and done.stdout == b"worked\n"
    assert done.stderr.startswith(b"seep: ") and b"nothing is recorded\n" in done.stderr
    assert not list(folder.glob("out*"))


def test_leaks_say_why_they_are_not_known(program, recorder):
    folder = recorder.folder()
    journalled(folder, program, "exit")
    done = subprocess.run(
        [SEEP, "leaks", folder / "out.journal"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert "was made from a journal" in done.stdout + done.stderr


def test_a_journal_of_another_version_is_refused_with_both_numbers(program, recorder):
    folder = recorder.folder()
    journalled(folder, program, "exit")
    later = bytearray((folder / "out.journal").read_bytes())
    later[8] = 7
    (folder / "later").write_bytes(later)
    done = subprocess.run(
        [SEEP, "report", folder / "later"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 4 and "version 7" in done.stderr and "version 1" in done.stderr


# ---- over a connection, with a peer of our own ----

class Sink(threading.Thread):
    """Takes one connection and keeps what comes, as HOW says: small pieces, only when told to,
    or a first piece and no more."""

    def __init__(self, folder, how="all"):
        super().__init__(daemon=True)
        self.file, self.how, self.go = folder / "sink.journal", how, threading.Event()
        self.listener = socket.socket()
        self.listener.settimeout(DEADLINE)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.option = f"--journal=tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        self.start()

    def run(self):
        peer, _ = self.listener.accept()
        if self.how == "told":
            self.go.wait(DEADLINE)
        with peer, self.file.open("wb", buffering=0) as out:
            while piece := peer.recv(512 if self.how == "slow" else 65536):
                out.write(piece)
                if self.how == "first":
                    break
        self.listener.close()


PAIRS = 300000


@pytest.mark.parametrize("how", ["all", "slow"])
def test_a_connection_gets_every_event_also_when_the_peer_is_slow(program, recorder, how):
    folder = recorder.folder()
    sink = Sink(folder, how)
    done = run_plain(folder, program, "exit", 2 * PAIRS, env={"SEEP_OPTIONS": sink.option})
    sink.join(DEADLINE)
    only = Profile(sink.file)
    assert done.status == 9 and done.stderr == b"" and only.json["complete"] is True
    assert (only.by_function()["churn"]["allocations"], only.by_function()["churn"]["frees"]) == (
        PAIRS,
        PAIRS,
    )
    check_sites(done.truth, only)


def test_what_does_not_fit_is_dropped_and_counted_when_so_asked(program, recorder):
    folder = recorder.folder()
    sink = Sink(folder, "told")
    env = {"SEEP_OPTIONS": f"{sink.option} --overflow=drop"}
    with Started(folder, program, "pause", 2 * PAIRS, env=env) as target:
        target.said(b"worked")  # nobody has read anything yet
        sink.go.set()
        wait_until(
            lambda: sink.file.exists() and sink.file.stat().st_size > 200000,
            "the connection is in use again",
        )
        target.signal(signal.SIGTERM)
        target.process.wait(DEADLINE)
        sink.join(DEADLINE)
    only = Profile(sink.file)
    assert "events could not be recorded: the journal had no room" in only.json["warnings"][0]
    assert only.totals["lost_events"] > 0 and only.json["complete"] is False
    assert only.json["exit"] == {"code": None, "signal": signal.SIGTERM}
    assert only.by_function()["churn"]["allocations"] < PAIRS
    assert only.by_function()["made_by_parent"]["live_blocks"] == 50


@pytest.mark.parametrize("overflow", ["block", "drop"])
def test_a_peer_that_goes_away_does_no_harm(program, recorder, overflow):
    folder = recorder.folder()
    sink = Sink(folder, "first")
    done = run_plain(
        folder,
        program,
        "exit",
        2 * PAIRS,
        env={"SEEP_OPTIONS": f"{sink.option} --overflow={overflow}"},
    )
    assert (done.status, done.stdout, done.stderr) == (9, b"worked\n", b"")


def test_nobody_at_the_address_is_told_and_the_program_runs(program, recorder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        option = f"--journal=tcp:127.0.0.1:{taken.getsockname()[1]}"
        done = run_plain(recorder.folder(), program, "exit", env={"SEEP_OPTIONS": option})
    assert (
        done.status == 9
        and b"cannot reach the receiver" in done.stderr
        and b"nothing is recorded" in done.stderr
    )


# ---- the receiver ----

class Receiver:
    """`seep connect --receive` at a port that the kernel chose; it ends when all that came is
    over."""

    def __init__(self, folder, way, *options, at="127.0.0.1", within=()):
        self.folder, self.log = folder, folder / "receiver.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *within, SEEP, "connect", "--receive", f"{way}{at}:0", "-o",
                    folder / "%e.%p.seep",
                    *options,
                ],
                stderr=log,
                env=clean_environment(),
            )
        wait_until(
            lambda: b"receiving at" in self.log.read_bytes(), "it listens", process=self.process
        )
        self.port = int(self.log.read_text().split("port ")[1].split(";")[0].split()[0])

    def finish(self):
        assert self.process.wait(DEADLINE) == 0, self.log.read_text()
        return [Profile(p) for p in sorted(self.folder.glob("*.seep"))]


@pytest.fixture
def receive():
    """None of them outlives its test."""
    started = []

    def start(*how, **where):
        started.append(Receiver(*how, **where))
        return started[-1]
    yield start
    for receiver in started:
        if receiver.process.poll() is None:
            receiver.process.kill()
            receiver.process.wait(DEADLINE)


@pytest.mark.parametrize("way", ["tcp", "udp"])
@pytest.mark.parametrize("source", ["known.c", "operators.cpp"])
def test_what_is_received_comes_to_the_report_of_a_local_recording(
    compiler, recorder, receive, source, way
):
    program = compiler.build(source)
    local = recorder.record(program, options=["--no-leak-scan"])
    folder = recorder.folder()
    receiver = receive(folder, f"{way}:", "--once")
    done = run_plain(
        folder, program, env={"SEEP_OPTIONS": f"--journal={way}:127.0.0.1:{receiver.port}"}
    )
    (remote,) = receiver.finish()
    assert done.status == local.status and done.stderr == b""
    check_same(local.profile, remote)
    assert (
        remote.json["complete"] is True
        and remote.json["warnings"] == local.profile.json["warnings"]
    )


def test_several_processes_and_both_ways_at_one_port(program, recorder, receive):
    folder = recorder.folder()
    receiver = receive(folder, "")
    for way in ("tcp", "udp"):
        run_plain(
            folder,
            program,
            "fork",
            env={"SEEP_OPTIONS": f"--journal={way}:127.0.0.1:{receiver.port} --follow=all"},
        )
    wait_until(
        lambda: len(list(folder.glob("*.seep"))) == 4, "four recordings", process=receiver.process
    )
    receiver.process.send_signal(signal.SIGINT)
    found = receiver.finish()
    assert [p.json["complete"] for p in found] == [True] * 4
    assert sorted(p.json["exit"]["code"] for p in found) == [7, 7, 7, 7]


def test_a_lost_datagram_is_counted_and_the_rest_is_there(program, recorder, receive):
    """A relay that loses the third of all datagrams."""
    folder = recorder.folder()
    receiver = receive(folder, "udp:", "--once")
    relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        # SO_RCVBUFFORCE: nothing else is lost when we are held up
        relay.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
    except PermissionError:
        relay.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    relay.bind(("127.0.0.1", 0))
    relay.settimeout(0.05)
    with Started(
        folder, program, "exit", 20000,
        env={"SEEP_OPTIONS": f"--journal=udp:127.0.0.1:{relay.getsockname()[1]}"},
    ) as target:
        count, quiet = 0, 0
        while quiet < 3:
            try:
                packet = relay.recv(65536)
            except TimeoutError:
                quiet += target.process.poll() is not None
                continue
            count += 1
            if count != 3:
                relay.sendto(packet, ("127.0.0.1", receiver.port))
    relay.close()
    (only,) = receiver.finish()
    assert (
        only.json["complete"] is False
        and "1 packets of the journal were lost" in only.json["warnings"][0]
    )
    assert 0 < only.by_function()["churn"]["allocations"] <= 10000


def test_garbage_does_not_hurt_the_receiver(program, recorder, receive):
    folder = recorder.folder()
    receiver = receive(folder, "")
    with socket.create_connection(("127.0.0.1", receiver.port)) as peer:
        peer.sendall(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n" * 4)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        for size in (0, 1, 31, 32, 1000):
            peer.sendto(
                b"\x89SJRN\r\n\x1a" * (size // 8) + b"x" * (size % 8), ("127.0.0.1", receiver.port)
            )
    silent = socket.create_connection(("127.0.0.1", receiver.port))
    run_plain(
        folder, program, "exit", env={"SEEP_OPTIONS": f"--journal=tcp:127.0.0.1:{receiver.port}"}
    )
    wait_until(lambda: list(folder.glob("*.seep")), "the recording", process=receiver.process)
    silent.close()
    receiver.process.send_signal(signal.SIGTERM)
    (only,) = receiver.finish()
    assert (
        only.by_function()["made_by_parent"]["live_blocks"] == 50
        and "no journal of seep" in receiver.log.read_text()
    )


def test_a_journal_in_a_file_becomes_a_recording(program, recorder):
    folder = recorder.folder()
    journalled(folder, program, "exit")
    done = subprocess.run(
        [SEEP, "connect", "--receive", folder / "out.journal", "-o", folder / "made.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0 and "made.seep" in done.stderr
    assert Profile(folder / "made.seep").totals == Profile(folder / "out.journal").totals


def test_a_receiver_notices_that_the_link_is_dead(program, recorder, receive, two_machines):
    """The program waits for it no longer than it may, and what has come is a recording, without
    Ctrl-C."""
    folder = recorder.folder()
    receiver = receive(folder, "tcp:", "--once", at="10.77.0.2", within=two_machines.here)
    with Started(
        recorder.folder(),
        *two_machines.there,
        "/usr/bin/env", f"LD_PRELOAD={LIBRARY}",
        f"SEEP_OPTIONS=--journal=tcp:10.77.0.2:{receiver.port}", program, "pause", 20000,
        library=None,
    ) as running:
        running.said(b"worked")
        two_machines.mute(True)
        (told,) = receiver.finish()
        running.process.kill()
    assert (
        told.json["complete"] is False and told.by_function()["made_by_parent"]["live_blocks"] == 50
    )
