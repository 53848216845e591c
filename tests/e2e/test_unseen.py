# SPDX-License-Identifier: MIT
"""Memory that seep knows it did not see: no gate passes, and every form says which and what to
do."""
import json
import xml.etree.ElementTree as ElementTree

import pytest

from checker import Checker, broken
from harness import PLAIN, SEEP, run

VERDICT = b"not everything was seen"


@pytest.fixture
def own_malloc(compiler):
    return compiler.build("own_malloc.c", flags=(*PLAIN, "-rdynamic"))


@pytest.fixture
def forked(compiler):
    return compiler.build("forked_tests.c")


@pytest.fixture
def check(tmp_path):
    return Checker(tmp_path, None)


def recorded(check, program, *words, options=()):
    """The path of a recording by `seep record`."""
    path = check.folder / "run.seep"
    done = run(
        [SEEP, "record", "-q", "-f", "-o", path, *options, "--", program, *words], cwd=check.folder
    )
    assert done.status == 0, done.stderr
    return path


def unseen(*command, folder):
    return json.loads(run([SEEP, *command], cwd=folder).stdout)["unseen"]


def test_an_allocator_inside_the_program_does_not_pass(check, own_malloc):
    done = check("--engine=preload", "--", own_malloc)
    assert done.truth.facts["lost"] == 1000
    assert done.status == 1, done.stdout
    assert broken(done)[0] == {} and VERDICT + b": the program" in done.stdout
    assert b"has its own malloc" in done.stdout and b"shared library" in done.stdout
    assert done.stdout.endswith(
        b"all 2 budgets kept, but not everything was seen (--allow-unseen accepts that)\n"
    )
    assert len(check.left()) == 1 and b"recording kept" in done.stderr


def test_it_can_be_accepted_and_is_told_all_the_same(check, own_malloc):
    done = check("--engine=preload", "--allow-unseen", "--", own_malloc)
    assert done.status == 0, done.stderr
    assert VERDICT + b": the program" in done.stdout and done.stdout.endswith(
        b"all 2 budgets kept\n"
    )
    assert check.left() == []
    assert check("--engine=preload", "--allow-unseen", "-q", "--", own_malloc).stdout == b""
    assert VERDICT in check("--engine=preload", "-q", "--", own_malloc).stdout


def test_check_follows_children_that_only_fork(check, forked):
    assert check("--", forked, "clean", "clean").status == 0
    done = check("--", forked, "clean", "lose", "clean")
    assert done.status == 1
    size, blocks = done.truth.leaks["lose_block"]["definite"]
    assert (
        list(broken(done)[0]) == ["--max-leaks 0"]
        and f"{size} B in {blocks} block definitely lost".encode() in done.stdout
    )
    assert VERDICT not in done.stdout


@pytest.mark.parametrize("word", ["clean", "lose"])
def test_children_that_were_not_followed_do_not_pass(check, forked, word):
    """Nobody knows whether they were clean."""
    path = recorded(check, forked, word, "clean")
    done = check(path)
    assert done.status == 1
    assert (b"2 forked children allocated memory and were not recorded (--follow=all, unless "
            b"chroot is in the way)" in done.stdout)
    assert check("--allow-unseen", path).status == 0
    assert check("--follow=exec", "--", forked, word).status == 1
    assert check("--follow=exec", "--error-exitcode", "7", "--", forked, word).status == 7


def test_children_that_cannot_reach_us_do_not_pass(check, forked):
    done = check("--", forked, "lose", "jail", "clean", "lose")
    assert done.status == 1
    assert b"2 forked children allocated memory and were not recorded" in done.stdout
    assert check("--", forked, "jail", "release").status == 0


def test_children_that_only_release_have_nothing_that_was_missed(check, forked):
    path = recorded(check, forked, "release", "release", "clean")
    assert b"1 forked child allocated memory and was not recorded" in check(path).stdout
    assert check("--follow=exec", "--", forked, "release").status == 0


def test_a_sample_is_not_everything(check, compiler):
    path = recorded(check, compiler.build("sampled.c"), options=["--sample=4K"])
    assert check("--max-peak", "1G", path).status == 1
    done = check("--max-peak", "1G", "--allow-unseen", path)
    assert (done.status, b"(--sample)" in done.stdout) == (0, True)
    assert (
        check("--allow-unseen", path).status == 1
    ), "leaks and invalid frees cannot be told from a sample"


def test_a_cut_file_is_not_everything(check, forked):
    path = recorded(check, forked, options=["--follow=all"])
    assert check(path).status == 0
    data = path.read_bytes()
    path.write_bytes(data[:len(data) - 1])
    done = check("--max-peak", "1G", path)
    assert done.status == 1 and VERDICT + b": the file is damaged or incomplete" in done.stdout
    assert check("--max-peak", "1G", "--allow-unseen", path).status == 0


