# SPDX-License-Identifier: MIT
"""Names that a program or a stranger's recording chose never steer the terminal, forge a line,
or run in a spreadsheet."""
import csv
import io
import os
import pty
import re
import shutil
import subprocess
import tty

import pytest

import harness

FORGE = harness.BUILD / "tests" / "unit" / "forge_hostile"
COLOR = re.compile(r"\x1b\[[0-9;]+m")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORGED = ("two\nlines", "return\nreturn", "evil;\n", "thr;ead\n", "gram\n;", "fn=(1)\nevents")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    assert FORGE.exists(), f"{FORGE} is not built"
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run(
        [FORGE, folder / "out.seep"], capture_output=True, check=True, timeout=harness.DEADLINE
    )
    subprocess.run(
        [harness.SEEP, "record", "-q", "-o", "small.seep", "true"],
        cwd=folder,
        env=harness.clean_environment(),
        check=True,
        timeout=harness.DEADLINE,
    )
    return folder


def seep(folder, *words):
    done = subprocess.run(
        [harness.SEEP, *words],
        cwd=folder,
        env=harness.clean_environment({"HOME": str(folder)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=harness.DEADLINE,
    )
    return (
        done.stdout.decode(errors="surrogateescape"),
        done.stderr.decode(errors="surrogateescape"),
        done.returncode,
    )


def check_plain(text):
    assert OBEYED.findall(text) == []
    assert not any("\udc80" <= c < "\udca0" for c in text), "what a terminal of 8 bits obeys"
    assert [forged for forged in FORGED if forged in text] == []


VIEWS = [
    "report", "report --inverted --threshold 0 -L", "report --flat", "report --flat -L",
    "report --growth", "report --callers plain", "report --timeline", "report --sizes",
    "report --lifetimes", "report --blocks", "report --memlog", "report --threads",
    "report --modules", "report --resources", "report --errors", "report --retained",
    "report --summary", "report --group-by function", "report --group-by file",
    "report --group-by module", "report --group-by thread", "leaks", "leaks --show all --blocks",
    "leaks --gen-suppressions --show all", "diff small.seep", "diff --memlog small.seep",
    "why 0x10000", "top --batch 1", "info", "info --symbols", "check --max-live 1",
    "sql --no-header", "events", "symbolize -f -o named.seep", "shell",
]


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_passes_on_what_a_terminal_obeys(hostile, view):
    command, *options = view.split()
    words = [command, *options, "out.seep"]
    if command == "why":
        words = ["why", "out.seep", *options]
    if command == "shell":
        words += ["-c", "status; scan; show info"]
    if command == "sql":
        words += [
            "select * from frame; select * from thread; select * from module; select * from meta"
        ]
    out, err, status = seep(hostile, *words)
    assert out + err and status in (0, 1, 2, 3)
    check_plain(out)
    check_plain(err)
    if options != ["--batch", "1"] and command in ("report", "leaks", "diff"):
        colored = seep(hostile, *words[:-1], "--color=always", words[-1])[0]
        check_plain(COLOR.sub("", colored))
        assert COLOR.sub("", colored) == out or "\x1b" in colored


def test_names_stay_recognisable(hostile):
    out = seep(hostile, "report", "--flat", "out.seep")[0]
    for name in (
        "two lines 5", "carriage  return", "?]0;title??[2J?9;1H?", "back?wards? and ??",
        "tab and more??[31m", "__proto__",
    ):
        assert name in out
    assert (
        "two\\nlines 5" in seep(hostile, "report", "--json", "out.seep")[0]
    ), "JSON has them as they are"


def test_names_of_files_that_were_found_forge_no_line(hostile, tmp_path):
    """Those that seep itself gives have no line breaks: others are not taken for recordings
    where nobody named them."""
    for folder in (tmp_path, tmp_path / "run.seep.d"):
        folder.mkdir(exist_ok=True)
        shutil.copy(hostile / "small.seep", folder / "good.seep")
        shutil.copy(hostile / "out.seep", folder / "x\nseep: all is well \x1b[2J\u202e.seep")
        shutil.copy(hostile / "small.seep", folder / "y\x1b[2J.seep")
        shutil.copy(hostile / "small.seep", folder / "z\u202e.seep")
    for words in (
        ["report"],
        ["leaks"],
        ["info"],
        ["check"],
        ["html", "-f", "-o", "out.html"],
        ["symbolize", "-f", "-o", "named.seep"],
    ):
        for operand in ([], ["run.seep.d"]):
            out, err, _ = seep(tmp_path, *words, *operand)
            assert "all is well" not in out + err
            check_plain(out + err)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "--csv"],
        ["report", "--blocks", "--csv"],
        ["report", "--threads", "--csv"],
        ["report", "--group-by", "function", "--csv"],
        ["diff", "--csv", "small.seep"],
        ["export", "--to", "csv"],
        ["sql", "--csv"],
    ],
)
def test_no_cell_of_a_table_is_run(hostile, words):
    query = ["select function, 1, -2.5 from frame"] if words[0] == "sql" else []
    out, _, status = seep(hostile, *words, "out.seep", *query)
    rows = list(csv.reader(io.StringIO(out, newline="")))
    assert status == 0 and len(rows) > 1 and len({len(row) for row in rows}) == 1
    assert not any("?" in name for name in rows[0])
    cells = [cell for row in rows for cell in row]
    assert [
        c for c in cells if c[:1] in "=+-@\t\r" and c and not re.fullmatch(r"[+-]?\d+(\.\d+)?", c)
    ] == []
    assert OBEYED.findall(out.replace("\r\n", "\n")) == []
    if "--threads" not in words:
        assert any("=HYPERLINK" in c for c in cells)


