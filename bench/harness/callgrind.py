# SPDX-License-Identifier: MIT
"""callgrind.py -- how many instructions of the agent a program's malloc+free pairs took.

The program runs under callgrind and seep at once: callgrind counts the instructions that were
executed in libseep.so,
seep the events.  The numbers do not depend on the machine or its load, only on compiler and code.
"""
import json
import os
import re
import subprocess
from collections import Counter

LOOP_SCALE = 0.002  # loops are made for a processor and not for its simulation


def self_costs(path):
    """Instructions by function of libseep.so.  A name stands in full once, later only its number
    does."""
    names, costs = {}, Counter()
    inside, function, of_call = False, None, False

    def name(text):
        number, full = re.fullmatch(r"(\(\d+\))(?: (.*))?", text).groups()
        return names.setdefault(number, full) if full else names[number]

    objects, functions = {}, {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            key, _, rest = line.partition("=")
            if key in ("ob", "cob"):
                names = objects
                module = name(rest)
                if key == "ob":
                    inside = module.endswith("libseep.so")
            elif key in ("fn", "cfn"):
                names = functions
                called = name(rest)
                if key == "fn":
                    function = called
            elif key == "calls":
                of_call = True
            elif line[:1] in "0123456789+-*" and " " in line and line[:1]:
                if inside and not of_call:
                    costs[function] += int(line.split()[1])
                of_call = False
    return costs


def measure(seep, valgrind, argv, directory, env):
    """(instructions by function, pairs) of ARGV, run in DIRECTORY, which is empty."""
    command = [
        str(seep), "record", "-q", "-f", "--no-leak-scan", "-o", f"{directory}/run.seep", "--",
        valgrind, "--tool=callgrind", f"--callgrind-out-file={directory}/callgrind.%p", *argv,
    ]
    subprocess.run(command, cwd=directory, env=dict(os.environ, **env), check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    costs = Counter()
    for path in directory.glob("callgrind.*"):
        costs += self_costs(path)
    pairs = 0
    for path in directory.glob("*.seep"):
        shown = subprocess.run([str(seep), "report", "--json", str(path)], check=True,
                               capture_output=True, text=True).stdout
        totals = json.loads(shown)["totals"]
        pairs += (totals["allocations"] + totals["frees"]) / 2
    return costs, pairs
