# SPDX-License-Identifier: MIT
"""plain.py -- programs with the library preloaded and nothing else, and the reports that appear
beside them."""
import os
import re
import subprocess
import time
from pathlib import Path

from harness import (
    BUILD, DEADLINE, MACHINE, SEEP, Run, Truth, ask, clean_environment, end_process, plain_name,
    run,
    shell_status, wait_until,
)

# Of a processor whose programs this machine runs, too: that for them.
NATIVE = MACHINE.name if MACHINE and not MACHINE.qemu else ""
LIBRARY = BUILD / "src" / "agent" / NATIVE / "libseep.so"
NAME = re.compile(r"(.+)-(\d+)-(\d+)\.memlog")
AMOUNT = re.compile(r"([+-]\d+)$")


def parse_frame(line):
    """FUNCTION <tab> (OBJECT) <tab> FILE:LINE, the last part only when known; or OBJECT alone."""
    name, *rest = line.strip().split("\t")
    if not rest:
        return "?", name, None
    return plain_name(name), rest[0][1:-1], rest[1] if len(rest) > 1 else None


def parse_memlog(text):
    """Entries of signed bytes and a stack of (function, object, line), innermost first."""
    entries = []
    for line in text.splitlines():
        amount = AMOUNT.match(line)
        if amount:
            entries.append((int(amount[1]), []))
        elif line[:1].isspace() and line.strip():
            entries[-1][1].append(parse_frame(line))
    return entries


def sum_by_function(entries):
    sums = {}
    for amount, stack in entries:
        name = stack[0][0] if stack else "?"
        sums[name] = sums.get(name, 0) + amount
    return sums


class Memlog:
    """One report, as a file."""

    def __init__(self, path):
        self.path = Path(path)
        self.program, pid, seq = NAME.fullmatch(self.path.name).groups()
        self.pid, self.seq = int(pid), int(seq)
        self.entries = parse_memlog(self.path.read_text())

    def by_function(self):
        return sum_by_function(self.entries)

    def by_stack(self):
        sums = {}
        for amount, stack in self.entries:
            sums[tuple(stack)] = sums.get(tuple(stack), 0) + amount
        return sums


def sum_of(sums):
    """Several reports added up; what cancelled out is gone."""
    total = {}
    for one in sums:
        for key, amount in one.items():
            total[key] = total.get(key, 0) + amount
    return {key: amount for key, amount in total.items() if amount}


def live(sites):
    """What a program says about a moment, in the words of a report."""
    return {name: counts["live_bytes"] for name, counts in sites.items() if counts["live_bytes"]}


def difference(new, old):
    """The increment from one moment to another, as the program tells it."""
    return sum_of([live(new), {name: -amount for name, amount in live(old).items()}])


def own(sums, truth):
    """Of the sums by function those that the program told about."""
    return {name: amount for name, amount in sums.items() if name in truth.sites}


def preloaded(argv, library=LIBRARY):
    """The command line with the library for the program only, not for the shell that starts it."""
    return ["/usr/bin/env", f"LD_PRELOAD={library}", *map(str, argv)]


def find_reports(folder, program=None, pid=None):
    found = [Memlog(path) for path in Path(folder).glob("*.memlog")]
    found = [m for m in found if program in (None, m.program) and pid in (None, m.pid)]
    return sorted(found, key=lambda m: (m.program, m.pid, m.seq))


class Started:
    """A program that runs beside the test, its output in files; with the library unless LIBRARY
    is None."""

    def __init__(self, folder, *argv, env=None, library=LIBRARY, cwd=None):
        self.folder = Path(folder)
        self.name = Path(str(argv[0])).name
        self.told = self.folder / f"truth-{time.monotonic_ns()}"
        files = [open(self.folder / name, "wb") for name in ("stdout", "stderr")]
        command = [
            "/bin/sh", "-c", 'exec "$@" 3>"$TRUTH_FILE"', "sh",
            *(preloaded(argv, library) if library else map(str, argv)),
        ]
        self.process = subprocess.Popen(
            command,
            env={**clean_environment(env), "TRUTH_FILE": str(self.told)},
            cwd=cwd or self.folder,
            stdin=subprocess.PIPE,
            stdout=files[0],
            stderr=files[1],
        )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.process.stdin.close()
        if why[0]:
            self.process.kill()
        end_process(self.process)

    def stdout(self):
        return (self.folder / "stdout").read_bytes()

    def stderr(self):
        return (self.folder / "stderr").read_bytes()

    def said(self, text, times=1):
        """Wait until it has written TEXT so often."""
        wait_until(
            lambda: self.stdout().count(text) >= times, f"it says {text}", process=self.process
        )

    def say(self, line=b"\n"):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def signal(self, number):
        os.kill(self.pid, number)

    def path(self, seq, folder=None):
        return Path(folder or self.folder) / f"{self.name}-{self.pid}-{seq}.memlog"

    def report(self, seq, folder=None, deadline=DEADLINE):
        """Wait for a report while the program runs."""
        path = self.path(seq, folder)
        wait_until(path.exists, f"report {path.name}; stderr: {self.stderr()[-500:]}", deadline)
        return Memlog(path)

    def asleep(self):
        """Wait until the main thread waits in a system call of its own."""
        stat = Path(f"/proc/{self.pid}/stat")
        wait_until(
            lambda: stat.read_text().rpartition(")")[2].split()[0] == "S",
            "it waits",
            process=self.process,
        )

    def finish(self, deadline=DEADLINE):
        self.process.stdin.close()
        status = self.process.wait(deadline)
        return Run(shell_status(status), self.stdout(), self.stderr(), Truth(self.told.read_text()))


def run_plain(folder, *argv, env=None, **how):
    """Run to the end; the reports are in FOLDER, where it is started."""
    return run(preloaded(argv), env=env, cwd=folder, folder=folder, **how)


def start_recorded(folder, *argv, options=(), env=None):
    """The same under `seep record`, into out.seep."""
    return Started(
        folder, SEEP, "record", "-q", "-o",
        folder / "out.seep",
        *options,
        "--",
        *argv,
        library=None,
        env=env,
    )


def child_of(program):
    """The one child of the tool."""
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    return int(
        wait_until(lambda: children.read_text().split(), "the child", process=program.process)[0]
    )


def seep(*argv):
    """A command of the tool, to its end; its output is bytes."""
    return ask(*argv, status=None, text=False)
