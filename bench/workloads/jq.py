# SPDX-License-Identifier: MIT
"""jq.py -- jq groups, counts and rewrites a large JSON document."""
import json
import random

from harness import place
from .workload import Command, long_and_short

RECORDS, SHORT_RECORDS = 40_000, 22_000

FILTER = (
    "[.[] | select(.score > 20) | {id, group: .place.city, n: (.tags | length), t: (.name | "
    "ascii_upcase)}] | group_by(.group) | map({city: .[0].group, count: length, tags: (map(.n) | "
    "add), last: (map(.t) | max)})"
)


def _record(chance, number):
    return {
        "id": number,
        "name": f"name {chance.randrange(10 ** 6)}",
        "score": chance.randrange(100),
        "place": {"city": f"city{chance.randrange(300)}", "at": [chance.random(), chance.random()]},
        "tags": [f"tag{chance.randrange(80)}" for _ in range(chance.randint(0, 5))],
        "ok": chance.random() < 0.5,
    }


def _make(path, records):
    chance = random.Random(23)
    path.write_text(json.dumps([_record(chance, number) for number in range(records)]))


def _command(short):
    if short:
        document = place.cached("records-short.json", lambda path: _make(path, SHORT_RECORDS))
    else:
        document = place.cached("records.json", lambda path: _make(path, RECORDS))
    return Command([place.need("jq"), FILTER, str(document)])


WORKLOADS = long_and_short("jq", "a filter over a large document", _command, 1.08)
