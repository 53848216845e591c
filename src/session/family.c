/* SPDX-License-Identifier: MIT */
#include "session/family.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "collect/view.h"
#include "session/ask.h"
#include "wire/hello.h"

#define FAMILY_AGENT "libseep.so"
#define FAMILY_LEDGER "/memfd:seep-ledger"
#define FAMILY_HELLO_NS 3000000000ull /* a ledger so old has been taken, or never is */

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

static bool is_gone(uint32_t observer)
{
        return procfs_state((pid_t)observer, (pid_t)observer) == 'X' ||
               procfs_state((pid_t)observer, (pid_t)observer) == 'Z';
}

/* Where nobody is named the observer may be about to come: one who has not is not here. */
static bool is_left(pid_t pid, const struct ledger_head *head)
{
        struct wire_status status;

        return clock_now_ns() > head->start_monotonic_ns + FAMILY_HELLO_NS &&
               ask_glance((uint32_t)pid, &status) == ASK_NOT_RECORDED;
}

static const char *find_obstacle(const struct ledger_head *head)
{
        return head->version != LEDGER_VERSION || !head->rejoin_at
                       ? "it was made by another version, or with LD_PRELOAD alone"
               : head->flags & WIRE_F_EVENTS ? "its event log is incomplete"
               : head->stop_reason           ? "it had stopped before"
                                             : NULL;
}

/* Of the ledger that begins at AT in the memory of PID; a forked child has its parent's. */
static bool is_orphan_at(pid_t pid, uint64_t at, struct family_orphan *out)
{
        uint32_t number = (uint32_t)procfs_status(pid, procfs_living(pid), "NStgid", 10, 0);
        struct ledger_head *head = heap_zero(1, sizeof *head);
        int mem = process_open_memory((uint32_t)procfs_living(pid));
        bool good = mem >= 0 &&
                    pread(mem, head, sizeof *head, (off_t)at) == (ssize_t)sizeof *head &&
                    head->magic == LEDGER_MAGIC && head->pid == number &&
                    (head->observer ? is_gone(head->observer) : is_left(pid, head));

        if (mem >= 0)
                close(mem);
        *out = (struct family_orphan){ at, head->file_size, head->rejoin_at, find_obstacle(head) };
        free(head);
        return good;
}

bool family_is_orphan(pid_t pid, struct family_orphan *out)
{
        pid_t living = procfs_living(pid);
        struct str text = { 0 };
        struct mappings maps;
        bool found = false;

        if (is_traced_by_seep(pid) || !procfs_text(living, living, "maps", &text))
                return false;
        mappings_parse(&maps, str_get(&text));
        for (uint32_t i = 0; i < maps.count && !found; i++)
                found = !maps.at[i].offset &&
                        strncmp(maps.at[i].path, FAMILY_LEDGER, strlen(FAMILY_LEDGER)) == 0 &&
                        is_orphan_at(pid, maps.at[i].start, out);
        mappings_free(&maps);
        str_free(&text);
        return found;
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
