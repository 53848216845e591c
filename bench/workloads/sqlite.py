# SPDX-License-Identifier: MIT
"""sqlite.py -- sqlite3 on an in-memory database: inserts, indices, joins, updates, text
functions, JSON."""
import random

from harness import place
from .workload import Command, long_and_short

ROWS, LOOKUPS = 60_000, 9_000
SHORT_ROWS, SHORT_LOOKUPS = 40_000, 6_000


def _inserts(chance, rows):
    words = [
        "".join(chance.choice("abcdefghijklmnop") for _ in range(chance.randint(4, 11)))
        for _ in range(900)
    ]
    yield "CREATE TABLE item(id INTEGER PRIMARY KEY, owner INT, name TEXT, note TEXT, price REAL);"
    yield "CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE, region TEXT);"
    for number in range(600):
        yield (f"INSERT INTO owner VALUES({number}, '{chance.choice(words)}{number}', "
               f"'{chance.choice(words)[:2]}');")
    for number in range(rows):
        note = " ".join(chance.choices(words, k=chance.randint(2, 9)))
        yield (f"INSERT INTO item VALUES({number}, {chance.randrange(600)}, "
               f"'{chance.choice(words)}', '{note}', {chance.randint(1, 99999) / 100});")


def _queries(chance, rows, lookups):
    yield "CREATE INDEX item_name ON item(name, price);"
    yield "CREATE INDEX item_owner ON item(owner);"
    for _ in range(lookups):
        low = chance.randrange(rows - 40)
        yield (f"SELECT o.name, count(*), round(sum(i.price), 2) FROM item i JOIN owner o ON o.id "
               f"= i.owner WHERE i.id BETWEEN {low} AND {low + 12} GROUP BY o.region ORDER BY 2 "
               f"DESC, 1 LIMIT 2;")
        yield f"UPDATE item SET note = upper(substr(note, 1, 20)) || name WHERE id = {low};"
    yield ("SELECT name, group_concat(id % 7) FROM item GROUP BY name HAVING count(*) > 70 ORDER "
           "BY name LIMIT 40;")
    yield ("SELECT count(*) FROM item WHERE note LIKE '%abc%' OR replace(note, 'a', 'bb') GLOB "
           "'*bbd*';")
    yield "SELECT sum(json_extract(json_object('a', id, 'b', name), '$.a')) FROM item;"
    yield "DELETE FROM item WHERE id % 3 = 0;"
    yield "SELECT count(*), round(avg(price), 3), max(name) FROM item;"


def _make(path, rows, lookups):
    chance = random.Random(7)
    with open(path, "w", encoding="utf-8") as out:
        out.write("BEGIN;\n")
        out.writelines(line + "\n" for line in _inserts(chance, rows))
        out.write("COMMIT;\nBEGIN;\n")
        out.writelines(line + "\n" for line in _queries(chance, rows, lookups))
        out.write("COMMIT;\n")


def _command(short):
    if short:
        script = place.cached(
            "mixed-short.sql", lambda path: _make(path, SHORT_ROWS, SHORT_LOOKUPS)
        )
    else:
        script = place.cached("mixed.sql", lambda path: _make(path, ROWS, LOOKUPS))
    return Command([place.need("sqlite3"), "-batch", ":memory:", f".read {script}"])


WORKLOADS = long_and_short("sqlite3", "an in-memory database, mixed script", _command, 1.25)
