# SPDX-License-Identifier: MIT
"""A stack has one shape: every output for programs shows the same frames, from the allocation to
main or to the function of a thread, also where nothing but the exported names of the C library
is known.  For people it has another: just the program's own code and what that called."""
import csv
import gzip
import io
import json
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree
from collections import defaultdict

import pytest

from harness import DEADLINE, PLAIN, SEEP, clean_environment
from pages import Page, data_of

# By size: the functions from the allocation outwards; "..." are frames of libraries, which all
# outputs must agree on.
STARTS = {
    45: ["strdup", ..., "by_main", "main"],
    701: ["take", "in_thread"],
    702: ["take", "compare", ..., "main"],
    703: ["take", "at_exit"],
    704: ["take", "before_main"],
    705: ["take", "by_main", "main"],
}
SHAPES = {
    801: ["through_wrappers", "main"],
    802: ["take", "xrealloc_all", "main"],
    803: ["take", "again", "descend", "again", "descend", "again", "descend", "main"],
    804: ["take", "ping", "pong", "ping", "main"],
    805: ["take", "pong", "ping", "pong", "ping", "main"],
    806: ["inner_part", "middle_part", "host", "main"],
    807: ["take", "less", ..., "std::sort", "sorts", "main"],
    808: ["take", "called_back", ..., "calls_back", "main"],
    809: ["std::vector::vector", "grows", "main"],
    810: ["by_new", "main"],
    811: ["take", "handler", ..., "signals", "main"],
    812: ["take", "in_thread"],
    813: ["take", "around::around", ..., "_GLOBAL__sub_I_main"],
    814: ["take", "around::~around"],
    815: ["take", "once", ..., "std::call_once", "calls_once", "main"],
}
# For people: without the C++ library, of other libraries what was called, each function once.
FOLDED = {
    **STARTS, **SHAPES,
    45: ["strdup", "by_main", "main"],
    702: ["take", "compare", "qsort_r", "main"],
    803: ["take", "again", "descend", "main"],
    804: ["take", "ping", "main"],
    805: ["take", "pong", "ping", "main"],
    807: ["take", "less", "sorts", "main"],
    808: ["take", "called_back", "calls_back", "main"],
    809: ["grows", "main"],
    811: ["take", "handler", "raise", "signals", "main"],
    815: ["take", "once", ..., "calls_once", "main"],
}
FOR_PEOPLE = ("flat", "leaks", "check", "tree", "inverted", "events")
HIDDEN = 'mount -t tmpfs none /usr/lib/debug || exit 77; exec "$@"'


