# SPDX-License-Identifier: MIT
"""seep-target and `seep serve --light`: no tool on the target, and the host comes to the report
of a local recording; hosts that are late, killed, silent or wrong."""
import contextlib
import hashlib
import hmac
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, check_sites, clean_environment, end_process, wait_until
from plain import child_of, seep
from remote import (
    ANSWER, CHUNK, FAULT, GREETING, HELLO, JOURNAL, REQUEST, STATE, TARGET, TOKEN, WELCOME, Light,
    dial, frame, hello, request,
)
from test_journal import check_same
from test_leaks import CLASSES

ASK_JOURNAL, ASK_MEMORY = 32, 18
ARGUMENTS = {"leak_classes.c": CLASSES}


def test_it_is_a_small_file_that_needs_no_other():
    head = subprocess.run(
        ["readelf", "-ldW", TARGET], capture_output=True, text=True, check=True
    ).stdout
    assert TARGET.stat().st_size <= 300 << 10
    assert "INTERP" not in head and "NEEDED" not in head and "There is no dynamic section" in head


@pytest.mark.parametrize(
    "source,light",
    [
        ("known.c", (TARGET,)),
        ("mappings.c", (TARGET,)),
        ("resources.c", (SEEP, "serve", "--light")),
        ("lifecycle.cpp", (TARGET,)),
        ("leak_classes.c", (TARGET,)),
        ("operators.cpp", (TARGET,)),
    ],
)
def test_a_host_that_is_there_comes_to_the_report_of_a_local_recording(
    compiler, recorder, source, light
):
    program, words = compiler.build(source), ARGUMENTS.get(source, ())
    local = recorder.record(program, *words)
    folder = recorder.folder()
    with Light(
        folder, program, *words, listen="localhost:0", options=["--wait"], command=light
    ) as target:
        (remote,) = target.fetch(folder).values()
        done = target.finish()
    assert (done.status, done.stdout) == (local.status, local.stdout)
    check_same(local.profile, remote)
    assert (
        remote.json["warnings"] == local.profile.json["warnings"]
        and remote.json["complete"] is True
    )


@pytest.fixture
def program(compiler):
    return compiler.build("journalled.c")


def check_state(truth, profile):
    """What a late host knows of the whole run, the maximum included."""
    check_sites(truth, profile)


def test_hosts_that_come_late_and_again_are_told_the_state(program, recorder):
    folder, pairs = recorder.folder(), 30000
    with Light(folder, program, "pause", 2 * pairs) as target:
        target.said(b"worked")
        looks = [target.report() for _ in range(3)]
        pid = looks[0].json["pid"]
        os.kill(pid, signal.SIGTERM)
        last = target.fetch(folder)[pid]
        done = target.finish()
    assert done.status == 128 + signal.SIGTERM and last.json["exit"] == {
        "code": None,
        "signal": signal.SIGTERM,
    }
    for told in [*looks, last]:
        check_state(done.truth, told)
        churn = told.by_function()["churn"]
        assert (churn["allocations"], churn["frees"], churn["live_blocks"]) == (pairs, pairs, 0)
        assert (
            told.totals["lost_events"] == 0
            and "was not connected from the beginning" in told.json["warnings"][0]
        )


@pytest.mark.parametrize(
    "words,peak",
    [
        (["+red:5:100", "+green:10:1000"], {"red": 500, "green": 10000}),  # it stands there still
        # red was never freed
        (["+red:5:100", "+green:10:1000", "-green:10"], {"red": 500, "green": 10000}),
        (
            ["+red:5:100", "+green:10:1000", "-red:2", "-green:10", "+blue:1:5000"],
            {"red": 500, "green": 10000},
        ),
    ],
)
def test_a_late_host_knows_the_maximum_and_when_it_was(steps, recorder, words, peak):
    with Light(recorder.folder(), steps, *words, "ready", "wait", options=["--hold=0"]) as target:
        target.said(b"ready\n")
        first = target.report()
        told = wait_until(
            lambda: (look := target.report()).json["duration_ms"] > first.json["duration_ms"] + 1000
            and look,
            "a second later",
        )
        for look in (first, told):
            assert (
                look.totals["peak_bytes"] == sum(peak.values())
                and look.totals["peak_ms"] == first.totals["peak_ms"]
            )
            assert {
                name: site["peak_bytes"]
                for name, site in look.by_function().items()
                if site["peak_bytes"]
            } == peak
        assert first.totals["peak_ms"] < told.json["duration_ms"] - 1000
        target.say()
        assert target.finish().status == 0


