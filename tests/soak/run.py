#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A server under load for an hour, with snapshots, looks and searches all the time: does anything
grow?

usage: tests/soak/run.py [MINUTES]      (60; SEEP_BUILD is the build directory)

The heap of the server goes up to 96 MiB and back to nothing every two minutes.  Judged are its low
tides, and the first quarter of the run against the last.  The last line is "N passed, N failed, N
skipped".
"""
import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("SEEP_BUILD", ROOT / "build"))
SEEP = BUILD / "src" / "seep"
MIB = 1 << 20
PERIOD_S, MOST_MIB = 120, 96
LOOK_S, DISTURB_S, PRINT_S = 1, 5, 5
STEADY_S = 30
LOW_BYTES = 4 * MIB  # a heap of less is at low tide


def memory(pid, *keys):
    """Of /proc/PID/smaps_rollup, in bytes; None when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines[1:]}
    return sum(found[key] for key in keys)


def cpu_s(pid):
    words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")  # of ended children, too


def ledger_bytes(tool):
    for link in Path(f"/proc/{tool}/fd").iterdir():
        try:
            if "memfd:seep" in os.readlink(link):
                return os.stat(link).st_blocks * 512
        except OSError:
            continue
    return 0


class Soak:
    def __init__(self, folder, minutes):
        self.folder, self.seconds = Path(folder), minutes * 60
        self.rows, self.failed, self.passed = [], [], 0
        self.truth = self.folder / "live"
        self.over = threading.Event()

    def claim(self, what, good, fact):
        print(f"{'ok' if good else 'NOT OK'}  {what}: {fact}", flush=True)
        self.passed += good
        self.failed += [] if good else [what]

    def start(self):
        program = self.folder / "tides"
        subprocess.run(
            [
                "gcc", "-O2", "-g", "-o", program, ROOT / "tests/programs/tides.c", "-lm",
                "-lpthread",
            ],
            check=True,
        )
        self.tool = subprocess.Popen(
            [
                SEEP, "record", "-q", "--snapshot-every", "1s", "-o", "soak.seep", program,
                str(self.seconds), str(PERIOD_S), str(MOST_MIB), self.truth,
            ],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
        )
        children = Path(f"/proc/{self.tool.pid}/task/{self.tool.pid}/children")
        while not self.truth.exists() or self.truth.stat().st_size == 0:
            time.sleep(0.1)
        self.pid = int(children.read_text(encoding="utf-8").split()[0])

    def look(self, at):
        """One row: what is there now."""
        live = struct.unpack("q", self.truth.read_bytes()[:8])[0]
        ledger, program = ledger_bytes(self.tool.pid), memory(self.pid, "Rss")
        observer = memory(self.tool.pid, "Private_Clean", "Private_Dirty")
        if program is None or observer is None:
            return
        self.rows.append(
            {
                "s": round(at),
                "live": live,
                "ledger": ledger,
                "program": program - ledger,
                "observer": observer,
                "cpu": cpu_s(self.tool.pid),
            }
        )
        if len(self.rows) % (PRINT_S // LOOK_S) == 1:
            words = (
                f"{k} {v / MIB:.1f}" if k not in ("s", "cpu") else f"{k} {v:.1f}"
                for k, v in self.rows[-1].items()
            )
            print("  ".join(words), flush=True)

    def disturb(self):
        """What users do meanwhile, in turn."""
        commands = itertools.cycle(
            [
                ["snapshot", self.pid, "soak"],
                ["top", "--batch", "1", self.pid],
                ["leaks", self.pid, "-o", "-"],
            ]
        )
        for command in commands:
            if self.over.wait(DISTURB_S):
                return
            done = subprocess.run(
                [SEEP, *map(str, command)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            for report in self.folder.glob("*.memlog"):
                report.unlink()
            if self.tool.poll() is None and done.returncode not in (0, 1):
                self.claim(f"seep {command[0]} works", False, done.stderr.decode()[-300:])

    def run(self):
        """Looks must not wait for what disturbs: on a busy machine a search may take as long as
        low tide."""
        begin = time.monotonic()
        self.start()
        disturbing = threading.Thread(target=self.disturb)
        disturbing.start()
        try:
            while self.tool.poll() is None:
                self.look(time.monotonic() - begin)
                time.sleep(LOOK_S)
        finally:
            self.over.set()
            disturbing.join()
        self.claim(
            "the program ended as it should",
            self.tool.returncode == 0,
            f"status {self.tool.returncode}",
        )

    def ran(self, row):
        """Whether we had our turns before ROW: a machine that gives us none gives the observer
        none."""
        before = [r for r in self.rows if row["s"] - STEADY_S < r["s"] <= row["s"]]
        return len(before) * LOOK_S >= STEADY_S / 2

    def judge(self):
        quarter = len(self.rows) // 4
        first, last = self.rows[:quarter or 1], self.rows[-quarter or -1:]
        low = [r for r in self.rows if r["live"] < LOW_BYTES and r["s"] > PERIOD_S / 2]
        self.claim("there was low tide", bool(low), f"{len(low)} looks")
        # The last look of each low tide, when most of what was freed has been dead for long enough.
        last_of = [a for a, b in zip(low, low[1:]) if b["s"] - a["s"] > PERIOD_S / 2]
        judged = [r for r in last_of if self.ran(r)]
        worst = max((r["ledger"] - r["live"] / 2 for r in judged), default=0)
        self.claim(
            "the machine ran at low tide, mostly",
            4 * len(judged) >= 3 * len(last_of),
            f"{len(judged)} of {len(last_of)} times",
        )
        self.claim(
            "at low tide the ledger is at most half of the heap and 16 MiB",
            worst <= 16 * MIB,
            f"{worst / MIB:.1f} MiB more than half",
        )
        for what, room in (("ledger", 8), ("observer", 8), ("program", 24)):
            a, b = max(r[what] for r in first), max(r[what] for r in last)
            self.claim(
                f"the memory of the {what} is flat",
                b <= a + room * MIB,
                f"at most {a / MIB:.1f} MiB, in the end {b / MIB:.1f} MiB",
            )
        cpu = 100 * (last[-1]["cpu"] - first[0]["cpu"]) / max(last[-1]["s"] - first[0]["s"], 1)
        print(f"    the observer and what it started took {cpu:.2f} % of one processor")
        totals = json.loads(
            subprocess.run(
                [SEEP, "report", "--json", "soak.seep"],
                cwd=self.folder,
                capture_output=True,
                check=True,
            ).stdout
        )
        self.claim(
            "the recording is whole",
            totals["complete"] is True,
            f"{totals['totals']['allocations']:,} allocations",
        )
        self.claim(
            "nothing was lost",
            totals["totals"]["live_bytes"] < MIB and totals["totals"]["unknown_frees"] == 0,
            f"{totals['totals']['live_bytes']} bytes live, "
            f"{totals['totals']['unknown_frees']} unknown frees",
        )


def main(words):
    minutes = float(words[0]) if words else 60
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(folder, minutes)
        try:
            soak.run()
            soak.judge()
        finally:
            if soak.tool.poll() is None:
                soak.tool.send_signal(signal.SIGTERM)
                soak.tool.wait()
    print(f"{soak.passed} passed, {len(soak.failed)} failed, 0 skipped")
    return 1 if soak.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
