# SPDX-License-Identifier: MIT
"""An include names its layer, and only the layers that its own layer may use."""
import re
import sys

from lint import ROOT, SRC, Tap, c_files, relative, text_of, without_comments

# The architecture, as a table: name, what it is, and the layers that it may include besides
# itself.  A layer includes only layers that stand before it, so there are no cycles; `layers.py
# picture` prints the table for docs/ARCHITECTURE.md.
LAYERS = [
    ("ledger", "the layout of the shared state (both sides)", ""),
    ("wire", "what the two sides say to each other (both sides)", ""),
    ("book", "what an event does to the ledger (both sides)", "ledger"),
    ("agent", "inside the recorded program", "book ledger wire"),
    ("lazy", "libraries that are loaded when they are used", ""),
    ("base", "text, memory, errors, files", ""),
    ("profile", "the model of a recording, and its file", "base book ledger wire"),
    ("leak", "pointers and reachability, as pure computing", "base profile"),
    ("attach", "starting, stopping and reading processes", "base wire"),
    ("allocator", "what allocators write: arenas, chunks, free lists", "attach base leak"),
    ("collect", "a ledger becomes a profile", "allocator attach base book ledger profile wire"),
    ("journal", "the journal of a program elsewhere becomes a recording",
     "base book collect profile wire"),
    ("scan", "one search for leaks, in a process held still",
     "allocator attach base collect leak ledger profile wire"),
    ("breakpoint", "a program stopped at each call, from outside", "attach base book ledger wire"),
    ("session", "one run: processes, requests, recordings",
     "attach base breakpoint collect profile scan wire"),
    ("names", "addresses to functions, files and lines", "base ledger profile"),
    ("types", "addresses to variables, and what their types say", "base names"),
    ("words", "numbers, names and frames as people read them", "base names profile"),
    ("query", "which stacks, what is lost, what keeps it",
     "base leak ledger names profile types words"),
    ("report", "views for people", "base ledger names profile query words"),
    ("export", "formats of other programs", "base ledger names profile query report words"),
    ("page", "the data of the HTML page", "base export names profile query report words"),
    ("serve", "the page over HTTP; profiles pushed to a server",
     "base export names page profile query session"),
    ("remote", "targets and hosts: serve and connect over a wire",
     "attach base journal leak profile session wire"),
    ("target", "seep-target: a small machine sends journals to its host",
     "agent attach base book ledger remote wire"),
    ("top", "the live view in the terminal", "base names profile query report session wire words"),
    ("cli", "commands, options, messages",
     "attach base export journal ledger names page profile query remote report scan serve session "
     "top wire words"),
]
MAY_INCLUDE = {name: set(uses.split()) for name, _, uses in LAYERS}

# Only cli/ prints or exits.  The places that must: memory that cannot be had, forked children, and
# ncurses, which wants to know its terminal, and a library that is not there.
MAY_EXIT = {
    "attach/spawn.c", "base/heap.c", "base/worker.c", "lazy/lazy.c", "session/scanner.c",
    "top/terminal.c",
}


def layer_of(path):
    return path.relative_to(SRC).parts[0]


def include_faults(path):
    layer, faults = layer_of(path), []
    for number, line in enumerate(text_of(path).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not found:
            continue
        parts = found.group(1).split("/")
        if len(parts) < 2:
            faults.append(f'{relative(path)}:{number}: "{found.group(1)}" does not name its layer')
        elif parts[0] != layer and parts[0] not in MAY_INCLUDE.get(layer, set()):
            faults.append(f"{relative(path)}:{number}: {layer}/ must not include {parts[0]}/")
    return faults


def exit_faults(path):
    if layer_of(path) in ("cli", "agent") or str(path.relative_to(SRC)) in MAY_EXIT:
        return []
    calls = (r"(?<![\w.>])(printf|puts|putchar|perror|exit|_exit|abort|err|"
             r"errx|warn|warnx)\s*\(|\bstderr\b|\bstdout\b")
    lines = without_comments(text_of(path)).splitlines()
    return [
        f"{relative(path)}:{n}: {line.strip()}"
        for n, line in enumerate(lines, 1)
        if re.search(calls, line)
    ]


def picture():
    """The table from the top down.  Of what a layer includes, what comes with another one anyway
    is left out."""
    deep = {}
    for name, _, uses in LAYERS:
        deep[name] = set(uses.split()).union(*[deep.get(use, set()) for use in uses.split()])
    lines = []
    for name, what, uses in reversed(LAYERS):
        direct = [
            use for use in uses.split() if not any(use in deep[other] for other in uses.split())
        ]
        lines.append(f"    {name:8} {what:50} {' '.join(direct)}".rstrip())
    return "\n".join(lines) + "\n"


def includes_of(files):
    return {
        part for f in files for part in re.findall(r'^\s*#\s*include\s+"(\w+)/', text_of(f), re.M)
    }


if sys.argv[1:] == ["picture"]:
    print(picture(), end="")
    sys.exit(0)
tap = Tap()
files = c_files((".c", ".h", ".def", ".S"))
for name in sorted({layer_of(f) for f in files}):
    own = [f for f in files if layer_of(f) == name]
    tap.claim(f"{name} is a known layer", name not in MAY_INCLUDE)
    tap.claim(
        f"{name} includes only what it may", [fault for f in own for fault in include_faults(f)]
    )
    tap.claim(
        f"{name} leaves printing and exiting to cli",
        [fault for f in own for fault in exit_faults(f)],
    )
    unused = MAY_INCLUDE.get(name, set()) - includes_of(own)
    tap.claim(
        f"{name} may include nothing that it does not",
        [f"{name}/ never includes {use}/" for use in sorted(unused)],
    )
order = [name for name, _, _ in LAYERS]
tap.claim(
    "a layer includes only layers that stand before it",
    [
        f"{name}: {use}"
        for i, name in enumerate(order)
        for use in sorted(MAY_INCLUDE[name])
        if use not in order[:i]
    ],
)
tap.claim(
    "every layer is a folder", [name for name in order if name not in {layer_of(f) for f in files}]
)
tap.claim("docs/ARCHITECTURE.md has the picture that `layers.py picture` prints",
          picture() not in text_of(ROOT / "docs" / "ARCHITECTURE.md"))
raw = [
    relative(f)
    for f in files
    if layer_of(f) == "agent"
    and "arch" not in f.parts
    and f.name != "sys.h"
    and "arch_syscall(" in text_of(f)
]
tap.claim("every system call of the agent goes through agent/sys.h, which asks the program's "
          "filters first", raw)
tap.done()
