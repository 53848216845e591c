# SPDX-License-Identifier: MIT
"""`make demo` is a newcomer's first sight: it works, and its leak is the one that Valgrind
finds."""
import json
import re
import subprocess

import harness
import pages


def call(*command):
    return subprocess.run(
        [str(c) for c in command],
        cwd=harness.ROOT,
        env=harness.clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * harness.DEADLINE,
    )


def lost(text, kind):
    found = re.search(rf"{kind} lost: ([\d,]+) bytes in ([\d,]+) blocks", text)
    return tuple(int(n.replace(",", "")) for n in found.groups())


def test_the_demo_shows_the_leak_that_valgrind_finds(need):
    need("valgrind", "g++")
    demo = call("sh", "demo/run", harness.BUILD)
    shown = str(harness.BUILD).removeprefix(f"{harness.ROOT}/")
    assert demo.returncode == 0, demo.stderr
    assert "remember_failure" in demo.stdout and "LEAKS: " in demo.stderr
    assert [line.split("  ")[-1].strip() for line in demo.stdout.splitlines()[-3:]] == [
        f"xdg-open {shown}/demo/page.html", f"{shown}/src/seep ./your-program", "sudo make install"]
    page = pages.Page(pages.data_of((harness.BUILD / "demo" / "page.html").read_bytes()))
    assert page.one.data["meta"]["program"] == "./leaky"

    valgrind = call("valgrind", "--leak-check=full", harness.BUILD / "demo" / "leaky").stderr
    traces, strings = lost(valgrind, "definitely"), lost(valgrind, "indirectly")

    report = json.loads(
        call(harness.SEEP, "report", "--json", harness.BUILD / "demo" / "leaky.seep").stdout
    )
    ours = [s for s in report["sites"] if s["live_blocks"]
            and any(report["frames"][f]["function"] == "remember_failure" for f in s["stack"])]
    assert sorted((s["live_bytes"], s["live_blocks"]) for s in ours) == sorted([traces, strings])
    # Memory that printf() got for its buffer and has not used up may hold a pointer from its former
    # life.
    filled = harness.BUILD / "demo" / "filled.seep"
    call(
        harness.SEEP, "record", "-q", "-f", "--fill", "-o", filled, harness.BUILD / "demo" / "leaky"
    )
    leaks = json.loads(call(harness.SEEP, "leaks", "--json", filled).stdout)["leaks"]
    assert [(leaks[k]["bytes"], leaks[k]["blocks"]) for k in ("definite", "indirect")] == [
        traces,
        strings,
    ]


def test_the_commands_that_the_demo_prints_work_as_printed(need):
    need("g++")
    demo = call("sh", "demo/run", harness.BUILD)
    typed = re.findall(r"^\$ (.+)$", demo.stdout, flags=re.M) + re.findall(
        r"(?:next:|^ {8}) ?(seep (?:report|leaks|html) .+?)(?:  |$)", demo.stderr, flags=re.M
    )
    assert len(typed) in (10, 11)  # on a slow machine there is time to see what grows
    (harness.BUILD / "demo" / "leaky.html").unlink(missing_ok=True)
    again = call(
        "sh", "-e", "-c", "\n".join(c + " || test $? = 1" if "leaks" in c else c for c in typed)
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("remember_failure") >= 2 * demo.stdout.count("remember_failure") > 0


def test_the_shop_of_the_pictures_loses_baskets_only(tmp_path, need):
    need("g++")
    shop = tmp_path / "shop"
    built = call(
        "g++", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-Iinclude",
        "demo/shop.cpp", "-o", shop,
    )
    assert built.returncode == 0, built.stderr
    assert call(harness.SEEP, "-o", tmp_path / "shop.seep", shop, 1).returncode == 0
    report = json.loads(call(harness.SEEP, "report", "--json", tmp_path / "shop.seep").stdout)
    names = [
        {report["frames"][f]["function"].split("(")[0] for f in s["stack"]}
        for s in report["sites"]
        if s["leak"]["definite"]["blocks"]
    ]
    assert names and all("Shop::order" in stack for stack in names)
    assert report["complete"]


def test_a_newcomer_waits_for_what_the_demo_needs_only(tmp_path):
    fresh = tmp_path / "fresh"
    assert call("meson", "setup", fresh).returncode == 0
    asked = re.search(
        r"^ninja .+$", call("make", "-n", "demo", f"BUILD={fresh}").stdout, flags=re.M
    )[0]
    planned = call(*asked.split(), "-n").stdout
    assert "src/agent/libseep.so" in planned and "src/seep" in planned
    assert "tests/" not in planned
