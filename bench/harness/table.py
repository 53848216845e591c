# SPDX-License-Identifier: MIT
"""table.py -- the printed tables."""
from .figures import figure, noise
from .rounds import disturbed

EMPTY = "-"


def _number(value, form):
    return EMPTY if value is None else format(value, form)


def _size(count):
    if not count:
        return EMPTY
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return EMPTY


def _spread(found):
    return (
        EMPTY if not found.wall_spread else f"{found.wall_spread[0]:.2f}-{found.wall_spread[1]:.2f}"
    )


def _time(found):
    return f"{found.metric:.1f} ns" if found.metric is not None else f"{found.wall_s:.2f} s"


def _row(workload, tool, found):
    if found.wall_s is None:
        return [workload, tool, "FAILED", EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY]
    return [
        workload,
        tool,
        _time(found),
        _number(found.wall_ratio, ".2f"),
        _spread(found),
        _number(found.cpu_ratio, ".2f"),
        _number(found.peak_mb, ".1f"),
        _number(found.tool_mb, ".1f"),
        _size(found.file_bytes),
    ]


def _lines(head, rows, left):
    """Columns as wide as their longest cell; the first LEFT of them begin left."""
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * w for w in widths], *rows]:
        cells = [
            str(c).ljust(w) if i < left else str(c).rjust(w)
            for i, (c, w) in enumerate(zip(row, widths))
        ]
        yield "  ".join(cells).rstrip()


def costs(bench):
    """The one table: every workload under every tool."""
    head = ["workload", "tool", "time", "wall x", "rounds", "CPU x", "peak MB", "tool MB", "output"]
    found = [
        (name, tool, figure(bench, name, tool)) for name in bench.samples for tool in bench.tools
    ]
    rows = [_row(name, tool, f) for name, tool, f in found if f]
    notes = [f"{name} under {tool}: {f.failure}" for name, tool, f in found if f and f.failure]
    notes += [
        f"{name} was not run: {why}"
        for name, why in [*bench.absent.items(), *bench.missing_tools.items()]
    ]
    notes += _disturbance_notes(bench) + _noise_notes(bench)
    return list(_lines(head, rows, 2)) + [""] + [f"note: {note}" for note in notes]


RATIOS = {
    "empty": "empty",
    "seep": "seep",
    "seep-nosearch": "no search",
    "seep-sample": "--sample",
    "seep-events": "--events",
    "heaptrack": "heaptrack",
}


def ratios(bench, share, instructions):
    """What the program takes over untraced under each tool, in one line for each workload.
    SHARE: (bench, name) -> seep's overhead over heaptrack's; INSTRUCTIONS: {name: instructions
    of the agent for a malloc+free pair}."""
    tools = [tool for tool in RATIOS if tool in bench.tools]
    head = [
        "workload",
        "untraced",
        *(RATIOS[tool] for tool in tools),
        "of heaptrack's",
        "instructions",
    ]
    rows = []
    for name in bench.samples:
        bare = figure(bench, name, "untraced")
        found = [figure(bench, name, tool) for tool in tools]
        if not bare or bare.wall_s is None:
            continue
        rows.append(
            [
                name,
                _time(bare),
                *(_number(f.wall_ratio, ".2f") if f else EMPTY for f in found),
                _number(share(bench, name), ".3f"),
                _number(instructions.get(name), ".0f"),
            ]
        )
    return list(_lines(head, rows, 1))


def _disturbance_notes(bench):
    rows = [(w.name, tool, sum(disturbed(s, w) for s in samples), len(samples))
            for w in bench.workloads for tool, samples in bench.samples[w.name].items()]
    bad = [f"{name}/{tool} {count} of {total}" for name, tool, count, total in rows if count]
    if len(bad) > len(rows) / 2:
        return [f"others used the machine during {sum(r[2] for r in rows)} of "
                f"{sum(r[3] for r in rows)} runs: repeat this"]
    return (
        [
            "others used the machine during these runs, repeat them (or use --retries): "
            + ", ".join(bad)
        ]
        if bad
        else []
    )


def _noise_notes(bench):
    rough = [(noise(bench, name), name) for name in bench.samples if noise(bench, name)]
    return [
        f"{name}: the untraced runs alone differ by a factor of {ratio:.2f}"
        for ratio, name in rough
        if ratio > 1.1
    ]


def reports(recordings):
    """Time to open each file."""
    head = [
        "file of", "allocations", "frees", "peak heap", "tree nodes", "deepest", "cold s",
        "warm s", "json cold", "json warm",
    ]
    rows = [
        [
            name,
            _number(r.allocations, "d"),
            _number(r.frees, "d"),
            _size(r.peak_bytes),
            _number(r.nodes, "d"),
            _number(r.deepest, "d"),
            *(_number(s, ".3f") for s in (r.cold_s, r.warm_s, r.json_cold_s, r.json_warm_s)),
        ]
        for name, r in recordings.items()
    ]
    failures = [f"note: {name}: {r.failure}" for name, r in recordings.items() if r.failure]
    return list(_lines(head, rows, 1)) + failures
