# SPDX-License-Identifier: MIT
"""`seep why` names the path that the program itself says is the right one; `report --retained`
adds up to what it built."""
import itertools
import json
import os
import pty
import re
import subprocess
import termios

import pytest

from harness import DEADLINE, SEEP, Truth, clean_environment
from plain import child_of, start_recorded

BUILDS = [(cc, level, debug, pie) for cc, level, debug, pie in
          itertools.product(("gcc", "clang"), ("-O0", "-O2"), ("-g", "-g0"), ("-pie", "-no-pie"))]
NAMES = [" ".join(b) for b in BUILDS]


def built(compiler, cc="gcc", level="-O0", debug="-g", pie="-pie"):
    flags = (level, "-fno-builtin", debug)
    library = compiler.library("holders_library.c", cc=cc, flags=flags, name="libholders.so")
    pic = "-fPIE" if pie == "-pie" else "-fno-PIE"
    return compiler.build(
        "holders.c",
        cc=cc,
        flags=(*flags, pic, pie),
        libs=(str(library), f"-Wl,-rpath,{library.parent}"),
    )


def built_cpp(compiler, cc="g++", level="-O0", debug="-g", pie="-pie"):
    pic = "-fPIE" if pie == "-pie" else "-fno-PIE"
    return compiler.build("holders.cpp", cc=cc, flags=(level, debug, pic, pie))


