# SPDX-License-Identifier: MIT
"""A million call stacks, also with twenty million live blocks: what is known of them, and what
commands take for them."""
import json
import os
import subprocess
import tempfile

from harness import ROOT, SEEP

STACKS = 1000000
MOST_MIB = 1024
COMMANDS = {
    "report": ["report"],
    "report --flat": ["report", "--flat"],
    "report --json": ["report", "--json"],
    "report --blocks": ["report", "--blocks"],
    "report --timeline": ["report", "--timeline"],
    "leaks": ["leaks"],
    "check": ["check"],
    "info": ["info"],
    "top": ["top", "--batch", "1"],
    "export csv": ["export", "--to", "csv"],
    "export collapsed": ["export", "--to", "collapsed"],
    "export sqlite": ["export", "--to", "sqlite"],
    "export pprof": ["export", "--to", "pprof"],
}
BLOCKS_EACH = 27
OF_BLOCKS = {
    "report --blocks": ["report", "--blocks"],
    "report --fragmentation": ["report", "--fragmentation"],
    "leaks --blocks": ["leaks", "--blocks"],
    "leaks --json": ["leaks", "--blocks", "--json"],
    "html": ["html"],
    "export sqlite": ["export", "--to", "sqlite"],
    "sql": ["sql", "-q"],
}


def used(command):
    """CPU seconds and MiB at most."""
    with open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=null, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1), command  # 1: leaks are found
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def check_twenty_million_blocks_of_a_million_call_stacks(stage):
    stage.need_memory(8192)
    with tempfile.TemporaryDirectory(prefix="seep-stacks-") as folder:
        program, file = f"{folder}/many_stacks", f"{folder}/many.seep"
        subprocess.run(
            ["cc", "-O2", "-g", "-o", program, ROOT / "bench/programs/many_stacks.c"], check=True
        )
        subprocess.run(
            [SEEP, "record", "-q", "-o", file, "--", program, str(STACKS), "0", str(BLOCKS_EACH)],
            check=True,
            timeout=3600,
        )
        took = {}
        for name, command in OF_BLOCKS.items():
            more = {
                "sql": ["SELECT count(*), sum(size) FROM block"],
                "html": ["-o", f"{folder}/page.html"],
            }.get(name, [])
            seconds, took[name] = used([SEEP, *command, file, *more])
            stage.say(f"{name:24} {seconds:6.2f} s of CPU, {took[name]} MiB")
        assert max(took.values()) < MOST_MIB, took


def check_a_million_call_stacks(stage):
    stage.need_memory(4096)
    folder = tempfile.mkdtemp(prefix="seep-stacks-")
    program, file = f"{folder}/many_stacks", f"{folder}/many.seep"
    try:
        subprocess.run(
            ["cc", "-O2", "-g", "-o", program, ROOT / "bench/programs/many_stacks.c"], check=True
        )
        subprocess.run(
            [SEEP, "record", "-q", "-o", file, "--", program, str(STACKS)], check=True, timeout=3600
        )
        asked = subprocess.run([SEEP, "sql", "--json", file,
                                "SELECT (SELECT count(*) FROM site) AS sites, count(*) AS moments, "
                                "sum(stacks) AS looks, "
                                "max(ms) AS ms, (SELECT sum(live_blocks) FROM site) AS live FROM "
                                "timeline"], check=True, capture_output=True, text=True)
        found = json.loads(asked.stdout)[0]
        stage.say(f"{found['moments']} moments, {found['looks']} of them with call stacks, in "
                  f"{found['ms']} ms")
        assert found["sites"] == STACKS
        assert found["live"] == sum(n % 4 != 3 for n in range(STACKS)) + sum(
            n % 4 != 3 for r in (1, 2, 3) for n in range(r, STACKS, 8)
        )
        assert found["ms"] < 4000 or found["moments"] >= 200
        for name, command in COMMANDS.items():
            seconds, mib = used([SEEP, *command, file])
            stage.say(f"{name:18} {seconds:6.2f} s of CPU, {mib} MiB")
            assert mib < MOST_MIB, name
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