def test_every_json_has_the_reasons(check, forked):
    path = recorded(check, forked, "clean")
    reasons = ["1 forked child allocated memory and was not recorded (--follow=all, unless chroot "
               "is in the way)"]
    for words in (["report"], ["leaks"]):
        assert unseen(*words, "--json", path, folder=check.folder) == reasons
    found = json.loads(check("--json", path).stdout)
    assert (found["ok"], found["unseen"]) == (False, reasons)
    assert [(f["kind"], f["state"]) for f in found["findings"]] == [
        ("not-everything-seen", "breaks")
    ]
    accepted = json.loads(check("--json", "--allow-unseen", path).stdout)
    assert (accepted["ok"], accepted["unseen"]) == (True, reasons)
    path = recorded(check, forked, "clean", options=["--follow=all"])
    for words in (["report"], ["leaks"], ["check"]):
        assert unseen(*words, "--json", path, folder=check.folder) == []


def test_junit_has_a_failed_case(check, forked):
    path, out = recorded(check, forked, "clean"), check.folder / "out.xml"
    check("--junit", out, path)
    cases = [
        c
        for c in ElementTree.parse(out).iter("testcase")
        if c.get("classname") == "not-everything-seen"
    ]
    assert len(cases) == 1 and VERDICT.decode() in cases[0].find("failure").get("message")
    assert ElementTree.parse(out).getroot().get("failures") == "1"
    check("--junit", out, "--allow-unseen", path)
    cases = [
        c
        for c in ElementTree.parse(out).iter("testcase")
        if c.get("classname") == "not-everything-seen"
    ]
    assert (
        len(cases) == 1
        and cases[0].find("failure") is None
        and VERDICT.decode() in cases[0].find("system-out").text
    )


def test_sarif_has_a_result(check, forked):
    path, out = recorded(check, forked, "clean"), check.folder / "out.sarif"
    check("--sarif", out, path)
    ran = json.loads(out.read_text())["runs"][0]
    assert [(r["ruleId"], r["level"]) for r in ran["results"]] == [("not-everything-seen", "error")]
    assert (
        VERDICT.decode() in ran["results"][0]["message"]["text"] and ran["results"][0]["locations"]
    )
    assert (
        ran["tool"]["driver"]["rules"][ran["results"][0]["ruleIndex"]]["id"]
        == "not-everything-seen"
    )


def test_github_is_told(check, forked):
    path, summary = recorded(check, forked, "clean"), check.folder / "summary.md"
    done = check("--annotate", "github", path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert b"::error title=not everything was seen::" in done.stdout
    assert "all budgets kept, but not everything was seen" in summary.read_text()


def test_leaks_does_not_say_that_all_is_fine(check, own_malloc, forked):
    path = recorded(check, own_malloc, options=["--engine=preload"])
    done = run([SEEP, "leaks", path], cwd=check.folder)
    assert done.status == 0, "it is `check` that is a gate"
    assert VERDICT + b":\n" in done.stdout and b"has its own malloc" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.split(VERDICT)[1].splitlines())
    path = recorded(check, forked, options=["--follow=all"])
    assert VERDICT not in run([SEEP, "leaks", path], cwd=check.folder).stdout


def test_the_summary_tells_it_once(check, own_malloc, forked):
    for program, words, reason in (
        (own_malloc, (), b"own malloc"),
        (forked, ("clean",), b"forked child"),
    ):
        path = recorded(check, program, *words, options=["--engine=preload"])
        text = run([SEEP, "report", "--summary", path], cwd=check.folder).stdout
        assert (
            text.count(reason) == 1
            and b"NO LEAKS," not in text
            and b"everything on the heap was freed" not in text
        )


@pytest.mark.parametrize(
    "words,way",
    [
        ("missing.so", ""),
        ("./missing.so", ""),
        ("missing.so missing.so", "_exit"),
        ("{here} missing.so", ""),
        ("missing.so {here} close missing.so {here}", ""),
        ("{here} {here} close ./missing.so", "_exit"),
    ],
)
def test_libraries_that_dlmopen_could_not_load_hide_nothing(check, compiler, words, way):
    library = compiler.library("plug.c", name="libplug.so", flags=(*PLAIN, "-DPLUG=a"))
    path = check.folder / "run.seep"
    done = run(
        [
            SEEP, "record", "-q", "-f", "-o", path, "--",
            compiler.build("apart.c", libs=["-ldl"]),
            *words.format(here=library).split(),
            *way.split(),
        ],
        cwd=check.folder,
    )
    loaded = done.truth.facts["loaded"]
    assert done.status == 0 and loaded == words.count("{here}")
    said = f"dlmopen loaded {loaded} librar{'y' if loaded == 1 else 'ies'} into separate namespaces"
    told = unseen("report", "--json", path, folder=check.folder)
    assert [text.startswith(said) for text in told] == [True] * (loaded > 0)
