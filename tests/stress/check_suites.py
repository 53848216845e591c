# SPDX-License-Identifier: MIT
"""Other projects' own tests while seep attaches to their processes and leaves them, at random: they
end as they end without.

Those of redis and git need SOURCES=FOLDER with what `apt-get source redis git` unpacks there, git
built (make NO_GETTEXT=1).  Without, only CPython's are run.  SEED= chooses other moments.
"""
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import DEADLINE, SEEP, clean_environment
from run import Skip

LIMIT = 1500
CPYTHON = (
    "test_selectors test_epoll test_poll test_select test_subprocess test_threading test_queue "
    "test_fork1 test_wait4 test_popen test_mmap test_socketserver test_sqlite3 test_zlib"
).split()
GIT = ("t0001", "t0005", "t0061", "t1006", "t3000", "t4200")
REDIS = ("unit/type/list", "unit/type/hash", "unit/multi", "unit/scripting", "unit/bitops")


def parents():
    """Of each process that is there, who started it."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = Path(path).read_text()
        except OSError:  # it has ended
            continue
        found[int(text.split()[0])] = int(text[text.rindex(")") + 2 :].split()[1])
    return found


def family(pid):
    """PID and what it started, without what calls itself seep."""
    started = parents()
    known = {pid}
    while len(more := known | {p for p, by in started.items() if by in known}) > len(known):
        known = more
    return sorted(known)


class Visits:
    """seep attaches to a process of a family, again and again."""

    def __init__(self, folder):
        self.folder, self.tried, self.done, self.refused = folder, 0, 0, []
        self.chance = random.Random(os.environ.get("SEED", "seep"))

    def one(self, pid):
        time = f"{self.chance.randint(5, 300)}ms"
        done = subprocess.run(
            [SEEP, "attach", "-f", "--no-summary", "-o", self.folder / "visit.seep",
             "--duration", time, str(pid)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        self.tried += 1
        self.done += done.returncode == 0
        if done.returncode not in (0, 1, 3):
            self.refused.append((done.returncode, done.stderr))


def verdicts(text, pattern):
    return sorted(m.group(0) for m in re.finditer(pattern, text, re.M))


def run_suite(argv, folder, pattern, visits=None):
    """Its exit status, and what it says of each test."""
    log = folder.parent / f"{folder.name}.log"
    with open(log, "wb") as out:
        suite = subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=clean_environment(), start_new_session=True,
        )
        try:
            while visits and suite.poll() is None:
                visits.one(visits.chance.choice(family(suite.pid)))
            status = suite.wait(LIMIT)
        except BaseException:
            os.killpg(suite.pid, signal.SIGKILL)
            suite.wait()
            raise
    return status, verdicts(log.read_text(errors="replace"), pattern)


def compare(stage, name, argv, prepare, pattern):
    """Without seep, and with its visits."""
    with tempfile.TemporaryDirectory(prefix="seep-suite-") as folder:
        ends = []
        visits = Visits(Path(folder))
        for how in (None, visits):
            work = Path(folder) / ("bare" if how is None else "visited")
            prepare(work)
            ends.append(run_suite(argv, work, pattern, how))
        bare, visited = ends
        stage.say(
            f"{name}: {len(bare[1])} verdicts, status {bare[0]}; "
            f"{visits.done} of {visits.tried} visits"
        )
        assert bare[1], "the suite said nothing"
        assert visits.done > 10, f"hardly a visit: {visits.done} of {visits.tried}"
        assert not visits.refused, visits.refused[:3]
        assert visited == bare, (visited[0], bare[0], sorted(set(visited[1]) ^ set(bare[1])))


def source(pattern):
    found = glob.glob(f"{os.environ.get('SOURCES', '/nowhere')}/{pattern}")
    if not found:
        raise Skip(f"SOURCES has no {pattern}")
    return Path(found[0])


def check_suite_of_cpython(stage):
    if not Path("/usr/lib/python3.11/test/test_selectors.py").exists():
        raise Skip("the tests of Python 3.11 are not installed")
    argv = ["/usr/bin/python3", "-m", "test", "-v", *CPYTHON]
    compare(stage, "CPython", argv, Path.mkdir, r"^test\w* \([\w.]+\).* \.\.\. (ok|FAIL|ERROR)$")


def check_suite_of_git(stage):
    root = source("git-2*/t/helper/test-tool").parents[2]
    script = "cd t; for i in {}; do sh ./$i-*.sh; echo $i ends with $?; done".format(" ".join(GIT))
    compare(
        stage, "git", ["sh", "-c", script],
        lambda work: shutil.copytree(root, work, symlinks=True),
        r"^(not ok|ok) \d+ .*|^t\d+ ends with \d+$",
    )


def check_suite_of_redis(stage):
    root = source("redis-7*/runtest").parent

    def prepare(work):
        shutil.copytree(root, work, symlinks=True)
        for name in ("server", "cli", "benchmark", "check-aof", "check-rdb"):
            (work / f"src/redis-{name}").symlink_to(f"/usr/bin/redis-{name}")

    argv = ["./runtest", "--clients", "1"]
    for name in REDIS:
        argv += ["--single", name]
    compare(stage, "redis", argv, prepare, r"\[(ok|err|exception)\S*: .*?(?=\(\d+ ms\)|$)")
