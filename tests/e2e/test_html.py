# SPDX-License-Identifier: MIT
"""`seep html`: the data in the page, against what programs say of themselves and what `report
--json` says; and where the page goes."""
import json
import os
import random
import shutil
import subprocess

import pytest

import pages
from harness import DEADLINE, PLAIN, SEEP, Profile, clean_environment, plain_name, wait_until

SITE_FIELDS = {
    "allocs": "allocations",
    "frees": "frees",
    "alloc_bytes": "bytes_allocated",
    "live_blocks": "live_blocks",
    "live_bytes": "live_bytes",
    "peak_blocks": "peak_blocks",
    "peak_bytes": "peak_bytes",
    "temporary": "temporary",
    "lifetime_ms": "lifetime_ms",
}
TRUTH_FIELDS = {
    "allocs": "allocs",
    "frees": "frees",
    "alloc_bytes": "bytes",
    "live_blocks": "live_blocks",
    "live_bytes": "live_bytes",
    "peak_bytes": "peak",
    "temporary": "temporary",
}
STEPS = (
    "+red:10:100", "tag:early", "+green:40:50", "-green:10", "snapshot:middle", "+blue:3:7",
    "-red:2", "tag:late", "+red:1:9",
)


def record(recorder, program, *words, options=()):
    seen = recorder.record(program, *words, options=options, cwd=recorder.folder())
    assert seen.status == 0, seen.stderr
    return seen, seen.folder / "out.seep"


