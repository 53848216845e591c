# SPDX-License-Identifier: MIT
"""rounds.py -- the order of the runs, and what is kept of each.

Keeps: in every round each workload is run once by each tool, one run at a time; the order of the
tools rotates, so that
       a drift of the machine meets all of them.  A result that differs from the untraced one is a
       failure.
"""
import os
import re
import subprocess

from . import place
from .sample import Run, digest
from .tools import TOOLS

LIMIT_FACTOR = 10  # a tool that takes longer than this many times the untraced run is stopped
LIMIT_FLOOR_S = 30
FIRST_LIMIT_S = 600
# more processor time than this, relative to the run, spent by others or lost to the host
FOREIGN_SHARE = 0.12
SHORT_S = 0.2
READY_MB = 384  # taken and given back before a program runs; loops need little memory


class Bench:
    """All samples: samples[workload][tool] is a list, one per round.  absent[...] says why there
    is none."""

    def __init__(self, workloads, tools, quick=False, retries=0):
        self.workloads = workloads
        self.tools = list(tools)
        self.quick = quick
        self.retries = retries
        self.samples = {w.name: {} for w in workloads}
        self.absent = {}
        self.missing_tools = {
            name: TOOLS[name].available() for name in tools if TOOLS[name].available()
        }

    def run(self, rounds):
        for number in range(rounds):
            for workload in self.workloads:
                if workload.name not in self.absent and not (workload.once and number):
                    self._run_workload(workload, number, rounds)

    def _run_workload(self, workload, number, rounds):
        try:
            workload.command(1.0)
        except place.Unavailable as why:
            self.absent[workload.name] = str(why)
            place.say(f"bench: {workload.name}: not run: {why}")
            return
        for tool in self._order(workload, number):
            sample = self._measure_quietly(workload, tool)
            self.samples[workload.name].setdefault(tool.name, []).append(sample)
            place.say(f"bench: round {number + 1}/{rounds} {workload.name:20} {tool.name:10} "
                      f"{_told(sample)}")

    def _order(self, workload, number):
        names = [n for n in self.tools if n not in self.missing_tools and n not in workload.without
                 and (TOOLS[n].rounds is None or number < TOOLS[n].rounds)
                 and not (TOOLS[n].slow and self._failed(workload, n))]
        shift = number % len(names)
        # The first round begins untraced: its time is the limit of the others, its output their
        # standard.
        return [TOOLS[n] for n in names[shift:] + names[:shift]]

    def _failed(self, workload, tool_name):
        """A slow tool that failed on a workload is not tried again: it would cost a minute each
        time."""
        return any(sample.failure for sample in self.samples[workload.name].get(tool_name, []))

    def scale(self, workload, tool):
        scale = 0.1 if self.quick and workload.metric else 1.0
        return scale * (workload.slow_scale if tool.slow and workload.metric else 1.0)

    def _measure_quietly(self, workload, tool):
        """A run that others disturbed is repeated if the user wants it; the least disturbed one
        counts."""
        best = self._measure(workload, tool)
        for _ in range(self.retries):
            if best.failure or not disturbed(best, workload):
                break
            again = self._measure(workload, tool)
            best = min(best, again, key=lambda sample: (bool(sample.failure), sample.foreign_share))
        return best

    def _measure(self, workload, tool):
        command = workload.command(self.scale(workload, tool))
        directory = place.run_directory(workload.name, tool.name)
        run = Run(directory, os.path.realpath(command.argv[0]), self._limit_s(workload, tool),
                  0 if workload.metric else READY_MB)
        run.start(tool.wrap(command.argv), {**command.env, **tool.env()})
        client = _drive(workload, directory) if workload.drive else None
        sample = run.finish()
        if client:
            sample.wall_s, client_failure = client
            sample.failure = sample.failure or client_failure
        _keep_files(sample, directory, tool)
        _keep_metric(sample, workload)
        sample.amount = command.amount
        sample.product = digest(directory / command.product) if command.product else None
        self._compare(sample, workload, tool)
        return sample

    def _limit_s(self, workload, tool):
        first = self.samples[workload.name].get("untraced")
        if tool.name == "untraced" or not first:
            return FIRST_LIMIT_S
        return max(LIMIT_FLOOR_S, LIMIT_FACTOR * first[0].wall_s)

    def _compare(self, sample, workload, tool):
        """The traced program must have said and written what the untraced one did."""
        first = self.samples[workload.name].get("untraced")
        if (
            tool.name == "untraced"
            or not first
            or sample.failure
            or workload.metric
            or workload.drive
        ):
            return
        same = first[0].output in sample.output if tool.speaks else first[0].output == sample.output
        if not same or first[0].product != sample.product:
            sample.failure = "output differs from the untraced run"


def disturbed(sample, workload):
    """Did others use the machine?  It counts in steps of 10 ms, so a short run says nothing; a
    client is no stranger."""
    return not workload.drive and sample.wall_s > SHORT_S and sample.foreign_share > FOREIGN_SHARE


def _told(sample):
    if sample.failure:
        return f"FAILED: {sample.failure}"
    inside = f" {sample.metric:9.2f} ns" if sample.metric is not None else ""
    return (f"{sample.wall_s:7.2f} s wall {sample.cpu_s:7.2f} s cpu "
            f"{sample.target_peak_kb // 1024:5} MB{inside}")


def _drive(workload, directory):
    """Seconds that the client of a server took, and why it failed or None."""
    try:
        return workload.drive(directory), None
    except (RuntimeError, subprocess.SubprocessError) as error:
        return 0.0, str(error)
    finally:
        workload.stop(directory)


def _keep_files(sample, directory, tool):
    files = sorted({path for pattern in tool.files for path in directory.glob(pattern)})
    sample.files = [str(path) for path in files]
    sample.file_bytes = sum(path.stat().st_size for path in files)
    if tool.files and not files and not sample.failure:
        sample.failure = "left no output file"


def _keep_metric(sample, workload):
    if not workload.metric:
        return
    found = re.search(rb"^%s ([0-9.]+)$" % workload.metric.encode(), sample.output, re.MULTILINE)
    if found:
        sample.metric = float(found.group(1))
    elif not sample.failure:
        sample.failure = f"printed no {workload.metric}"
