# SPDX-License-Identifier: MIT
"""test_invalid.py -- releases that are invalid, what is hidden behind them, and correct programs
that only look wrong."""
import json
import re
import subprocess

import pytest

from checker import Checker
from harness import PLAIN, SEEP, clean_environment, plain_name
from test_allocators import ALLOCATORS
from test_allocators import library as library_of


@pytest.fixture(scope="session")
def invalid(compiler):
    return compiler.build("invalid.cpp")


@pytest.fixture(scope="session")
def library(compiler):
    return compiler.library("invalid_library.c", name="libinvalid.so")


@pytest.fixture
def check(invalid, tmp_path):
    return Checker(tmp_path, invalid)


def leaks(profile):
    return {k: profile.json["leaks"][k]["blocks"] for k in ("definite", "indirect", "possible")}


def released_by(profile):
    """(what, who released it) of each error."""
    return sorted(
        (e["type"], profile.names(e["stack"])[0]) for e in profile.errors for _ in range(e["count"])
    )


GUARDED = ("--keep-going", "--quarantine", "16M", "--fill")


@pytest.mark.parametrize("offset", range(1, 18))
@pytest.mark.parametrize("how", ["free", "delete[]", "realloc"])
def test_every_address_inside_a_block_is_an_invalid_free(recorder, invalid, offset, how):
    seen = recorder.record(invalid, "offset", offset, how, options=["--keep-going"])
    assert seen.status == 0
    assert (seen.profile.totals["unknown_frees"], seen.profile.totals["frees"]) == (
        1,
        0 if how != "realloc" else seen.profile.totals["frees"],
    )
    error, = seen.profile.errors
    assert (error["type"], error["offset"], error["size"]) == ("unknown-free", offset, 100)
    assert seen.profile.names(error["alloc_stack"])[:2] == ["by_malloc", "offset"]
    assert seen.profile.below("by_malloc")["live_blocks"] == 1
    if how == "realloc":
        assert seen.stdout == b"realloc failed\n"


def test_without_keep_going_the_allocator_sees_it(recorder, invalid):
    seen, bare = recorder.record(invalid, "offset", 1), recorder.bare(invalid, "offset", 1)
    assert seen.status == bare.status != 0 and seen.stdout == bare.stdout
    assert seen.profile.totals["unknown_frees"] == 1


def test_an_address_that_was_handed_out_again_is_found_in_the_quarantine(recorder, invalid):
    seen = recorder.record(invalid, "again", options=GUARDED)
    assert (seen.status, seen.stdout) == (0, b"kept back\ninnocent\n")
    assert released_by(seen.profile) == [("double-free", "second")]
    error, = seen.profile.errors
    assert seen.profile.names(error["first_free_stack"])[:2] == ["first", "again"]
    assert seen.profile.names(error["alloc_stack"])[:2] == ["by_malloc", "again"]
    assert re.search(
        rb"quarantine +[\d.]+ \w+  \d+ freed blocks? in quarantine, all freed since the start",
        seen.stderr,
    )


def test_realloc_to_nothing_is_a_release_that_the_quarantine_knows(recorder, invalid):
    seen = recorder.record(invalid, "emptied", options=GUARDED)
    assert (seen.status, seen.stdout) == (0, b"innocent\n")
    assert released_by(seen.profile) == [("double-free", "second")]
    assert seen.profile.names(seen.profile.errors[0]["first_free_stack"])[0] == "emptied"


def test_a_small_quarantine_lets_the_oldest_go(recorder, invalid):
    seen = recorder.record(invalid, "threads", options=["--quarantine", "64K"])
    assert seen.status == 0 and seen.profile.errors == []
    kept = re.search(
        rb"quarantine +([\d.]+) KiB +([\d,]+) freed blocks in quarantine, all freed since ",
        seen.stderr,
    )
    assert kept and 0 < float(kept[1]) <= 64


def test_the_old_pointer_of_realloc_is_not_reused_in_the_quarantine(recorder, invalid):
    seen = recorder.record(invalid, "stale", options=GUARDED)
    assert (seen.status, seen.stdout) == (0, b"moved\n")
    assert released_by(seen.profile) == [("double-free", "second")]
    assert seen.profile.names(seen.profile.errors[0]["first_free_stack"])[0] == "stale"


