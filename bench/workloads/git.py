# SPDX-License-Identifier: MIT
"""git.py -- git log --stat over a generated history.

The repository is made by `git fast-import` from a stream with a fixed seed: the same objects on
every machine.
"""
import random
import subprocess

from harness import place
from .workload import Command, long_and_short

COMMITS, SHORT_COMMITS = 2200, 900
FILES = 260
FILES_PER_COMMIT = 4
LINES = 700


def _edit(chance, lines):
    for _ in range(chance.randint(1, 6)):
        lines[chance.randrange(len(lines))] = f"line {chance.randrange(10 ** 6)} of the text\n"
    if chance.random() < 0.3:
        lines.insert(chance.randrange(len(lines)), f"added {chance.randrange(10 ** 6)}\n")


def _commit(chance, tree, number):
    message = f"change {number}\n\nwhy it was done: {chance.randrange(10 ** 9)}\n".encode()
    parts = [f"commit refs/heads/main\ncommitter A Writer <writer@example.org> "
             f"{1500000000 + number * 60} +0000\n"
             f"data {len(message)}\n".encode(), message]
    for name in sorted(chance.sample(sorted(tree), FILES_PER_COMMIT)):
        _edit(chance, tree[name])
        data = "".join(tree[name]).encode()
        parts += [f"M 100644 inline {name}\ndata {len(data)}\n".encode(), data, b"\n"]
    return b"".join(parts)


def _make(path):
    chance = random.Random(17)
    git = place.need("git")
    tree = {
        f"src/part{n % 13}/file{n}.txt": [f"line {k} of file {n}\n" for k in range(LINES)]
        for n in range(FILES)
    }
    subprocess.run([git, "init", "-q", "--bare", "--initial-branch=main", str(path)], check=True)
    stream = b"".join(_commit(chance, tree, number) for number in range(COMMITS))
    subprocess.run([git, "-C", str(path), "fast-import", "--quiet"], input=stream, check=True)


def _command(short):
    repository = place.cached("history.git", _make)
    some = ["-n", str(SHORT_COMMITS)] if short else []
    return Command(
        [place.need("git"), "--git-dir", str(repository), "log", "--stat", *some, "main"],
        env={"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"},
    )


WORKLOADS = long_and_short("git", "log --stat over a generated repository", _command, 1.08)
