# SPDX-License-Identifier: MIT
"""Ledgers of the other byte order: the rows of collect/turn.c say of each number of
ledger/ledger.h how wide it is."""
import re

from lint import SRC, Tap, text_of

WIDTHS = {
    "uint64_t": 8,
    "int64_t": 8,
    "uint32_t": 4,
    "int32_t": 4,
    "uint16_t": 2,
    "uint8_t": 1,
    "char": 1,
}
NOT_TURNED = {"wait"}  # bytes in each thread


def code_of(path):
    return re.sub(r"/\*.*?\*/", "", text_of(path), flags=re.S)


def fields_of(structs, name):
    """[(field, width)] in order; an array of structs of mixed width has an entry for each field
    of each."""
    found = []
    for line in structs[name].split(";"):
        line = re.sub(r"_Alignas\(\d+\)|volatile", "", line).strip()
        match = re.match(r"(struct ledger_(\w+)|\w+) (.*)", line, re.S)
        if not match:
            continue
        for declared in match[3].split(","):
            field = re.match(r"\s*(\w+)", declared)[1]
            if not match[2]:
                found.append((field, WIDTHS[match[1]]))
                continue
            inner = fields_of(structs, match[2])
            if len({width for _, width in inner}) == 1:
                found.append((field, inner[0][1]))
            else:
                count = NUMBERS[re.search(r"\[(\w+)\]", declared)[1]]
                found += [(f"{field}[{i}].{f}", width) for i in range(count) for f, width in inner]
    return found


def rows_of(fields):
    """The first field of each stretch of one width."""
    return [pair for i, pair in enumerate(fields) if not i or pair[1] != fields[i - 1][1]]


ledger = code_of(SRC / "ledger" / "ledger.h")
NUMBERS = {name: int(value) for name, value in re.findall(r"#define (\w+) (\d+)u$", ledger, re.M)}
structs = dict(re.findall(r"^struct ledger_(\w+) \{(.*?)^\};", ledger, re.S | re.M))
told = {}
for part, field, width in re.findall(
    r"ROW\((\w+), ([\w.\[\]]+), (\d)\)", code_of(SRC / "collect" / "turn.c")
):
    told.setdefault(part, []).append((field, int(width)))
inner = {name for body in structs.values() for name in re.findall(r"struct ledger_(\w+) ", body)}
tap = Tap()
tap.claim(
    "there are structs to compare",
    [] if len(structs) > 15 and "head" in structs else ["none found"],
)
tap.claim(
    "every struct of the ledger has its rows", sorted(set(structs) - inner - NOT_TURNED - set(told))
)
tap.claim(
    "every row is right, and none is missing",
    [
        f"struct ledger_{part}: {wanted} wanted, {rows} in turn.c"
        for part, rows in sorted(told.items())
        if rows != (wanted := rows_of(fields_of(structs, part)))
    ],
)
tap.done()
