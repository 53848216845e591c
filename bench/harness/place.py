# SPDX-License-Identifier: MIT
"""place.py -- where sources, inputs and outputs of the benchmark are.

Keeps: everything written lies below build/bench; inputs are made once and kept there, by the
version of their maker.
"""
import hashlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
BUILD = Path(os.environ.get("SEEP_BUILD", ROOT / "build")).resolve()
WORK = BUILD / "bench"

SEEP = BUILD / "src" / "seep"

CFLAGS = [
    "-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow",
    "-fno-optimize-sibling-calls",
]


class Unavailable(Exception):
    """This machine lacks what a workload or tool needs; the text says what."""


def say(text):
    """Progress, for a person who waits."""
    print(text, file=sys.stderr, flush=True)


def need(program):
    """Full path of an installed program; links are kept, some programs look at their own name."""
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/bin:/usr/sbin")
    if not path:
        raise Unavailable(f"{program} is not installed")
    return path


def debian_python():
    """The system's python3, not one that a version manager put in front of it."""
    return need("/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3")


def program(name):
    """Path of bench/programs/NAME.c, built."""
    return _compiled(name, WORK / "bin" / name, ["-pthread"])


def preload(name):
    """Path of bench/programs/NAME.c, built as a library."""
    return _compiled(name, WORK / "bin" / f"lib{name}.so", ["-fPIC", "-shared"])


def _compiled(name, out, flags):
    source = BENCH / "programs" / f"{name}.c"
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, *CFLAGS, *flags, str(source), "-o", str(out)], check=True)
    return str(out)


def cached(name, make):
    """Path of an input that MAKE(path) writes; made again only when the source of MAKE's module
    has changed."""
    version = hashlib.sha256(inspect.getsource(inspect.getmodule(make)).encode()).hexdigest()[:12]
    path = WORK / "inputs" / f"{version}-{name}"
    if not path.exists():
        say(f"bench: making {name}")
        fresh = path.with_name(path.name + ".fresh")
        _remove(fresh)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(fresh)
        fresh.rename(path)
    return path


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()


def run_directory(workload, tool):
    """An empty directory for one measured run; the one of the last round is left to look at."""
    path = WORK / "runs" / f"{workload}.{tool}"
    _remove(path)
    path.mkdir(parents=True)
    return path
