# SPDX-License-Identifier: MIT
"""What `seep check` writes for others: SARIF, JUnit, Valgrind XML, GitHub; each read by its real
reader or compared with the real writer."""
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote

import pytest

from checker import Checker
from harness import ROOT, SEEP, clean_environment

TOOL_DEADLINE = 120
SOURCE = ROOT / "tests" / "programs" / "budgets.c"
LOSSY = "lose:3:10", "other:1:7", "group", "keep:50"


@pytest.fixture
def check(compiler, tmp_path):
    return Checker(tmp_path, compiler.build("budgets.c"))


def line_of(text):
    """The line of budgets.c with TEXT."""
    return next(n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


# ---- SARIF ----

@pytest.fixture(scope="session")
def multitool(npm):
    return npm.program("sarif-multitool")


def faults(multitool, path):
    """What the validator finds, as (rule, level)."""
    out = path.with_suffix(".validated")
    subprocess.run(
        [multitool, "validate", path, "--output", out, "--log", "ForceOverwrite"],
        capture_output=True,
        env={**clean_environment(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        timeout=TOOL_DEADLINE,
    )
    results = json.loads(out.read_text(encoding="utf-8-sig"))["runs"][0].get("results", [])
    return {(r["ruleId"], r.get("level", "warning")) for r in results}


def test_sarif_is_valid(check, multitool):
    check.of(["--write-baseline", "known.txt"], "other:1:7")
    done = check.of(
        [
            "--baseline", "known.txt", "--max-peak", "1", "--max-leaks", "0", "--no-alloc-in",
            "^audio", "--sarif", "out.sarif",
        ],
        *LOSSY, "render:2", "run", "lose:1:1", "kill",
    )
    path = check.folder / "out.sarif"
    assert done.status == 1
    assert not {f for f in faults(multitool, path) if f[1] == "error"}
    # the tool has no page of its own to link to
    assert faults(multitool, path) <= {("SARIF2005", "warning")}
    broken_file = check.folder / "broken.sarif"
    broken_file.write_text(path.read_text().replace('"ruleId": "definite-leak"', '"ruleId": 7', 1))
    assert {f for f in faults(multitool, broken_file) if f[1] == "error"}


def test_sarif_names_the_places(check):
    check.of(["--write-baseline", "known.txt"], "other:1:7")
    check.of(["--baseline", "known.txt", "--sarif", "out.sarif"], *LOSSY)
    run = json.loads((check.folder / "out.sarif").read_text())["runs"][0]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    found = {}
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "programs/budgets.c", "uriBaseId": "SRCROOT"}
        found[result["ruleId"], place["region"]["startLine"]] = result
    wanted = {
        ("definite-leak", line_of("MAKER(lose_block)")): ("error", "new"),
        ("indirect-leak", line_of("MAKER(lose_group)")): ("error", "new"),
        ("definite-leak", line_of("MAKER(lose_group)")): ("error", "new"),
        ("definite-leak", line_of("MAKER(lose_other)")): ("note", "unchanged"),
    }
    assert {k: (v["level"], v["baselineState"]) for k, v in found.items()} == wanted
    assert unquote(run["originalUriBaseIds"]["SRCROOT"]["uri"]) == f"file://{ROOT / 'tests'}/"
    prints = {k: v["partialFingerprints"]["stackHash/v1"] for k, v in found.items()}
    assert (
        prints["definite-leak", line_of("MAKER(lose_group)")]
        == prints["indirect-leak", line_of("MAKER(lose_group)")]
    )
    assert len(set(prints.values())) == 3


def test_a_fingerprint_stays_when_lines_move(compiler, check):
    shifted = compiler.build(
        "budgets.c", flags=("-O0", "-fno-builtin", "-g", "-DSHIFTED"), name="budgets"
    )
    check("--sarif", "a.sarif", "--", check.program, "other:1:7")
    check("--sarif", "b.sarif", "--", shifted, "other:1:7")
    a, b = (
        json.loads((check.folder / f).read_text())["runs"][0]["results"][0]
        for f in ("a.sarif", "b.sarif")
    )
    assert a["partialFingerprints"] == b["partialFingerprints"]
    assert a["stacks"] != b["stacks"]


# ---- JUnit ----

def junit(check, *words):
    done = check.of(["--junit", "out.xml", *words[0]], *words[1:])
    return done, ElementTree.parse(check.folder / "out.xml").getroot()


@pytest.mark.parametrize(
    "options,steps",
    [
        ([], LOSSY),
        ([], ["keep:1"]),
        (["--max-peak", "1"], ["run", "keep:9"]),
        ([], ["kill"]),
        (["--max-leaks", "100"], LOSSY),
        (["--no-alloc-in", "<&\"mix"], ["render:1"]),
    ],
)
def test_junit_is_valid(check, need, options, steps):
    need("xmllint")
    junit(check, options, *steps)
    done = subprocess.run(
        [
            "xmllint",
            "--noout",
            "--schema",
            Path(__file__).with_name("junit.xsd"),
            check.folder / "out.xml",
        ],
        capture_output=True,
        text=True,
        timeout=TOOL_DEADLINE,
    )
    assert done.returncode == 0, done.stderr


def test_junit_has_a_case_for_each_budget_and_each_place(check):
    check.of(["--write-baseline", "known.txt"], "other:1:7")
    done, root = junit(
        check,
        ["--baseline", "known.txt", "--max-leaks", "0", "--max-peak", "1M"],
        *LOSSY,
        "run",
        "keep:1",
    )
    cases = {
        (s.get("name"), c.get("classname"), c.get("name")): {x.tag for x in c}
        for s in root
        for c in s
    }
    assert cases == {
        ("budgets", "budgets", "--max-peak 1M"): {"system-out"},
        ("budgets", "budgets", "--max-leaks 0"): {"system-out"},
        ("budgets #2", "budgets #2", "--max-peak 1M"): {"system-out"},
        ("budgets #2", "budgets #2", "--max-leaks 0"): {"skipped", "system-out"},
        ("budgets", "budgets", "ends well"): {"system-out"},
        ("budgets #2", "budgets #2", "ends well"): {"system-out"},
        ("findings", "definite-leak", "lose_block < lose < step < main"): {"failure"},
        ("findings", "definite-leak", "lose_group < group < step < main"): {"failure"},
        ("findings", "indirect-leak", "lose_group < group < step < main"): {"system-out"},
        ("findings", "definite-leak", "lose_other < lose < step < main"): {"skipped", "system-out"},
    }
    for suite in (root, *root):
        of_suite = [c for c in suite.iter("testcase")]
        assert int(suite.get("tests")) == len(of_suite)
        assert int(suite.get("failures")) == sum(c.find("failure") is not None for c in of_suite)
        assert int(suite.get("skipped")) == sum(c.find("skipped") is not None for c in of_suite)
    assert (
        "programs/budgets.c:" in root.find(".//testcase[@classname='definite-leak']/failure").text
    )
    assert done.status == 1


@pytest.mark.parametrize(
    "step,kind,text", [("abort", "crash", "SIGABRT"), ("exit:3", "exit-status", "exit 3")]
)
def test_a_program_that_fails_is_a_failure(check, step, kind, text):
    _, root = junit(check, ["--max-peak", "1M"], step)
    (failure,) = root.iter("failure")
    assert (failure.get("type"), failure.text, root.get("failures")) == (kind, text, "1")


def test_one_leak_is_one_failure(check):
    done, root = junit(check, [], "group")
    assert done.status == 1 and root.get("failures") == "1" and len(list(root.iter("failure"))) == 1


def test_leaks_within_their_budget_are_no_failures(check):
    done, root = junit(check, ["--max-leaks", "100"], *LOSSY)
    assert done.status == 0 and root.get("failures") == "0"
    assert root.find(".//testcase[@classname='definite-leak']/system-out").text


# ---- Valgrind XML ----

def memcheck(folder, *argv):
    out = folder / "memcheck.xml"
    subprocess.run(
        [
            "valgrind", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
            "--num-callers=40", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--xml=yes",
            f"--xml-file={out}", *argv,
        ],
        capture_output=True,
        env=clean_environment(),
        timeout=TOOL_DEADLINE,
    )
    return ElementTree.parse(out).getroot()


def stacks(error):
    """Names of functions, without those of Memcheck's own library."""
    return [
        [f.findtext("fn") for f in stack if "vgpreload" not in f.findtext("obj", "")]
        for stack in error.findall("stack")
    ]


def leaks(root):
    return sorted(
        (
            e.findtext("kind"),
            int(e.findtext("xwhat/leakedbytes")),
            int(e.findtext("xwhat/leakedblocks")),
            *stacks(e),
        )
        for e in root.findall("error")
        if e.find("xwhat") is not None
    )


def shapes(root):
    """{path of an element: [path and order of the different elements in it]}, over all elements
    with that path."""
    found = {}

    def visit(element, path):
        tags = list(dict.fromkeys(x.tag for x in element))
        found.setdefault(path, set()).add(tuple(tags))
        for child in element:
            visit(child, f"{path}/{child.tag}")

    visit(root, root.tag)
    return found


def check_shape(ours, theirs):
    """Every element of ours is where theirs can have it, and in the same order."""
    reference = shapes(theirs)
    for path, forms in shapes(ours).items():
        assert path in reference, path
        before = {
            (a, b) for form in reference[path] for i, a in enumerate(form) for b in form[i + 1 :]
        }
        for form in forms:
            assert {(a, b) for i, a in enumerate(form) for b in form[i + 1 :]} <= before, (
                path,
                form,
            )


def test_leaks_are_what_memcheck_writes(check, need):
    need("valgrind")
    theirs = memcheck(check.folder, check.program, *LOSSY)
    check.of(["--valgrind-xml", "ours.xml"], *LOSSY)
    ours = ElementTree.parse(check.folder / "ours.xml").getroot()
    assert leaks(ours) == leaks(theirs) and len(leaks(ours)) >= 4
    check_shape(ours, theirs)
    def numberless(root):
        return {re.sub(r"[\d,]+", "N", t.text) for t in root.iter("text")}

    assert numberless(ours) == numberless(theirs)
    for name in ("protocolversion", "protocoltool", "tool"):
        assert ours.findtext(name) == theirs.findtext(name)
    for root in (ours, theirs):
        assert [s.text for s in root.findall("status/state")] == ["RUNNING", "FINISHED"]
        assert root.findtext("args/argv/exe") == str(check.program)
        assert [a.text for a in root.findall("args/argv/arg")] == list(LOSSY)
        frames = [f for f in root.iter("frame") if f.findtext("fn") == "lose_group"]
        assert {
            (f.findtext("dir"), f.findtext("file"), int(f.findtext("line")), f.findtext("obj"))
            for f in frames
        } == {(str(SOURCE.parent), SOURCE.name, line_of("MAKER(lose_group)"), str(check.program))}


def test_wrong_releases_are_what_memcheck_writes(compiler, check, need):
    need("valgrind")
    program = compiler.build("releases.cpp")
    theirs = memcheck(check.folder, program, "mismatched")
    check("--valgrind-xml", "ours.xml", "--", program, "mismatched")
    ours = ElementTree.parse(check.folder / "ours.xml").getroot()
    check_shape(ours, theirs)

    def releases(root):
        return sorted(
            (
                e.findtext("kind"),
                e.findtext("what"),
                re.sub("0x[0-9a-f]+", "", e.findtext("auxwhat")),
                stacks(e),
            )
            for e in root.findall("error")
            if e.find("what") is not None
        )

    def counts(root):
        return sorted(int(p.findtext("count")) for p in root.findall("errorcounts/pair"))

    assert releases(ours) == releases(theirs) and len(releases(ours)) == 7
    assert counts(ours) == counts(theirs)


@pytest.mark.parametrize("case", ["twice", "unknown", "inside"])
def test_invalid_releases_have_the_shape_of_memchecks(compiler, check, need, case):
    need("valgrind")
    program = compiler.build("releases.cpp")
    theirs = memcheck(check.folder, program, case)
    done = check("--max-bad-frees", "0", "--valgrind-xml", "ours.xml", "--", program, case)
    ours = ElementTree.parse(check.folder / "ours.xml").getroot()
    found = [
        next(e for e in root.findall("error") if e.findtext("kind") == "InvalidFree")
        for root in (ours, theirs)
    ]
    assert done.status == 1
    assert found[0].findtext("what") == found[1].findtext("what")
    assert stacks(found[0])[0] == stacks(found[1])[0]
    assert stacks(found[0])[-1] == stacks(found[1])[-1]  # of the allocation, if there was one
    if case == "inside":
        assert len({e.findtext("auxwhat").partition(" is ")[2] for e in found}) == 1
    check_shape(ours, theirs)


def test_what_is_suppressed_is_counted(check, need):
    need("valgrind")
    rules = check.folder / "rules.supp"
    rules.write_text("{\n  the-others\n  Memcheck:Leak\n  ...\n  fun:lose_other\n}\n")
    theirs = memcheck(check.folder, f"--suppressions={rules}", check.program, *LOSSY)
    check.of(["--suppressions", rules, "--valgrind-xml", "ours.xml"], *LOSSY)
    ours = ElementTree.parse(check.folder / "ours.xml").getroot()
    for root in (ours, theirs):
        assert [
            (p.findtext("name"), p.findtext("count")) for p in root.findall("suppcounts/pair")
        ] == [("the-others", "1")]
    assert leaks(ours) == leaks(theirs)


# ---- GitHub ----

def annotations(text):
    """The workflow commands in TEXT, decoded as GitHub's runner does."""
    found = []
    for line in text.splitlines():
        command = re.fullmatch(r"::error (.*?)::(.*)", line)
        if command:
            properties = dict(p.split("=", 1) for p in command.group(1).split(","))
            found.append(
                ({k: unquote(v) for k, v in properties.items()}, unquote(command.group(2)))
            )
    return found


def test_github_gets_annotations_and_a_summary(check):
    summary = check.folder / "summary.md"
    summary.write_text("of an earlier step\n")
    done = check.of([], *LOSSY, env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    told = annotations(done.stdout.decode())
    assert {(p["file"], int(p["line"]), p["title"]) for p, _ in told} == {
        ("programs/budgets.c", line_of("MAKER(lose_block)"), "definitely lost"),
        ("programs/budgets.c", line_of("MAKER(lose_other)"), "definitely lost"),
        ("programs/budgets.c", line_of("MAKER(lose_group)"), "definitely lost"),
        ("programs/budgets.c", line_of("MAKER(lose_group)"), "indirectly lost"),
    }
    assert any(
        "30 B in 3 blocks definitely lost\nallocated by\n  lose_block [programs/budgets.c:" in text
        for _, text in told
    )
    text = summary.read_text()
    assert text.startswith("of an earlier step\n### seep check: 1 of 2 budgets broken\n")
    assert re.search(r"^\| budgets \(\d+\) \| --max-leaks 0 \| \*\*broken\*\* \| 7 blocks lost "
                     r"\(165 B\); most by lose&#95;group ", text, flags=re.M)


def test_annotations_only_where_they_are_wanted(check):
    actions = {"GITHUB_ACTIONS": "true"}
    assert annotations(check.of([], *LOSSY).stdout.decode()) == []
    assert annotations(check.of(["--annotate", "none"], *LOSSY, env=actions).stdout.decode()) == []
    assert len(annotations(check.of(["--annotate", "github"], *LOSSY).stdout.decode())) == 4
    assert annotations(check.of([], "keep:1", env=actions).stdout.decode()) == []
    done = check.of(["--json"], *LOSSY, env=actions)
    assert json.loads(done.stdout) and len(annotations(done.stderr.decode())) == 4


# ---- files ----

@pytest.mark.parametrize("option", ["--sarif", "--junit", "--valgrind-xml", "--write-baseline"])
def test_reports_are_replaced_and_other_files_are_not(check, option):
    path = check.folder / "out"
    check.of([option, "out"], "lose:1:1")
    first = path.read_bytes()
    check.of([option, "out"], "lose:1:1", "other:2:2")
    assert path.read_bytes() != first
    path.write_text("int main(void) { return 0; }\n")
    done = check.of([option, "out"], "say:ran", "lose:1:1")
    assert (done.status, done.stdout) == (2, b"") and b"-f replaces it" in done.stderr
    assert path.read_text() == "int main(void) { return 0; }\n"
    check.of([option, "out", "-f"], "lose:1:1")
    assert b"lose_block" in path.read_bytes()


def test_a_report_that_cannot_be_written_is_no_success(check):
    done = check.of(["--junit", "no/such/folder/out.xml"], "say:ran")
    assert (done.status, done.stdout) == (2, b"") and b"no/such/folder/out.xml" in done.stderr
    (check.folder / "full.xml").symlink_to("/dev/full")
    done = check.of(
        ["--sarif", "full.xml", "--junit", "good.xml", "--write-baseline", "known.txt"], "keep:1"
    )
    assert done.status not in (0, None) and b"full.xml" in done.stderr
    assert (check.folder / "good.xml").exists() and (check.folder / "known.txt").exists()


def test_reports_are_written_when_nobody_reads_the_result(check):
    with open("/dev/full", "w") as full:
        status = subprocess.run(
            [SEEP, "check", "--junit", "out.xml", "--", check.program, "lose:1:1"],
            cwd=check.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**clean_environment(), "TMPDIR": str(check.temporary)},
        ).returncode
    assert status == 1 and b"lose_block" in (check.folder / "out.xml").read_bytes()


def test_places_where_no_report_can_be_are_refused_before_the_program_runs(check):
    for words, text in {("--junit", "."): "is a directory", ("--junit", ""): "cannot write ''",
                        ("--junit", "one", "--sarif", "one"): "two reports go to one file"}.items():
        done = check.of(words, "say:ran")
        assert (done.status, done.stdout) == (2, b"") and text in done.stderr.decode(), words
