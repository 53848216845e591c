# SPDX-License-Identifier: MIT
"""redis.py -- redis-server is traced, redis-benchmark is its client.

Wall time is the client's, CPU time the server's.  They talk through a UNIX socket in the run's own
directory.
"""
import os
import socket
import subprocess
import time

from harness import place
from .workload import SHORT_ALLOWANCE, Command, Workload

REQUESTS, SHORT_REQUESTS = 60_000, 18_000
TESTS = "set,get,incr,lpush,lpop,sadd,hset,zadd,mset"
START_LIMIT_S = 60
RUN_LIMIT_S = 600
# A path below this has room in sockaddr_un whatever the directory is called: both sides run in it.
SOCKET = "redis.sock"


def _command(_scale):
    place.need("redis-benchmark")
    return Command(
        [
            place.need("redis-server"), "--port", "0", "--unixsocket", SOCKET, "--save", "",
            "--appendonly", "no", "--daemonize", "no", "--logfile", "server.log",
        ]
    )


def _ask(directory, words, answer):
    """One command to the server.  True when its reply begins with ANSWER."""
    here = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            link.connect(f"/proc/self/fd/{here}/{SOCKET}")
            link.sendall(words.encode() + b"\r\n")
            return link.recv(64).startswith(answer)
    except OSError:
        return False
    finally:
        os.close(here)


def _ended(directory):
    """The meter writes its findings when the server is gone."""
    findings = directory / "run.meter"
    return findings.exists() and findings.stat().st_size > 0


def _drive(directory, requests):
    deadline = time.monotonic() + START_LIMIT_S
    while not _ask(directory, "PING", b"+PONG"):
        if time.monotonic() > deadline or _ended(directory):
            raise RuntimeError(f"redis-server did not answer within {START_LIMIT_S} s, or ended")
        time.sleep(0.02)
    client = [
        place.need("redis-benchmark"), "-s", SOCKET, "-n", str(requests), "-t", TESTS, "-r",
        "20000", "-d", "100", "-P", "4", "-q",
    ]
    start = time.monotonic()
    subprocess.run(
        client, cwd=directory, check=True, stdout=subprocess.DEVNULL, timeout=RUN_LIMIT_S
    )
    return time.monotonic() - start


def _stop(directory):
    _ask(directory, "SHUTDOWN NOSAVE", b"")


def _workload(name, requests, limit):
    return Workload(
        name,
        f"redis-server under redis-benchmark, {requests} requests of each kind",
        _command,
        drive=lambda directory: _drive(directory, requests),
        stop=_stop,
        wall_limit=limit,
    )


WORKLOADS = [
    _workload("redis", REQUESTS, 1.12),
    _workload("redis-short", SHORT_REQUESTS, 1.12 + SHORT_ALLOWANCE),
]
