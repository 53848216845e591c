# SPDX-License-Identifier: MIT
"""Where `seep serve` listens and who is heard there: sockets, ports, ssh, tokens, other users."""
import contextlib
import hashlib
import hmac
import json
import os
import shutil
import socket
import stat
import struct
import subprocess

import pytest

from harness import DEADLINE, SEEP, clean_environment, wait_until
from plain import seep
from remote import (
    GREETING, TOKEN, VERSION, WELCOME, Light, Server, Target, dial, fetch, fetched, frame,
    greeting, hello, text,
)


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


@pytest.mark.parametrize("kind", [Target, Light])
def test_the_users_own_socket_is_where_ssh_leads(steps, recorder, kind):
    folder = recorder.folder()
    path = (
        f"/run/user/{os.geteuid()}"
        if os.path.isdir(f"/run/user/{os.geteuid()}")
        else f"/tmp/seep-{os.geteuid()}"
    )
    with contextlib.suppress(OSError):  # one that was killed may have left it: it is replaced
        dial(f"{path}/seep.sock").sock.close()
        pytest.skip("somebody uses the socket of this user")
    with kind(folder, steps, "+red:5:100", "ready", "wait", listen=".") as target:
        target.said(b"ready\n")
        assert (
            json.loads(seep("connect", ".", "report", "--json").stdout)["totals"]["live_bytes"]
            == 500
        )
        fake = folder / "bin"
        fake.mkdir()
        (fake / "ssh").write_text(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\necho "$2" '
                                  f'>>{folder}/asked\nshift 2\n'
                                  f'[ "$1" = seep ] || exit 9\nshift\nexec {SEEP} "$@"\n')
        (fake / "ssh").chmod(0o755)
        for word in ("report", "leaks"):
            done = subprocess.run(
                [SEEP, "connect", "ssh:me@there", word, "--json"],
                capture_output=True,
                timeout=DEADLINE,
                env=clean_environment({"PATH": f"{fake}:{os.environ['PATH']}"}),
            )
            told = json.loads(done.stdout)
            assert (
                told["totals"]["live_bytes"] == 500
                if word == "report"
                else told["leaks"]["reachable"] == {"blocks": 5, "bytes": 500}
            )
        assert set((folder / "asked").read_text().split()) == {"me@there"}
        host = fetch(target, folder / "far.seep")
        target.say()
        fetched(host)
        target.finish()


# ---- tokens ----

def test_other_addresses_need_a_token_on_both_sides(recorder, token):
    for words in (
        ["serve", "--listen", "0.0.0.0:0", "--", "/bin/true"],
        ["connect", "192.0.2.1:4576", "report"],
    ):
        done = seep(*words)
        assert (
            done.returncode == 2 and b"--token-file" in done.stderr and b"ssh -L" in done.stderr
        ), words
    folder = recorder.folder()
    with Target(
        folder, "/bin/sh", "-c", "read x",
        listen="0.0.0.0:0",
        options=("--token-file", token, "--hold", "0"),
    ) as target:
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
        wait_until(
            lambda: b"a host was refused: the token is wrong" in target.stderr(),
            "the target says so, too",
        )
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
    with Target(
        recorder.folder(), "/bin/sh", "-c", "read x", options=("--token-file", token, "--hold", "0")
    ) as target:
        wire, mine = dial(target.where), bytes(range(32))
        kind, body = wire.receive()
        assert (
            kind == GREETING
            and body[:12] == b"SEEPWIRE" + struct.pack("<I", VERSION)
            and body[16] & 1
        )
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
    server = Server(
        lambda wire: (
            wire.sock.sendall(greeting(flags=1)),
            wire.receive(),
            wire.sock.sendall(frame(WELCOME, bytes(32) + struct.pack("<II", 1, 0) + text(b"vm"))),
            wire.ended(),
        )
    )
    done = seep("connect", server.where, "--token-file", token, "ps")
    assert done.returncode == 3 and b"does not know the token" in done.stderr
    server.close()


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else"
)
def test_other_users_of_the_machine_are_not_heard(recorder):
    with Target(
        recorder.folder(), "/bin/sh", "-c", "read x", listen="127.0.0.1:0", options=("--hold", "0")
    ) as target:
        host, port = target.where.split(":")
        script = f"exec 3<>/dev/tcp/{host}/{port}; head -c 300 <&3"
        got = subprocess.run(
            ["setpriv", "--reuid", "65534", "--clear-groups", "bash", "-c", script],
            capture_output=True,
            timeout=DEADLINE,
        )
        assert b"belongs to another user" in got.stdout and b"SEEPWIRE" not in got.stdout, got
        target.say()
        target.process.wait(DEADLINE)
