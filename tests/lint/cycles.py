# SPDX-License-Identifier: MIT
"""Rooms that include each other in a circle can only be read together: no circle is larger than a
few.

A room is a header and the source of its name.  A room that declares what all use must not be the
one that starts them all: put the types into a header of their own.
"""
import re

from lint import SRC, Tap, c_files, text_of

MOST = 8


def rooms():
    graph = {}
    for path in c_files():
        name = str(path.relative_to(SRC).with_suffix(""))
        uses = re.findall(r'^\s*#\s*include\s+"([^"]+)\.h"', text_of(path), re.M)
        graph.setdefault(name, set()).update(use for use in uses if use != name)
    return graph


def circles(graph):
    """Tarjan's strongly connected components, those of more than one room."""
    number, low, stack, found = {}, {}, [], []

    def visit(room):
        number[room] = low[room] = len(number)
        stack.append(room)
        for use in sorted(graph.get(room, ())):
            if use not in number:
                visit(use)
            if use in stack:
                low[room] = min(low[room], low[use])
        if low[room] == number[room]:
            at = stack.index(room)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for room in sorted(graph):
        if room not in number:
            visit(room)
    return found


tap = Tap()
found = circles(rooms())
tap.claim(f"no more than {MOST} rooms include each other in a circle",
          [f"{len(circle)}: {' '.join(circle)}" for circle in found if len(circle) > MOST])
tap.claim(
    "circles stay inside of their layers",
    [" ".join(circle) for circle in found if len({room.split("/")[0] for room in circle}) > 1],
)
tap.done()
