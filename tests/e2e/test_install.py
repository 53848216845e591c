# SPDX-License-Identifier: MIT
"""What `make install` puts below a prefix works from there, without the build tree."""
import subprocess

import harness
import pytest


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    done = subprocess.run(["meson", "install", "-C", str(harness.BUILD), "--no-rebuild", "--destdir", str(root)],
                          capture_output=True, text=True, timeout=harness.DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    tools = list(root.rglob("bin/seep"))
    assert len(tools) == 1
    return tools[0].parent.parent


def test_the_installed_tool_finds_its_agent(prefix, tmp_path):
    assert (prefix / "lib" / "seep" / "libseep.so").is_file()
    done = subprocess.run([prefix / "bin" / "seep", "-o", "a.seep", "/bin/echo", "hi"], cwd=tmp_path, stdin=subprocess.DEVNULL,
                          env=harness.clean_environment(), capture_output=True, text=True, timeout=harness.DEADLINE)
    assert done.returncode == 0 and done.stdout == "hi\n", done.stderr
    assert (tmp_path / "a.seep").stat().st_size > 0


def test_the_manual_is_installed(prefix):
    pages = sorted(p.name.removesuffix(".gz") for p in (prefix / "share" / "man" / "man1").iterdir())
    assert {"seep.1", "seep-record.1", "seep-report.1", "seep-info.1"} <= set(pages)


def test_completion_offers_commands_and_options(prefix, need):
    need("bash")
    script = prefix / "share" / "bash-completion" / "completions" / "seep"

    def offered(*words):
        code = (f"PATH={prefix}/bin:$PATH; source {script}; COMP_WORDS=({' '.join(words)} ''); "
                "COMP_WORDS=(\"${COMP_WORDS[@]:0:${#COMP_WORDS[@]}-1}\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                "_seep; printf '%s\\n' \"${COMPREPLY[@]}\"")
        return subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=harness.clean_environment(),
                              timeout=harness.DEADLINE).stdout.split()

    assert "report" in offered("seep", "repor")
    assert "--threshold" in offered("seep", "report", "--thr")
    assert "--follow" in offered("seep", "--fol")
    assert "peak" in offered("seep", "help", "pea")
