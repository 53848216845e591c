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

pid_t family_parent(pid_t pid)
{
        struct str text = { 0 };
        const char *behind_name;
        char name[64];
        int parent = 0;

        snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
        if (io_read_file(name, &text) && (behind_name = strrchr(str_get(&text), ')')) && sscanf(behind_name, ") %*c %d", &parent) != 1)
                parent = 0;
        str_free(&text);
        return parent;
}

bool family_maps(pid_t pid, uint64_t inode)
{
        struct str maps = { 0 };
        char name[64];
        bool found;

        snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
        found = !io_read_file(name, &maps) || !maps.length;
        for (const char *line = str_get(&maps); !found && line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                unsigned long long number = 0;

                found = sscanf(line, "%*x-%*x %*s %*x %*s %llu", &number) == 1 && number == inode;
        }
        str_free(&maps);
        return found;
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
