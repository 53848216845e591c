# SPDX-License-Identifier: MIT
"""xmllint.py -- libxml2 reads a large document into a tree and writes it out again."""
import random

from harness import place
from .workload import Command, long_and_short

ENTRIES, SHORT_ENTRIES = 75_000, 30_000


def _entry(chance, number):
    tags = "".join(
        f'<tag weight="{chance.randint(1, 99)}">t{chance.randrange(500)}</tag>'
        for _ in range(chance.randint(1, 4))
    )
    return (
        f'<entry id="e{number}" kind="k{chance.randrange(40)}">'
        f"<title>Entry number {number}</title>"
        f"<author><name>N{chance.randrange(9000)}</name>"
        f"<mail>m{chance.randrange(9000)}@example.org</mail></author>"
        f"{tags}<text>some text &amp; more of it {chance.random():.6f}</text></entry>\n"
    )


def _make(path, entries):
    chance = random.Random(19)
    with open(path, "w", encoding="utf-8") as out:
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n<list>\n')
        out.writelines(_entry(chance, number) for number in range(entries))
        out.write("</list>\n")


def _command(short):
    if short:
        document = place.cached("list-short.xml", lambda path: _make(path, SHORT_ENTRIES))
    else:
        document = place.cached("list.xml", lambda path: _make(path, ENTRIES))
    return Command([place.need("xmllint"), "--nonet", "--format", str(document)])


WORKLOADS = long_and_short("xmllint", "a large document, parsed and formatted", _command, 1.35)
