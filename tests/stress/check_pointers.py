# SPDX-License-Identifier: MIT
"""Twenty million blocks with two pointers each: what commands that follow pointers take."""
import json
import os
import subprocess
import tempfile

from harness import ROOT, SEEP

BLOCKS = 20000000
MOST_MIB = 1024
COMMANDS = {
    "why": ["why", "FILE", "chain"],
    "report --retained": ["report", "--retained", "FILE"],
    "report --retained=sites": ["report", "--retained=sites", "FILE"],
    "report --types": ["report", "--types", "FILE"],
    "html": ["html", "FILE"],
    "export sqlite": ["export", "--to", "sqlite", "FILE"],
}


def used(command):
    """CPU seconds and MiB at most."""
    with open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=null, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def compare(stage, kind):
    stage.need_memory(8192)
    with tempfile.TemporaryDirectory(prefix="seep-pointers-") as folder:
        program, file = f"{folder}/many_pointers", f"{folder}/many.seep"
        subprocess.run(
            ["cc", "-O2", "-g", "-o", program, ROOT / "bench/programs/many_pointers.c"], check=True
        )
        subprocess.run(
            [SEEP, "record", "-q", "--keep-graph", "-o", file, "--", program, str(BLOCKS), kind],
            check=True,
            timeout=3600,
        )
        owners = json.loads(
            subprocess.run(
                [SEEP, "report", "--retained", "--json", file], check=True, capture_output=True
            ).stdout
        )["owners"]
        assert owners[0]["retained"]["blocks"] >= BLOCKS, owners[0]
        took = {}
        for name, words in COMMANDS.items():
            output = [] if words[0] == "why" else ["-f", "-o", f"{folder}/out"]
            seconds, took[name] = used(
                [SEEP, *(file if word == "FILE" else word for word in words), *output]
            )
            stage.say(f"{name:<24} {seconds:6.1f} s of CPU, {took[name]} MiB")
        assert max(took.values()) < MOST_MIB, took


def check_twenty_million_blocks_in_a_table(stage):
    compare(stage, "table")


def check_twenty_million_blocks_in_a_list(stage):
    compare(stage, "list")
