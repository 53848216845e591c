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


CARGO = """
[package]
name = "two"
version = "0.1.0"
edition = "2018"
"""
RUST = """
pub fn lose() -> usize { Box::into_raw(Box::new([7u8; 333])) as usize & 1 }
#[cfg(test)]
mod tests {
    #[test] fn good() { assert!(Vec::<u8>::with_capacity(100).is_empty()); }
    #[test] fn bad() { assert!(super::lose() < 2); }
}
"""
EXTENSION = """
#include <stdlib.h>
int lose(void) { return malloc(4321) == NULL; }
int keep(void) { void *volatile p = malloc(1000); free(p); return 0; }
"""
PYTEST = """
import ctypes
library = ctypes.CDLL("./extension.so")
def test_keep():
    assert library.keep() == 0
def test_lose():
    assert library.lose() == 0
"""


def recipe(first):
    """The command of docs/CI.md that begins with FIRST, behind what makes it a step of a list."""
    lines = [
        line.strip().removeprefix("- ").removeprefix("run: ")
        for line in (ROOT / "docs" / "CI.md").read_text().splitlines()
    ]
    return next(line for line in lines if line.startswith(first))


def sh(folder, command):
    path = f"{Path(SEEP).parent}:{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=clean_environment({"PATH": path, "TMPDIR": str(folder)}),
    )


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


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")
def test_cargo(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(CARGO)
    (tmp_path / "src" / "lib.rs").write_text(RUST)
    done = sh(tmp_path, recipe("CARGO_TARGET") + " --offline")
    assert done.returncode != 0 and "test result: ok. 2 passed" in done.stdout, done
    assert "1 block lost (333 B); by two::lose [" in done.stdout + done.stderr, done


def test_pytest(tmp_path):
    (tmp_path / "extension.c").write_text(EXTENSION)
    (tmp_path / "test_extension.py").write_text(PYTEST)
    assert sh(tmp_path, "gcc -g -O0 -shared -fPIC extension.c -o extension.so").returncode == 0
    done = sh(
        tmp_path,
        recipe("PYTHONMALLOC").replace("python3", "/usr/bin/python3") + " -q -p no:cacheprovider",
    )
    assert done.returncode == 1 and "2 passed" in done.stdout, done
    assert (
        "lost (4.2 KiB)" in done.stdout + done.stderr and "lose [" in done.stdout + done.stderr
    ), done


@pytest.mark.parametrize(
    "service,report", [("GitHub", "--sarif leaks.sarif"), ("GitLab", "--junit leaks.xml")]
)
def test_the_steps_of_a_service(tmp_path, service, report):
    """As its runner executes them, with a baseline that was committed; then with one leak more."""
    (tmp_path / "one.c").write_text(SOURCE)
    (tmp_path / "Makefile").write_text("unit-tests: one.c\n\t$(CC) $(CFLAGS) $< -o $@\n")
    build, check = recipe('make CFLAGS="-g -O1" unit-tests'), recipe(
        f"seep check --baseline leaks.txt {report}"
    )
    assert sh(tmp_path, build).returncode == 0
    written = sh(tmp_path, recipe("seep check --write-baseline").split("#")[0])
    assert written.returncode == 0 and (tmp_path / "leaks.txt").exists(), written
    good = sh(tmp_path, check)
    assert good.returncode == 0 and not list((tmp_path / "recordings").iterdir()), good
    bad = sh(tmp_path, check + " leak")
    assert bad.returncode == 1 and "copy_of" in (tmp_path / report.split()[1]).read_text(), bad
    kept, = (tmp_path / "recordings").iterdir()
    assert "copy_of [" in sh(tmp_path, f"seep leaks --no-pager {kept}").stdout
