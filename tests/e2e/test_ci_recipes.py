# SPDX-License-Identifier: MIT
"""docs/CI.md: what it says of test runners, with a project of two tests of which one leaks."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, ROOT, SEEP, clean_environment

SOURCE = """
#include <stdlib.h>
#include <string.h>
static char *copy_of(const char *s) { return strdup(s); }
int main(int argc, char **argv)
{
        char *volatile p = copy_of(argv[0]);
        if (argc < 2)
                free(p);
        p = NULL;
        return 0;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(two C)
enable_testing()
add_executable(one one.c)
add_test(NAME good COMMAND one)
add_test(NAME bad COMMAND one leak)
"""
MESON = """
project('two', 'c', default_options: ['debug=true'])
one = executable('one', 'one.c')
test('good', one)
test('bad', one, args: ['leak'])
"""


def recipe(first):
    """The command of docs/CI.md that begins with FIRST."""
    lines = [line.strip() for line in (ROOT / "docs" / "CI.md").read_text().splitlines()]
    return next(line for line in lines if line.startswith(first))


def sh(folder, command):
    path = f"{Path(SEEP).parent}:{os.environ['PATH']}"
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=DEADLINE,
                          env=clean_environment({"PATH": path, "TMPDIR": str(folder)}))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "one.c").write_text(SOURCE)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "meson.build").write_text(MESON)
    return tmp_path


@pytest.mark.skipif(not shutil.which("ctest"), reason="cmake is not installed")
def test_ctest(project):
    for command in (recipe("cmake -B"), recipe("cmake --build")):
        done = sh(project, command)
        assert done.returncode == 0, done
    done = sh(project, recipe("ctest"))
    assert done.returncode != 0 and "1 tests failed out of 2" in done.stdout, done
    assert "1 block lost" in done.stdout and "copy_of [" in done.stdout


def test_meson(project):
    assert sh(project, "meson setup build").returncode == 0
    done = sh(project, recipe("meson test"))
    assert done.returncode != 0, done
    log = (project / "build" / "meson-logs" / "testlog-seep.txt").read_text()
    assert "copy_of [" in log and log.count("1 block lost") == 1