def test_of_a_killed_program_nothing_is_missing(program, recorder):
    folder, pairs = recorder.folder(), 30000
    with Light(folder, program, "kill", 2 * pairs, options=["--wait"]) as target:
        (only,) = target.fetch(folder).values()
        done = target.finish()
    check_sites(done.truth, only)
    assert done.status == 128 + signal.SIGKILL and only.json["exit"] == {
        "code": None,
        "signal": signal.SIGKILL,
    }
    assert only.by_function()["churn"]["frees"] == pairs and only.json["warnings"] == []


def test_a_forked_child_is_a_process_of_its_own(program, recorder):
    folder = recorder.folder()
    with Light(folder, program, "fork", options=["--wait", "--follow=all"]) as target:
        found = target.fetch(folder)
        done = target.finish()
    parent = next(
        p
        for p in found.values()
        if p.json["exit"]["code"] == 7 and p.by_function()["made_by_parent"]["live_blocks"] == 50
    )
    (child,) = [p for p in found.values() if p is not parent]
    assert done.status == 7 and parent.json["complete"] is True
    for name, counts in done.truth.sites.items():
        found = child.by_function().get(name, {"live_blocks": 0, "live_bytes": 0})
        assert (found["live_blocks"], found["live_bytes"]) == (
            counts["live_blocks"],
            counts["live_bytes"],
        ), name


