/* SPDX-License-Identifier: MIT */
#include "session/family.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/io.h"
#include "base/str.h"
#include "collect/view.h"
#include "session/ask.h"
#include "wire/hello.h"

#define FAMILY_AGENT "libseep.so"
#define FAMILY_LEDGER "/memfd:seep-ledger"

static bool file_mentions(pid_t pid, const char *file, const char *text)
{
        struct str content = { 0 };
        char name[64];
        bool found;

        snprintf(name, sizeof name, "/proc/%d/%s", (int)procfs_living(pid), file);
        found = io_read_file(name, &content) && content.length &&
                memmem(content.data, content.length, text, strlen(text));
        str_free(&content);
        return found;
}

bool family_has_preload(pid_t pid)
{
        return file_mentions(pid, "environ", FAMILY_AGENT);
}

/* By breakpoints a program is recorded without an agent: its tracer is one of us. */
static bool is_traced_by_seep(pid_t pid)
{
        uint32_t tracer = (uint32_t)procfs_status(pid, pid, "TracerPid", 10, 0);
        uint64_t dev, ino, our_dev, our_ino;

        return tracer && process_exe(tracer, &dev, &ino) &&
               process_exe((uint32_t)getpid(), &our_dev, &our_ino) && dev == our_dev &&
               ino == our_ino;
}

bool family_has_agent(pid_t pid)
{
        return file_mentions(pid, "maps", FAMILY_AGENT) || is_traced_by_seep(pid);
}

/* Who reads the ledger that begins at AT in the memory of PID; 0: not known. */
static uint32_t observer_in(pid_t pid, uint64_t at)
{
        struct ledger_head head = { 0 };
        int mem = process_open_memory((uint32_t)pid);
        bool good = mem >= 0 &&
                    pread(mem, &head, sizeof head, (off_t)at) == (ssize_t)sizeof head &&
                    head.magic == LEDGER_MAGIC;

        if (mem >= 0)
                close(mem);
        return good ? head.observer : 0;
}

static uint32_t observer_of(pid_t pid)
{
        pid_t living = procfs_living(pid);
        struct str text = { 0 };
        struct mappings maps;
        uint32_t observer = 0;

        if (!procfs_text(living, living, "maps", &text))
                return 0;
        mappings_parse(&maps, str_get(&text));
        for (uint32_t i = 0; i < maps.count && !observer; i++)
                if (!maps.at[i].offset && strncmp(maps.at[i].path, FAMILY_LEDGER,
                                                  strlen(FAMILY_LEDGER)) == 0)
                        observer = observer_in(pid, maps.at[i].start);
        mappings_free(&maps);
        str_free(&text);
        return observer;
}

/* Its agent goes on for nobody. */
bool family_is_orphan(pid_t pid)
{
        uint32_t observer = file_mentions(pid, "maps", FAMILY_AGENT) && !is_traced_by_seep(pid)
                                    ? observer_of(pid)
                                    : 0;

        return observer && kill((pid_t)observer, 0) < 0 && errno == ESRCH;
}

/* The first process but us that is WANTED; 0 none. */
static pid_t find(bool (*wanted)(void *context, pid_t pid), void *context)
{
        DIR *proc = opendir("/proc");
        pid_t found = 0;

        for (struct dirent *d; proc && !found && (d = readdir(proc));) {
                pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

                if (pid > 0 && pid != getpid() && wanted(context, pid))
                        found = pid;
        }
        if (proc)
                closedir(proc);
        return found;
}

struct wanted {
        const char *variable; /* of the session */
        bool (*known)(void *context, pid_t pid);
        void *context;
};

static bool is_of_session(void *context, pid_t pid)
{
        const struct wanted *w = context;

        return file_mentions(pid, "environ", w->variable) && family_has_agent(pid);
}

/* Programs that change their title overwrite their environment: then nothing of ours is in it.
 * With plain LD_PRELOAD no session ever was. */
static bool may_be_of_session(void *context, pid_t pid)
{
        const struct wanted *w = context;

        return !w->known(w->context, pid) &&
               (file_mentions(pid, "environ", w->variable) ||
                !file_mentions(pid, "environ", WIRE_SESSION_ENV "=")) &&
               family_has_agent(pid);
}

static pid_t find_wanted(const char *session, bool (*is_wanted)(void *context, pid_t pid),
                         struct wanted *w)
{
        struct str variable = { 0 };
        pid_t found;

        /* Programs under filters have other flags in front of it. */
        str_format(&variable, ":%s", ask_session_path(session));
        w->variable = str_get(&variable);
        found = find(is_wanted, w);
        str_free(&variable);
        return found;
}

pid_t family_find(const char *session)
{
        return find_wanted(session, is_of_session, &(struct wanted){ 0 });
}

pid_t family_other(const char *session, bool (*known)(void *context, pid_t pid), void *context)
{
        return find_wanted(session, may_be_of_session, &(struct wanted){ NULL, known, context });
}
