# SPDX-License-Identifier: MIT
"""The agent imports what imports.allow lists, and needs no library.  usage: imports.py
LIBSEEP.SO"""
import subprocess
import sys

from lint import SRC, Tap, text_of

ALLOW = SRC / "agent" / "imports.allow"


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def allowed():
    """name -> reason; lines are `name  reason`, `#` begins a comment."""
    names = {}
    for line in text_of(ALLOW).splitlines():
        words = line.split("#")[0].split(None, 1)
        if words:
            names[words[0]] = words[1].strip() if len(words) > 1 else ""
    return names


library = sys.argv[1]
imported = {line.split()[-1] for line in tool("nm", "-D", "--undefined-only", library).splitlines()}
known = allowed()
dynamic = tool("readelf", "-dW", library).splitlines()
defined = {
    line.split()[-1].split("@")[0]
    for line in tool("nm", "-D", "--defined-only", library).splitlines()
}



def bound_outside():
    """Names of ours that the loader would look up: when the program has the same name, it would
    get our calls."""
    for line in tool("readelf", "-rW", library).splitlines():
        words = line.split()
        if len(words) > 4 and words[2].startswith("R_") and words[4].split("@")[0] in defined:
            yield f"{words[2]} {words[4]}"


tap = Tap()
tap.claim(
    "every import is allowed",
    [
        f"{name} is imported, but not in imports.allow"
        for name in sorted({i.split("@")[0] for i in imported} - set(known))
    ],
)
tap.claim(
    "every allowed import is used",
    [
        f"{name} is in imports.allow, but not imported"
        for name in sorted(set(known) - {i.split("@")[0] for i in imported})
    ],
)
tap.claim(
    "every allowed import has a reason", [name for name, reason in known.items() if not reason]
)
tap.claim("no import has a version", [name for name in sorted(imported) if "@" in name])
tap.claim("what the agent defines is bound to itself", list(bound_outside()))
tap.claim(
    "nothing is protected, which glibc warns of",
    [
        line.strip()
        for line in tool("readelf", "--dyn-syms", "-W", library).splitlines()
        if " PROTECTED " in line
    ],
)
tap.claim("no library is needed", [line.strip() for line in dynamic if "(NEEDED)" in line])
tap.claim("no versions are needed", [line.strip() for line in dynamic if "(VERNEED)" in line])
tap.claim("no text relocations", [line.strip() for line in dynamic if "TEXTREL" in line])
tap.done()
