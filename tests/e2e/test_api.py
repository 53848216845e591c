# SPDX-License-Identifier: MIT
"""seep.h: tags, switches, own pools, own resources; and descriptors without any call."""
import subprocess

import pytest

from harness import (
    DEADLINE, PROGRAMS, ROOT, SEEP, check_clean, check_sites, check_total, clean_environment, run,
)
from leaks import check_verdicts, seep_verdicts
from plain import find_reports, own, parse_memlog, run_plain, seep, sum_by_function

LANGUAGES = {
    "c99": ["gcc", "-x", "c", "-std=c99"],
    "c11-clang": ["clang", "-x", "c", "-std=c11"],
    "c++11": ["g++", "-x", "c++", "-std=c++11"],
    "c++20-clang": ["clang++", "-x", "c++", "-std=c++20"],
}
CODE = {"pie": ["-fPIE", "-pie"], "fixed": ["-fno-pie", "-no-pie"]}


def compile_api(folder, language, *flags, out="api"):
    command = [
        *LANGUAGES[language],
        "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
        str(PROGRAMS / "api.c"), "-x", "none", *flags, "-o", str(folder / out),
    ]
    made = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert made.returncode == 0, f"{command}\n{made.stderr}"
    return folder / out


def check_everything_used(recorder, program):
    """What each macro of api.c does is there."""
    bare, seen = recorder.bare(program), recorder.record(
        program, cwd=recorder.folder(), timeout=DEADLINE
    )
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"used: yes\n", 0)
    profile = seen.profile
    pool = [s for s in profile.json["sites"] if s["kind"] == "pool"]
    assert sum(s["allocations"] for s in pool) == 3 and sum(s["live_bytes"] for s in pool) == 40
    assert {profile.innermost(s) for s in pool} == {"use_everything"}
    assert held(profile) == ([("thing", "use_everything", 7)], {("thing", "use_everything"): 70})
    assert [s["label"] for s in profile.json["snapshots"]][:1] == ["middle"]
    everything = profile.by_function()["use_everything"]
    assert everything["allocations"] == 3 + 1  # the pool's, and one malloc of two
    assert between(seen, "begin", "end")["use_everything"] == 40
    check_clean(profile)


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_header_alone_is_enough(recorder, language, code, optimised):
    check_everything_used(
        recorder, compile_api(recorder.folder(), language, optimised, *CODE[code])
    )


@pytest.mark.parametrize("code", CODE)
def test_a_library_can_use_it(recorder, code):
    folder = recorder.folder()
    library = compile_api(folder, "c99", "-DLIBRARY", "-shared", "-fPIC", out="libapi.so")
    check_everything_used(
        recorder,
        compile_api(folder, "c99", "-DMAIN", *CODE[code], str(library), f"-Wl,-rpath,{folder}"),
    )


def test_a_static_program_runs_without_it(recorder):
    program = compile_api(recorder.folder(), "c99", "-static")
    assert recorder.bare(program).stdout == b"used: yes\n"


