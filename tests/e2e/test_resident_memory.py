# SPDX-License-Identifier: MIT
"""What the allocator has resident: blocks, headers, free memory; the truth is malloc_info()'s
and the kernel's."""
import json
import shutil
import subprocess

import pytest

import pages
from harness import SEEP
from test_allocators import library

MIB = 1 << 20
FLAGS = ("-O1", "-g", "-fno-builtin")


@pytest.fixture
def arenas(compiler):
    return compiler.build("arenas.c", flags=FLAGS)


def resident(seen):
    found = seen.profile.json["resident"]
    return found, {part["kind"]: part for part in found["allocator"]}


def whole_pages(kinds):
    return sum(part["whole_page_bytes"] for part in kinds.values())


def near(value, truth, part=0.03, least=256 << 10):
    return abs(value - truth) <= max(part * truth, least)


@pytest.mark.parametrize("how", ["pinned", "scattered"])
@pytest.mark.parametrize("threads,each,kind", [(8, 8, "malloc arenas of threads"),
                                               (0, 48, "malloc heap (main arena)")])
def test_free_memory_in_arenas_is_what_malloc_info_tells(
    arenas, recorder, how, threads, each, kind
):
    seen = recorder.record(arenas, str(threads), str(each), how)
    whole, kinds = resident(seen)
    assert near(whole["free_bytes"], seen.truth.facts["free"])
    assert near(kinds[kind]["free_bytes"], seen.truth.facts["free"])
    assert kinds[kind]["rss_bytes"] == sum(
        kinds[kind][k] for k in ("live_bytes", "overhead_bytes", "free_bytes")
    )
    assert sum(part["live_bytes"] for part in kinds.values()) == seen.profile.totals["live_bytes"]
    assert "malloc_trim(0)" in whole["advice"] and ("MALLOC_ARENA_MAX" in whole["advice"]) == (
        threads > 0
    )
    assert b"malloc_trim(0)" in seen.stderr


TRIMMED = {"pinned": "trim", "scattered": "scattered-trim", "small": "small-trim"}


@pytest.mark.parametrize("how", list(TRIMMED))
@pytest.mark.parametrize("threads,each", [(8, 8), (0, 48)])
def test_malloc_trim_gives_back_what_was_promised(arenas, recorder, how, threads, each):
    size, trim = (str(threads), str(each)), TRIMMED[how]
    promised = whole_pages(resident(recorder.record(arenas, *size, how))[1])
    trimmed = recorder.bare(arenas, *size, trim).truth.facts
    assert near(promised, trimmed["kept"] - trimmed["after"], least=MIB)
    after, kinds = resident(recorder.record(arenas, *size, trim))
    assert whole_pages(kinds) < MIB
    if how == "pinned":
        assert after["advice"] is None


def test_what_is_free_above_the_last_block_is_returned_by_another_free(arenas, recorder):
    """malloc_trim() does not come to the ends of the arenas of threads: a free() there does."""
    seen = recorder.record(arenas, "8", "8", "small")
    whole, kinds = resident(seen)
    free = kinds["malloc arenas of threads"]["free_bytes"]
    assert whole_pages(kinds) < MIB < free
    assert "a free() of 64 KiB" in whole["advice"] and "malloc_trim" not in whole["advice"]
    trimmed, returned = (
        recorder.bare(arenas, "8", "8", how).truth.facts for how in ("small-trim", "returned")
    )
    assert near(trimmed["after"], trimmed["kept"], least=MIB)
    assert near(free, returned["kept"] - returned["after"], least=2 * MIB)
    assert returned["after"] < returned["kept"] / 4
    text = subprocess.run([SEEP, "report", "--fragmentation", seen.profile.path], check=True,
                          timeout=120, capture_output=True, text=True).stdout
    top = next(line for line in text.splitlines() if line.startswith("  free at the top"))
    assert top.endswith("a free() of 64 KiB returns it")
    heaps = pages.page_of(seen.profile.path).one.data["fragmentation"]["heaps"]
    assert sum(heaps["top_bytes"]) > MIB


def test_blocks_with_mappings_of_their_own_are_no_waste(arenas, recorder):
    seen = recorder.record(arenas, "4", "16", "large")
    whole, kinds = resident(seen)
    chunks = kinds["malloc mmapped chunks"]
    assert (chunks["live_blocks"], chunks["live_bytes"], chunks["free_bytes"]) == (64, 64 * MIB, 0)
    assert chunks["overhead_bytes"] == 64 * 4096, "the page with the head of each"
    assert whole["advice"] is None and b"malloc_trim" not in seen.stderr


@pytest.mark.parametrize("name,kind,words", [("jemalloc", "jemalloc", "dirty_decay_ms"),
                                             ("tcmalloc", "tcmalloc", "RELEASE_RATE"),
                                             ("tcmalloc_minimal", "tcmalloc", "RELEASE_RATE"),
                                             ("mimalloc", "mimalloc", "MIMALLOC_PURGE_DELAY")])
