# SPDX-License-Identifier: MIT
"""sample.py -- one measured run of one command.

Keeps: the command runs below bench/programs/meter.c, which waits for everything it started; CPU
time covers the whole
       tree.  The environment is the same everywhere but for what workload and tool ask for.
"""
import hashlib
import os
import signal
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import place


@dataclass
class Sample:
    """What one run has cost.  `failure` is None when it went well."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    target_peak_kb: int = 0
    tool_anon_kb: int = 0
    foreign_share: float = 0.0
    status: int = -1
    failure: str = None
    output: bytes = field(default=b"", repr=False)
    product: str = None
    metric: float = None
    amount: float = 1.0
    file_bytes: int = 0
    files: list = field(default_factory=list)

    def plain(self):
        """For --json: everything but the program's own output."""
        return {name: value for name, value in asdict(self).items() if name != "output"}


def environment(home, extra):
    """A small and constant environment.  HOME is the run's own directory: nobody's configuration
    is read."""
    base = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "XDG_CACHE_HOME": str(place.WORK / "cache"),
    }
    return {**base, **extra}


class Run:
    """A command that is being measured: start(), then finish().  Between the two a client may
    talk to it."""

    def __init__(self, directory, exe, limit_s, ready_mb=0):
        self.directory = Path(directory)
        self.exe = exe
        self.limit_s = limit_s
        self.ready_mb = ready_mb
        self.process = None

    def start(self, argv, env):
        meter = [
            place.program("meter"),
            str(self._path("meter")),
            f"{self.limit_s:.1f}",
            str(self.ready_mb),
            self.exe,
        ]
        with open(self._path("stdout"), "wb") as out, open(self._path("stderr"), "wb") as err:
            self.process = subprocess.Popen(
                meter + argv,
                cwd=self.directory,
                env=environment(self.directory, env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def finish(self):
        self.process.wait()
        facts = dict(line.split() for line in self._path("meter").read_text().splitlines())
        sample = Sample(
            wall_s=float(facts["wall_s"]),
            cpu_s=float(facts["user_s"]) + float(facts["system_s"]),
            target_peak_kb=int(facts["target_peak_kb"]),
            tool_anon_kb=int(facts["tool_anon_kb"]),
            status=int(facts["status"]),
            output=self._path("stdout").read_bytes(),
        )
        foreign = float(facts["machine_busy_s"]) + float(facts["machine_stolen_s"]) - sample.cpu_s
        sample.foreign_share = max(0.0, foreign / sample.wall_s)
        sample.failure = self._failure(facts, sample)
        return sample

    def _failure(self, facts, sample):
        if facts["late"] == "1":
            return f"stopped after {self.limit_s:.0f} s"
        if os.WIFSIGNALED(sample.status):
            return f"died of {signal.Signals(os.WTERMSIG(sample.status)).name}"
        if sample.status != 0:
            return f"exit status {os.WEXITSTATUS(sample.status)}: {self._last_words()}"
        return None

    def _last_words(self):
        lines = self._path("stderr").read_text(errors="replace").strip().splitlines()
        return lines[-1][:120] if lines else "no message"

    def _path(self, name):
        return self.directory / f"run.{name}"


def digest(path):
    """Fingerprint of a file that the program wrote, to compare with the untraced one."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if Path(path).exists() else "missing"