def seep(*words, cwd=None):
    done = subprocess.run(
        [SEEP, *map(str, words)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        cwd=cwd,
    )
    return done.returncode, done.stdout, done.stderr


def why(*words):
    """(exit status, the answer)"""
    status, out, err = seep("why", "--json", *words)
    assert status in (0, 1), err
    return status, json.loads(out)


def same_variable(found, wanted):
    """Compilers name the static variables of functions kept.0 or keep.kept in the symbol table."""
    return found == wanted or found.startswith(wanted + ".") or found.endswith("." + wanted)


def check_root(root, wanted, source, debug):
    assert root["kind"] == wanted["kind"]
    if wanted["kind"] == "register":
        assert root["register"] == wanted["variable"]
    elif wanted["kind"] == "stack":
        assert root["function"] == wanted["function"]
        assert not debug or root["variable"]["name"] == wanted["variable"]
    elif wanted["variable"]:
        variable = root["variable"]
        assert same_variable(variable["name"], wanted["variable"])
        if debug:
            assert (os.path.basename(variable["file"]), variable["line"]) in [
                (s, wanted["line"]) for s in source
            ]
            assert variable["function"] == wanted["function"]


def check_path(answer, wanted, debug):
    """Every block on the way, and which member leads to it."""
    steps = wanted["steps"]
    path = [(int(s["address"], 16), s.get("member")) for s in answer["path"]]
    if steps[-1][1] == "...":
        assert path[-1][0] == steps[-1][0]
        assert len(steps) == 1 or path[0][0] == steps[0][0]
        return
    assert [a for a, _ in path] == [a for a, _ in steps]
    if debug:
        assert [m if w != "?" else "?" for (_, m), (_, w) in zip(path, steps)] == [
            w for _, w in steps
        ]


def check_lost(status, answer, wanted):
    assert (status, answer["held"], answer["root"]) == (1, False, None)
    assert answer["leak"] in ("definite", "indirect")
    if answer["leak"] == "indirect":
        assert [int(s["address"], 16) for s in answer["path"]][-1] == wanted["steps"][-1][0]


@pytest.mark.parametrize("build", BUILDS, ids=NAMES)
def test_the_path_to_every_block_is_the_one_that_the_program_built(build, compiler, recorder):
    done = recorder.record(built(compiler, *build))
    assert done.status == 0, done.stderr
    debug = build[2] == "-g"
    assert len(done.truth.paths) == 19
    for name, wanted in done.truth.paths.items():
        status, answer = why(done.profile.path, hex(wanted["steps"][-1][0]))
        if wanted["kind"] is None:
            check_lost(status, answer, wanted)
            continue
        assert (status, answer["held"]) == (0, True), name
        check_root(answer["root"], wanted, ("holders.c", "holders_library.c"), debug)
        check_path(answer, wanted, debug)


@pytest.mark.parametrize("build", BUILDS, ids=NAMES)
def test_objects_in_containers_are_held_by_the_variable_and_have_their_class(
    build, compiler, recorder
):
    cc = {"gcc": "g++", "clang": "clang++"}[build[0]]
    done = recorder.record(built_cpp(compiler, cc, *build[1:]))
    assert done.status == 0, done.stderr
    debug = build[2] == "-g"
    assert len(done.truth.paths) == 7
    for name, wanted in done.truth.paths.items():
        status, answer = why(done.profile.path, hex(wanted["steps"][-1][0]))
        assert (status, answer["held"]) == (0, True), name
        check_root(answer["root"], wanted, ("holders.cpp",), debug)
        check_path(answer, wanted, debug)
        if done.truth.types[name] != "-":
            assert answer["path"][-1]["type"] == done.truth.types[name], name


@pytest.fixture
def run(compiler, recorder):
    done = recorder.record(built(compiler))
    assert done.status == 0, done.stderr
    return done


def last_of(path):
    return path["steps"][-1][0]


def last(run, name):
    return last_of(run.truth.paths[name])


def test_a_long_list_is_shortened_and_nothing_else_is(run):
    _, answer = why(run.profile.path, hex(last(run, "chain")))
    assert answer["steps"] == 10000
    assert len(answer["path"]) < 20
    assert len(answer["path"]) + sum(s["left_out"] for s in answer["path"]) == 10000
    status, text, _ = seep("why", run.profile.path, hex(last(run, "chain")))
    assert status == 0
    assert "more steps of the same kind (.next)\n" in text
    assert "static chain [" in text and "(holders)\n" in text


def test_an_address_inside_a_block_stands_for_the_block(run):
    inside = last(run, "list") + 5
    status, answer = why(run.profile.path, hex(inside))
    assert status == 0
    assert (int(answer["block"]["address"], 16), answer["block"]["offset"]) == (
        last(run, "list"),
        5,
    )
    assert "is 0x5 bytes into " in seep("why", run.profile.path, hex(inside))[1]


def test_what_goes_away_with_a_block_is_what_it_alone_holds(run):
    _, node = why(run.profile.path, hex(run.truth.paths["list"]["steps"][1][0]))
    # itself, the next one, their names
    assert node["retained"] == {"blocks": 4, "bytes": 2 * (24 + 20)}
    _, ring = why(run.profile.path, hex(run.truth.paths["ring"]["steps"][0][0]))
    assert ring["retained"] == {"blocks": 6, "bytes": 3 * (24 + 20)}


def test_all_lists_every_variable_that_leads_to_a_block(run):
    _, answer = why("--all", run.profile.path, hex(last(run, "members")))
    assert [(r["kind"], r["variable"]["name"], r["pointers"]) for r in answer["roots"]] == [
        ("data", "members", 2)
    ]
    status, text, _ = seep("why", "--all", "-n", 1, run.profile.path, hex(last(run, "members")))
    assert status == 0
    assert "static members [" in text.split("steps  in\n")[1]


def test_a_site_is_explained_by_its_typical_block(run):
    site = why(run.profile.path, hex(last(run, "chain")))[1]["block"]["site"]
    status, answer = why(run.profile.path, f"#{site}")
    assert status == 0
    assert answer["root"]["variable"]["name"] == "chain"
    assert (answer["site"]["live_blocks"], answer["site"]["alike"]) == (
        10000,
        answer["site"]["looked_at"],
    )
    assert answer["site_retained"] == {
        "blocks": run.truth.facts["chain_blocks"],
        "bytes": run.truth.facts["chain_bytes"],
    }
    assert why("--site", site, run.profile.path)[1]["block"] == answer["block"]


def test_the_newest_recording_is_meant_when_none_is_named(run):
    status, text, _ = seep("why", hex(last(run, "tree")), cwd=run.folder)
    assert status == 0 and "static tree [" in text


def test_what_is_no_block_is_described(run):
    status, _, err = seep("why", run.profile.path, hex(last(run, "list") + 20))
    assert status == 2
    assert err.startswith(f"seep: no block at {hex(last(run, 'list') + 20)} was live then")
    assert "the nearest is 0x" in err


def test_a_recording_without_a_search_says_so_and_what_to_do(compiler, recorder):
    done = recorder.record(built(compiler), options=["--no-leak-scan"])
    status, _, err = seep("why", done.folder / "out.seep", "0x1000")
    assert status == 3
    assert "does not show what holds a block" in err and "--no-leak-scan" in err
    status, _, err = seep("report", "--retained", done.folder / "out.seep")
    assert status == 3


@pytest.mark.parametrize(
    "words",
    [(), ("#",), ("0x",), ("0x1g",), ("a", "b", "0x1"), ("--site", "x"), ("--site", "1", "a", "b")],
)
def test_wrong_words_are_refused(words, tmp_path):
    status, out, err = seep("why", *words, cwd=tmp_path)
    assert (status, out) == (2, "")
    assert err.startswith("seep: ") and "'seep help why' lists the options" in err


def test_what_is_no_recording_is_refused(tmp_path):
    path = tmp_path / "x.seep"
    path.write_text("no recording")
    assert seep("why", path, "0x1000")[0] == 4


def test_a_running_process_is_asked(compiler, recorder):
    with start_recorded(recorder.folder(), built(compiler), "wait") as it:
        it.said(b"ready\n")
        paths = Truth(it.told.read_text()).paths
        for name in ("list", "thread", "stack", "register", "library_thread"):
            status, answer = why(child_of(it), hex(paths[name]["steps"][-1][0]))
            assert (status, answer["held"]) == (0, True), name
            check_root(answer["root"], paths[name], ("holders.c", "holders_library.c"), True)
            check_path(answer, paths[name], True)
        check_lost(*why(child_of(it), hex(last_of(paths["lost"]))), paths["lost"])
        done = it.finish()
    assert (done.status, done.stdout) == (0, b"ready\n")


@pytest.fixture
def kept(compiler, recorder):
    library = compiler.library("keeper.c", flags=("-O0", "-g", "-DLIBRARY"), name="libkeeper.so")
    return (
        recorder.record(
            compiler.build(
                "keeper.c", flags=("-O0", "-g"), libs=(str(library), f"-Wl,-rpath,{library.parent}")
            )
        ),
        library,
    )


def test_variables_of_a_library_that_was_on_no_stack_have_names(kept):
    run, library = kept
    status, answer = why(run.profile.path, hex(run.truth.facts["block"]))
    assert status == 0
    assert (answer["root"]["variable"]["name"], answer["root"]["module"]) == (
        "library_kept",
        str(library),
    )


def test_rows_of_a_matrix_are_counted_as_c_does(kept):
    run, _ = kept
    assert why(run.profile.path, hex(run.truth.facts["rows"]))[1]["path"][-1]["type"] == "int[3][4]"


# ---- report --retained ----

def retained(path, *words):
    status, out, err = seep("report", "--json", *words, path)
    assert status == 0, err
    return json.loads(out)


def test_owners_add_up_to_the_heap_and_have_what_the_program_gave_them(run):
    report = retained(run.profile.path, "--retained")
    parts = [o["retained"] for o in report["owners"]] + [
        report[k] for k in ("shared", "ignored", "lost")
    ]
    for key in ("blocks", "bytes"):
        assert (
            sum(p[key] for p in parts) == report["total"][key] == run.profile.totals[f"live_{key}"]
        )
    by_name = {o["variable"]["name"]: o["retained"] for o in report["owners"] if "variable" in o}
    assert by_name["chain"] == {
        "blocks": run.truth.facts["chain_blocks"],
        "bytes": run.truth.facts["chain_bytes"],
    }
    assert (
        by_name["list"]
        == by_name["ring"]
        == by_name["thread_list"]
        == {"blocks": 6, "bytes": 3 * (24 + 20)}
    )
    assert by_name["tree"] == {"blocks": 31, "bytes": 31 * 24}
    assert by_name["table"] == {"blocks": 1 + 200 * 3, "bytes": 512 + 200 * (24 + 24 + 20)}
    assert by_name["vectors"] == {"blocks": 3 * 21, "bytes": 3 * (80 + 10 * 44)}
    assert by_name["mine"] == {"blocks": 4, "bytes": 2 * 44}
    assert report["lost"] == {"blocks": 8, "bytes": 4 * 44}
    sizes = [o["retained"]["bytes"] for o in report["owners"]]
    assert sizes == sorted(sizes, reverse=True)


def test_owners_for_people_name_the_largest_first(run):
    status, text, _ = seep("report", "--retained", "-n", 1, run.profile.path)
    assert status == 0
    lines = text.splitlines()
    assert lines[2].split("  ")[-1].startswith("static chain [") and lines[2].endswith("(holders)")
    assert "more owners (-n 1)" in lines[3]
    assert "lost: kept by nothing" in lines[-1]


def test_sites_keep_what_hangs_on_their_blocks(run):
    site = why(run.profile.path, hex(last(run, "chain")))[1]["block"]["site"]
    sites = {s["id"]: s for s in retained(run.profile.path, "--retained=sites")["sites"]}
    assert sites[site]["live"] == {"blocks": 10000, "bytes": 240000}
    assert sites[site]["retained"] == {"blocks": 20000, "bytes": run.truth.facts["chain_bytes"]}


def lines_on_terminal(*words):
    """What a terminal of 80 columns gets, without colours."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, 80))
    out = b""
    with subprocess.Popen(
        [SEEP, *map(str, words)],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    ) as it:
        os.close(slave)
        try:
            while piece := os.read(master, 65536):
                out += piece
        except OSError:  # all of it was read
            pass
        it.wait(DEADLINE)
    os.close(master)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.decode()).splitlines()


def test_lines_fit_the_terminal(compiler, recorder):
    done = recorder.record(built_cpp(compiler))
    answers = [
        lines_on_terminal("why", "--no-pager", done.profile.path, hex(wanted["steps"][-1][0]))
        for wanted in done.truth.paths.values()
    ]
    answers.append(lines_on_terminal("report", "--no-pager", "--retained=sites", done.profile.path))
    assert all(len(answer) > 4 for answer in answers)
    assert [line for answer in answers for line in answer if len(line) > 80] == []


def test_a_container_keeps_its_nodes_and_what_they_point_to(compiler, recorder):
    done = recorder.record(built_cpp(compiler))
    by_name = {
        o["variable"]["name"]: o["retained"]
        for o in retained(done.profile.path, "--retained")["owners"]
        if "variable" in o
    }
    assert by_name["registry"] == {"blocks": 150, "bytes": done.truth.facts["registry_bytes"]}


@pytest.mark.parametrize(
    "words",
    [
        ("-i", "x"),
        ("--at", "peak"),
        ("--range", "1s..2s"),
        ("--thread", "x"),
        ("--cost", "peak"),
        ("-s", "age"),
        ("--inverted",),
        ("--csv",),
        ("--group-by", "file"),
        ("--depth-merge", "2"),
        ("--tree",),
    ],
)
def test_options_that_make_no_sense_with_retained_are_refused(words, tmp_path):
    status, out, err = seep("report", "--retained", *words, tmp_path / "x.seep")
    assert (status, out) == (2, "")
    assert "--retained" in err or "--csv" in err or "--inverted" in err


def test_a_function_or_a_line_names_the_site_that_holds_most(compiler, recorder):
    file = recorder.record(compiler.build("descent.c")).folder / "out.seep"
    for word, function in (("single", "single"), ("leaf", "leaf"), ("main", "single")):
        status, answer = why(file, word)
        assert status == 0 and answer["block"]["function"] == function, answer
    line = why(file, "leaf")[1]["block"]["line"]
    assert why(file, f"descent.c:{line}")[1]["block"]["function"] == "leaf"
    text = seep("why", file, "down")[1]
    assert text.startswith("10 sites with live blocks come from down; this one has most:\n")
    status, out, err = seep("why", file, "nobody")
    assert (status, out) == (2, "") and "no live block was allocated by 'nobody'" in err


def test_why_takes_the_numbers_of_places_that_reports_show(compiler, recorder):
    """A place of several sites is named by one that has blocks, and any of its numbers leads to
    them."""
    done = recorder.record(compiler.build("two_ways.c", flags=("-O0", "-g", "-fno-builtin")))
    file = done.folder / "out.seep"
    freed, kept = sorted(done.profile.heap_sites(), key=lambda s: s["live_blocks"])
    assert (freed["live_blocks"], kept["live_blocks"]) == (0, 20) and freed["id"] < kept["id"]
    text = seep("leaks", "-n", "0", file)[1]
    assert re.findall(r"site #(\d+)", text) == [str(kept["id"])]
    for site in (freed, kept):
        found = why(file, f"#{site['id']}")[1]
        assert (found["site"]["live_blocks"], found["block"]["site"]) == (20, kept["id"])