def test_free_memory_of_other_allocators_is_theirs(compiler, recorder, name, kind, words):
    """What became resident while the program held it, and is there still."""
    program = compiler.build(
        "arenas.c", flags=FLAGS, libs=["-Wl,--no-as-needed", str(library(name))]
    )
    seen = recorder.record(program, "8", "8", "pinned")
    whole, kinds = resident(seen)
    grown = seen.truth.facts["after"] - seen.truth.facts["before"]
    assert list(kinds) == [kind], "and none of glibc"
    assert words in whole["advice"] and words.encode() in b" ".join(seen.stderr.split())
    assert near(kinds[kind]["free_bytes"], grown, part=0.1, least=4 * MIB)


def mappings(seen):
    done = subprocess.run([SEEP, "sql", "--json", str(seen.profile.path), "SELECT * FROM mapping"],
                          check=True, timeout=120, capture_output=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name,kind", [("jemalloc", "jemalloc"), ("tcmalloc_minimal", "tcmalloc"),
                                       ("mimalloc", "mimalloc")])
def test_an_allocator_under_another_name_is_known(arenas, recorder, name, kind, tmp_path):
    renamed = tmp_path / "libfast.so"
    shutil.copy(library(name).resolve(), renamed)
    seen = recorder.record(arenas, "4", "8", "pinned", env={"LD_PRELOAD": str(renamed)})
    assert list(resident(seen)[1]) == [kind]


def rss_of(one, wanted):
    rows = [row for row in one.rows("mappings") if one.text(row["class"]) == wanted]
    return {one.text(row["name"]): row["rss_bytes"] for row in rows}


def test_page_and_tables_have_the_numbers_of_the_report(arenas, recorder):
    seen = recorder.record(arenas, "8", "8", "pinned")
    whole, kinds = resident(seen)
    rows = [row for row in mappings(seen) if row["kind"]]
    for kind, part in kinds.items():
        mine = [row for row in rows if row["kind"] == kind]
        assert len(mine) == part["mappings"]
        for column in (
            "rss_bytes", "live_blocks", "live_bytes", "overhead_bytes", "free_bytes",
            "whole_page_bytes",
        ):
            assert sum(row[column] for row in mine) == part[column]
    one = pages.page_of(seen.profile.path).one
    free = rss_of(one, "allocator free")
    assert (
        free["free in malloc arenas of threads"] == kinds["malloc arenas of threads"]["free_bytes"]
    )
    assert sum(rss_of(one, "other").values()) < whole["rss_bytes"] / 20, "of unknown origin"
    assert one.data["mappings"]["advice"] == whole["advice"]


def test_the_timeline_ends_with_what_the_mappings_have(recorder, compiler, tmp_path):
    """What was given back just before the end is not resident in either of them."""
    source = tmp_path / "drops.c"
    source.write_text("#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
                      "int main(void)\n{\n"
                      "    char *all = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | "
                      "MAP_ANONYMOUS, -1, 0);\n"
                      "    for (int i = 0; i < 64; i++)\n        memset(all, i, 32 << 20);\n"
                      "    return malloc(100) == NULL || munmap(all, 32 << 20);\n}\n")
    one = pages.page_of(recorder.record(compiler.build(str(source), flags=FLAGS)).profile.path).one
    resident_at_end = sum(
        row["rss_bytes"]
        for row in one.rows("mappings")
        if one.text(row["class"]) != "seep" and row["rss_bytes"] > 0
    )
    assert (
        one.rows("slices")[-1]["rss_bytes"]
        == resident_at_end
        < 16 * MIB
        < one.data["totals"]["rss_peak_bytes"]
    )


def test_mappings_of_the_program_where_blocks_were_are_its_own(recorder, compiler, tmp_path):
    """A large block is freed, and the kernel gives its place to the program's own mapping."""
    source = tmp_path / "reused.c"
    source.write_text("#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
                      "int main(void)\n{\n    char *p = malloc(32 << 20), *q;\n    memset(p, 1, 32 "
                      "<< 20);\n    free(p);\n"
                      "    q = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | "
                      "MAP_ANONYMOUS, -1, 0);\n"
                      "    memset(q, 1, 32 << 20);\n    return 0;\n}\n")
    seen = recorder.record(compiler.build(str(source), flags=FLAGS))
    assert resident(seen)[0]["free_bytes"] < MIB
    assert sum(rss_of(pages.page_of(seen.profile.path).one, "mmap").values()) >= 32 * MIB


@pytest.mark.parametrize("options", [["--no-leak-scan"], ["--sample=64K"]])
def test_what_was_freed_since_the_last_look_was_not_free(arenas, recorder, options):
    """Without a look at the end: whatever the moment of the last one is, live and free are of
    it.  Of a sample what is live is an estimate: four times its standard deviation is allowed."""
    found, kinds = resident(recorder.record(arenas, "0", "48", "pinned", options=options))
    assert found["estimate"]
    assert all(part["whole_page_bytes"] is None for part in kinds.values())
    live, free = (sum(part[of] for part in kinds.values()) for of in ("live_bytes", "free_bytes"))
    error = 4 * (live * 64 * 1024) ** 0.5 if "--sample=64K" in options else 0
    assert live + free <= found["rss_bytes"] + error
