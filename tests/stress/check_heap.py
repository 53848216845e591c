# SPDX-License-Identifier: MIT
"""Ten gigabytes of heap, of which hardly anything is resident."""
GIGABYTES = 10 << 30


def compare(stage, size):
    program = stage.compiler.build("scale.c")
    seen = stage.recorder.record(program, "heap", GIGABYTES // size, size, timeout=3600)
    assert seen.status == 0, seen.stderr
    profile, facts = seen.profile, seen.truth.facts
    assert (profile.totals["live_blocks"], profile.totals["live_bytes"]) == (
        facts["blocks"],
        facts["bytes"],
    )
    assert profile.totals["peak_bytes"] == facts["bytes"] and profile.totals["lost_events"] == 0
    definite = profile.json["leaks"]["definite"]
    assert (definite["blocks"], definite["bytes"]) == (facts["lost"], facts["lost"] * size)
    assert profile.json["complete"]


def check_ten_gigabytes_in_large_blocks(stage):
    stage.need_memory(2000)
    compare(stage, 1 << 20)


def check_ten_gigabytes_in_blocks_of_sixty_four_kilobytes(stage):
    stage.need_memory(4000)
    compare(stage, 64 << 10)