def test_a_live_program_forges_neither_summary_nor_memlog(tmp_path):
    (tmp_path / "p.c").write_text(
        "#include <stdlib.h>\nvoid *kept;\nvoid forger(void) { kept = malloc(4711); }\n"
        "int main(void) { forger(); kept = 0; return 0; }\n"
    )
    subprocess.run(
        ["cc", "-O0", "-fno-inline", "-c", "p.c"],
        cwd=tmp_path,
        check=True,
        timeout=harness.DEADLINE,
    )
    subprocess.run(
        ["objcopy", "--redefine-sym", "forger=x\n+99999999\n\t\x1b[2Jevil\u202e", "p.o"],
        cwd=tmp_path,
        check=True,
        timeout=harness.DEADLINE,
    )
    subprocess.run(["cc", "-o", "p", "p.o"], cwd=tmp_path, check=True, timeout=harness.DEADLINE)
    _, told, status = seep(tmp_path, "record", "-o", "x.seep", "./p")
    assert status == 0 and "evil" in told
    check_plain(told)
    assert "\n+99999999" not in told
    preload = harness.clean_environment(
        {"LD_PRELOAD": str(harness.BUILD / "src" / "agent" / "libseep.so"), "HOME": str(tmp_path)}
    )
    subprocess.run(
        ["./p"],
        cwd=tmp_path,
        env=preload,
        capture_output=True,
        check=True,
        timeout=harness.DEADLINE,
    )
    log = harness.wait_until(lambda: next(tmp_path.glob("p-*.memlog"), None), "the report")
    text = log.read_text()
    check_plain(text)
    assert "\n+99999999" not in text and "x +99999999  ?[2Jevil?" in text


def test_the_name_of_a_child_forges_no_message(tmp_path):
    forged = tmp_path / "x\nseep: all is well \x1b[2J"
    (tmp_path / "p.c").write_text(
        "#include <stdlib.h>\nint main(void) { free(malloc(10)); return 0; }\n"
    )
    subprocess.run(["cc", "-o", forged, "p.c"], cwd=tmp_path, check=True, timeout=harness.DEADLINE)
    _, told, status = seep(
        tmp_path, "record", "-vv", "--follow=all", "-o", "%p.seep", "sh", "-c",
        '"$1"; "$1"; exit 0', "sh", str(forged),
    )
    assert status == 0 and "all is well" in told
    check_plain(told)
    assert not any(line.startswith("seep: all is well") for line in told.splitlines())


def test_the_name_of_a_running_program_steers_nobody(tmp_path):
    """Also the name of the file that is made for it."""
    hostile = tmp_path / "x\x1b]0;evil\x07\u202egpj\u2028"
    (tmp_path / "p.c").write_text("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { void "
                                  "*p = malloc(10); (void)!read(0, &p, 1); return 0; }\n")
    subprocess.run(["cc", "-o", hostile, "p.c"], cwd=tmp_path, check=True, timeout=harness.DEADLINE)
    with subprocess.Popen(
        [harness.SEEP, "record", "-q", "-o", "out.seep", "--", hostile],
        cwd=tmp_path,
        env=harness.clean_environment(),
        stdin=subprocess.PIPE,
    ) as process:
        pid = str(process.pid)
        for words in (
            ["snapshot", pid],
            ["snapshot", "-q", pid],
            ["control", pid, "status"],
            ["ps"],
            ["doctor", pid],
            ["shell", pid, "-c", "status; show info; scan"],
        ):
            out, err, status = seep(tmp_path, *words)
            assert (out and status in (0, 1)), (words, out, err)
            check_plain(out + err)
        process.stdin.close()
        process.wait(harness.DEADLINE)
    assert process.returncode == 0
    made = [path.name for path in tmp_path.iterdir() if path.name.endswith(".memlog")]
    assert len(made) == 2 and not any(OBEYED.search(name) for name in made)


def on_a_terminal(folder, *words):
    """What the terminal gets that is the command's standard output."""
    ours, its = pty.openpty()
    tty.setraw(its)
    process = subprocess.Popen(
        [harness.SEEP, *words],
        cwd=folder,
        env=harness.clean_environment({"HOME": str(folder), "SEEP_PAGER": "cat"}),
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=subprocess.DEVNULL,
    )
    os.close(its)
    text = b""
    try:
        while part := os.read(ours, 1 << 16):
            text += part
    except OSError:  # EIO: nobody has its other end any more
        pass
    os.close(ours)
    process.wait(harness.DEADLINE)
    return text.decode(errors="surrogateescape")


@pytest.mark.parametrize("form", [
    "callgrind", "collapsed", "csv", "dhat", "firefox", "gprof2dot", "json", "junit", "massif",
    "sarif", "speedscope", "svg", "valgrind-xml",
])
def test_no_export_passes_on_what_a_terminal_obeys(hostile, form):
    """Formats are not made for terminals, and escape what their own readers stumble over."""
    check_terminal(on_a_terminal(hostile, "export", "--to", form, "out.seep"))


def check_terminal(text):
    assert len(text) > 20
    assert OBEYED.findall(text.replace("\r\n", "\n")) == []
    assert not any("\udc80" <= c < "\udca0" for c in text), "what a terminal of 8 bits obeys"


def test_no_path_of_a_mapping_steers_the_terminal(tmp_path):
    program = tmp_path / "true\x1b[31m\u202e\x9b"
    shutil.copy(shutil.which("true"), program)
    done = seep(tmp_path, "record", "-q", "-o", "it.seep", program)
    assert done == ("", "", 0)
    text = on_a_terminal(tmp_path, "export", "--to", "maps", "it.seep")
    assert "/true?[31m??" in text and "libc" in text
    check_terminal(text)