class Tool:
    """`seep`, with or without the debug files of the system."""

    def __init__(self, folder, hide):
        self.front = ["unshare", "-m", "sh", "-c", HIDDEN, "sh"] if hide else []
        self.env = clean_environment({"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)})

    def __call__(self, *words, status=(0,), text=True):
        done = subprocess.run(
            [*self.front, SEEP, *map(str, words)],
            capture_output=True,
            env=self.env,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode in status, (words, done.stderr)
        return done.stdout.decode() if text else done.stdout


@pytest.fixture(scope="module", params=["with debug files", "without"])
def tool(request, tmp_path_factory):
    hide = request.param == "without"
    if (
        hide
        and subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/usr/lib/debug"],
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip("no private mounts here, or no /usr/lib/debug")
    return Tool(tmp_path_factory.mktemp("one-stack"), hide)


RECORDINGS = {
    "starts": ("starts.c", "-O1", STARTS),
    "shapes": ("shapes.cpp", "-O0", SHAPES),
    "shapes optimised": ("shapes.cpp", "-O2", SHAPES),
}


@pytest.fixture(scope="module", params=RECORDINGS)
def recording(request, compiler, tmp_path_factory):
    """A file, and what is in it."""
    source, flag, truth = RECORDINGS[request.param]
    out = tmp_path_factory.mktemp("one-stack") / "out.seep"
    program = compiler.build(source, flags=(flag, *PLAIN[1:]))
    subprocess.run(
        [SEEP, "record", "-q", "--events", "-o", out, "--", program],
        check=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    return out, truth


# ---- readers: size to names, innermost first ----

def function(line):
    return re.sub(r" \[[^]]*\]$", "", re.sub(r" \(inlined\)$", "", line.strip()))


def bare(name):
    """"void std::f<int>(long) const" as "std::f", "libc.so.6+0x123" as "libc.so.6+": what all
    outputs tell of a function."""
    name, before = (
        re.sub(r"\+(0x|f_)\w+$|\+$", "+", name.replace("operator()", "operator_call")),
        None,
    )
    while before != name:
        before, name = name, re.sub(r"<[^<>]*>|\([^()]*\)| const$", "", name)
    return name.split()[-1]


def of_entries(text):
    """Numbered entries; the frames are what stands furthest to the right."""
    stacks = {}
    for entry in re.split(r"\n(?= *\d+\. )", "\n" + text)[1:]:
        lines = entry.split("\n\n")[0].split("\n")
        deepest = max(len(line) - len(line.lstrip()) for line in lines[1:])
        size = re.search(r"(\d+) B\b", lines[0])  # others are larger than a KiB
        if size:
            stacks[int(size[1])] = [
                function(line) for line in lines[1:] if line.startswith(" " * deepest)
            ]
    return stacks


def without_wrappers(frames):
    """[(name, is a wrapper)], innermost first: those at the inner end are marked, for others to
    hide."""
    while len(frames) > 1 and frames[0][1]:
        frames = frames[1:]
    return [name for name, _ in frames]


def of_json(text):
    told = json.loads(text)
    whole = {s["bytes_allocated"]: [told["frames"][i] for i in s["stack"]] for s in told["sites"]}
    for stack in whole.values():  # what others hide is marked, and is the outer end
        assert [f["start"] for f in stack] == sorted(f["start"] for f in stack)
        # ... but not all: of a block that start code made others show the innermost frame
        assert not stack or not stack[0]["start"]
    return {
        size: without_wrappers(
            [
                (f["function"] or f'{f["module"].rpartition("/")[2]}+', f["wrapper"])
                for f in stack
                if not f["start"]
            ]
        )
        for size, stack in whole.items()
    }


def of_tree(text):
    stacks, path = {}, []
    for line in text.split("\n\n")[0].split("\n"):
        found = re.match(r"([ |]*)-> [\d.]+% \(([\d,]+)B, \d+x\): (.*)", line)
        if found:
            depth, size = len(found[1]) // 2, int(found[2].replace(",", ""))
            path[depth - 1:] = [function(found[3])]
            stacks[size] = [name for name in reversed(path) if name != "(itself)"]
    return stacks


def of_inverted(text):
    """A stack is the way to a line that has none below it."""
    stacks, path = {}, []
    for line in [*text.split("\n\n")[0].split("\n"), "  -> 0.00% (0B, 0x): "]:
        found = re.match(r"([ |]*)-> [\d.]+% \(([\d,]+)B, \d+x\): (.*)", line)
        if found:
            depth = len(found[1]) // 2
            if path and depth <= len(path):
                stacks[path[-1][0]] = [name for _, name in path]
            path[depth - 1:] = [(int(found[2].replace(",", "")), function(found[3]))]
    return stacks


def of_csv(text):
    return {
        int(row["alloc_bytes"]): [function(frame) for frame in re.split(r";(?! *\))", row["stack"])]
        for row in csv.DictReader(io.StringIO(text))
        if row["kind"] != "mmap"
    }


def of_memlog(text):
    stacks = {}
    for entry in re.split(r"\n(?=\+)", text):
        size, *frames = entry.strip().split("\n")
        stacks[int(size)] = [
            re.sub(r"^/.*/([^/]*)$", r"\1+", frame.strip().split("\t")[0]) for frame in frames
        ]
    return stacks


def of_collapsed(text):
    return {
        int(size): list(reversed(stack.split(";")))
        for stack, _, size in (line.rpartition(" ") for line in text.splitlines())
    }


def of_speedscope(text):
    told = json.loads(text)
    names, profile = [f["name"] for f in told["shared"]["frames"]], told["profiles"][0]
    return {
        int(size): [names[i] for i in reversed(stack)]
        for stack, size in zip(profile["samples"], profile["weights"])
    }


def of_dhat(text):
    told = json.loads(text)
    return {
        p["tb"]: [re.sub(r"^0x\w+: | \([^()]*\)$", "", told["ftbl"][i]) for i in p["fs"]]
        for p in told["pps"]
    }


def of_sqlite(path):
    """Wrappers are what is inside of the place of a site."""
    with sqlite3.connect(path) as base:
        stacks = {
            number: step for number, *step in base.execute("SELECT id, parent, frame FROM stack")
        }
        names = dict(base.execute("SELECT id, name FROM frame"))
        sites = base.execute(
            "SELECT bytes_allocated, stack, place FROM site WHERE heap AND stack"
        ).fetchall()
    whole = {}
    for size, stack, place in sites:
        frames = []
        while stack:
            stack, frame = stacks[stack]
            frames.append(frame)
        whole[size] = [names[frame] for frame in frames[frames.index(place):]]
    return whole


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Those of one message of protocol buffers: numbers and bytes by field."""
    at, found = 0, defaultdict(list)
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            at, value = at + value, data[at:at + value]
        found[tag >> 3].append(value)
    return found


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def of_pprof(data):
    told = fields(gzip.decompress(data))
    texts = [text.decode() for text in told[6]]
    names = {f[1][0]: texts[f[2][0]] for f in map(fields, told[5])}
    lines = {l[1][0]: [names[fields(line)[1][0]] for line in l[4]] for l in map(fields, told[4])}
    types = [texts[fields(t)[1][0]] for t in told[1]]
    samples = map(fields, told[2])
    return {
        numbers(s[2][0])[types.index("alloc_space")]: [
            name for l in numbers(s[1][0]) for name in lines[l]
        ]
        for s in samples
    }


def of_heaptrack(text):
    strings, ips, traces, infos, stacks = [""], [[]], [(0, 0)], [], {}
    for line in text.splitlines():
        kind, *rest = line.split(" ")
        if kind == "s":
            strings.append(" ".join(rest[1:]))
            continue
        values = [int(word, 16) for word in rest] if kind in ("i", "t", "a") else []
        if kind == "i":
            ips.append(
                [strings[n] for n in values[2::3]] or [strings[values[1]].rpartition("/")[2] + "+"]
            )
        elif kind == "t":
            traces.append(tuple(values))
        elif kind == "a":
            infos.append(values)
    for size, trace in infos:
        walked = stacks[size] = []
        while trace:
            ip, trace = traces[trace]
            walked += ips[ip]
    return stacks


def of_valgrind(text):
    stacks = {}
    for error in xml.etree.ElementTree.fromstring(text).iter("error"):
        size = re.match(r"(?:[\d,]+ \()?([\d,]+)", error.findtext("xwhat/text"))
        frames = error.find("stack").iter("frame")
        stacks[int(size[1].replace(",", ""))] = [
            f.findtext("fn") or f.findtext("obj").rpartition("/")[2] + "+" for f in frames
        ]
    return stacks


def of_events(text):
    stacks, size = defaultdict(list), None
    for line in text.splitlines():
        if re.match(r" *\d+ +\d", line):
            found = re.search(r"(?:malloc|calloc|new|new\[\]) +0x\w+ +\+(\d+)", line)
            size = int(found[1]) if found else None
        elif size is not None:
            stacks[size].append(function(line))
    return stacks


def of_page(page):
    recorded = Page(data_of(page)).one
    return {
        site["alloc_bytes"]: without_wrappers(
            [(frame["short"], frame["wrapper"]) for frame in recorded.stack(site["node"])]
        )
        for site in recorded.sites()
        if site["heap"]
    }


OUTPUTS = {
    "json": lambda seep, path: of_json(seep("report", "--json", path)),
    "leaks json": lambda seep, path: of_json(
        seep("leaks", "--json", "--show=all", path, status=(0, 1))
    ),
    "flat": lambda seep, path: of_entries(seep("report", "--flat", "--limit", "0", path)),
    "leaks": lambda seep, path: of_entries(
        seep("leaks", "--show=all", "--limit", "0", "-v", path, status=(0, 1)).partition("error\n")[
            2
        ]
    ),
    "check": lambda seep, path: of_entries(seep("check", path, status=(0, 1, 3))),
    "tree": lambda seep, path: of_tree(
        seep("report", "--tree", "--threshold", "0", "--cost", "total", path)
    ),
    "inverted": lambda seep, path: of_inverted(
        seep("report", "--inverted", "--threshold", "0", "--cost", "total", path)
    ),
    "csv": lambda seep, path: of_csv(seep("report", "--csv", path)),
    "memlog": lambda seep, path: of_memlog(seep("report", "--memlog", path)),
    "collapsed": lambda seep, path: of_collapsed(
        seep("export", "--to", "collapsed", "--cost", "total", "-o", "-", path)
    ),
    "speedscope": lambda seep, path: of_speedscope(
        seep("export", "--to", "speedscope", "--cost", "total", "-o", "-", path)
    ),
    "dhat": lambda seep, path: of_dhat(seep("export", "--to", "dhat", "-o", "-", path)),
    "pprof": lambda seep, path: of_pprof(
        seep("export", "--to", "pprof", "-o", "-", path, text=False)
    ),
    "heaptrack": lambda seep, path: of_heaptrack(
        seep("export", "--to", "heaptrack", "-o", "-", path)
    ),
    "valgrind-xml": lambda seep, path: of_valgrind(
        seep("export", "--to", "valgrind-xml", "-o", "-", path)
    ),
    "sqlite": lambda seep, path: (
        seep("export", "--to", "sqlite", "--force", "-o", path.with_suffix(".db"), path),
        of_sqlite(path.with_suffix(".db")),
    )[1],
    "events": lambda seep, path: of_events(seep("events", "--stacks", path)),
    "page": lambda seep, path: of_page(seep("html", "-o", "-", path, text=False)),
}


# of blocks that nothing points to, and that were made before the search
ONLY_LEAKS = ("check", "valgrind-xml")


def fits(names, wanted):
    if ... not in wanted:
        return names == wanted
    gap = wanted.index(...)
    return names[:gap] == wanted[:gap] and names[gap - len(wanted) + 1:] == wanted[gap + 1:]


@pytest.mark.parametrize("output", OUTPUTS)
def test_all_outputs_agree(tool, recording, output):
    path, wanted = recording

    def of(name):
        got = OUTPUTS[name](tool, path)
        # the vector itself (24 bytes) is of the same line
        if name in ("tree", "inverted", "flat") and 809 in wanted:
            got[809] = got[833]
        return got
    got, usual = of(output), of("flat" if output in FOR_PEOPLE else "collapsed")
    seen = wanted.keys() & got.keys() if output in ONLY_LEAKS else wanted.keys()
    assert len(seen) > len(wanted) // 2
    for size in seen:
        names = [bare(name) for name in got[size]]
        assert fits(names, (FOLDED if output in FOR_PEOPLE else wanted)[size]), (
            output,
            size,
            names,
        )
        assert names == [bare(name) for name in usual[size]], (output, size)


def test_the_c_library_has_the_names_that_programs_call(tool, recording):
    """... where its debug information has others."""
    stacks = tool("export", "--to", "collapsed", "--cost", "total", "-o", "-", recording[0])
    names = set(re.findall(r"\w*pthread_create\w*", stacks))
    assert names == {"pthread_create"}


@pytest.fixture(scope="module")
def recorded(compiler, tmp_path_factory):
    """seep("WORDS") about a program of these flags."""
    def make(source, *flags):
        folder = tmp_path_factory.mktemp("one-stack")
        program = compiler.build(source, flags=flags)
        subprocess.run(
            [SEEP, "record", "-q", "-o", folder / "out.seep", "--", program],
            check=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        return Tool(folder, False), folder / "out.seep"
    return make


RECURSION = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void take(int n) { kept = malloc(803 + n); kept = NULL; }
__attribute__((noinline)) static int descend(int n)
{
        if (n == 0)
                take(n);
        return n ? descend(n - 1) + 1 : 0;
}
int main(void) { return descend(5) != 5; }
"""


def test_recursion_without_names_is_shown_once_everywhere(recorded, tmp_path):
    """A function is the same by where it begins in its file."""
    (tmp_path / "recursion.c").write_text(RECURSION)
    tool, path = recorded(str(tmp_path / "recursion.c"), "-O0", "-s")
    texts = [
        tool("report", "--flat", path),
        tool("check", path, status=(1,)),
        tool("leaks", path, status=(0, 1)),
    ]
    stacks = [of_entries(text)[803] for text in texts]
    assert stacks[0] == stacks[1] == stacks[2]
    assert len(set(stacks[0])) == len(stacks[0]) == 3, stacks[0]


CONSTRUCTOR = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((constructor)) static void at_load(void) { kept = malloc(704); kept = NULL; }
"""


@pytest.mark.parametrize("name", ["ld-2.31.so", "ld64.so.1"])
def test_the_loader_has_other_names_elsewhere(compiler, recorded, tmp_path, name):
    """Of older releases of glibc, and of other processors."""
    loader = re.search(r"\S+/ld-linux\S+", subprocess.run(
        ["ldd", SEEP], capture_output=True, text=True, check=True
    ).stdout)[0]
    shutil.copy(loader, tmp_path / name)
    (tmp_path / "loaded.c").write_text(CONSTRUCTOR)
    library = compiler.library(str(tmp_path / "loaded.c"), name="libloaded.so")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    tool, path = recorded(
        str(tmp_path / "main.c"), "-Wl,--no-as-needed", str(library),
        f"-Wl,-rpath,{library.parent}", f"-Wl,--dynamic-linker={tmp_path / name}",
    )
    told = json.loads(tool("report", "--json", path))
    assert str(tmp_path / name) in {frame["module"] for frame in told["frames"]}
    assert OUTPUTS["collapsed"](tool, path)[704] == ["at_load"]


def test_recursion_can_be_kept(tool, recording):
    path, wanted = recording
    got = of_entries(tool("report", "--flat", "--limit", "0", "--recursion", path))
    for size in wanted.keys() & {803, 804, 805}:
        assert [bare(name) for name in got[size]] == wanted[size]


ALL_FRAMES = {
    "flat": lambda seep, path: of_entries(
        seep("report", "--flat", "--limit", "0", "--all-frames", path)
    ),
    "tree": lambda seep, path: of_tree(
        seep("report", "--tree", "--threshold", "0", "--cost", "total", "--all-frames", path)
    ),
    "csv": lambda seep, path: of_csv(seep("report", "--csv", "--all-frames", path)),
    "events": lambda seep, path: of_events(seep("events", "--stacks", "--all-frames", path)),
    "collapsed": lambda seep, path: of_collapsed(
        seep("export", "--to", "collapsed", "--cost", "total", "--all-frames", "-o", "-", path)
    ),
    "pprof": lambda seep, path: of_pprof(
        seep("export", "--to", "pprof", "--all-frames", "-o", "-", path, text=False)
    ),
    "heaptrack": lambda seep, path: of_heaptrack(
        seep("export", "--to", "heaptrack", "--all-frames", "-o", "-", path)
    ),
}


@pytest.mark.parametrize("output", ALL_FRAMES)
def test_all_frames_are_there_when_asked_for(tool, recording, output):
    """... in the order in which json has them."""
    path, wanted = recording
    told = json.loads(tool("report", "--json", path))
    whole = {s["bytes_allocated"]: [told["frames"][i] for i in s["stack"]] for s in told["sites"]}
    got = ALL_FRAMES[output](tool, path)
    for size in wanted:
        names = [f["function"] or f["module"].rpartition("/")[2] + "+" for f in whole[size]]
        assert whole[size][-1]["start"] and len(names) > len(
            [name for name in wanted[size] if name is not ...]
        )
        assert [bare(name) for name in got[size]] == [bare(name) for name in names], (output, size)
