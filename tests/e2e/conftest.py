# SPDX-License-Identifier: MIT
"""Fixtures: a compiler that builds each target program once, and a recorder with a folder per
run."""
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

pytest.register_assert_rewrite("exporter", "harness", "leaks", "readers", "remote")

import exporter  # noqa: E402
import harness  # noqa: E402  (its asserts are rewritten too)
import network  # noqa: E402
import readers  # noqa: E402
import remote  # noqa: E402


def pytest_configure(config):
    """What starts programs in the background may have told them to ignore these, and programs
    under test would inherit it."""
    for number in (
        signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGALRM,
        signal.SIGUSR1, signal.SIGUSR2,
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(
                number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            )


def pytest_collection_modifyitems(config, items):
    """A test of machines of a kind that is not here is not there either, rather than skipped."""
    empty = [
        item
        for item in items
        if any(
            "empty parameter set" in mark.kwargs.get("reason", "")
            for mark in item.iter_markers("skip")
        )
    ]
    config.hook.pytest_deselected(items=empty)
    items[:] = [item for item in items if item not in empty]


def pytest_report_header(config):
    return f"seep: {harness.SEEP}"


def common_folder(tmp_path_factory):
    """What all workers of this run share (pytest-xdist gives each a folder of its own below
    one)."""
    base = tmp_path_factory.getbasetemp()
    return Path(
        os.environ.get("SEEP_TEST_BUILD")
        or (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
    )


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    return harness.Compiler(common_folder(tmp_path_factory) / "programs")


@pytest.fixture
def recorder(tmp_path):
    assert harness.SEEP.exists(), f"{harness.SEEP} is not built"
    return harness.Recorder(tmp_path)


@pytest.fixture
def public_folder():
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp(prefix="seep-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def need():
    """Skip, with the reason, when a tool of the distribution is missing."""
    def check(*tools):
        for tool in tools:
            if not shutil.which(tool):
                pytest.skip(f"{tool} is not installed")
    return check


@pytest.fixture(scope="session")
def npm(tmp_path_factory):
    """The programs of ../npm, installed once per test build; skips, with the reason, where npm
    cannot."""
    folder = common_folder(tmp_path_factory) / "npm"
    try:
        with harness.alone(folder):
            return readers.installed(folder)
    except readers.CannotInstall as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def hard_stacks(compiler, tmp_path_factory):
    """A recording of stacks that are hard to write down."""
    done = harness.Recorder(tmp_path_factory.mktemp("exports")).record(
        compiler.build("exports.cpp")
    )
    assert done.status == 0
    return done


@pytest.fixture
def export(hard_stacks, tmp_path):
    return exporter.Exporter(hard_stacks.folder / "out.seep", tmp_path)


@pytest.fixture(scope="session")
def plugs(compiler):
    """Two libraries of the same shape, which the loader puts at the same address."""
    return [
        compiler.library("plug.c", flags=(*harness.PLAIN, f"-DPLUG={x}"), name=f"libplug_{x}.so")
        for x in "ab"
    ]


@pytest.fixture
def steps(compiler):
    """The program that does what its arguments say."""
    return compiler.build("steps.c")


@pytest.fixture
def token(tmp_path):
    """A file with the token of targets and hosts."""
    path = tmp_path / "token"
    path.write_bytes(remote.TOKEN + b"\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def two_machines():
    """In network namespaces; skips, with the reason, where there are none."""
    try:
        with network.two_machines() as made:
            yield made
    except network.CannotMake as reason:
        pytest.skip(str(reason))


@pytest.fixture
def repository(tmp_path, need):
    """A git repository with 120 commits."""
    need("git")
    folder = tmp_path / "repository"
    env = harness.clean_environment(
        {**harness.GIT_ALONE, "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    )
    stream = []
    for i in range(120):
        body = "".join(f"line {n * (i + 3) % 211}\n" for n in range(60)).encode()
        stream.append(b"commit refs/heads/main\nmark :%d\ncommitter a <a@example.org> %d +0000\n"
                      b"data 8\nround%3d\n" % (i + 1, 1600000000 + i * 60, i))
        stream.append(b"M 100644 inline file%d.txt\ndata %d\n%s\n" % (i % 9, len(body), body))
    subprocess.run(
        ["git", "init", "-q", "-b", "main", str(folder)],
        check=True,
        env=env,
        timeout=harness.DEADLINE,
    )
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet"],
        input=b"".join(stream),
        check=True,
        env=env,
        timeout=harness.DEADLINE,
    )
    return folder
