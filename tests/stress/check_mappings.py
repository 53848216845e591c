# SPDX-License-Identifier: MIT
"""Hundreds of thousands of mappings."""
import os
from contextlib import contextmanager
from pathlib import Path

import format_reader
from run import Skip

LIMIT = Path("/proc/sys/vm/max_map_count")


@contextmanager
def kernel_allows(count):
    """So many mappings in one process; as before afterwards."""
    before = LIMIT.read_text()
    if int(before) < count:
        if os.geteuid():
            raise Skip(
                f"vm.max_map_count is {before.strip()}, and only root can raise it to {count}"
            )
        LIMIT.write_text(str(count))
    try:
        yield
    finally:
        if LIMIT.read_text() != before:
            LIMIT.write_text(before)


def pair_costs(done):
    return [float(word) for word in done.stdout.split()]


def compare(stage, case, count):
    """Record it, and compare with what the program says.  Answers what a pair cost more than
    without us, in order, at random and many at random at a time."""
    program = stage.compiler.build("scale.c")
    bare = [pair_costs(stage.recorder.bare(program, case, count, timeout=3600)) for _ in range(3)]
    runs = [stage.recorder.record(program, case, count, timeout=3600) for _ in range(3)]
    for seen in runs:
        assert seen.status == 0, seen.stderr
        profile = seen.profile
        regions = format_reader.read(seen.folder / "out.seep").arrays["regions"]
        facts = seen.truth.facts
        assert (len(regions), profile.totals["mmap_live_bytes"]) == (
            facts["pieces"],
            facts["bytes"],
        )
        assert profile.totals["lost_events"] == 0 and profile.json["complete"]
    more = [
        min(costs) - min(plain) for costs, plain in zip(zip(*map(pair_costs, runs)), zip(*bare))
    ]
    stage.say(f"{count} mappings ({case}): munmap and mmap cost {more[0]:.2f} us more in order, "
              f"{more[1]:.2f} us at random, {more[2]:.2f} us many at a time")
    return more


def check_mappings_cost_the_same_however_many_there_are(stage):
    few, many = compare(stage, "mappings", 2000), compare(stage, "mappings", 200000)
    for a, b in zip(few, many):
        assert b < 10 * max(a, 1), "a hundred times as many cost far more each"


def check_two_hundred_thousand_mappings_that_the_kernel_keeps_apart(stage):
    with kernel_allows(400000):
        compare(stage, "apart", 200000)


def check_a_million_mappings(stage):
    compare(stage, "mappings", 1000000)