def between(seen, a, b):
    """By function: bytes allocated after A that are alive at B."""
    done = subprocess.run(
        [
            SEEP, "report", "--memlog", "--range", f"{a}..{b}", "--no-pager",
            seen.folder / "out.seep",
        ],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    return sum_by_function(parse_memlog(done.stdout.decode()))


def check_between(seen):
    assert seen.truth.since
    for (a, b), sites in seen.truth.since.items():
        wanted = {name: counts["bytes"] for name, counts in sites.items() if counts["bytes"]}
        assert own(between(seen, a, b), seen.truth) == wanted, (a, b)
    check_clean(seen.profile)


PAIRS = {
    "simple": ("+red:5:10", "tag:a", "+red:3:100", "+green:2:7", "tag:b", "since:a"),
    "freed after b": ("tag:a", "+red:3:100", "tag:b", "since:a", "-red"),
    "old ones freed between": ("+red:50:10", "tag:a", "+red:3:100", "-red:50", "tag:b", "since:a"),
    "old and new freed between": (
        "+red:5:10", "tag:a", "+red:30:100", "-red:12", "tag:b", "since:a", "-red:3",
    ),
    "all freed between": ("+red:5:10", "tag:a", "+red:30:100", "-red", "tag:b", "since:a"),
    "old ones freed after b": ("+red:5:10", "tag:a", "+red:30:100", "tag:b", "since:a", "-red:5"),
    "three tags": (
        "+red:5:10", "tag:a", "+red:30:100", "+green:4:4", "tag:b", "since:a", "-red:20",
        "+blue:1:1", "-green:1", "tag:c", "since:a", "since:b", "-red", "-green",
    ),
    "nothing": ("+red:5:10", "tag:a", "tag:b", "since:a"),
    "snapshots between": (
        "+red:2:10", "tag:a", "+red:4:10", "snapshot:s", "-red:3", "+red:1:5", "snapshot:s",
        "-red:1", "tag:b", "since:a",
    ),
    "many": (
        "+red:1000:10", "tag:a", "+red:20000:11", "-red:9000", "+green:5000:12", "tag:b",
        "since:a", "-green:2500", "tag:c", "since:a", "since:b",
    ),
    "switched off between": (
        "tag:a", "+red:5:10", "off", "on", "+red:5:20", "-red:2", "tag:b", "since:a",
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_between_two_tags_exactly_what_was_made_after_the_first_and_lives_at_the_second(
    compiler, recorder, case
):
    check_between(recorder.record(compiler.build("steps.c"), *PAIRS[case], cwd=recorder.folder()))


def test_two_thousand_tags(compiler, recorder):
    seen = recorder.record(compiler.build("steps.c"), "loop:2000:red", "moment:x")
    assert seen.status == 0
    # Block i is made after tag ti; after every third the oldest goes: k = (i + 1) // 3 are gone
    # then, blocks 0 .. k - 1.
    for a, b in ((0, 1), (0, 1999), (1000, 1001), (1000, 1500), (660, 1990), (700, 1999), (5, 12)):
        gone = b // 3
        wanted = 10 * len([i for i in range(a, b) if i >= gone])
        assert between(seen, f"t{a}", f"t{b}").get("red", 0) == wanted, (a, b)
    check_sites(seen.truth, seen.profile)
    check_clean(seen.profile)


def test_an_unknown_tag_is_refused_with_those_that_are_known(compiler, recorder):
    seen = recorder.record(compiler.build("steps.c"), "tag:apple", "tag:pear")
    done = subprocess.run(
        [SEEP, "report", "--range", "apple..peach", seen.folder / "out.seep"],
        capture_output=True,
        env=clean_environment(),
    )
    assert (
        done.returncode == 2
        and b"peach" in done.stderr
        and b"pear" in done.stderr
        and done.stdout == b""
    )


@pytest.mark.parametrize("start", ["on", "off"])
def test_what_is_made_while_off_is_not_seen_and_causes_no_error(compiler, recorder, start):
    program = compiler.build("switches.c")
    seen = recorder.record(program, start, options=["--start-off"] if start == "off" else [])
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    assert not [name for name in seen.profile.by_function() if name.startswith("unseen")]
    assert (
        seen.profile.totals["unknown_frees"],
        seen.profile.totals["double_frees"],
        seen.profile.errors,
    ) == (0, 0, [])


@pytest.mark.parametrize("start", ["on", "off"])
@pytest.mark.parametrize(
    "flags", [("-fPIE", "-pie"), ("-O2", "-fno-builtin", "-fPIE", "-pie")], ids=["O0", "O2"]
)
def test_programs_built_for_memtraq_and_memtrail_are_answered(compiler, recorder, flags, start):
    program = compiler.build("earlier_calls.c", flags=("-g", *flags))
    assert recorder.bare(program, start).status == 0
    seen = recorder.record(
        program, start, options=["--start-off"] if start == "off" else [], cwd=recorder.folder()
    )
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False)
    assert "unseen" not in seen.profile.by_function()
    assert seen.profile.errors == [] and seen.profile.totals["unknown_frees"] == 0
    assert between(seen, "first", "second")["seen_between"] == 64
    assert between(seen, "second", "third")["seen_after"] == 204
    snapshots = [s for s in seen.profile.json["snapshots"] if s["type"] == "snapshot"]
    assert [b["live_bytes"] - a["live_bytes"] for a, b in zip(snapshots, snapshots[1:])][:1] == [64]


def test_started_off_and_never_switched_on_is_told_once(compiler, recorder):
    seen = recorder.record(compiler.build("known.c"), options=["--start-off"])
    assert seen.status == 0 and seen.profile.totals["allocations"] == 0
    assert (seen.stderr.count(b"--start-off"), seen.stderr.count(b"SEEP_ENABLE")) == (1, 1)
    assert "--start-off" in seen.profile.json["warnings"][0]


POOLS = ["heap", "static", "mapped", "dropped", "again", "threads"]


@pytest.mark.parametrize("mode", POOLS)
def test_blocks_of_a_pool_are_counted_once(compiler, recorder, mode):
    seen = recorder.record(compiler.build("pools.c"), mode)
    assert seen.status == 0
    facts, functions = seen.truth.facts, seen.profile.by_function()
    pool, arena = functions["pool_get"], functions.get("arena_new", {"live_bytes": 0})
    assert pool["allocations"] == facts["pool_allocs"]
    assert (pool["live_blocks"], pool["live_bytes"]) == (facts["pool_blocks"], facts["pool_bytes"])
    inside = facts["pool_bytes"] if facts["arena"] else 0
    assert arena["live_bytes"] == facts["arena"] - inside
    assert seen.profile.totals["live_bytes"] == (facts["arena"] or facts["pool_bytes"]) + others(
        seen.profile
    )
    assert {
        s["kind"] for s in seen.profile.json["sites"] if seen.profile.innermost(s) == "pool_get"
    } == {"pool"}
    check_clean(seen.profile)


def others(profile):
    """What the libc keeps for its threads."""
    return sum(
        s["live_bytes"]
        for s in profile.heap_sites()
        if profile.innermost(s) not in ("pool_get", "arena_new")
    )


def test_blocks_of_a_pool_may_start_at_any_byte(compiler, recorder):
    """Neighbours in one word of memory are two blocks, each at its own address."""
    seen = recorder.record(compiler.build("odd_pool.c"), options=["--events"])
    file = seen.folder / "out.seep"
    check_clean(seen.profile)
    told = seep("sql", "--csv", "--no-header", file,
                "SELECT address, size FROM block JOIN site ON site.id = site WHERE kind = 'pool' "
                "ORDER BY address")
    assert told.stdout.replace(b",", b" ").splitlines() == seen.stdout.splitlines()
    check_verdicts("seep", seep_verdicts(file, seen.truth.leaks), seen.truth.leaks)
    assert seen.profile.by_function()["freed_piece"]["live_blocks"] == 0
    assert "differs" not in seep("events", "--totals", file).stdout.decode()


def test_blocks_at_any_byte_go_with_their_arena(compiler, recorder):
    seen = recorder.record(compiler.build("odd_pool.c"), "drop")
    check_clean(seen.profile)
    assert [s for s in seen.profile.json["sites"] if s["kind"] == "pool" and s["live_blocks"]] == []


def test_a_pool_does_not_raise_the_peak(compiler, recorder):
    seen = recorder.record(compiler.build("pools.c"), "dropped")
    assert seen.profile.totals["peak_bytes"] == 65536


def test_the_library_alone_reports_pools_too(compiler, recorder):
    folder = recorder.folder()
    seen = run_plain(folder, compiler.build("pools.c"), "heap")
    (only,) = find_reports(folder)
    assert only.by_function() == {
        "pool_get": seen.truth.facts["pool_bytes"],
        "arena_new": 65536 - seen.truth.facts["pool_bytes"],
    }


def held(profile):
    """Resources that were not released: type, function, handle; and their amounts by type and
    function."""
    handles, amounts = [], {}
    for site in profile.json["resources"]:
        name = site["type"], profile.names(site["stack"])[0]
        assert site["live_blocks"] == len(site["handles"]) == site["allocations"] - site["frees"]
        handles += [(*name, handle) for handle in site["handles"]]
        if site["live_blocks"]:
            amounts[name] = amounts.get(name, 0) + site["live_bytes"]
    return sorted(handles), amounts


def truly_held(truth):
    amounts = {}
    for kind, function, _, amount in truth.held:
        amounts[kind, function] = amounts.get((kind, function), 0) + amount
    return sorted(h[:3] for h in truth.held), amounts


@pytest.mark.parametrize("mode", ["plain", "wrong", "threads"])
def test_resources_that_are_not_released_are_listed_with_type_and_stack(compiler, recorder, mode):
    seen = recorder.record(compiler.build("resources.c"), mode)
    assert seen.status == 0
    assert held(seen.profile) == truly_held(seen.truth)
    # no amount is in a sum of bytes
    check_total(seen.truth, seen.profile.own(compiler.build("resources.c")))
    assert seen.profile.errors == []


@pytest.fixture
def fds(compiler):
    return compiler.build("fds.c")


@pytest.mark.parametrize("mode", ["all", "none", "vfork", "fork", "failed"])
def test_descriptors_that_stay_open_are_listed_with_their_stack(fds, recorder, mode):
    bare = run([fds, mode], cwd=recorder.folder())
    seen = recorder.record(fds, mode, options=["--track-fds"], cwd=recorder.folder())
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"done\n", 0)
    assert held(seen.profile) == truly_held(seen.truth)
    assert seen.profile.errors == []


@pytest.mark.parametrize("what", ["switches", "tags"])
def test_however_many_moments_there_are_a_report_can_be_had(compiler, recorder, what):
    folder = recorder.folder()
    seen = recorder.record(compiler.build("plenty.c"), what, cwd=folder)
    last = seen.profile.json["snapshots"][-1]
    assert (last["label"], last["live_bytes"]) == ("last", 77)
    assert any("table of marks is full" in warning for warning in seen.profile.json["warnings"])


def test_types_beyond_the_last_are_one(compiler, recorder):
    found = recorder.record(compiler.build("plenty.c"), "types").profile.json["resources"]
    held = {}
    for entry in found:
        held[entry["type"]] = held.get(entry["type"], 0) + entry["live_blocks"]
    assert len(held) == 192 and held["type190"] == 1 and held["other types"] == 109


def test_a_pool_goes_with_its_mapping(compiler, recorder):
    sites = recorder.record(compiler.build("plenty.c"), "mapped").profile.json["sites"]
    pool = [s for s in sites if s["kind"] == "pool"]
    assert sum(s["allocations"] for s in pool) == 3 and sum(s["live_bytes"] for s in pool) == 500


def test_without_the_option_no_descriptor_is_listed(fds, recorder):
    seen = recorder.record(fds, "all", cwd=recorder.folder())
    assert held(seen.profile) == ([], {})


@pytest.mark.parametrize("program", [["/usr/bin/python3", "-c",
                                      "import os, socket; a = socket.socketpair(); b = "
                                      "open('/dev/null'); print(len(os.listdir('/')) > 3)"],
                                     ["/bin/sh", "-c", "exec 5>/dev/null; echo a | cat; echo b "
                                                       ">&5; exec 5>&-; ls / >/dev/null"],
                                     ["perl", "-e", "open(my $f, '<', '/dev/null'); opendir(my $d, "
                                                    "'/'); my @x = readdir $d; print @x > 3, "
                                                    "qq(\\n)"]],
                         ids=["python", "sh", "perl"])
def test_real_programs_do_not_notice_that_their_descriptors_are_counted(recorder, program):
    bare, seen = recorder.bare(*program), recorder.record(*program, options=["-q", "--track-fds"])
    assert (seen.stdout, seen.stderr, seen.status) == (bare.stdout, bare.stderr, bare.status)
