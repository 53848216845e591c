# SPDX-License-Identifier: MIT
"""What the page shows of a moment, a range or some stacks is what `seep report` says of them."""
import json
import subprocess
from pathlib import Path

import pytest

import harness
import pages
from harness import DEADLINE, SEEP, clean_environment, rust

FIELDS = ("live_bytes", "live_blocks", "allocations", "bytes_allocated", "peak_bytes", "temporary")


def shown(data, *choices):
    """The sums of the viewer's own code, without a browser."""
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("view_totals.mjs")), *map(json.dumps, choices)],
        input=json.dumps(data),
        text=True,
        capture_output=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def reported(file, *options):
    done = subprocess.run(
        [SEEP, "report", "--json", *options, str(file)],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    sites = [
        site for site in json.loads(done.stdout)["sites"] if site["kind"] not in ("mmap", "mremap")
    ]
    return {
        field: sum(site[field] for site in sites)
        for field in FIELDS
        if all(site[field] is not None for site in sites)
    }


@pytest.fixture(scope="module")
def course(compiler, tmp_path_factory):
    recorded = harness.Recorder(tmp_path_factory.mktemp("page_views")).record(
        compiler.build("courses.cpp")
    )
    assert recorded.status == 0, recorded.stderr
    file = recorded.folder / "out.seep"
    done = pages.answer("-o", "-", file)
    assert done.returncode == 0, done.stderr
    return file, pages.data_of(done.stdout)


CHOICES = {
    "the_run": ((), {}),
    "the_peak": (("--at", "peak"), {"at": "peak"}),
    "a_moment": (("--at", "{half}ms"), {"at": "{half}"}),
    "a_range": (("--range", "{early}ms..{late}ms"), {"range": "{early}..{late}"}),
    "a_tag": (("--at", "ready"), {"at": "m0"}),
    "a_snapshot": (("--at", "half"), {"at": "m1"}),
    "between_marks": (("--cost", "change", "--range", "ready..half"), {"range": "m0..m1"}),
    "from_a_mark": (("--cost", "change", "--range", "half.."), {"range": "m1.."}),
    "up_to_a_mark": (("--range", "..half"), {"range": "..m1"}),
    "some_stacks": (("-i", "^leak"), {"filter": "fn:/^leak/"}),
    "stacks_of_a_range": (
        ("-i", "^cache", "--range", "{early}ms..{late}ms"),
        {"filter": "fn:/^cache/", "range": "{early}..{late}"},
    ),
}


@pytest.mark.parametrize("which", CHOICES)
def test_a_view_of_the_page_has_the_sums_of_the_report(course, which):
    file, data = course
    options, choice = CHOICES[which]
    duration = data["recordings"][0]["meta"]["duration_ms"]
    times = {"early": duration // 4, "half": duration // 2, "late": duration * 3 // 4}
    [view] = shown(data, {key: value.format(**times) for key, value in choice.items()})
    expected = reported(file, *(word.format(**times) for word in options))
    assert {field: view[field] for field in expected} == expected
    assert view["drawn"] == [True, True] and expected.get("allocations", 1) > 0
    assert {"live_bytes", "live_blocks"} < set(expected)


CIRCLES = """
#include <memory>
struct Person;
struct House { std::shared_ptr<Person> owner; char text[100]; };
struct Person { std::shared_ptr<House> home; std::shared_ptr<Person> other; char text[40]; };
static void pair() { auto h = std::make_shared<House>(); auto p = std::make_shared<Person>();
    h->owner = p; p->home = h; }
static void trio()
{
    auto a = std::make_shared<Person>(), b = std::make_shared<Person>(), c =
        std::make_shared<Person>();
    a->other = b; b->other = c; c->other = a;
}
static void chain() { new std::shared_ptr<Person>(std::make_shared<Person>()); }
int main() { for (int i = 0; i < 30; i++) pair(); for (int i = 0; i < 3; i++) trio(); chain(); }
"""


def test_lost_blocks_that_hold_each_other_are_circles(compiler, recorder, tmp_path):
    source = tmp_path / "circles.cpp"
    source.write_text(CIRCLES)
    seen = recorder.record(compiler.build(str(source)))
    page = pages.page_of(seen.folder / "out.seep").one
    cycles = page.data["cycles"]
    assert [(c["times"], c["blocks"], len(c["steps"])) for c in cycles] == [(30, 60, 2), (3, 9, 3)]
    for c, function in zip(cycles, ("pair", "trio")):
        assert all(
            function in [f["short"] for f in page.stack(page.sites()[s["site"]]["node"])]
            for s in c["steps"]
        )
    for c in cycles:
        assert c["bytes"] == c["times"] * sum(s["bytes"] for s in c["steps"]) and all(
            s["at"] + 8 <= s["bytes"] for s in c["steps"]
        )
        assert len({s["block"] for s in c["steps"]}) == len(c["steps"])


INSIDE = """
#include <stdlib.h>
static char *inside;
int main(void) { inside = (char *)malloc(1000) + 100; return 0; }
"""


def test_who_holds_what_is_possibly_lost_stands_behind_a_colon(compiler, recorder, tmp_path):
    source = tmp_path / "inside.c"
    source.write_text(INSIDE)
    page = pages.page_of(recorder.record(compiler.build(str(source))).folder / "out.seep").one
    roots = [
        path["root"] for path in page.data["paths"] if path["root"].startswith("possibly lost")
    ]
    assert len(roots) == 1 and "hold it: static inside" in roots[0], roots


WASTE = """
#include <stdlib.h>
#include <string.h>
static char *all[20000], *last;
int main(void)
{
    for (int i = 0; i < 20000; i++)
        memset(all[i] = malloc(1000), 1, 1000);
    last = malloc(10);
    for (int i = 0; i < 20000; i++)
        free(all[i]);
    return 0;
}
"""


def test_the_page_and_the_summary_tell_of_the_same_resident_memory(compiler, recorder, tmp_path):
    """Without that of seep: the data of its library that are zero at first have no name of their
    own."""
    source = tmp_path / "waste.c"
    source.write_text(WASTE)
    file = recorder.record(compiler.build(str(source))).folder / "out.seep"
    rows = pages.page_of(file).one.data["mappings"]["rows"]
    page = pages.page_of(file).one
    of = [page.text(c) for c in rows["class"]]
    resident = sum(n for n, what in zip(rows["rss_bytes"], of) if what != "seep")
    done = subprocess.run(
        [SEEP, "report", "--summary", str(file)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert "seep" in of and f"end RSS {resident / (1 << 20):12.1f} MiB" in done.stdout, (
        resident,
        done.stdout,
    )


RUST = """
#[derive(Clone)]
pub struct Session { user: String }
#[inline(never)]
fn keep(s: &Session) { std::mem::forget(s.clone()); }
fn main() { let s = Session { user: "x".repeat(100) }; for _ in 0..50 { keep(&s); }
    println!("{}", s.user.len()); }
"""


def test_an_implementation_of_a_trait_of_the_library_is_own_code(recorder, need, tmp_path):
    """The terminal names it, so the page must, too."""
    need("rustc")
    page = pages.page_of(recorder.record(rust(tmp_path, RUST)).folder / "out.seep").one
    frames, functions = page.data["frames"], page.data["functions"]
    at = lambda column, i: column[i] if isinstance(column, list) else column
    named = [
        (
            page.text(at(functions["name"], at(frames["function"], i))),
            at(frames["library"], i),
            at(frames["kind"], i),
        )
        for i in range(frames["count"])
    ]
    assert [
        (library, kind)
        for name, library, kind in named
        if "r::Session as core::clone::Clone" in name
    ] == [(0, 1)], named


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t ready;
static void *run(void *stays)
{
        void *volatile p = malloc(100);
        pthread_setname_np(pthread_self(), stays ? "stays" : "goes");
        free(p);
        p = NULL;
        pthread_barrier_wait(&ready);
        while (stays)
                pause();
        return NULL;
}
int main(void)
{
        pthread_t t[4];
        pthread_barrier_init(&ready, NULL, 5);
        for (long i = 0; i < 4; i++)
                pthread_create(&t[i], NULL, run, i % 2 ? t : NULL);
        pthread_barrier_wait(&ready);
        pthread_join(t[0], NULL);
        pthread_join(t[2], NULL);
        return 0;
}
"""


def test_threads_that_ended_are_not_said_to_have_been_there_at_the_end(
    compiler, recorder, tmp_path
):
    source = tmp_path / "threads.c"
    source.write_text(THREADS)
    program = compiler.build(str(source), flags=("-g", "-pthread"))
    expected = {
        (): {"stays": 2, "goes": 1, "threads": 2},
        ("--no-leak-scan",): {"stays": 0, "goes": 0, "threads": 2},
    }
    for options, known in expected.items():
        seen = recorder.record(program, options=list(options))
        one = pages.page_of(seen.profile.path).one
        rows = [row for row in one.rows("threads") if row["tid"]]
        last = {(one.text(row["name"]), row["last"]) for row in rows if not row["end_ms"]}
        assert len(rows) == 5 and last == set(known.items()), (options, last)
