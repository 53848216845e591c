# SPDX-License-Identifier: MIT
"""README.md: its examples that are commands with their output (`$ ...`, below "Moments") work as
printed, and what it names is there."""
import os
import re
import subprocess

import harness

README = (harness.ROOT / "README.md").read_text()


def examples():
    """[(command, the lines that are printed below it)]"""
    found = []
    for line in README.split("## Moments", 1)[1].splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif found and line.startswith("    ") and not found[-1][1][-1:] == ["end"]:
            found[-1][1].append(line[4:])
        elif found and line and not line.startswith("    "):
            found[-1][1].append("end")
    return [(command, [row for row in rows if row not in ("", "end")]) for command, rows in found]


def shape(line):
    """A line without what differs from run to run and from machine to machine."""
    line = re.sub(r"\b\d+(\.\d+)? m?s\b", "0 s", " ".join(line.split()))
    return re.sub(r"0x[\da-f]+|\d+|\S*/", "0", line)


def patient(command):
    """The program that is to be stopped may fail; who types is slower than a program starts, a
    script must wait for it."""
    if "--limit-heap" in command:
        return command + " || :"
    if command.startswith("seep snapshot"):
        return (f"for i in $(seq 600); do said=$({command}) && break; sleep 0.1; done 2>/dev/null; "
                f"echo \"$said\"")
    return command


def run_in_order(tree, commands):
    """What each of them says, in a shell that stops at the first that fails."""
    script = "set -e; exec 2>&1\n" + "".join(
        f"echo '@{i}'\n{patient(c)}\n" for i, c in enumerate(commands)
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tree,
        env=harness.clean_environment({"HOME": str(tree)}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=harness.DEADLINE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [part.split("\n")[1:] for part in re.split(r"^@(?=\d+$)", done.stdout, flags=re.M)[1:]]


def test_the_examples_work_as_printed(tmp_path, need):
    need("bash", "cc", "seq", "strip")
    for name in ("demo", "include"):
        os.symlink(harness.ROOT / name, tmp_path / name)
    (tmp_path / "build" / "demo").mkdir(parents=True)
    os.symlink(harness.BUILD / "src", tmp_path / "build" / "src")
    shown = examples()
    said = run_in_order(tmp_path, [command for command, _ in shown])
    assert len(shown) == len(said) > 10
    for (command, wanted), rows in zip(shown, said):
        # not what the C library of another machine does
        ours = [row for row in map(shape, wanted) if "service" in row]
        missing = [row for row in ours if row not in set(map(shape, rows))]
        assert not missing, f"{command}: {missing} not in {rows}"


def option_table():
    """{command: its options}"""
    known = {}
    for row in subprocess.run(
        [harness.SEEP, "help", "--table"], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        kind, *fields = row.split("\t")
        if kind == "command":
            options = known.setdefault(fields[0], set())
        elif kind == "option":
            options.update(
                f"{dash}{name}" for dash, name in (("-", fields[0]), ("--", fields[1])) if name
            )
    return known


def test_commands_and_options_that_are_named_exist():
    known = option_table()
    asked = []
    for line in re.findall(r"^    (?:\$ )?(.+)$", README, flags=re.M):
        for command in re.findall(r"(?:^|[|(;&] ?|next: +)seep ([^|;&#]+)", line):
            words = command.split()
            verb = words[0] if words[0] in known else "record"
            mine = words[
                : next(
                    (i for i, w in enumerate(words) if verb == "record" and w.startswith("./")),
                    len(words),
                )
            ]
            asked += [
                (verb, option)
                for option in re.findall(r"(?<= )--?[a-z][\w-]*", " " + " ".join(mine))
            ]
    assert {verb for verb, _ in asked} >= {
        "record", "report", "html", "top", "export", "leaks", "events",
    }
    assert [(verb, option) for verb, option in asked if option not in known[verb]] == []


def test_pictures_are_there_small_and_told_in_words():
    pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", README)
    assert len(pictures) >= 3
    for words, path in pictures:
        content = (harness.ROOT / path).read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) < 80_000, path
        assert len(words.split()) > 8, path


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"`((?:docs|src|demo|packaging)/[\w./-]+|[A-Z]+\.md)`", README))
    assert len(named) > 8
    assert [path for path in sorted(named) if not (harness.ROOT / path).exists()] == []
