# SPDX-License-Identifier: MIT
"""workload.py -- what a workload is.

A workload names a command.  Either the whole run is timed from outside (a real program), or the
program times its own loop and prints "METRIC number" (a loop), or a client does (a server).
"""
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Command:
    """What to run: argv[0] is a full path.  `amount` is what the work is divided by, 1 for whole
    programs."""
    argv: list
    env: dict = field(default_factory=dict)
    amount: float = 1.0
    # a file the program writes into its directory, to be compared; stdout is compared otherwise
    product: str = None


@dataclass
class Workload:
    name: str
    about: str
    # (scale: float) -> Command; scale 1 normally, less for slow tools and --quick
    command: Callable
    metric: str = None           # name of the number the program prints about itself, in ns
    drive: Callable = None       # (run directory) -> seconds: the client of a server
    stop: Callable = None        # (run directory): tells the server to end
    without: tuple = ()          # tools that are not run on it
    slow_scale: float = 0.1      # what a slow tool gets of a loop
    once: bool = False           # one round is enough: what is looked at does not vary
    wall_limit: float = None     # goal E: wall ratio of seep


SHORT_ALLOWANCE = 0.1  # the end of the run weighs more in half a second


def long_and_short(name, about, command, wall_limit, **other):
    """NAME, and NAME-short: the same work in about half a second.  COMMAND(short: bool) ->
    Command."""
    return [Workload(name, about, lambda _scale: command(False), wall_limit=wall_limit, **other),
            Workload(f"{name}-short", f"{about}; half a second of it", lambda _scale: command(True),
                     wall_limit=wall_limit + SHORT_ALLOWANCE, **other)]
