/* SPDX-License-Identifier: MIT */
/*
 * load.c -- the recording that a command shows, read from its file.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/load.h"

#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "profile/file.h"

bool load_recording(struct profile *p, const char *file, bool quiet, struct err *e)
{
        if (!file_read(p, file, e)) {
                if (*file && strspn(file, "0123456789") == strlen(file))
                        snprintf(e->text, sizeof e->text, "%s is no recording. A process that is being recorded is asked with 'seep top %s', "
                                 "'seep html --serve %s', 'seep leaks %s', 'seep why %s ADDRESS' or 'seep snapshot %s'", file, file, file, file, file, file);
                return false;
        }
        if (p->truncated && !quiet)
                message("%s ends early: shown is what is whole ('seep info %s' tells what is missing)", file, file);
        return true;
}
