# SPDX-License-Identifier: MIT
"""A library that is loaded again and again is one module, and its leak one entry, wherever the
loader puts it; a table that is full says so."""
import json
import shutil
from collections import Counter

import pytest

from harness import PLAIN, SEEP, check_clean, run

ROUNDS = 300


@pytest.fixture(scope="module")
def reloads(compiler):
    return compiler.build("reloads.c", libs=["-ldl"])


@pytest.fixture(scope="module")
def library(compiler):
    """Libraries with the same functions: by name, with these flags of the linker."""
    def build(name, *flags):
        return compiler.library(
            "plug.c", flags=(*PLAIN, "-DPLUG=a", *flags), name=f"libreload_{name}.so"
        )
    return build


def output(path, command, *words):
    """Of a command about a recording."""
    done = run(
        [SEEP, command, *words[:-1], path, *words[-1:]]
        if command == "sql"
        else [SEEP, command, *words, path],
        cwd=path.parent,
    )
    assert done.status == (1 if command == "leaks" else 0), done.stderr
    return done.stdout.decode()


def info(path):
    return json.loads(output(path, "info", "--json"))


def modules_of(path, *names):
    return [m for m in info(path)["modules"] if m["path"] in names]


def sites_in(profile, *names):
    """Stacks that begin in the library, all with their names."""
    sites = [
        s
        for s in profile.heap_sites()
        if s["stack"] and profile.frame(s["stack"][0])["module"] in names
    ]
    assert all(
        profile.names(s["stack"])[:5] == ["inner_a", "outer_a", "use", "round_of", "main"]
        for s in sites
    )
    return sites


def check_one_place_each(seen, *names, modules=None):
    """In each of NAMES there is one module (or MODULES of them in all), one stack and one leak;
    numbers are exact."""
    path, count = seen.folder / "out.seep", modules or len(names)
    assert seen.status == 0
    lost = seen.truth.facts["lost"]
    assert len(modules_of(path, *names)) == count
    sites = sites_in(seen.profile, *names)
    assert len(sites) == count
    assert (sum(s["allocations"] for s in sites), sum(s["live_blocks"] for s in sites)) == (
        2 * lost,
        lost,
    )
    assert sum(s["live_bytes"] for s in sites) == 101 * lost
    leaks = json.loads(output(path, "leaks", "--json", "--show=all"))
    entries = [s for s in leaks["sites"] if leaks["frames"][s["stack"][0]]["function"] == "inner_a"]
    assert len(entries) == count
    rows = output(
        path,
        "sql",
        "--json",
        "select m.path, count(*) as n from site s join frame f on f.id = s.place"
        " join module m on m.id = f.module group by m.id",
    )
    found = [row for row in json.loads(rows) if row["path"] in names]
    assert [row["n"] for row in found] == [1] * count
    check_clean(seen.profile)


def test_at_the_same_address(recorder, reloads, library):
    seen = recorder.record(reloads, "same", ROUNDS, library("same"))
    assert seen.truth.facts["addresses"] == 1
    check_one_place_each(seen, str(library("same").resolve()))


@pytest.mark.parametrize("flag", ["--build-id=sha1", "--build-id=none", "--no-eh-frame-hdr"])
def test_at_changing_addresses(recorder, reloads, library, flag):
    path = library(flag.strip("-").replace("=", "_"), f"-Wl,{flag}")
    seen = recorder.record(reloads, "moving", ROUNDS, path)
    assert seen.truth.facts["addresses"] == ROUNDS
    check_one_place_each(seen, str(path.resolve()))


def test_among_thousands_of_mappings(recorder, reloads, library):
    """The kernel is asked for code alone then, where it can be; names and numbers are the same."""
    seen = recorder.record(reloads, "crowded", 100, library("same"), env={"SEEP_TEST_VERIFY": "1"})
    assert seen.truth.facts["addresses"] == 100
    check_one_place_each(seen, str(library("same").resolve()))
    assert (
        seen.profile.totals["verify_captures"] > 200
        and seen.profile.totals["verify_differences"] == 0
    )


def test_the_ledger_does_not_grow_with_loads(recorder, reloads, library):
    counts = [
        info(recorder.record(reloads, "moving", rounds, library("same")).folder / "out.seep")[
            "counts"
        ]
        for rounds in (20, ROUNDS)
    ]
    assert [c["nodes"] for c in counts][0] == [c["nodes"] for c in counts][1]
    assert [c["sites"] for c in counts][0] == [c["sites"] for c in counts][1]


