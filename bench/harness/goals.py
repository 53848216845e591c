# SPDX-License-Identifier: MIT
"""goals.py -- what seep promises, and whether this run shows it.

A verdict is "met", "MISSED", "open" (not measured here: a tool or program is missing, or a run of seep failed) or "void"
(heaptrack itself failed, so there is nothing to compare with).
"""
from dataclasses import dataclass

from .figures import figure

LOOP_LIMITS_NS = {"loop-d10-s1": (30, 18), "loop-d60-s2": (65, 45)}  # over untraced: limit, aim
HEAPTRACK_SHARE = 1 / 6
THREADS_LIMIT = 1.3
BYTES_PER_NODE = 64
FIXED_BYTES = 16 << 20
MANY_EVENTS_BYTES = 1_000_000
REPORT_WARM_S, REPORT_COLD_S = 0.5, 3.0


@dataclass
class Verdict:
    goal: str
    state: str
    text: str


def _judge(goal, value, limit, text):
    state = "met" if value <= limit else "MISSED"
    return Verdict(goal, state, f"{text} {value:.2f}, limit {limit:.2f}"
                   + (f": over by {100 * (value / limit - 1):.0f} %" if value > limit and limit > 0 else ""))


def _open(goal, text):
    return Verdict(goal, "open", f"{text}: not measured")


def _ran(bench, name, tool):
    found = figure(bench, name, tool) if name in bench.samples else None
    return found if found and found.wall_s is not None else None


def loops(bench):
    for name, (limit, aim) in LOOP_LIMITS_NS.items():
        seep, bare = _ran(bench, name, "seep"), _ran(bench, name, "untraced")
        if seep and bare:
            yield _judge("D.1", seep.metric - bare.metric, limit, f"{name}: ns per pair over untraced (aim {aim})")
        else:
            yield _open("D.1", name)


def programs(bench):
    for workload in bench.workloads:
        if workload.wall_limit is None:
            continue
        seep = _ran(bench, workload.name, "seep")
        if not seep or seep.wall_ratio is None:
            yield _open("D.2", workload.name)
            continue
        yield _judge("D.2", seep.wall_ratio, workload.wall_limit, f"{workload.name}: wall ratio")
        yield from _against_heaptrack(bench, workload.name, seep)


def _against_heaptrack(bench, name, seep):
    peer = figure(bench, name, "heaptrack")
    if peer and peer.failure and peer.wall_s is None:
        yield Verdict("D.2", "void", f"{name}: heaptrack failed ({peer.failure}); the ratio alone counts")
        return
    if not peer or peer.wall_ratio is None:
        yield _open("D.2", f"{name}: overhead against heaptrack's")
        return
    yield _judge("D.2", seep.wall_ratio - 1, (peer.wall_ratio - 1) * HEAPTRACK_SHARE,
                 f"{name}: wall overhead against a sixth of heaptrack's:")
    yield _judge("D.2", seep.cpu_ratio - 1, (peer.cpu_ratio - 1) * HEAPTRACK_SHARE,
                 f"{name}: CPU overhead against a sixth of heaptrack's:")


def threads(bench):
    four, one = _ran(bench, "threads-private-4", "seep"), _ran(bench, "threads-private-1", "seep")
    if four and one:
        yield _judge("D.3", four.metric / one.metric, THREADS_LIMIT, "CPU time per event, four threads over one:")
    else:
        yield _open("D.3", "four threads over one")


def memory(bench, recordings):
    for name in bench.samples:
        seep, bare, file = _ran(bench, name, "seep"), _ran(bench, name, "untraced"), recordings.get(name)
        if not (seep and bare and file) or file.peak_bytes is None or file.nodes is None:
            yield _open("D.4", f"{name}: memory")
            continue
        limit = file.peak_bytes + BYTES_PER_NODE * file.nodes + FIXED_BYTES
        yield _judge("D.4", seep.peak_mb - bare.peak_mb, limit / 2 ** 20, f"{name}: MiB over untraced")


def file_size(bench):
    seep = _ran(bench, "many_events", "seep")
    if not seep:
        yield _open("D.4", "file of many_events")
        return
    text = "many_events: file in MB" + (" (--quick: fewer events)" if bench.quick else "")
    yield _judge("D.4", seep.file_bytes / 1e6, MANY_EVENTS_BYTES / 1e6, text)


def reports(recordings):
    for name, file in recordings.items():
        if file.json_warm_s is None:
            yield _open("D.5", f"{name}: report")
            continue
        warm, cold = max(file.warm_s, file.json_warm_s), max(file.cold_s, file.json_cold_s)
        state = "met" if warm <= REPORT_WARM_S and cold <= REPORT_COLD_S else "MISSED"
        yield Verdict("D.5", state, f"{name}: slowest of tree and --json: warm {warm:.2f} s, limit {REPORT_WARM_S}; "
                                    f"cold {cold:.2f} s, limit {REPORT_COLD_S}")


def verdicts(bench, recordings):
    """All verdicts, in the order of the goals."""
    if "seep" in bench.missing_tools or "seep" not in bench.tools:
        return []
    return [*loops(bench), *programs(bench), *threads(bench), *memory(bench, recordings), *file_size(bench),
            *reports(recordings)]


def lines(found):
    """Misses first: they are what the reader is after."""
    order = {"MISSED": 0, "open": 1, "void": 2, "met": 3}
    for verdict in sorted(found, key=lambda v: order[v.state]):
        yield f"{verdict.state:7} {verdict.goal}  {verdict.text}"
    count = {state: sum(v.state == state for v in found) for state in order}
    yield f"{count['met']} met, {count['MISSED']} missed, {count['open']} open, {count['void']} void"