ALL = sorted(
    [("unknown-free", "to_free")] * 4
    + [
        ("double-free", "second"),
        ("double-free", "to_realloc"),
        ("mismatched", "to_delete"),
        ("mismatched", "to_array"),
        ("mismatched", "to_free"),
        ("mismatched", "to_sized"),
        ("mismatched", "to_delete"),
    ]
)


def test_a_check_goes_on_behind_invalid_frees_and_finds_the_leaks(check, invalid):
    done = check("--json", "--", invalid, "all")
    assert done.status == 1 and b"realloc failed\nend\n" in done.stderr
    said = json.loads(done.stdout)
    found = [
        (f["kind"], plain_name(f["stack"][0]["function"]))
        for f in said["findings"]
        for _ in range(f["count"])
    ]
    assert [f for f in found if f[0] == "definite-leak"] == [("definite-leak", "lost")] * 7
    assert (
        sorted(
            (kind.removesuffix("-release"), who) for kind, who in found if kind != "definite-leak"
        )
        == ALL
    )


def test_no_keep_going_is_the_allocators_way(check, recorder, invalid):
    bare = recorder.bare(invalid, "all")
    assert bare.status != 0
    assert b"end\n" not in check("--no-keep-going", "--", invalid, "all").stdout


def numbers(error):
    return (
        error["size"], error.get("given_size"), error.get("alignment"),
        error.get("given_alignment"),
    )


SIZES = {
    (124, 4, None, None),
    (34, 35, None, None),
    (37, 1, None, None),
    (41, None, 64, 32),
    (42, None, 64, 0),
    (43, None, 0, 64),
    (45, None, 64, 128),
    (46, None, 64, 0),
    (48, 47, None, None),
    (49, None, None, None),
}


def test_sized_and_aligned_deletes_must_name_what_new_was_asked_for(recorder, invalid):
    seen = recorder.record(invalid, "sizes")
    assert seen.status == 0
    assert {numbers(e) for e in seen.profile.errors} == SIZES and seen.profile.totals[
        "mismatched"
    ] == len(SIZES)
    assert {
        s["kind"] for s in seen.profile.heap_sites() if seen.profile.innermost(s) == "by_new_64"
    } == {"new"}
    text = subprocess.run(
        [str(SEEP), "report", "--errors", str(seen.folder / "out.seep")],
        capture_output=True,
        text=True,
        env=clean_environment(),
    ).stdout
    assert "memory of new, 124 bytes, freed by delete of 4 bytes" in text
    assert "memory of new, aligned to 64, freed by delete with alignment 32" in text
    assert "memory of new[], aligned to 64, freed by delete[] without an alignment" in text


def test_one_place_may_ask_for_many_alignments(recorder, invalid):
    seen = recorder.record(invalid, "alignments")
    assert {(e["alignment"], e["given_alignment"]) for e in seen.profile.errors} == {
        (1 << k, 1 << k - 1) for k in range(5, 13)
    }
    sites = [s for s in seen.profile.heap_sites() if seen.profile.innermost(s) == "alignments"]
    # one for each line, whatever the alignment
    assert sum(s["allocations"] for s in sites) == 25 and len(sites) == 2


@pytest.mark.parametrize(
    "options, hidden", [((), True), (("--fill",), False), (("--fill=0",), False)]
)
def test_fill_shows_what_stale_pointers_hide(recorder, invalid, options, hidden):
    seen = recorder.record(invalid, "hidden", options=options)
    found = leaks(seen.profile)["definite"]
    assert found <= 2 if hidden else found == 30  # two words of a freed block are the allocator's


@pytest.mark.parametrize("options", [(), ("--quarantine", "16M"), GUARDED])
def test_a_mapping_that_is_kept_back_holds_nothing(recorder, invalid, options):
    assert leaks(recorder.record(invalid, "mapped", options=options).profile)["definite"] == 30


def test_a_check_fills_unless_told_not_to(check, invalid):
    assert b"30 blocks lost" in check("--", invalid, "hidden").stdout
    assert (
        b"30 blocks lost"
        not in check("--no-fill", "--quarantine", "0", "--", invalid, "hidden").stdout
    )


