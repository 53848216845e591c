# SPDX-License-Identifier: MIT
"""watched.py -- programs that `seep top` watches in tests."""
from contextlib import contextmanager

from plain import child_of, start_recorded
from screens import rows


@contextmanager
def watched(recorder, steps, *script):
    """A recorded program that did the first part of SCRIPT, up to a "ready", and waits."""
    folder = recorder.folder()
    with start_recorded(folder, steps, *script) as program:
        program.said(b"ready\n")
        program.target = child_of(program)
        yield program


def held(screen):
    return {name: (row.live, row.blocks) for name, row in rows(screen).items() if row.blocks}
