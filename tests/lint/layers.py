# SPDX-License-Identifier: MIT
"""An include names its layer, and only the layers that its own layer may use."""
import re

from lint import SRC, Tap, c_files, relative, text_of, without_comments

# The architecture, as a table.  A layer may always include itself.
MAY_INCLUDE = {
    "base": set(),
    "ledger": set(),
    "wire": {"ledger"},
    "agent": {"ledger", "wire"},
    "profile": {"base", "ledger", "wire"},
    "symbol": {"base", "ledger", "profile"},
    "leak": {"base", "ledger", "profile"},
    "report": {"base", "ledger", "profile", "symbol", "leak"},
    "attach": {"base", "wire"},
    "observe": {"base", "ledger", "wire", "profile", "attach", "leak"},
    "export": {"base", "ledger", "profile", "symbol", "leak", "report"},
    "page": {"base", "ledger", "profile", "symbol", "leak", "report"},
    "serve": {"base", "ledger", "wire", "profile", "symbol", "leak", "report", "observe", "export", "page"},
    "top": {"base", "ledger", "wire", "profile", "symbol", "leak", "report", "observe"},
    "cli": {"base", "ledger", "wire", "profile", "symbol", "leak", "report", "attach", "observe", "export", "page", "serve", "top"},
}

# Only cli/ prints or exits.  The places that must: memory that cannot be had, forked children, and ncurses, which wants to know its terminal.
MAY_EXIT = {"top/terminal.c", "base/heap.c", "attach/probe.c", "attach/spawn.c", "observe/helper.c", "observe/looks.c", "observe/reclaim.c", "observe/recording.c", "observe/scanner.c", "serve/desk.c", "serve/push.c"}


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
    calls = r"(?<![\w.>])(printf|puts|putchar|perror|exit|_exit|abort|err|errx|warn|warnx)\s*\(|\bstderr\b|\bstdout\b"
    lines = without_comments(text_of(path)).splitlines()
    return [f"{relative(path)}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if re.search(calls, line)]


tap = Tap()
files = c_files((".c", ".h", ".def", ".S"))
for name in sorted({layer_of(f) for f in files}):
    own = [f for f in files if layer_of(f) == name]
    tap.claim(f"{name} is a known layer", name not in MAY_INCLUDE)
    tap.claim(f"{name} includes only what it may", [fault for f in own for fault in include_faults(f)])
    tap.claim(f"{name} leaves printing and exiting to cli", [fault for f in own for fault in exit_faults(f)])
raw = [relative(f) for f in files if layer_of(f) == "agent" and "arch" not in f.parts and f.name != "sys.h" and "arch_syscall(" in text_of(f)]
tap.claim("every system call of the agent goes through agent/sys.h, which asks the program's filters first", raw)
tap.done()