def test_equal_names_in_two_directories_are_two_modules(recorder, reloads, library, tmp_path):
    paths = [tmp_path / folder / "libreload.so" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        shutil.copy(library("same"), path)
    seen = recorder.record(reloads, "turns", ROUNDS, *paths)
    check_one_place_each(seen, *map(str, paths))


def test_a_library_that_was_replaced_on_disk_is_another_module(
    recorder, reloads, library, tmp_path
):
    builds = [tmp_path / f"build{i}" / "libreload.so" for i in range(2)]
    for i, build in enumerate(builds):
        build.parent.mkdir()
        shutil.copy(library(f"build{i}", f"-Wl,--build-id=0x{i + 1:02}02030405060708"), build)
    path = tmp_path / "libreload.so"
    seen = recorder.record(reloads, "replaced", ROUNDS, path, *builds)
    # it is not at its path any more
    output(seen.folder / "out.seep", "symbolize", "-q", "--debug-path", builds[0].parent)
    check_one_place_each(seen, str(path), modules=2)
    assert {m["build_id"] for m in modules_of(seen.folder / "out.seep", str(path))} == {
        "0102030405060708",
        "0202030405060708",
    }
    assert {s["live_blocks"] for s in sites_in(seen.profile, str(path))} == {ROUNDS // 2}


def test_a_copy_of_itself_is_no_other_module(recorder, reloads, library, tmp_path):
    path = tmp_path / "libreload.so"
    seen = recorder.record(reloads, "copied", ROUNDS, path, library("same"))
    check_one_place_each(seen, str(path))


def test_two_at_a_time_are_one_place(recorder, reloads, library):
    """Each in a name space of its own; what the second one allocates, with a C library of its
    own, is not seen."""
    seen = recorder.record(reloads, "twice", 5, library("same"))
    assert seen.status == 0 and seen.truth.facts["lost"] == 10
    sites = sites_in(seen.profile, str(library("same").resolve()))
    assert [s["live_blocks"] for s in sites] == [5]
    said = ("dlmopen loaded 5 libraries into separate namespaces: what their own C libraries "
            "allocate is not in this recording")
    assert (
        said in seen.profile.json["unseen"] and said in info(seen.folder / "out.seep")["warnings"]
    )


def test_addresses_and_stored_names_are_those_of_the_last_place(
    recorder, reloads, library, tmp_path
):
    seen = recorder.record(reloads, "moving", 20, library("same"))
    path, name = seen.folder / "out.seep", str(library("same").resolve())
    module, = modules_of(path, name)
    (line,) = [
        line for line in output(path, "export", "--to", "maps").splitlines() if line.endswith(name)
    ]
    first, last = (int(word, 16) for word in line.split()[0].split("-"))
    assert int(module["start"], 16) <= first < last <= int(module["end"], 16)
    output(path, "symbolize", "-q", "-o", tmp_path / "named.seep")
    away = tmp_path / "away"
    away.mkdir()
    assert '"inner_a"' in output(tmp_path / "named.seep", "report", "--json", "--sysroot", away)


def test_stacks_of_libraries_that_move_are_right(recorder, reloads, library):
    """Each one is compared with a full unwind."""
    seen = recorder.record(reloads, "moving", 50, library("same"), env={"SEEP_TEST_VERIFY": "1"})
    assert seen.profile.totals["verify_captures"] > 100
    assert seen.profile.totals["verify_differences"] == 0


def test_events_are_of_the_module_each_time(recorder, reloads, library):
    seen = recorder.record(reloads, "moving", 20, library("same"), options=["--events"])
    text = output(seen.folder / "out.seep", "events")
    name = str(library("same").resolve())
    assert (
        len([line for line in text.splitlines() if " module " in line and line.endswith(name)])
        == 20
    )


def test_more_threads_than_the_table_holds_are_told_together(compiler, recorder):
    """65,533 threads have an entry of their own; what the others did is counted all the same."""
    seen = recorder.record(compiler.build("thread_parade.c", libs=["-lpthread"]), 66000)
    assert seen.status == 0
    threads = seen.profile.json["threads"]
    names = Counter(t["name"] for t in threads)
    assert names["other threads"] == 1 and all(names[f"n{i}"] == 1 for i in range(1, 65533))
    assert all(
        (t["allocations"], t["bytes_allocated"], t["live_blocks"]) == (2, 150, 1)
        for t in threads
        if t["name"][0] == "n"
    )
    others = threads[-1]
    left = 66000 - 65532
    assert (
        others["name"], others["allocations"], others["bytes_allocated"], others["live_blocks"],
    ) == ("other threads", 2 * left, 150 * left, left)
    assert [f["table"] for f in seen.profile.json["full"]] == ["threads"] and seen.profile.json[
        "full"
    ][0]["not_kept"] == left
    assert info(seen.folder / "out.seep")["full"] == seen.profile.json["full"]
    warning = (f"the table of threads is full (65533): {left} later threads are counted together, "
               f"as 'other threads'")
    assert seen.profile.json["warnings"] == [warning] and seen.profile.json["complete"]
    assert b"other threads" in seen.stderr
    assert [
        line.split()[:4]
        for line in output(seen.folder / "out.seep", "report", "--threads").splitlines()
        if "other" in line
    ] == [["-", "other", "threads", f"{2 * left:,}"]]