@pytest.mark.parametrize("byte", ["0xa5", "0", "17"])
@pytest.mark.parametrize("more", [(), ("--quarantine", "1M")])
def test_fresh_memory_is_filled_and_what_must_stay_stays(recorder, invalid, byte, more):
    fill = "--fill" if byte == "0xa5" else f"--fill={byte}"
    assert (
        recorder.record(invalid, "fresh", byte, options=[fill, *more]).stdout
        == b"wrong 0 zero 0 kept 0\n"
    )


@pytest.mark.parametrize("options", [("--fill",), ("--quarantine", "1M"), GUARDED])
def test_realloc_keeps_all_that_the_allocator_gave(recorder, invalid, options):
    assert recorder.record(invalid, "usable", options=options).stdout == b"wrong 0\n"


@pytest.mark.parametrize("options", [(), GUARDED, ("--quarantine", "1M"), ("--fill",)])
def test_a_correct_program_with_threads_is_clean(recorder, invalid, options):
    seen = recorder.record(invalid, "threads", options=options)
    assert (
        seen.status == 0 and seen.profile.errors == [] and seen.profile.totals["lost_events"] == 0
    )
    assert seen.profile.below("churn")["live_blocks"] == 0


def test_deepbind_is_taken_away_with_one_word(recorder, invalid, library):
    seen = recorder.record(invalid, "deepbind", library)
    assert (seen.status, seen.stdout) == (0, b"end\n")
    assert seen.profile.errors == [] and leaks(seen.profile)["definite"] == 0
    assert (
        len(seen.profile.json["warnings"]) == 1
        and "RTLD_DEEPBIND" in seen.profile.json["warnings"][0]
    )
    assert seen.profile.below("plug_make")["allocations"] == 10
    assert (
        seen.profile.below("by_malloc")["frees"]
        == 80
        == seen.profile.below("by_malloc")["allocations"]
    )


@pytest.mark.parametrize("how", [("deepbind", "--deepbind"), ("past",)])
@pytest.mark.parametrize("guarded", [(), GUARDED])
def test_calls_past_us_are_counted_and_nothing_is_judged_by_them(
    recorder, invalid, library, how, guarded
):
    case, *options = how
    seen = recorder.record(invalid, case, library, options=[*options, *guarded])
    assert (seen.status, seen.stdout) == (0, b"end\n")
    assert seen.profile.errors == [] and leaks(seen.profile)["definite"] == 0
    said = " ".join(seen.profile.json["warnings"])
    assert "had not seen" in said and "bug in seep" not in said
    totals = seen.profile.totals
    assert totals["live_blocks"] == sum(s["live_blocks"] for s in seen.profile.heap_sites())


@pytest.mark.parametrize("lost", [0, 3])
@pytest.mark.parametrize("guarded", [(), GUARDED])
def test_what_was_freed_past_us_is_no_leak_although_nobody_got_it_again(
    recorder, check, invalid, guarded, lost
):
    seen = recorder.record(invalid, "freed_past", lost, options=guarded)
    assert (seen.status, seen.stdout) == (0, b"end\n")
    assert seen.profile.errors == []
    assert leaks(seen.profile) == {"definite": lost, "indirect": 0, "possible": 0}
    said, = seen.profile.json["unseen"]
    assert (
        said.startswith("15 blocks were free for the allocator")
        and said in seen.profile.json["warnings"]
    )
    assert b"15 blocks were free for the allocator" in seen.stderr
    done = check("--", invalid, "freed_past", "0")
    assert (
        done.status == 1
        and b"not everything was seen: 15 blocks" in done.stdout
        and b"lost" not in done.stdout
    )


def test_what_was_got_past_us_is_no_invalid_free_from_the_first_block_on(recorder, invalid):
    seen = recorder.record(invalid, "first_past", options=GUARDED)
    assert (seen.status, seen.stdout) == (0, b"end\n") and seen.profile.errors == []