def test_a_program_that_becomes_another_is_two_recordings(program, recorder):
    folder = recorder.folder()
    with Light(folder, program, "exec", options=["--wait"]) as target:
        subprocess.run(
            [SEEP, "connect", target.where, "--no-summary", "-o", folder / "out.%n.seep"],
            check=True,
            capture_output=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        done = target.finish()
    names = sorted(Profile(p).json["program"].split("/")[-1] for p in folder.glob("out.*.seep"))
    assert done.status == 0 and b"another" in done.stdout and len(names) == 2 and "echo" in names[0]


@pytest.mark.parametrize(
    "argv,status,said",
    [
        (["/nonexistent"], 127, b"not found"),
        (["/etc/passwd"], 126, b"cannot be executed"),
        ([TARGET, "--version"], 0, b"nothing was recorded"),
    ],
)
def test_where_nothing_was_recorded_nobody_is_waited_for(recorder, argv, status, said):
    """No such program, no program, and one that is statically linked."""
    with Light(recorder.folder(), *argv) as target:
        done = target.finish()
    assert done.status == status and said in done.stderr and b"waiting" not in done.stderr


def test_a_program_of_another_processor_is_told_from_one_without_the_right(recorder):
    folder = recorder.folder()
    (folder / "other").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    (folder / "other").chmod(0o755)
    with Light(folder, "./other") as target:
        done = target.finish()
    assert done.status == 126
    assert b"no program of this processor, and no script: ./other" in done.stderr


def test_children_of_a_program_that_is_not_recorded_are_shown(compiler, steps, recorder):
    """A static program starts the one that is looked at."""
    starter = compiler.build("starter.c", flags=("-O0", "-pthread", "-static"))
    with Light(
        recorder.folder(), starter, "fork", steps, "+red:5:100", "ready", "wait",
        options=["--hold=0"],
    ) as target:
        target.said(b"ready\n")
        assert target.report().totals["live_bytes"] == 500
        target.say()
        assert target.finish().status == 0


# ---- peers ----

def welcomed(where, proof=None):
    """A host that was let in."""
    wire = dial(str(where))
    kind, body = wire.receive()
    assert (
        kind == GREETING and body[:8] == b"SEEPWIRE" and struct.unpack_from("<I", body, 16)[0] & 2
    )
    wire.sock.sendall(hello(proof=proof(body[20:52]) if proof else bytes(32)))
    kind, body = wire.receive()
    return wire, kind, body


def test_the_token_is_needed_and_proved(program, recorder):
    folder = recorder.folder()
    (folder / "token").write_bytes(TOKEN + b"\n")
    (folder / "token").chmod(0o600)

    def proof(nonce):
        return hmac.new(
            TOKEN, b"seep host".ljust(16, b"\0") + nonce + bytes(32), hashlib.sha256
        ).digest()

    with Light(
        folder, program, "pause", options=["--hold=0", "--token-file", folder / "token"]
    ) as target:
        target.said(b"worked")
        assert welcomed(target.where)[1] == FAULT
        wire, kind, _ = welcomed(target.where, proof)
        assert kind == WELCOME
        wire.sock.close()
        done = seep("connect", target.where, "--token-file", str(folder / "token"), "ps", "--json")
        os.kill(json.loads(done.stdout)["processes"][0]["pid"], signal.SIGTERM)
        target.signal(signal.SIGTERM)


def test_wrong_and_dead_hosts_change_nothing(program, recorder):
    folder = recorder.folder()
    with Light(folder, program, "pause", 2000, options=["--hold=0"]) as target:
        target.said(b"worked")
        for bytes_ in (
            b"GET / HTTP/1.0\r\n\r\n" * 10,
            hello(version=99),
            frame(REQUEST, bytes(24)),
            b"\xff" * 64,
            frame(HELLO, bytes(70000 % 65536)),
        ):
            wire = dial(target.where)
            wire.receive()
            wire.sock.sendall(bytes_)
            assert wire.ended()
        wire, kind, _ = welcomed(target.where)
        wire.sock.sendall(request(ASK_JOURNAL))
        while kind != STATE:
            kind, _ = wire.receive()
        _, second, body = welcomed(target.where)
        assert second == FAULT and b"one at a time" in body
        wire.sock.sendall(request(1, pid=1))
        while kind != ANSWER:
            kind, body = wire.receive()
        assert struct.unpack_from("<I", body)[0] == 3
        host = subprocess.Popen(
            [SEEP, "connect", target.where],
            env=clean_environment(),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert host.wait(DEADLINE) == 3 and b"one at a time" in host.stderr.read()
        wire.sock.close()
        told = target.report()
        os.kill(told.json["pid"], signal.SIGTERM)
        done = target.finish()
    assert done.status == 128 + signal.SIGTERM
    check_state(done.truth, told)


@pytest.mark.parametrize("asks_nothing", [False, True])
def test_a_silent_host_is_left_and_makes_room(program, recorder, asks_nothing):
    """One that has said nothing at all already when another one comes."""
    with Light(recorder.folder(), program, "pause", options=["--hold=0"]) as target:
        target.said(b"worked")
        silent = welcomed(target.where)[0] if asks_nothing else dial(target.where)
        if asks_nothing:
            assert silent.ended()
        pid = wait_until(
            lambda: (done := seep("connect", target.where, "ps", "--json")).returncode == 0
            and json.loads(done.stdout),
            "another one is let in",
        )["processes"][0]["pid"]
        assert silent.ended()
        os.kill(pid, signal.SIGTERM)
        assert target.finish().status == 128 + signal.SIGTERM
        assert b"it said nothing" in (target.folder / "stderr").read_bytes()


def test_silent_connections_do_not_keep_the_host_from_a_search(program, recorder):
    """However many there are: who says nothing has no place that a host needs."""
    folder = recorder.folder()
    with Light(folder, program, "pause", options=["--hold=0"]) as target:
        target.said(b"worked")
        wire, kind, _ = welcomed(target.where)
        wire.sock.sendall(request(ASK_JOURNAL))
        while kind != STATE:
            kind, _ = wire.receive()
        silent = [dial(target.where) for _ in range(40)]
        assert {s.receive()[0] for s in silent} == {GREETING}
        readers = [dial(target.where) for _ in range(4)]
        for reader in readers:
            assert reader.receive()[0] == GREETING
            reader.sock.sendall(hello(flags=1))
            assert reader.receive()[0] == WELCOME
        fifth = dial(target.where)
        assert fifth.receive()[0] == GREETING
        fifth.sock.sendall(hello(flags=1))
        assert fifth.receive()[0] == FAULT
        assert all(s.ended() for s in silent)
        wire.sock.close()
        os.kill(target.report().json["pid"], signal.SIGTERM)
        assert target.finish().status == 128 + signal.SIGTERM


def test_strangers_that_come_again_and_again_do_not_keep_a_host_out(program, recorder):
    """They know no token, and say nothing or are wrong; the host comes from another address, and
    is heard at once."""
    folder, over, came = recorder.folder(), threading.Event(), []
    token = folder / "token"
    token.write_bytes(TOKEN)
    token.chmod(0o600)

    def come(where):
        host, port = where.rsplit(":", 1)
        kept = []
        while not over.is_set():
            with contextlib.suppress(OSError):
                kept.append(
                    socket.create_connection(
                        ("127.0.0.1", int(port)), source_address=("127.0.0.2", 0)
                    )
                )
                if len(kept) % 2:
                    kept[-1].sendall(hello())
                came.append(1)
            for old in kept[:-20]:
                old.close()
            del kept[:-20]
        for old in kept:
            old.close()

    with Light(
        folder, program, "pause", listen="127.0.0.1:0", options=["--hold=0", "--token-file", token]
    ) as target:
        target.said(b"worked")
        strangers = threading.Thread(target=come, args=(target.where,), daemon=True)
        strangers.start()
        try:
            for wanted in (50, 200, 400):
                wait_until(
                    lambda wanted=wanted: len(came) > wanted,
                    "strangers come",
                    process=target.process,
                )
                done = seep("connect", target.where, "--token-file", token, "ps", "--json")
                assert done.returncode == 0, done
        finally:
            over.set()
            strangers.join()
        os.kill(json.loads(done.stdout)["processes"][0]["pid"], signal.SIGTERM)
        assert target.finish().status == 128 + signal.SIGTERM


@pytest.mark.parametrize("hold", ["0", "1"])
def test_a_host_that_is_there_is_told_all_and_does_not_hold_the_target(program, recorder, hold):
    """Whatever --hold says, and though it never says that it has stored anything."""
    with Light(
        recorder.folder(), program, "exit", 200000,
        options=["--wait", "--no-leak-scan", f"--hold={hold}"],
    ) as target:
        wire, kind, body = welcomed(target.where)
        wire.sock.sendall(request(ASK_JOURNAL))
        while kind != STATE or struct.unpack_from("<I", body)[0] != 2:
            kind, body = wire.receive()
        assert wire.ended() and target.finish().status == 9


def test_memory_is_read_on_request(program, recorder):
    folder = recorder.folder()
    with Light(folder, program, "pause", options=["--hold=0"]) as target:
        target.said(b"worked")
        pid = target.report().json["pid"]
        with open(f"/proc/{pid}/maps") as maps:
            start = next(int(line.split("-")[0], 16) for line in maps if "journalled" in line)
        wire, kind, _ = welcomed(target.where)
        wire.sock.sendall(
            request(ASK_JOURNAL) + request(ASK_MEMORY, pid=pid, number=4, address=start)
        )
        while kind != CHUNK:
            kind, body = wire.receive()
        assert body == b"\x7fELF"
        wire.sock.sendall(request(ASK_MEMORY, pid=pid, number=4, address=16))
        while kind != ANSWER:
            kind, body = wire.receive()
        assert struct.unpack_from("<I", body)[0] == 3
        os.kill(pid, signal.SIGTERM)
        wire.sock.close()
        assert target.finish().status == 128 + signal.SIGTERM


def test_a_host_that_takes_nothing_costs_events_that_are_counted(program, recorder):
    folder, pairs = recorder.folder(), 2000000
    with Light(
        folder, program, "pause", 2 * pairs, options=["--wait", "--overflow=drop"]
    ) as target:
        wire, _, _ = welcomed(target.where)
        wire.sock.sendall(request(ASK_JOURNAL))
        target.said(b"worked")  # it has not waited
        wire.sock.close()
        told = target.report()
        os.kill(told.json["pid"], signal.SIGTERM)
        (last,) = target.fetch(folder).values()
        done = target.finish()
    assert (
        told.totals["lost_events"] > 0 and last.totals["lost_events"] == told.totals["lost_events"]
    )
    check_state(done.truth, told)


def test_a_slow_host_misses_nothing_because_the_program_waits_for_it(program, recorder):
    folder, pairs = recorder.folder(), 300000
    with Light(folder, program, "exit", 2 * pairs, options=["--wait"]) as target:
        wire, kind, body = welcomed(target.where)
        wire.sock.sendall(request(ASK_JOURNAL))
        numbers = []
        while kind != STATE or struct.unpack_from("<I", body)[0] != 2:
            kind, body = wire.receive()
            if kind == JOURNAL:
                numbers.append(struct.unpack_from("<I", body, 4 + 16)[0])
        wire.sock.close()  # it did not say that it has stored anything
        (told,) = target.fetch(folder).values()
        done = target.finish()
    assert done.status == 9 and numbers == list(range(len(numbers))) and len(numbers) > 10
    assert told.totals["lost_events"] == 0 and told.by_function()["churn"]["frees"] == pairs


def test_an_idle_programs_clock_goes_on(program, recorder):
    """Without any event: the host knows what time it is there."""
    folder = recorder.folder()
    with Light(folder, program, "pause", options=["--hold=0"]) as target:
        target.said(b"worked")
        first = target.report().json
        wait_until(
            lambda: target.report().json["duration_ms"] > first["duration_ms"] + 2000,
            "two seconds pass there",
        )
        os.kill(first["pid"], signal.SIGTERM)
        target.finish()


def test_a_killed_host_leaves_nothing_behind(program, recorder):
    """Whichever of its two processes is killed, or both: at the latest the next one removes it."""
    def folders():
        found = set()
        for path in Path("/tmp").glob("seep-keeper-*"):
            with contextlib.suppress(FileNotFoundError):  # its owner removes it meanwhile
                found |= {path} if path.stat().st_uid == os.geteuid() else set()
        return found

    def connected(host):
        wait_until(
            lambda: host.stderr.readline().startswith(b"seep: connected to"), "it is connected"
        )
        return int(Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()[0])
    with Light(recorder.folder(), program, "pause", options=["--hold=0"]) as target:
        target.said(b"worked")
        for both in (False, True):
            before = folders()
            host = subprocess.Popen(
                [SEEP, "connect", target.where, "-o", recorder.folder() / "never.seep"],
                env=clean_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            keeper = connected(host)
            mine = {p for p in folders() - before if holds(host.pid, p)}
            assert len(mine) == 1
            if both:
                # so that it cannot tidy up before it is killed, too
                os.kill(keeper, signal.SIGSTOP)
            host.kill()
            end_process(host)
            if both:
                assert mine <= folders()
                os.kill(keeper, signal.SIGKILL)
            told = wait_until(
                lambda: seep("connect", target.where, "report", "--json").returncode == 0
                and target.report(),
                "the next one is let in",
            )
            wait_until(lambda: not mine & folders(), "it is removed")
        os.kill(told.json["pid"], signal.SIGTERM)
        target.finish()


def test_what_a_killed_target_leaves_is_removed_by_the_next(program, recorder):
    """Its folder for agents; not that of one that runs, nor one that is just being made."""
    def folders():
        return set(Path("/tmp").glob("seep-target-*"))

    def start():
        known, target = folders(), Light(recorder.folder(), program, "pause", options=["--hold=0"])
        target.said(b"worked")
        environment = Path(f"/proc/{child_of(target)}/environ").read_text()
        (folder,) = {p for p in folders() - known if f"{p}/" in environment}
        return target, folder

    killed, left = start()
    with killed:
        pid = child_of(killed)
        killed.process.kill()
        killed.process.wait()
        os.kill(pid, signal.SIGKILL)
    os.utime(left, (0, 0))
    fresh = Path(tempfile.mkdtemp(prefix="seep-target-", dir="/tmp"))
    running, used = start()
    with running:
        assert left not in folders() and {fresh, used} <= folders()
        second, _ = start()
        with second:
            assert used in folders()
            for target in (second, running):
                os.kill(child_of(target), signal.SIGTERM)
                assert target.finish().status == 128 + signal.SIGTERM
    fresh.rmdir()
    assert used not in folders()


def holds(pid, path):
    """Whether the process has PATH open."""
    return any(os.readlink(f) == str(path) for f in Path(f"/proc/{pid}/fd").iterdir())


def test_a_killed_host_is_no_loss(program, recorder):
    folder = recorder.folder()
    with Light(folder, program, "pause", 20000) as target:
        target.said(b"worked")
        for _ in range(3):
            host = subprocess.Popen(
                [SEEP, "connect", target.where, "-o", folder / "never.seep"],
                env=clean_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            wait_until(
                lambda: host.stderr.readline().startswith(b"seep: connected to"), "it is connected"
            )
            host.kill()
            end_process(host)
        told = wait_until(
            lambda: seep("connect", target.where, "report", "--json").returncode == 0
            and target.report(),
            "the next one is let in",
        )
        os.kill(told.json["pid"], signal.SIGTERM)
        target.fetch(folder)
        done = target.finish()
    check_state(done.truth, told)
