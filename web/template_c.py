# SPDX-License-Identifier: MIT
"""The page's template as C source.  usage: template_c.py IN.html OUT.c; an empty IN is a tool without the page."""
import sys

source, out = sys.argv[1:]
with open(source, "rb") as file:
    template = file.read()
rows = [",".join(map(str, template[i:i + 32])) + "," for i in range(0, len(template), 32)]
with open(out, "w", encoding="ascii") as file:
    file.write('/* Made by web/template_c.py. */\n#include "page/page.h"\n\nconst unsigned char page_template[] = {\n')
    file.write("\n".join(rows or ["0"]))
    file.write(f"\n}};\nconst size_t page_template_bytes = {len(template)};\n")