def told(file, command, *words):
    done = subprocess.run(
        [SEEP, command, str(file), *words],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def check_against_report(page, report):
    """The totals, and each call stack with all its numbers and names."""
    one, sites = page.one, {s["id"]: s for s in report["sites"]}
    assert {
        k: v
        for k, v in one.data["totals"].items()
        if not k.endswith("_classes") and k not in ("mostly_mapped", "stack_bytes")
    } == report["totals"]
    assert sorted(s["id"] for s in one.sites()) == sorted(sites)
    for row in one.sites():
        site = sites[row["id"]]
        assert {k: row[k] for k in SITE_FIELDS} == {k: site[v] for k, v in SITE_FIELDS.items()}
        assert one.data["kinds"][row["kind"]] == site["kind"] and row["heap"] == (
            site["kind"] not in ("mmap", "mremap")
        )
        for leak in pages.CLASSES.values():
            assert {"blocks": row[f"{leak}_blocks"], "bytes": row[f"{leak}_bytes"]} == site["leak"][
                leak
            ]
        check_stack(one.stack(row["node"]), [report["frames"][i] for i in site["stack"]])


def check_stack(ours, theirs):
    """The same frames, but for the start code at the outer end."""
    fields = ("file", "line", "inlined", "module")
    for mine, other in zip(ours, theirs):
        assert {k: mine[k] for k in fields} == {k: other[k] for k in fields}
        if other["function"]:
            assert mine["function"] == other["function"]
    left_out = [f["function"] for f in theirs[len(ours):]]
    assert len(ours) <= len(theirs) and (ours or not theirs)
    assert "main" not in left_out


# ---- numbers ----

def test_the_page_says_what_the_program_did_and_what_the_report_says(steps, recorder):
    seen, file = record(recorder, steps, *STEPS)
    page = pages.page_of(file)
    check_against_report(page, told(file, "report", "--json"))
    sums = {}
    for row, site in enumerate(page.one.sites()):
        into = sums.setdefault(page.one.site_named(row), dict.fromkeys(TRUTH_FIELDS, 0))
        for field in TRUTH_FIELDS:
            into[field] += site[field]
    for name, counts in seen.truth.sites.items():
        assert sums[name] == {field: counts[word] for field, word in TRUTH_FIELDS.items()}, name
    assert page.one.data["cut"] == [] and page.data["view"] is None and page.data["live"] is False
    assert page.one.data["meta"]["end"] == "ended with status 0" and page.one.data["meta"]["args"][
        1:
    ] == list(STEPS)


@pytest.mark.parametrize(
    "source, words",
    [
        ("lifecycle.cpp", ()),
        ("inlined.c", ()),
        ("stress.cpp", ()),
        ("entry_points.c", ()),
        ("mappings.c", ("all",)),
    ],
)
def test_every_call_stack_of_other_programs_too(compiler, recorder, source, words):
    program = compiler.build(source, flags=("-O2", "-g") if source == "inlined.c" else PLAIN)
    seen = recorder.record(program, *words, cwd=recorder.folder())
    check_against_report(pages.page_of(seen.folder / "out.seep"), seen.profile.json)


def test_a_sampled_recording_says_so_and_has_the_same_estimates(compiler, recorder):
    seen = recorder.record(
        compiler.build("sampled.c"), options=["--sample=16K"], cwd=recorder.folder()
    )
    page = pages.page_of(seen.folder / "out.seep")
    check_against_report(page, seen.profile.json)
    assert page.one.data["meta"]["sampled"] == 16384


def test_at_every_moment_call_stacks_have_the_numbers_of_the_report(steps, recorder):
    seen, file = record(recorder, steps, "spin:300", *STEPS, "spin:100")
    one = pages.page_of(file).one
    ids, slices = [s["id"] for s in one.sites()], one.rows("slices")
    fields = ("live_bytes", "live_blocks", "allocations", "bytes_allocated")
    step = len(slices) // 8 + 1
    # of several in one millisecond, the report means the last
    last = {s["ms"]: i for i, s in enumerate(slices)}
    for number, (moment, course) in enumerate(zip(slices, one.courses())):
        if last[moment["ms"]] != number or number % step:
            continue
        report = told(file, "report", "--json", f"--at={moment['ms']}ms")
        assert {ids[row]: cells for row, cells in course.items() if any(cells)} == {
            s["id"]: tuple(s[k] for k in fields) for s in report["sites"]
        }
    assert course == {
        row: tuple(s[k] for k in ("live_bytes", "live_blocks", "allocs", "alloc_bytes"))
        for row, s in enumerate(one.sites())
    }


def test_marks_stand_where_the_program_set_them(steps, recorder):
    seen, file = record(
        recorder,
        steps,
        *[
            w
            for step in STEPS
            for w in ((step, f"moment:{step[4:]}") if step.startswith("tag:") else (step,))
        ],
    )
    one = pages.page_of(file).one
    marks = {
        one.text(m["label"]): m
        for m in one.rows("marks")
        if one.text(m["type"]) in ("tag", "snapshot")
    }
    assert {label: (one.text(m["type"]), m["seq"]) for label, m in marks.items() if label} == {
        "early": ("tag", 0), "middle": ("snapshot", 1), "late": ("tag", 0)}
    courses = list(one.courses())
    for label in ("early", "late"):
        found = {}
        for row, cells in courses[marks[label]["slice"]].items():
            found[one.site_named(row)] = cells[0]
        assert {name: found.get(name, 0) for name in seen.truth.moments[label]} == {
            name: counts["live_bytes"] for name, counts in seen.truth.moments[label].items()}


def test_what_threads_did_adds_up_to_what_their_call_stacks_did(compiler, recorder):
    seen, file = record(recorder, compiler.build("many_threads.c"), "20")
    one = pages.page_of(file).one
    for field in ("allocs", "alloc_bytes", "frees", "temporary", "live_blocks", "live_bytes"):
        by_site = dict.fromkeys(range(len(one.sites())), 0)
        for share in one.rows("shares"):
            by_site[share["site"]] += share[field]
        assert by_site == {row: site[field] for row, site in enumerate(one.sites())}, field
    threads = [t for t in one.rows("threads")][1:]
    assert [(t["tid"], one.text(t["name"]), t["bytes_allocated"]) for t in threads] == [
        (t["tid"], t["name"], t["bytes_allocated"])
        for t in seen.profile.json["threads"]
        if t["tid"]
    ]


def test_sizes_and_lifetimes_have_their_bounds(steps, recorder):
    seen, file = record(recorder, steps, "+red:10:100", "+green:3:1", "+blue:2:4096", "-red:0")
    one = pages.page_of(file).one
    bounds, classes = one.data["size_bounds"], one.data["totals"]["size_classes"]
    assert len(bounds) == len(classes) + 1 and bounds == sorted(bounds)
    count = lambda size: next(
        classes[i] for i in range(len(classes)) if bounds[i] <= size < bounds[i + 1]
    )
    assert count(100) >= 10 and count(1) == 3 and count(4096) >= 2
    assert sum(classes) == one.data["totals"]["allocations"]
    assert sum(one.data["totals"]["lifetime_classes"]) == one.data["totals"]["frees"]
    assert len(one.data["lifetime_bounds"]) == len(one.data["totals"]["lifetime_classes"]) + 1


# ---- leaks ----

LOSSES = ("baskets", "receipts", "shelf", "stock", "worker", "deep")


def test_leaks_by_class_are_those_of_the_report_and_each_rule_hides_its_own(
    compiler, recorder, tmp_path
):
    seen = recorder.record(compiler.build("losses.cpp"), *LOSSES, cwd=recorder.folder())
    file = seen.folder / "out.seep"
    one, report = pages.page_of(file).one, told(file, "leaks", "--json", "--show=all")
    for leak in pages.CLASSES.values():
        assert one.data["leaks"][leak] == report["leaks"][leak]
    rows = one.rows("leaks")
    assert rows, "the program loses nothing"
    for leak, word in pages.CLASSES.items():
        mine = [r for r in rows if r["class"] == leak]
        assert (
            sum(r["bytes"] for r in mine) == report["leaks"][word]["bytes"]
            and sum(r["blocks"] for r in mine) == report["leaks"][word]["blocks"]
        )
    definite = [r for r in rows if r["class"] == 4]
    for row in definite:
        for form in ("lsan", "valgrind"):
            rules = tmp_path / "rules"
            rules.write_text(one.text(row[form]))
            left = told(file, "leaks", "--json", f"--suppressions={rules}")
            assert one.sites()[row["site"]]["id"] not in [
                s["id"] for s in left["sites"] if s["class"] == "definite"
            ]


def test_owners_add_up_to_the_heap_and_paths_begin_where_why_says(compiler, recorder):
    library = compiler.library("holders_library.c", name="libholders.so")
    program = compiler.build("holders.c", libs=(str(library), f"-Wl,-rpath,{library.parent}"))
    seen = recorder.record(program, options=["--keep-graph"], cwd=recorder.folder())
    file = seen.folder / "out.seep"
    one = pages.page_of(file).one
    owners = one.rows("owners")
    assert sum(o["retained_bytes"] for o in owners) == one.data["totals"]["live_bytes"]
    assert sum(o["retained_blocks"] for o in owners) == one.data["totals"]["live_blocks"]
    holdings = one.rows("holdings")
    for i, owner in enumerate(owners):
        assert (
            sum(h["bytes"] for h in holdings if h["owner"] == i) == owner["retained_bytes"]
        ), one.text(owner["name"])
        assert sum(h["blocks"] for h in holdings if h["owner"] == i) == owner["retained_blocks"]
    for i, site in enumerate(one.sites()):
        if site["heap"]:
            assert sum(h["bytes"] for h in holdings if h["site"] == i) == site["live_bytes"]
    retained = told(file, "report", "--retained", "--json")
    for wanted, mine in zip(retained["owners"], owners):
        assert (mine["retained_bytes"], mine["pointers"]) == (
            wanted["retained"]["bytes"],
            wanted["pointers"],
        )
        if "variable" in wanted and wanted["kind"] != "stack":
            assert one.text(mine["name"]).split(" in ")[0] == wanted["variable"]["name"]
    checked = 0
    for row in one.rows("leaks"):
        if row["path"] == -1:
            continue
        path, address = one.data["paths"][row["path"]], one.text(row["address"])
        why = told(file, "why", "--json", address)
        assert [s["block"] for s in path["steps"]] == [s["address"] for s in why["path"]]
        assert path["retained_bytes"] == why["retained"]["bytes"]
        variable = (why["root"] or {}).get("variable")
        assert not variable or variable["name"] in path["root"]
        checked += 1
    assert checked >= 5


def test_wrong_releases_have_both_stacks(compiler, recorder):
    seen = recorder.record(compiler.build("releases.cpp"), "mismatched", cwd=recorder.folder())
    one, report = pages.page_of(seen.folder / "out.seep").one, seen.profile.json
    assert report["errors"]
    mine = [
        (one.text(e["type"]), one.text(e["address"]), e["times"], e["size"])
        for e in one.rows("errors")
    ]
    assert mine == [(e["type"], e["address"], e["count"], e["size"]) for e in report["errors"]]
    for row, error in zip(one.rows("errors"), report["errors"]):
        check_stack(one.stack(row["release_node"]), [report["frames"][i] for i in error["stack"]])


# ---- the process and others ----

def test_libraries_that_come_and_go_and_threads_are_events(compiler, recorder, plugs):
    seen = recorder.record(
        compiler.build("dl_swap.c", libs=["-ldl"]), *plugs, cwd=recorder.folder()
    )
    one = pages.page_of(seen.folder / "out.seep").one
    events = {(one.text(e["type"]), one.text(e["text"])) for e in one.rows("events")}
    gone = {one.text(m["short"]) for m in one.rows("modules") if m["gone_ms"]}
    assert gone and {("unload", name) for name in gone} <= events
    assert [e["ms"] for e in one.rows("events")] == sorted(e["ms"] for e in one.rows("events"))


def test_processes_recorded_beside_are_told_and_strangers_are_not(steps, recorder):
    seen, file = record(
        recorder, steps, "+red:3:1000", "fork", "+green:4:500", options=["--follow=all"]
    )
    stranger, other = record(recorder, steps, "+blue:9:9")
    shutil.copy2(other, file.parent / "stranger.seep")
    mine = {p.json["pid"]: p for p in seen.profiles() if p.path.name != "stranger.seep"}
    assert len(mine) == 2
    for recorded in seen.files():
        if recorded.name == "stranger.seep":
            continue
        one = pages.page_of(recorded).one
        rows = one.rows("processes")
        assert [r["this"] for r in rows] == [1, 0] and one.text(rows[0]["file"]) == recorded.name
        assert {r["pid"]: (r["peak_bytes"], r["live_bytes"], r["allocations"]) for r in rows} == {
            pid: tuple(p.totals[k] for k in ("peak_bytes", "live_bytes", "allocations"))
            for pid, p in mine.items()
        }
    parent = next(p for p in mine.values() if p.path.name == "out.seep")
    one = pages.page_of(parent.path).one
    assert "fork" in [one.text(e["type"]) for e in one.rows("events")]


def test_mappings_hold_the_heap_and_all_that_is_resident(steps, recorder):
    seen, file = record(recorder, steps, "+red:1000:5000")
    one = pages.page_of(file).one
    rows = one.rows("mappings")
    classes = {}
    for row in rows:
        classes.setdefault(one.text(row["class"]), []).append(row)
    assert {"heap", "module", "stack", "allocator overhead"} <= set(classes)
    assert sum(r["blocks"] for r in classes["heap"]) == one.data["totals"]["live_blocks"]
    assert sum(r["bytes"] for r in classes["heap"]) == one.data["totals"]["live_bytes"]
    assert (
        sum(r["rss_bytes"] for r in classes["heap"]) >= 4900000
    ), "the program wrote to every byte"
    assert str(steps) in [one.text(r["name"]) for r in classes["module"]]
    assert [one.text(r["name"]) for r in classes["seep"]] == ["seep itself"]


# ---- two ----

def test_two_recordings_stand_side_by_side(steps, recorder):
    (old, a), (new, b) = record(recorder, steps, "+red:10:100"), record(
        recorder, steps, "+red:30:100", "+blue:1:7"
    )
    page = pages.page_of(a, b)
    assert len(page.recordings) == 2
    for recorded, file in zip(page.recordings, (a, b)):
        check_against_report(type("One", (), {"one": recorded}), Profile(file).json)
    assert [page.data["compare"][side]["recording"] for side in ("old", "new")] == [0, 1]


def test_two_moments_of_one_recording_are_that_recording_once(steps, recorder):
    seen, file = record(recorder, steps, *STEPS)
    page = pages.page_of(f"{file}@early", "@late")
    assert len(page.recordings) == 1
    marks = {
        page.one.text(m["label"]): {"mark": i, "ms": m["ms"]}
        for i, m in enumerate(page.one.rows("marks"))
    }
    assert page.data["compare"] == {
        "old": {"recording": 0, **marks["early"], "word": "early"},
        "new": {"recording": 0, **marks["late"], "word": "late"},
    }
    nowhere = pages.answer("-o", "-", f"{file}@early", "@nowhere")
    assert nowhere.returncode == 2 and b"nowhere" in nowhere.stderr and not nowhere.stdout


# ---- what is asked for ----

@pytest.mark.parametrize(
    "words", [("-i", "^red$"), ("-x", "^red$"), ("--module", "steps"), ("--thread", "steps")]
)
def test_filters_leave_what_the_report_leaves(steps, recorder, words):
    seen, file = record(recorder, steps, *STEPS)
    one, report = pages.page_of(*words, file).one, told(file, "report", "--json", *words)
    assert {s["id"]: s["live_bytes"] for s in one.sites()} == {
        s["id"]: s["live_bytes"] for s in report["sites"]
    }
    assert report["sites"]
    view = pages.page_of(*words, file).data["view"]
    assert words[1] in view["filter"] and view["at"] is None


def test_source_text_comes_only_when_asked_for(steps, recorder):
    seen, file = record(recorder, steps, *STEPS)
    assert pages.page_of(file).one.data["source"] == []
    text = {s["file"]: s for s in pages.page_of("--source", "used", file).one.data["source"]}
    (name,) = [f for f in text if f.endswith("steps.c")]
    lines = open(name, encoding="utf-8").read().split("\n")
    first, shown = text[name]["first_line"], text[name]["lines"]
    assert shown == lines[first - 1:first - 1 + len(shown)]
    assert any("malloc(size)" in line for line in shown) or any("MAKER" in line for line in shown)


# ---- names and damage ----

HOSTILE = b"</script><script>alert(1)</script>\xff\xfe\"'&\\\x01\xe2\x80\xa8" + b"long" * 3000


def test_names_that_the_program_chose_never_become_markup(steps, recorder):
    folder = recorder.folder()
    program = folder / "<b>&quot;'prog"
    shutil.copy(steps, program)
    label = "</script><img src=x onerror=alert(1)>"
    done = subprocess.run(
        [
            os.fsencode(SEEP), b"record", b"-o", os.fsencode(folder / "out.seep"), b"--",
            os.fsencode(program), b"+red:3:10",
            b"tag:" + label.encode(),
            b"tag:\xff\xfe",
            b"exit:0",
            HOSTILE,
        ],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    page = pages.answer("-o", "-", folder / "out.seep").stdout
    one = pages.Page(pages.data_of(page)).one
    assert b"alert(1)" not in page and b"<b>" not in page
    assert [one.text(m["label"]) for m in one.rows("marks") if one.text(m["type"]) == "tag"] == [
        label,
        "\ufffd\ufffd",
    ]
    assert one.data["meta"]["args"][-1].startswith(
        "</script><script>alert(1)</script>\ufffd\ufffd\"'&\\\x01\u2028long"
    )
    assert one.data["meta"]["program"] == str(program)


def test_a_damaged_recording_gives_what_is_whole_or_says_why_not(steps, recorder, tmp_path):
    seen, file = record(recorder, steps, "spin:50", *STEPS)
    whole, luck = file.read_bytes(), random.Random(5)
    statuses = set()
    for number in range(40):
        bad = bytearray(whole[:luck.randrange(len(whole))] if number % 2 else whole)
        for _ in range(luck.randrange(1, 6) if bad and not number % 2 else 0):
            bad[luck.randrange(len(bad))] ^= 1 << luck.randrange(8)
        (tmp_path / "bad.seep").write_bytes(bad)
        done = pages.answer("-o", "-", tmp_path / "bad.seep")
        statuses.add(done.returncode)
        assert done.returncode in (0, 4), done.stderr
        if done.returncode == 0 and bytes(bad) != whole:
            one = pages.Page(pages.data_of(done.stdout)).one
            assert (
                one.data["warnings"] or one.data["meta"]["complete"]
            ), "damage that nobody is told of"
        if done.returncode == 4:
            assert done.stderr.startswith(b"seep: ") and not done.stdout
    assert statuses == {0, 4}


# ---- where it goes ----

def test_the_page_lies_beside_the_recording_and_replaces_nothing_unasked(steps, recorder):
    seen, file = record(recorder, steps, *STEPS)
    done = pages.answer(cwd=file.parent)
    assert done.returncode == 0 and b"out.html" in done.stderr and done.stdout == b""
    page = (file.parent / "out.html").read_bytes()
    pages.data_of(page)
    again = pages.answer(file)
    assert again.returncode == 2 and b"exists already: -f" in again.stderr
    assert pages.answer("-q", "-f", cwd=file.parent).stderr == b""
    assert (file.parent / "out.html").read_bytes() == page
    assert sorted(f.name for f in file.parent.iterdir() if "html" in f.name or "tmp" in f.name) == [
        "out.html"
    ]
    named = pages.answer("-o", "elsewhere.html", file.name, cwd=file.parent)
    assert named.returncode == 0 and (file.parent / "elsewhere.html").read_bytes() == page


def test_a_full_disk_is_told(steps, recorder):
    seen, file = record(recorder, steps, *STEPS)
    done = pages.answer("-o", "/dev/full", file)
    assert done.returncode == 1 and b"/dev/full" in done.stderr and b"No space left" in done.stderr


def test_open_starts_the_browser_with_the_address_of_the_file(steps, recorder, tmp_path):
    seen, file = record(recorder, steps, *STEPS)
    browser, told_to = tmp_path / "browser", tmp_path / "address"
    browser.write_text(f'#!/bin/sh\necho "$1" >{told_to}.new && mv {told_to}.new {told_to}\n')
    browser.chmod(0o755)
    place = file.parent / "with space & more"
    place.mkdir()
    done = pages.answer(
        "--open", "-o", place / "p.html", file, env={"BROWSER": f"/nonexistent:{browser}"}
    )
    assert done.returncode == 0
    wait_until(told_to.exists, "the browser")
    assert (
        told_to.read_text()
        == f"file://{str(place).replace(' ', '%20').replace('&', '%26')}/p.html\n"
    )
    without = pages.answer(
        "--open",
        "-f",
        "-o",
        place / "p.html",
        file,
        env={"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""},
    )
    assert without.returncode == 0


def test_without_a_browser_the_address_is_said(steps, recorder):
    seen, file = record(recorder, steps, *STEPS)
    env = {
        k: v
        for k, v in clean_environment().items()
        if k not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    }
    done = subprocess.run(
        [SEEP, "html", "--open", str(file)], capture_output=True, env=env, timeout=DEADLINE
    )
    assert (
        done.returncode == 0
        and f"open file://{file.parent.resolve()}/out.html yourself".encode() in done.stderr
    )


@pytest.mark.parametrize("words, status, said", [
    (["nothing.seep"], 4, b"nothing.seep"),
    (["a", "b", "c"], 2, b"not also 'c'"),
    (["1"], 3, b"is not being recorded"),
    (["x.seep@1"], 2, b"moment"),
    (["--serve", "-o", "x"], 2, b"-o"),
    (["--open", "-o", "-"], 2, b"stdout"),
    (["-i", "a", "x.seep", "y.seep"], 2, b"one recording"),
    (["--source", "all", "x.seep"], 2, b"--source"),
    ([], 2, b"no recording given"),
])
def test_wrong_use_is_told(tmp_path, words, status, said):
    done = pages.answer(*words, cwd=tmp_path)
    assert done.returncode == status and said in done.stderr and done.stdout == b"", done.stderr


def test_verdicts_are_those_of_the_terminal(compiler, recorder):
    seen = recorder.record(compiler.build("losses.cpp"), *LOSSES, cwd=recorder.folder())
    one = pages.page_of(seen.folder / "out.seep").one
    summary = " ".join(
        subprocess.run(
            [SEEP, "report", "--summary", str(seen.folder / "out.seep")],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        ).stdout.split()
    )
    verdicts = one.data["verdicts"]
    leaks = [v for v in verdicts if v["text"].startswith("LEAKS: ")]
    assert (
        len(leaks) == 1
        and leaks[0]["level"] == "bad"
        and leaks[0]["page"] == "leaks"
        and leaks[0]["text"] in summary
    )
    levels = ["bad", "warn", "good", "info"]
    assert [v["level"] for v in verdicts] == sorted(
        (v["level"] for v in verdicts), key=levels.index
    )
    peak = next(v for v in verdicts if v["text"].startswith("peak heap: "))
    site = one.sites()[peak["site"]]
    assert f'of it: {one.frame(site["place"])["short"]}' in peak["text"]
    # what the loader calls by itself has no caller
    assert ("<- " in peak["text"]) == (site["caller"] != -1)
    assert site["caller"] == -1 or f'<- {one.frame(site["caller"])["short"]}' in peak["text"]
    same = [
        s
        for s in one.sites()
        if s["heap"] and [s["place"], s["caller"]] == [site["place"], site["caller"]]
    ]
    assert site["peak_bytes"] == max(s["peak_bytes"] for s in same)
    assert peak["text"].split(": ")[1].split(",")[0] in summary
