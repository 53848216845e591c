# SPDX-License-Identifier: MIT
"""tools.py -- how each tool runs a command.

Keeps: a tool only changes the command line and the environment; what it leaves behind matches one
of its patterns in
       the run's directory.
"""
import shutil
from dataclasses import dataclass
from typing import Callable

from . import place


@dataclass
class Tool:
    name: str
    about: str
    wrap: Callable       # argv -> argv
    env: Callable        # () -> variables to add
    available: Callable  # () -> None, or the reason why not
    files: tuple = ()    # patterns of its output files
    # prints into the program's stdout: the program's output is part of it, not all of it
    speaks: bool = False
    slow: bool = False   # microseconds per event: loops are made shorter for it
    rounds: int = None   # as many are enough; None: all


def _plain(argv):
    return argv


def _nothing():
    return {}


def _always():
    return None


def _seep_missing():
    return None if place.SEEP.exists() else f"{place.SEEP} is not built"


def _heaptrack_missing():
    return None if shutil.which("heaptrack") else "heaptrack is not installed"


def _seep(*options):
    return lambda argv: [str(place.SEEP), "record", *options, "-o", "run.seep", "--", *argv]


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("untraced", "the program alone", _plain, _nothing, _always),
        Tool(
            "empty",
            "an interposer that only forwards: the lower bound",
            _plain,
            lambda: {"LD_PRELOAD": place.preload("empty")},
            _always,
            rounds=2,
        ),
        Tool(
            "seep", "seep record, with the summary it prints at the end", _seep(), _nothing,
            _seep_missing,
            files=("*.seep",),
        ),
        Tool(
            "seep-nosearch", "seep record --no-leak-scan: no search for leaks at the end",
            _seep("--no-leak-scan"), _nothing, _seep_missing,
            files=("*.seep",),
            rounds=3,
        ),
        Tool(
            "seep-events", "seep record --events: every event is written down", _seep("--events"),
            _nothing, _seep_missing,
            files=("*.seep",),
            rounds=2,
        ),
        Tool(
            "seep-quiet", "seep record -q: no summary, so no symbols at the end", _seep("-q"),
            _nothing, _seep_missing,
            files=("*.seep",),
        ),
        Tool(
            "seep-d0",
            "seep record --depth 0: everything but the stack",
            _seep("-q", "-d", "0"),
            _nothing,
            _seep_missing,
            files=("*.seep",),
        ),
        Tool(
            "seep-sample", "seep record --sample: one block in 512 KiB, for production",
            _seep("--sample"), _nothing, _seep_missing,
            files=("*.seep",),
            rounds=2,
        ),
        Tool(
            "heaptrack",
            "heaptrack, with its interpreter",
            lambda argv: [place.need("heaptrack"), "-o", "run.heaptrack", *argv],
            _nothing,
            _heaptrack_missing,
            files=("run.heaptrack*",),
            speaks=True,
            slow=True,
            rounds=3,
        ),
    )
}

DEFAULT = ("untraced", "empty", "seep", "seep-nosearch", "seep-sample", "seep-events", "heaptrack")
