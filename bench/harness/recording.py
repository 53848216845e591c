# SPDX-License-Identifier: MIT
"""recording.py -- what `seep` says about a file it wrote, and how long it takes to say it.

Keeps: "cold" is a run with an empty cache directory, "warm" one that finds the names of the first;
the system's file
       cache is warm in both.  No name is looked up over the network.
"""
import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from statistics import median

from . import place
from .sample import environment

WARM_RUNS = 3
LIMIT_S = 120


@dataclass
class Recording:
    """One file.  None: seep could not say."""
    file: str
    cold_s: float = None
    warm_s: float = None
    json_cold_s: float = None
    json_warm_s: float = None
    allocations: int = None
    frees: int = None
    peak_bytes: int = None
    nodes: int = None
    deepest: int = None  # frames of the deepest stack, inlined ones included
    failure: str = None


def _timed(arguments, cache):
    start = time.monotonic()
    done = subprocess.run(
        [str(place.SEEP), *arguments],
        env=environment(cache, {"XDG_CACHE_HOME": str(cache)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=LIMIT_S,
    )
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"seep {arguments[0]}: exit status {done.returncode}: "
                           f"{words[-1] if words else 'no message'}")
    return time.monotonic() - start, done.stdout


def _empty_cache():
    cache = place.WORK / "report-cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    return cache


def _node_count(info):
    """Nodes of the stack tree, from `seep info --json`."""
    return info["counts"]["nodes"]


def _cold_and_warm(arguments):
    """Seconds with an empty cache, median seconds with a full one, and what was printed."""
    cache = _empty_cache()
    cold_s, _ = _timed(arguments, cache)
    runs = [_timed(arguments, cache) for _ in range(WARM_RUNS)]
    return cold_s, median(seconds for seconds, _ in runs), runs[-1][1]


def read(file):
    """Time the reports of FILE and note its totals."""
    found = Recording(str(file))
    try:
        found.cold_s, found.warm_s, _ = _cold_and_warm(["report", "--no-pager", str(file)])
        found.json_cold_s, found.json_warm_s, text = _cold_and_warm(["report", "--json", str(file)])
        report = json.loads(text)
        found.allocations, found.frees, found.peak_bytes = (
            report["totals"][key] for key in ("allocations", "frees", "peak_bytes"))
        found.deepest = max((len(site["stack"]) for site in report["sites"]), default=0)
        found.nodes = _node_count(
            json.loads(_timed(["info", "--json", str(file)], _empty_cache())[1])
        )
    except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        found.failure = f"{type(error).__name__}: {error}"[:160]
    return found


def read_all(bench):
    """Recordings of the last round, by workload.  A program with children has several files: the
    largest counts."""
    found = {}
    for name, by_tool in bench.samples.items():
        files = [f for s in by_tool.get("seep", [])[-1:] if not s.failure for f in s.files]
        if files:
            place.say(f"bench: reading {name}")
            found[name] = read(max(files, key=lambda f: place.Path(f).stat().st_size))
    return found
