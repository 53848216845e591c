# SPDX-License-Identifier: MIT
"""A seep that was built with everything optional left out: it records and reports, and says what it
lacks and what to do.

SEEP_BUILD is the build to test.
"""
import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SEEP_BUILD"])
SEEP = BUILD / "src" / "seep"
# With names that only libiberty reads.
PROGRAM = """
struct Lost { int numbers[25]; };
namespace deep { __attribute__((noinline)) void lose(int n) { for (int i = 0; i < n; i++) {
    Lost *volatile p = new Lost; p = nullptr; } } }
int main() { deep::lose(10); return 0; }
"""


def seep(*arguments, cwd=None):
    return subprocess.run(
        [str(SEEP), *map(str, arguments)],
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "DEBUGINFOD_URLS": ""},
    )


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    place = tmp_path_factory.mktemp("core")
    (place / "lose.cpp").write_text(PROGRAM)
    subprocess.run(["g++", "-g", "-O0", "-o", "lose", "lose.cpp"], cwd=place, check=True)
    result = seep("record", "-o", "lose.seep", "./lose", cwd=place)
    assert result.returncode == 0 and "1000 bytes in 10 blocks" in result.stderr.replace(
        "B ", "bytes "
    ), result.stderr
    return place / "lose.seep"


def test_it_needs_libelf_libdw_and_zstd_only():
    needed = subprocess.run(
        ["readelf", "-d", str(SEEP)], text=True, capture_output=True, check=True
    ).stdout
    libraries = {
        line.split("[")[1].split(".so")[0] for line in needed.splitlines() if "(NEEDED)" in line
    }
    assert libraries <= {"libdw", "libelf", "libzstd", "libz", "libc", "ld-linux-x86-64"}


def test_leaks_and_reports_are_there(recording):
    leaks = seep("leaks", "--json", recording)
    assert leaks.returncode == 1
    found = json.loads(leaks.stdout)["leaks"]
    assert found["definite"] == {"blocks": 10, "bytes": 1000}
    assert "_ZN4deep4loseEi" in leaks.stdout  # as the compiler wrote it: there is no libiberty
    for view in (
        ["report"],
        ["report", "--flat"],
        ["report", "--json"],
        ["top", "--batch", "1"],
        ["export", "--to", "collapsed", "-o", "-"],
    ):
        result = seep(*view, recording)
        assert result.returncode == 0 and result.stdout, (view, result.stderr)


@pytest.mark.parametrize("arguments, lacks", [
    (["sql", "FILE", "SELECT 1"], "SQLite"),
    (["export", "--to", "sqlite", "-o", "x.sqlite", "FILE"], "SQLite"),
    (["html", "FILE"], "page"),
    (["top", "FILE"], "ncurses"),
    (["record", "--push", "http://127.0.0.1:9/ingest", "-o", "y.seep", "true"], "libcurl"),
])
def test_what_is_left_out_says_so(recording, tmp_path, arguments, lacks):
    result = seep(*[recording if a == "FILE" else a for a in arguments], cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert "built without" in result.stderr and lacks in result.stderr
    assert list(tmp_path.iterdir()) == []
