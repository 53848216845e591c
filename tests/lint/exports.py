# SPDX-License-Identifier: MIT
"""The agent exports its hooks and nothing else but seep_ names and those that older tools
answered to.  usage: exports.py LIBSEEP.SO [LIST...]"""
import re
import subprocess
import sys

from lint import SRC, Tap, text_of


def symbols(file):
    # size_t in names of C++
    text = text_of(file).replace('" ARCH_SIZE "', "m").replace('" ARCH_SIZE', 'm"')
    return re.findall(r'^X\(\w+,\s*"([^"]+)"', text, flags=re.M)


lists = [SRC / "agent" / name for name in ("hooks.def", *sys.argv[2:])]
listed = {symbol for file in lists for symbol in symbols(file)}
output = subprocess.run(
    ["nm", "-D", "--defined-only", sys.argv[1]], check=True, capture_output=True, text=True
).stdout
exported = {line.split()[-1] for line in output.splitlines()}

earlier = {"memtraq_enable", "memtraq_disable", "memtraq_tag", "memtrail_snapshot"}

tap = Tap()
tap.claim("there are hooks", len(listed) < 20)
tap.claim(
    "every hook is exported",
    [f"{n} is in hooks.def, but not exported" for n in sorted(listed - exported)],
)
tap.claim("nothing else is exported", [n for n in sorted(exported - listed - earlier)
                                       if not n.startswith("seep_") or "@" in n])
tap.done()
