# SPDX-License-Identifier: MIT
"""python.py -- the system's python3 with every object allocated by malloc, working on a syntax
tree.

lib2to3 parses a large source, the tree is walked by nested generators (C stacks of several hundred
frames), turned into text, pickled and sent through JSON: about 4 million allocations per second, as
a busy Python program makes them.
"""
import random
import subprocess

from harness import place
from .workload import Command, long_and_short

FUNCTIONS, SHORT_FUNCTIONS = 45, 13

WORK = """
import hashlib, json, pickle, sys
from lib2to3 import pygram, pytree
from lib2to3.pgen2 import driver

def plain(node):
    if isinstance(node, pytree.Leaf):
        return [node.type, node.prefix, node.value]
    return [node.type, *map(plain, node.children)]

source = open(sys.argv[1]).read()
tree = driver.Driver(pygram.python_grammar, pytree.convert).parse_string(source)
digest = hashlib.sha256(str(sum(1 for node in tree.pre_order())).encode())
for _ in range(7):
    digest.update(str(tree).encode())
    nested = plain(tree)
    digest.update(json.dumps(json.loads(json.dumps(nested))).encode())
    digest.update(pickle.dumps(pickle.loads(pickle.dumps(nested))))
    words = sorted(word for line in str(tree).splitlines() for word in line.split())
    digest.update("".join(words).encode())
print(digest.hexdigest())
"""


def _expression(chance, depth):
    if depth == 0:
        return chance.choice(["value", "other.size", "17", "'text'", "items[2]", "unicode(name)"])
    inner = lambda: _expression(chance, depth - 1)  # noqa: E731 -- only a short name
    return chance.choice(
        [
            lambda: f"({inner()} + {inner()})",
            lambda: f"call({inner()}, key={inner()})",
            lambda: f"[{inner()}, {inner()}]",
            lambda: f"table.has_key({inner()})",
            lambda: f"map(lambda x: {inner()}, {inner()})",
        ]
    )()


def _function(chance, number):
    nest = "".join(
        "    " * level + f"    for key{level}, v in table.iteritems():\n" for level in range(6)
    )
    deep = "    " * 7
    return (f"def work_{number}(table, items, value, name, other):\n{nest}"
            f"{deep}print 'step', {_expression(chance, 4)}\n"
            f"{deep}try:\n{deep}    value = {_expression(chance, 5)}\n"
            f"{deep}except (KeyError, ValueError), e:\n{deep}    raise RuntimeError, "
            f"{_expression(chance, 2)}\n"
            f"{deep}if value <> {_expression(chance, 3)}: exec name in table\n"
            f"    return filter(None, [{_expression(chance, 4)} for x in xrange(len(items))])\n\n"
            f"\n")


def _make(path, functions):
    chance = random.Random(11)
    path.write_text(
        "import urllib2, ConfigParser\n\n\n"
        + "".join(_function(chance, n) for n in range(functions))
    )


def _make_work(path):
    path.write_text(WORK)


def _command(short):
    python = place.debian_python()
    if subprocess.run(
        [python, "-W", "ignore", "-c", "import lib2to3"], capture_output=True, check=False
    ).returncode:
        raise place.Unavailable(f"{python} has no lib2to3 (Debian: python3-lib2to3)")
    if short:
        source = place.cached("old-short.py", lambda path: _make(path, SHORT_FUNCTIONS))
    else:
        source = place.cached("old.py", lambda path: _make(path, FUNCTIONS))
    return Command(
        [python, "-s", "-W", "ignore", str(place.cached("work.py", _make_work)), str(source)],
        env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
    )


WORKLOADS = long_and_short(
    "python3", "work on a large syntax tree, PYTHONMALLOC=malloc", _command, 1.5
)
