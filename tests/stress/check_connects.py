# SPDX-License-Identifier: MIT
"""Hosts come and go a thousand times (CYCLES=) while a program works: in block mode nothing is
lost or counted twice, with a ledger at the target and without."""
import os

from remote import Light, Target, come_and_go

CYCLES = int(os.environ.get("CYCLES", "1000"))


def check_connects(stage):
    come_and_go(stage.recorder, stage.compiler.build("steps.c"), Target, CYCLES)
    stage.say(f"{CYCLES} connections, each event counted once")


def check_connects_light(stage):
    current = come_and_go(stage.recorder, stage.compiler.build("steps.c"), Light, CYCLES)
    stage.say(
        f"{CYCLES} connections, {current} of them told all that there was; each event counted once"
    )
