# SPDX-License-Identifier: MIT
"""A stack has one shape: every output shows the same frames, from the allocation to main or to the function of a thread, also where nothing
but the exported names of the C library is known."""
import json
import re
import sqlite3
import subprocess
from collections import defaultdict

import pytest

from harness import DEADLINE, PLAIN, SEEP, clean_environment
from pages import Page, data_of

TEXT = 45
WAYS = {701: ["take", "in_thread"], 703: ["take", "at_exit"], 704: ["take", "before_main"], 705: ["take", "by_main", "main"]}
LIBC_BETWEEN = {702: (["take", "compare"], ["main"]), TEXT: (["strdup"], ["by_main", "main"])}
HIDDEN = 'mount -t tmpfs none /usr/lib/debug || exit 77; exec "$@"'


class Tool:
    """`seep`, with or without the debug files of the system."""

    def __init__(self, folder, hide):
        self.front = ["unshare", "-m", "sh", "-c", HIDDEN, "sh"] if hide else []
        self.env = clean_environment({"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)})

    def __call__(self, *words, status=(0,), text=True):
        done = subprocess.run([*self.front, SEEP, *map(str, words)], capture_output=True, env=self.env, timeout=DEADLINE, check=False)
        assert done.returncode in status, (words, done.stderr)
        return done.stdout.decode() if text else done.stdout


@pytest.fixture(scope="module", params=["with debug files", "without"])
def tool(request, tmp_path_factory):
    hide = request.param == "without"
    if hide and subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/usr/lib/debug"], capture_output=True, check=False).returncode:
        pytest.skip("no private mounts here, or no /usr/lib/debug")
    return Tool(tmp_path_factory.mktemp("one-stack"), hide)


@pytest.fixture(scope="module")
def recording(compiler, tmp_path_factory):
    out = tmp_path_factory.mktemp("one-stack") / "out.seep"
    program = compiler.build("starts.c", flags=("-O1", *PLAIN[1:]))
    subprocess.run([SEEP, "record", "-q", "--events", "-o", out, "--", program], check=True, env=clean_environment(), timeout=DEADLINE)
    return out


# ---- readers: size to names, innermost first ----

def function(line):
    return re.sub(r" \[[^]]*\]$| \(inlined\)$", "", re.sub(r" \(inlined\)$", "", line.strip()))


def of_entries(text):
    """Numbered entries; the frames are what stands furthest to the right."""
    stacks = {}
    for entry in re.split(r"\n(?= *\d+\. )", "\n" + text)[1:]:
        lines = entry.split("\n\n")[0].split("\n")
        deepest = max(len(line) - len(line.lstrip()) for line in lines[1:])
        size = re.search(r"(\d+) B\b", lines[0])  # others are larger than a KiB
        if size:
            stacks[int(size[1])] = [function(line) for line in lines[1:] if line.startswith(" " * deepest)]
    return stacks


def of_json(text):
    told = json.loads(text)
    named = [(f["function"] or f'{f["module"].rpartition("/")[2]}+', f["start"]) for f in told["frames"]]
    whole = {s["bytes_allocated"]: [named[i] for i in s["stack"]] for s in told["sites"]}
    for stack in whole.values():  # what others hide is marked, and is the outer end
        assert [start for _, start in stack] == sorted(start for _, start in stack)
    return {size: [name for name, start in stack if not start] for size, stack in whole.items()}


def of_tree(text):
    stacks, path = {}, []
    for line in text.split("\n\n")[0].split("\n"):
        found = re.match(r"([ |]*)-> [\d.]+% \(([\d,]+)B, \d+x\): (.*)", line)
        if found:
            depth, size = len(found[1]) // 2, int(found[2].replace(",", ""))
            path[depth - 1:] = [function(found[3])]
            stacks[size] = [name for name in reversed(path) if name != "(itself)"]
    return stacks


def of_collapsed(text):
    return {int(size): list(reversed(stack.split(";"))) for stack, _, size in (line.rpartition(" ") for line in text.splitlines())}


def of_speedscope(text):
    told = json.loads(text)
    names, profile = [f["name"] for f in told["shared"]["frames"]], told["profiles"][0]
    return {int(size): [names[i] for i in reversed(stack)] for stack, size in zip(profile["samples"], profile["weights"])}


def of_dhat(text):
    told = json.loads(text)
    return {p["tb"]: [re.sub(r"^0x\w+: | \([^()]*\)$", "", told["ftbl"][i]) for i in p["fs"]] for p in told["pps"]}


def of_sqlite(path):
    with sqlite3.connect(path) as base:
        rows = base.execute("SELECT s.bytes_allocated, p.frames FROM site s JOIN path p ON p.stack = s.stack WHERE s.heap").fetchall()
    return {size: list(reversed(frames.split(";"))) for size, frames in rows}


def of_events(text):
    stacks, size = defaultdict(list), None
    for line in text.splitlines():
        if re.match(r" *\d+ +\d", line):
            found = re.search(r"(?:malloc|calloc) +0x\w+ +\+(\d+)", line)
            size = int(found[1]) if found else None
        elif size is not None:
            stacks[size].append(function(line))
    return stacks


def of_page(page):
    recorded = Page(data_of(page)).one
    return {site["alloc_bytes"]: [frame["short"] for frame in recorded.stack(site["node"])] for site in recorded.sites()}


OUTPUTS = {
    "json": lambda seep, path: of_json(seep("report", "--json", path)),
    "leaks json": lambda seep, path: of_json(seep("leaks", "--json", "--show=all", path, status=(0, 1))),
    "flat": lambda seep, path: of_entries(seep("report", "--flat", "--limit", "0", path)),
    "leaks": lambda seep, path: of_entries(seep("leaks", "--show=all", "--limit", "0", path, status=(0, 1)).partition("error\n")[2]),
    "check": lambda seep, path: of_entries(seep("check", path, status=(0, 1, 3))),
    "tree": lambda seep, path: of_tree(seep("report", "--tree", "--threshold", "0", "--cost", "total", path)),
    "collapsed": lambda seep, path: of_collapsed(seep("export", "--to", "collapsed", "--cost", "total", "-o", "-", path)),
    "speedscope": lambda seep, path: of_speedscope(seep("export", "--to", "speedscope", "--cost", "total", "-o", "-", path)),
    "dhat": lambda seep, path: of_dhat(seep("export", "--to", "dhat", "-o", "-", path)),
    "sqlite": lambda seep, path: (seep("export", "--to", "sqlite", "--force", "-o", path.with_suffix(".db"), path),
                                  of_sqlite(path.with_suffix(".db")))[1],
    "events": lambda seep, path: of_events(seep("events", "--stacks", path)),
    "page": lambda seep, path: of_page(seep("html", "-o", "-", path, text=False)),
}


def same(names):
    """Code without a name is told by its address, in some outputs with its module."""
    return [re.sub(r"\+0x\w+$|\+$", "+", name) for name in names]


@pytest.mark.parametrize("output", OUTPUTS)
def test_all_outputs_agree(tool, recording, output):
    got = OUTPUTS[output](tool, recording)
    for size, names in WAYS.items():
        if not (output == "check" and size == 703):  # what is allocated after the search for leaks
            assert got[size] == names, (output, size)
    truth = of_json(tool("report", "--json", recording))
    for size, (inner, outer) in LIBC_BETWEEN.items():
        assert got[size][:len(inner)] == inner and got[size][-len(outer):] == outer, (output, size, got[size])
        assert same(got[size]) == same(truth[size]), (output, size)


def test_all_frames_are_there_when_asked_for(tool, recording):
    """... in the order in which json has them."""
    told = json.loads(tool("report", "--json", recording))
    whole = {s["bytes_allocated"]: [told["frames"][i] for i in s["stack"]] for s in told["sites"]}
    shown = of_entries(tool("report", "--flat", "--limit", "0", "--all-frames", recording))
    for size in WAYS:
        assert whole[size][-1]["start"] and len(shown[size]) == len(whole[size]) > len(WAYS[size])
        assert [f["function"] for f in whole[size]][:2] == shown[size][:2]
