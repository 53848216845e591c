# SPDX-License-Identifier: MIT
"""network.py -- two machines in network namespaces, with a link between them that can be slow,
down, or swallow what is sent."""
import contextlib
import os
import shutil
import subprocess


class CannotMake(Exception):
    """No network namespace can be made here, for this reason."""


class Machines:
    """THERE and HERE: words in front of a command; ADDRESS: of the first."""

    address = "10.77.0.1"

    def __init__(self):
        self.names = [f"seep-{os.getpid()}-{i}" for i in (1, 2)]
        self.there, self.here = [["ip", "netns", "exec", n] for n in self.names]

    def make(self):
        self.run("ip", "netns", "add", self.names[0])
        self.run("ip", "netns", "add", self.names[1])
        self.run(
            "ip", "-n", self.names[0], "link", "add", "v0", "type", "veth", "peer", "name", "v0",
            "netns", self.names[1],
        )
        for i, name in enumerate(self.names):
            self.run("ip", "-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "v0")
            self.run("ip", "-n", name, "link", "set", "v0", "up")
            self.run("ip", "-n", name, "link", "set", "lo", "up")

    def run(self, *words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise CannotMake(f"{' '.join(words)}: {done.stderr.strip()}")

    def link(self, state):
        """up or down."""
        self.run("ip", "-n", self.names[0], "link", "set", "v0", state)

    def rate(self, text):
        """What the first one can send: 100mbit."""
        self.run(
            "tc", "-n", self.names[0], "qdisc", "replace", "dev", "v0", "root", "tbf", "rate",
            text, "burst", "32kb", "latency", "50ms",
        )

    def mute(self, quiet):
        """What either sends gets lost, and neither is told: the address of the neighbour leads
        nowhere."""
        for i, name in enumerate(self.names):
            words = [
                "ip", "-n", name, "neigh",
                "replace" if quiet else "del",
                f"10.77.0.{2 - i}",
                "dev",
                "v0",
            ]
            self.run(
                *words, *(["lladdr", "02:00:00:00:00:99", "nud", "permanent"] if quiet else [])
            )

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextlib.contextmanager
def two_machines():
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        raise CannotMake("network namespaces need root, and ip and tc of iproute2")
    made = Machines()
    try:
        made.make()
        yield made
    finally:
        made.remove()
