# SPDX-License-Identifier: MIT
"""More threads than any table has room for."""
from harness import check_sites, check_total


def check_two_hundred_thousand_short_threads(stage):
    program = stage.compiler.build("many_threads.c")
    seen = stage.recorder.record(program, 200000, timeout=3600)
    assert seen.status == 0, seen.stderr
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    check_total(seen.truth, seen.profile.own(program), peak=False, temporary=False)
    assert seen.profile.totals["lost_events"] == 0
    assert not [
        s for s in seen.profile.json["sites"] if s["kind"] == "mmap" and s["live_bytes"] > 100 << 20
    ], "stacks that are gone"
