# SPDX-License-Identifier: MIT
"""Fixtures: a compiler that builds each target program once, and a recorder with a folder per run."""
import os
import shutil

import pytest

pytest.register_assert_rewrite("harness", "leaks")

import harness  # noqa: E402  (its asserts are rewritten too)


def pytest_report_header(config):
    return f"seep: {harness.SEEP}"


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    return harness.Compiler(os.environ.get("SEEP_TEST_BUILD") or tmp_path_factory.mktemp("programs"))


@pytest.fixture
def recorder(tmp_path):
    assert harness.SEEP.exists(), f"{harness.SEEP} is not built"
    return harness.Recorder(tmp_path)


@pytest.fixture
def need():
    """Skip, with the reason, when a tool of the distribution is missing."""
    def check(*tools):
        for tool in tools:
            if not shutil.which(tool):
                pytest.skip(f"{tool} is not installed")
    return check


@pytest.fixture(scope="session")
def plugs(compiler):
    """Two libraries of the same shape, which the loader puts at the same address."""
    return [compiler.library("plug.c", flags=(*harness.PLAIN, f"-DPLUG={x}"), name=f"libplug_{x}.so") for x in "ab"]


@pytest.fixture
def steps(compiler):
    """The program that does what its arguments say."""
    return compiler.build("steps.c")