def test_operators_of_a_plug_in_are_called_before_it_goes(compiler, recorder, invalid):
    plug = compiler.library("invalid_operators.cpp", cc="g++", name="liboperators.so")
    for options in ((), GUARDED):
        seen = recorder.record(invalid, "plugin", plug, options=options)
        assert (seen.status, seen.stdout) == (0, b"end\n") and seen.profile.errors == []


def test_children_of_a_busy_program_have_lost_nothing(check, invalid):
    """What other threads do during a fork is half in the child's ledger."""
    done = check("--", invalid, "forked")
    assert done.status == 0, done.stdout.decode()


def test_many_double_frees_are_all_counted(recorder, invalid):
    seen = recorder.record(invalid, "many", 20000, options=GUARDED)
    assert (seen.status, seen.stdout) == (0, b"end\n")
    assert seen.profile.totals["double_frees"] == 20000
    assert {tuple(seen.profile.names(e["first_free_stack"])[:2]) for e in seen.profile.errors} == {
        ("first", "many")
    }


def test_the_quarantine_makes_room_before_memory_is_out(recorder, invalid):
    seen = recorder.record(invalid, "tight", options=["--quarantine", "1G"])
    assert (seen.status, seen.stdout) == (0, b"end\n")


def test_the_paths_of_the_caller_are_those_of_dlopen(compiler, recorder, tmp_path, library):
    """dlopen looks at who calls it: DT_RUNPATH of the program, not of ours."""
    (tmp_path / "libfar.so").write_bytes(library.read_bytes())
    program = compiler.build(
        "invalid.cpp", flags=(*PLAIN, f"-Wl,--enable-new-dtags,-rpath,{tmp_path}")
    )
    for options in ((), ("--deepbind",)):
        seen = recorder.record(program, "deepbind", "libfar.so", options=options)
        assert (seen.status, seen.stdout) == (0, b"end\n")


@pytest.mark.parametrize("front", [0, 16])
@pytest.mark.parametrize("guarded", [(), GUARDED])
@pytest.mark.parametrize("where", ["program", "library"])
def test_operators_of_the_program_are_not_mixed_with_ours(
    compiler, recorder, front, guarded, where
):
    """The library's sized delete calls the program's plain one: what we see of it must be of one
    kind."""
    flags, libs = PLAIN, []
    if where == "library":
        operators = compiler.library(
            "own_operators.cpp", cc="g++", flags=(*PLAIN, "-DLIBRARY"), name="liboperators.so"
        )
        flags, libs = (*PLAIN, "-DPROGRAM"), [str(operators), f"-Wl,-rpath,{operators.parent}"]
    seen = recorder.record(
        compiler.build("own_operators.cpp", flags=flags, libs=libs), front, options=guarded
    )
    assert (seen.status, seen.stdout) == (0, b"0\n")
    assert seen.profile.errors == [] and leaks(seen.profile)["definite"] == 0
    assert "had not seen" not in " ".join(seen.profile.json["warnings"])


@pytest.mark.parametrize(
    "words",
    [
        ("--fill=256",),
        ("--fill=x",),
        ("--quarantine", "lots"),
        ("--quarantine", "1000G"),
        ("--keep-going", "--sample"),
        ("--fill", "--sample"),
        ("--quarantine", "1M", "--sample"),
    ],
)
def test_wrong_words_are_told(recorder, invalid, words):
    done = recorder.record(invalid, options=words)
    assert (
        done.status == 2
        and done.stderr.startswith(b"seep: ")
        and words[0].split("=")[0].encode() in done.stderr
    )


@pytest.mark.parametrize("name", ALLOCATORS)
def test_the_same_with_another_allocator(compiler, recorder, name):
    """Offsets that it would not notice itself, and all kinds after one another."""
    program = compiler.build("invalid.cpp", libs=["-Wl,--no-as-needed", str(library_of(name))])
    for offset in (1, 7, 8, 16):
        seen = recorder.record(program, "offset", offset, options=["--keep-going"])
        assert seen.status == 0 and seen.profile.totals["unknown_frees"] == 1
    seen = recorder.record(program, "all", options=GUARDED)
    assert seen.stdout == b"realloc failed\nend\n" and released_by(seen.profile) == ALL
    clean = recorder.record(program, "threads", options=GUARDED)
    assert clean.status == 0 and clean.profile.errors == []
