# SPDX-License-Identifier: MIT
"""What `make install` puts below a prefix works from there, without the build tree."""
import json
import os
import re
import subprocess

import harness
import pytest


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    done = subprocess.run(
        ["meson", "install", "-C", str(harness.BUILD), "--no-rebuild", "--destdir", str(root)],
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tools = list(root.rglob("bin/seep"))
    assert len(tools) == 1
    return tools[0].parent.parent


def test_make_builds_whatever_is_installed():
    """`make install` in a fresh clone builds no more than `make` does."""
    told = subprocess.run(
        ["meson", "introspect", "--targets", str(harness.BUILD)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    installed = {
        os.path.relpath(os.path.realpath(name), harness.BUILD.resolve())
        for t in json.loads(told)
        if t["installed"]
        for name in t["filename"]
    }
    built = subprocess.run(
        ["ninja", "-C", str(harness.BUILD), "-t", "query", "product"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert (
        {"src/seep", "src/agent/libseep.so"}
        <= installed
        <= {line.strip().removeprefix("| ") for line in built.splitlines()}
    )


def test_the_installed_tool_finds_its_agent(prefix, tmp_path):
    assert (prefix / "lib" / "seep" / "libseep.so").is_file()
    done = subprocess.run(
        [prefix / "bin" / "seep", "-o", "a.seep", "/bin/echo", "hi"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        env=harness.clean_environment(),
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
    )
    assert done.returncode == 0 and done.stdout == "hi\n", done.stderr
    assert (tmp_path / "a.seep").stat().st_size > 0


def test_the_installed_library_finds_the_tool(prefix, tmp_path):
    done = subprocess.run(
        ["/bin/echo", "hi"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=harness.clean_environment({"LD_PRELOAD": str(prefix / "lib" / "seep" / "libseep.so")}),
        timeout=harness.DEADLINE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")
    assert [p.name.split("-")[0] for p in tmp_path.glob("*.memlog")] == ["echo"]


def test_the_manual_is_installed(prefix):
    told = subprocess.run(
        [harness.SEEP, "help", "--table"], capture_output=True, text=True, check=True
    ).stdout
    commands = [line.split("\t")[1] for line in told.splitlines() if line.startswith("command\t")]
    pages = {p.name.removesuffix(".gz") for p in (prefix / "share" / "man").glob("man?/*")}
    assert pages >= {"seep.1", "seep.h.3", *(f"seep-{name}.1" for name in commands)}


def test_the_header_is_installed(prefix):
    assert (prefix / "include" / "seep.h").read_bytes() == (
        harness.ROOT / "include" / "seep.h"
    ).read_bytes()


def test_documents_that_installed_ones_name_are_installed(prefix):
    there = list((prefix / "share" / "doc" / "seep").iterdir())
    named = {
        name
        for path in there
        for name in re.findall(r"\b[A-Z][A-Z-]*\.md\b", path.read_text(encoding="utf-8"))
    }
    # which is about the sources
    assert named - {path.name for path in there} == {"CONTRIBUTING.md"}


def test_completion_is_where_the_shells_look(prefix):
    for place in (
        "bash-completion/completions/seep",
        "zsh/site-functions/_seep",
        "fish/vendor_completions.d/seep.fish",
    ):
        assert (prefix / "share" / place).stat().st_size > 1000


def linked():
    return subprocess.run(
        ["readelf", "-d", harness.SEEP], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif("libdw" in linked(), reason="this build links all libraries (lazy/lazy.h)")
def test_libraries_are_loaded_by_those_who_use_them(tmp_path):
    """Debug information, a database and the terminal have no part in recording a short program."""
    env = harness.clean_environment(
        {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded")}
    )
    subprocess.run(
        [harness.SEEP, "-q", "-o", "a.seep", "/bin/true"],
        cwd=tmp_path,
        env=env,
        check=True,
        timeout=harness.DEADLINE,
    )
    text = "".join(p.read_text(errors="replace") for p in tmp_path.glob("loaded.*"))
    assert "libc.so.6" in text
    assert not [
        name for name in ("libdw", "libsqlite3", "libncurses", "libZydis") if f"/{name}" in text
    ]
    found = subprocess.run(
        [harness.SEEP, "sql", "a.seep", "select 1.5 + 1"],
        cwd=tmp_path,
        env=harness.clean_environment(),
        capture_output=True,
        text=True,
        timeout=harness.DEADLINE,
    )
    assert found.returncode == 0 and "2.5" in found.stdout, found.stderr


@pytest.mark.skipif("libdw" in linked(), reason="this build links all libraries (lazy/lazy.h)")
def test_a_library_that_is_broken_is_named(tmp_path):
    subprocess.run(
        [harness.SEEP, "-q", "-o", "a.seep", "/bin/true"],
        cwd=tmp_path,
        env=harness.clean_environment(),
        check=True,
        timeout=harness.DEADLINE,
    )
    broken = tmp_path / "libraries"
    broken.mkdir()
    (broken / "libsqlite3.so.0").write_text("not a library\n")
    done = subprocess.run(
        [harness.SEEP, "sql", "a.seep", "select 1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=harness.clean_environment({"LD_LIBRARY_PATH": str(broken)}),
        timeout=harness.DEADLINE,
    )
    assert (
        done.returncode == 127
        and "libsqlite3.so.0" in done.stderr
        and done.stderr.startswith("seep: ")
    ), done.stderr


@pytest.mark.skipif("libdw" in linked(), reason="this build links all libraries (lazy/lazy.h)")
def test_a_library_that_is_broken_is_found_before_a_process_is_touched(tmp_path):
    """A program that ran for nothing, or a process with half of an agent in it, is worse than
    none."""
    name = "libzstd.so.1"
    (tmp_path / name).write_text("not a library\n")
    env = harness.clean_environment({"LD_LIBRARY_PATH": str(tmp_path)})
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for command in (["attach", "-o", "a.seep", str(process.pid)],
                        ["record", "--engine=inject", "-o", "a.seep", "touch", "ran"]):
            done = subprocess.run(
                [harness.SEEP, *command],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                env=env,
                timeout=harness.DEADLINE,
            )
            assert done.returncode == 127 and name in done.stderr, done.stderr
    finally:
        out, _ = process.communicate(b"still there", timeout=harness.DEADLINE)
    assert out == b"still there" and process.returncode == 0
    assert not (tmp_path / "ran").exists() and not (tmp_path / "a.seep").exists()
