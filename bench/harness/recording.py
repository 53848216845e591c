# SPDX-License-Identifier: MIT
"""recording.py -- what `seep` says about a file it wrote, and how long it takes to say it.

Keeps: "cold" is a run with an empty cache directory, "warm" one that finds the names of the first; the system's file
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
    json_s: float = None
    allocations: int = None
    frees: int = None
    peak_bytes: int = None
    nodes: int = None
    failure: str = None


def _timed(arguments, cache):
    start = time.monotonic()
    done = subprocess.run([str(place.SEEP), *arguments], env=environment(cache, {"XDG_CACHE_HOME": str(cache)}),
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LIMIT_S)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"seep {arguments[0]}: exit status {done.returncode}: {words[-1] if words else 'no message'}")
    return time.monotonic() - start, done.stdout


def _empty_cache():
    cache = place.WORK / "report-cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    return cache


def _node_count(info):
    """Nodes of the stack tree, from `seep info --json`."""
    return info["counts"]["nodes"]


def read(file):
    """Time the reports of FILE and note its totals."""
    found = Recording(str(file))
    try:
        cache = _empty_cache()
        found.cold_s, _ = _timed(["report", "--no-pager", str(file)], cache)
        found.warm_s = median(_timed(["report", "--no-pager", str(file)], cache)[0] for _ in range(WARM_RUNS))
        found.json_s, text = _timed(["report", "--json", str(file)], cache)
        totals = json.loads(text)["totals"]
        found.allocations, found.frees, found.peak_bytes = (totals[k] for k in ("allocations", "frees", "peak_bytes"))
        found.nodes = _node_count(json.loads(_timed(["info", "--json", str(file)], cache)[1]))
    except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        found.failure = str(error)[:160]
    return found


def read_all(bench):
    """Recordings of the last round, by workload.  A program with children has several files: the largest counts."""
    found = {}
    for name, by_tool in bench.samples.items():
        files = [f for s in by_tool.get("seep", [])[-1:] if not s.failure for f in s.files]
        if files:
            place.say(f"bench: reading {name}")
            found[name] = read(max(files, key=lambda f: place.Path(f).stat().st_size))
    return found
