# SPDX-License-Identifier: MIT
"""Peers of `seep serve` and `seep connect` that are wrong, silent, hostile or gone at any
message."""
import json
import os
import socket
import struct

import pytest

from harness import wait_until
from plain import seep
from remote import (
    ANSWER, CHUNK, FAULT, GREETING, HELLO, LIST, PROCESS, REQUEST, WELCOME, Light, Server, Target,
    connect, connected, dial, fetch, fetched, frame, greeting, hello, request, text, welcomed,
)


def check_answers(target):
    """The next host is served; not before others have gone, of whom there may be 16 at a time."""
    wait_until(lambda: connected(target) == 0, "their processes are gone")
    far = connect(target, "report", "--json")
    assert far.returncode == 0, far
    assert json.loads(far.stdout)["totals"]["live_bytes"] == 500


@pytest.mark.parametrize("kind", [Target, Light])
def test_other_versions_are_told_by_both_sides(steps, recorder, kind):
    server = Server(lambda wire: (wire.sock.sendall(greeting(version=9)), wire.ended()))
    done = seep("connect", server.where, "ps")
    assert (
        done.returncode == 3 and b"speaks version 9" in done.stderr and b"version 1" in done.stderr
    )
    server.close()
    with kind(recorder.folder(), steps, "ready", "wait", options=("--hold", "0")) as target:
        wire = dial(target.where)
        assert wire.receive()[0] == GREETING
        wire.sock.sendall(hello(version=9))
        code, why = wire.fault()
        assert code == 3 and "version 9" in why and "version 1" in why
        assert wire.ended()
        wait_until(
            lambda: b"version 9" in target.stderr() and b"version 1" in target.stderr(),
            "the target says so, too",
        )
        target.say()
        target.finish()


def test_bytes_of_others_are_refused_and_disturb_nobody(steps, recorder):
    wrong = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 64,
        b"\xff" * 64,
        frame(REQUEST, b""),
        hello()[:-1] + b"",
        frame(HELLO, b"SEEPWIRE"),
        struct.pack("<IHH", 65537, HELLO, 0) + bytes(1000),
    ]
    after = [
        frame(99, b"x"),
        frame(CHUNK, b"x"),
        frame(REQUEST, b"short"),
        greeting(),
        struct.pack("<IHH", 1 << 31, REQUEST, 0),
    ]
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
        check_answers(target)
        host = fetch(target, recorder.folder() / "far.seep")
        target.say()
        fetched(host)
        target.finish()


def test_memory_is_read_of_recorded_processes_only(steps, recorder):
    with Target(
        recorder.folder(), steps, "+red:1:64", "ready", "wait", options=("--hold", "0")
    ) as target:
        target.said(b"ready\n")
        pid = target.program()
        address = int(
            connect(
                target, "sql", "select printf('0x%x', address) from block limit 1"
            ).stdout.split()[-1],
            16,
        )
        wire = welcomed(target)
        wire.sock.sendall(request(18, pid, number=64, address=address))
        kind, body = wire.receive()
        assert kind == ANSWER and struct.unpack_from("<IIQQQ", body)[0] == 0
        assert wire.receive() == (CHUNK, b"\1" * 64)
        for who, where, count in (
            (os.getpid(), address, 64),
            (pid, address, 0),
            (pid, address, 1 << 21),
            (pid, 16, 64),
        ):
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
        check_answers(target)
        host = fetch(target, recorder.folder() / "far.seep")
        target.say()
        fetched(host)
        target.finish()


def test_a_target_promises_no_more_than_it_sends(steps, recorder):
    """Lies about the number of bytes or processes are refused, and nothing is allocated for
    them."""
    begin = greeting(), frame(WELCOME, bytes(32) + struct.pack("<II", 1, 0) + text(b"vm"))
    process = frame(
        PROCESS, struct.pack("<IIIIQQ", 0, 77, 2, 0, 0, 0) + text(b"preload") + text(b"x")
    )

    def lies(size, chunk):
        def answer(wire):
            wire.sock.sendall(begin[0])
            wire.receive()
            wire.sock.sendall(begin[1])
            kind = struct.unpack_from("<I", wire.receive()[1])[0]
            if kind == 16:
                wire.sock.sendall(frame(LIST, struct.pack("<IIII", 1, 1, 1, 0)) + process)
            else:
                wire.sock.sendall(
                    frame(ANSWER, struct.pack("<IIQQQ", 0, 0, 0, 0, size) + text(b""))
                    + frame(CHUNK, chunk)
                )
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
        check_answers(target)
        host = fetch(target, recorder.folder() / "far.seep")
        target.say()
        fetched(host)
        target.finish()
