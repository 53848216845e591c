/* SPDX-License-Identifier: MIT */
#include "session/members.h"

#include <unistd.h>

#include "attach/procfs.h"

#define MEMBERS_ANCESTORS_MAX 256

bool members_may_ask(const struct members *m, uid_t uid)
{
        return uid == 0 || uid == geteuid() || uid == m->owner;
}

bool members_know(const struct members *m, uid_t uid)
{
        for (uint32_t i = 0; i < m->user_count; i++)
                if (m->users[i] == uid)
                        return true;
        return members_may_ask(m, uid);
}

static bool is_of(const struct members *m, const struct members_tree *t, uint32_t pid)
{
        for (uint32_t i = 0; i < t->count; i++)
                if (t->recordings[i]->pid == pid)
                        return true;
        return pid == m->main || pid == (uint32_t)getpid();
}

static bool descends(const struct members *m, const struct members_tree *t, uint32_t pid)
{
        for (int i = 0; pid > 1 && i < MEMBERS_ANCESTORS_MAX; i++) {
                if (is_of(m, t, pid))
                        return true;
                pid = process_parent(pid);
        }
        return false;
}

/* Not the one that we are in ourselves: it may be a shell's, who starts other things too. */
static bool shares_session(const struct members_tree *t, uint32_t pid)
{
        pid_t session = getsid((pid_t)pid);

        if (session <= 0 || session == getsid(0))
                return false;
        for (uint32_t i = 0; i < t->count; i++)
                if (t->recordings[i]->pid && getsid((pid_t)t->recordings[i]->pid) == session)
                        return true;
        return false;
}

/* It may have ended since, and been waited for: then it is judged by the parent that it names. */
static bool is_started_by(const struct members *m, const struct members_tree *t,
                          const struct greeting *g)
{
        if (!g->pid)
                return false;
        if (process_parent(g->pid) || getsid((pid_t)g->pid) > 0)
                return descends(m, t, g->pid) || shares_session(t, g->pid);
        return g->hello.ppid && process_parent(g->hello.ppid) && descends(m, t, g->hello.ppid);
}

bool members_admit(struct members *m, const struct members_tree *t, const struct greeting *g,
                   struct err *e)
{
        if (members_know(m, g->uid))
                return true;
        if (!is_started_by(m, t, g))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %u of another user (%u) is not recorded: this program did "
                               "not start it", g->pid, (unsigned)g->uid);
        if (m->user_count < MEMBERS_USERS_MAX)
                m->users[m->user_count++] = g->uid;
        return true;
}
