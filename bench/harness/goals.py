# SPDX-License-Identifier: MIT
"""goals.py -- what seep promises, and whether this run shows it.

A verdict is "met", "MISSED", "open" (not measured here: a tool or program is missing, or a run of
seep failed) or "void" (heaptrack itself failed, so there is nothing to compare with).
"""
from dataclasses import dataclass
from statistics import geometric_mean

from .figures import figure

LOOP_LIMITS_NS = {"loop-d10-s1": 18, "loop-d60-s2": 40}  # over untraced
HEAPTRACK_SHARE = 1 / 8  # of its overhead, geometric mean over the programs
LEAST_OVERHEAD = 0.001   # what is smaller cannot be measured, and has no logarithm
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
    return Verdict(
        goal,
        state,
        f"{text} {value:.2f}, limit {limit:.2f}"
        + (f": over by {100 * (value / limit - 1):.0f} %" if value > limit and limit > 0 else ""),
    )


def _open(goal, text):
    return Verdict(goal, "open", f"{text}: not measured")


def _ran(bench, name, tool):
    found = figure(bench, name, tool) if name in bench.samples else None
    return found if found and found.wall_s is not None else None


def loops(bench):
    for name, limit in LOOP_LIMITS_NS.items():
        seep, bare = _ran(bench, name, "seep"), _ran(bench, name, "untraced")
        if seep and bare:
            yield _judge(
                "B.1", seep.metric - bare.metric, limit, f"{name}: ns per pair over untraced"
            )
        else:
            yield _open("B.1", name)


def programs(bench):
    for workload in bench.workloads:
        if workload.wall_limit is None:
            continue
        seep = _ran(bench, workload.name, "seep")
        if not seep or seep.wall_ratio is None:
            yield _open("E", workload.name)
        else:
            yield _judge("E", seep.wall_ratio, workload.wall_limit, f"{workload.name}: wall ratio")


def share_of_heaptrack(bench, name):
    """Overhead of seep over that of heaptrack; None where one of them was not measured or
    failed."""
    seep, peer = _ran(bench, name, "seep"), _ran(bench, name, "heaptrack")
    if (
        not seep
        or not peer
        or seep.wall_ratio is None
        or peer.wall_ratio is None
        or peer.wall_ratio <= 1
    ):
        return None
    return max(seep.wall_ratio - 1, LEAST_OVERHEAD) / (peer.wall_ratio - 1)


def against_heaptrack(bench):
    """One figure over all programs that have a limit, short forms left out."""
    names = [
        w.name
        for w in bench.workloads
        if w.wall_limit is not None and not w.name.endswith("-short")
    ]
    shares = {name: share_of_heaptrack(bench, name) for name in names}
    for name in (n for n, share in shares.items() if share is None):
        peer = figure(bench, name, "heaptrack")
        if peer and peer.failure and peer.wall_s is None:
            yield Verdict(
                "E",
                "void",
                f"{name}: heaptrack failed ({peer.failure}); it is left out of the mean",
            )
    known = [share for share in shares.values() if share is not None]
    if known:
        yield _judge(
            "E", geometric_mean(known), HEAPTRACK_SHARE,
            f"overhead over heaptrack's, mean of {len(known)} programs:",
        )
    else:
        yield _open("E", "overhead over heaptrack's")


def threads(bench):
    four, one = _ran(bench, "threads-private-4", "seep"), _ran(bench, "threads-private-1", "seep")
    if four and one:
        yield _judge(
            "D.3",
            four.metric / one.metric,
            THREADS_LIMIT,
            "CPU time per event, four threads over one:",
        )
    else:
        yield _open("D.3", "four threads over one")


def memory(bench, recordings):
    for name in bench.samples:
        seep, bare, file = (
            _ran(bench, name, "seep"),
            _ran(bench, name, "untraced"),
            recordings.get(name),
        )
        if not (seep and bare and file) or file.peak_bytes is None or file.nodes is None:
            yield _open("D.4", f"{name}: memory")
            continue
        limit = file.peak_bytes + BYTES_PER_NODE * file.nodes + FIXED_BYTES
        yield _judge(
            "D.4", seep.peak_mb - bare.peak_mb, limit / 2**20, f"{name}: MiB over untraced"
        )


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
        yield Verdict(
            "D.5",
            state,
            f"{name}: slowest of tree and --json: warm {warm:.2f} s, limit {REPORT_WARM_S}; "
            f"cold {cold:.2f} s, limit {REPORT_COLD_S}",
        )


def verdicts(bench, recordings):
    """All verdicts, in the order of the goals."""
    if "seep" in bench.missing_tools or "seep" not in bench.tools:
        return []
    return [
        *loops(bench),
        *programs(bench),
        *against_heaptrack(bench),
        *threads(bench),
        *memory(bench, recordings),
        *file_size(bench),
        *reports(recordings),
    ]


def lines(found):
    """Misses first: they are what the reader is after."""
    order = {"MISSED": 0, "open": 1, "void": 2, "met": 3}
    for verdict in sorted(found, key=lambda v: order[v.state]):
        yield f"{verdict.state:7} {verdict.goal}  {verdict.text}"
    count = {state: sum(v.state == state for v in found) for state in order}
    yield (f"{count['met']} met, {count['MISSED']} missed, {count['open']} open, {count['void']} "
           f"void")
