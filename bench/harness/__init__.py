# SPDX-License-Identifier: MIT
"""harness -- how bench/run measures; workloads/ says what.

place.py      where sources, inputs and outputs are; builds bench/programs
sample.py     one measured run of one command
tools.py      untraced, empty, seep, heaptrack: how each one runs a command
rounds.py     the order of the runs, and what is kept of each
recording.py  what `seep report` says about a file, and how long it takes
figures.py    medians and ratios over all rounds
table.py      the printed tables
goals.py      the verdicts
"""
