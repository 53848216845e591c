# SPDX-License-Identifier: MIT
"""figures.py -- medians and ratios over all rounds.

Keeps: a ratio is taken inside one round (tool over untraced, both minutes apart at most), then the
median over rounds.
"""
from dataclasses import dataclass
from statistics import median


@dataclass
class Figure:
    """One workload under one tool.  What cannot be said is None; `failure` is the reason."""
    wall_s: float = None
    cpu_s: float = None
    metric: float = None        # ns per pair or event, as the program measured it
    wall_ratio: float = None    # for loops: of the metric
    wall_spread: tuple = None   # smallest and largest of the rounds
    cpu_ratio: float = None
    peak_mb: float = None
    tool_mb: float = None
    file_bytes: int = None
    failure: str = None


def _time(sample):
    return sample.wall_s if sample.metric is None else sample.metric


def _cpu(sample):
    return sample.cpu_s / sample.amount


def _ratios(samples, base, value):
    return [
        value(s) / value(b)
        for s, b in zip(samples, base)
        if not s.failure and not b.failure and value(b)
    ]


def figure(bench, workload, tool):
    """The figures of WORKLOAD (a name) under TOOL (a name), or None when there was no run."""
    samples = bench.samples[workload].get(tool)
    if not samples:
        return None
    good = [s for s in samples if not s.failure]
    if not good:
        return Figure(failure=samples[-1].failure)
    base = bench.samples[workload].get("untraced", [])
    wall, cpu = _ratios(samples, base, _time), _ratios(samples, base, _cpu)
    lost = len(samples) - len(good)
    return Figure(
        wall_s=median(s.wall_s for s in good),
        cpu_s=median(s.cpu_s for s in good),
        metric=median(s.metric for s in good) if good[0].metric is not None else None,
        wall_ratio=median(wall) if wall else None,
        wall_spread=(min(wall), max(wall)) if wall else None,
        cpu_ratio=median(cpu) if cpu else None,
        peak_mb=median(s.target_peak_kb for s in good) / 1024,
        tool_mb=median(s.tool_anon_kb for s in good) / 1024,
        file_bytes=int(median(s.file_bytes for s in good)),
        failure=f"{lost} of {len(samples)} runs: {next(s.failure for s in samples if s.failure)}"
        if lost
        else None,
    )


def noise(bench, workload):
    """Largest over smallest untraced run: what the machine alone does."""
    times = [_time(s) for s in bench.samples[workload].get("untraced", []) if not s.failure]
    return max(times) / min(times) if times and min(times) else None
