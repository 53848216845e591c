/* SPDX-License-Identifier: MIT */
/*
 * family.c -- processes that belong to a session, found without their help.
 *
 * Room:   outside.
 */
#include "observe/family.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "wire/hello.h"

#define FAMILY_AGENT "libseep.so"

static bool file_mentions(pid_t pid, const char *file, const char *text)
{
        struct str content = { 0 };
        char name[64];
        bool found;

        snprintf(name, sizeof name, "/proc/%d/%s", (int)pid, file);
        found = io_read_file(name, &content) && content.length && memmem(content.data, content.length, text, strlen(text));
        str_free(&content);
        return found;
}

bool family_has_preload(pid_t pid)
{
        return file_mentions(pid, "environ", FAMILY_AGENT);
}

bool family_has_agent(pid_t pid)
{
        return file_mentions(pid, "maps", FAMILY_AGENT);
}

pid_t family_find(const char *session)
{
        struct str variable = { 0 };
        DIR *proc = opendir("/proc");
        pid_t found = 0;

        str_format(&variable, "%s=%s", WIRE_SESSION_ENV, session);
        for (struct dirent *d; proc && !found && (d = readdir(proc));) {
                pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

                if (pid > 0 && pid != getpid() && file_mentions(pid, "environ", str_get(&variable)) && family_has_agent(pid))
                        found = pid;
        }
        if (proc)
                closedir(proc);
        str_free(&variable);
        return found;
}
