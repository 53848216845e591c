# SPDX-License-Identifier: MIT
"""Functions of scripts: an interpreter that makes trampolines as Python 3.12 does, and what is
shown of its stacks."""
import json
import platform
import re
from pathlib import Path

import pytest

from bench import Bench

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the program has code of x86-64 in it"
)
FLAGS = ("-O2", "-fomit-frame-pointer", "-fno-builtin", "-Wl,--build-id")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """python3.12 (the interpreter) and ext.so in a folder, and out.seep."""
    bench = Bench(tmp_path_factory.mktemp("scripts"))
    bench.compile(*FLAGS, source="scripts.c", out="python3.12", libs=("-ldl",))
    bench.compile(*FLAGS, "-DEXTENSION", "-shared", "-fPIC", source="scripts.c", out="ext.so")
    bench.told = bench.seep(
        "record", "--python", "-o", "out.seep", "--", "./python3.12", "./ext.so"
    ).stderr
    pid = json.loads(bench.seep("report", "--json", "out.seep").stdout)["pid"]
    yield bench
    Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)


def test_stacks_go_through_all_trampolines(scripts):
    names = scripts.names(4001)
    assert [n for n in names if n and n.endswith("(p.py)")] == [
        "leak (p.py)",
        "work (p.py)",
        "<module> (p.py)",
    ]
    assert names[0] == "evaluate" and "main" in names
    files = {f["function"]: f["file"] for f in scripts.report()["frames"]}
    assert files["leak (p.py)"] == "/srv/me/p.py"


def test_the_interpreter_is_folded_away(scripts):
    tree = scripts.seep("report", "-q", "--cost", "alloc-bytes", "out.seep").stdout
    sums = {
        name: int(size.replace(",", ""))
        for size, name in re.findall(r"\(([\d,]+)B, \d+x\): (.*\))$", tree, flags=re.M)
    }
    assert sums["<module> (p.py)"] == sums["work (p.py)"] == 4001 + 500 + 700 + 6001
    assert sums["leak (p.py)"] == 4001 + 500 + 700 and sums["dumps (__init__.py)"] == 6001
    assert "evaluate" not in tree and "call" not in tree.replace("allocated", "").replace(
        "calloc", ""
    )
    assert (
        "evaluate"
        in scripts.seep("report", "-q", "--all-frames", "--cost", "alloc-bytes", "out.seep").stdout
    )
    assert "leak (p.py)" in scripts.seep("top", "--batch", "1", "-q", "out.seep").stdout


def test_what_the_interpreter_keeps_is_not_lost_and_what_its_modules_lose_is(scripts):
    leaks = json.loads(scripts.seep("leaks", "--json", "out.seep", status=1).stdout)["leaks"]
    assert leaks["definite"] == {"blocks": 1, "bytes": 700}
    text = scripts.seep("leaks", "-v", "out.seep", status=1).stdout
    assert re.search(r"suppressed: 500 B in 1 block by 'Python's interpreter keeps", text)


def test_both_variables_are_set_for_the_program_alone(scripts):
    say = ("sh", "-c", "echo $PYTHONPERFSUPPORT $PYTHONMALLOC")
    assert (
        scripts.seep("record", "-q", "--python", "-o", "sh.seep", "--", *say).stdout == "1 malloc\n"
    )
    assert scripts.seep("check", "-q", "--python", "--allow-unseen", "--", *say).stdout.startswith(
        "1 malloc\n"
    )
    assert scripts.seep("record", "-q", "-f", "-o", "sh.seep", "--", *say).stdout == "\n"


@pytest.mark.parametrize("program, library, line", [
    ("python3.12", "ext.so", "Python functions have no names: seep --python\n"),
    ("python3.11", "ext.so", "Python 3.11 cannot name its functions: 3.12 and later can (seep "
                             "--python)\n"),
    ("node", "ext.so", "JavaScript functions have no names: node --perf-basic-prof\n  "
                       "--interpreted-frames-native-stack\n"),
    ("java", "libjvm.so", "Java methods have no names: java -XX:+UnlockDiagnosticVMOptions\n  "
                          "-XX:+DumpPerfMapAtExit (17 or later)\n")])
def test_a_line_says_that_names_are_missing(scripts, program, library, line):
    for name, source in ((program, "python3.12"), (library, "ext.so")):
        if not (scripts.folder / name).exists():
            (scripts.folder / name).write_bytes((scripts.folder / source).read_bytes())
            (scripts.folder / name).chmod(0o755)
    told = scripts.seep(
        "record", "-f", "-o", "none.seep", "--", f"./{program}", f"./{library}", "none"
    ).stderr
    assert told.count(line) == 1
    assert "seep --python" not in scripts.told
