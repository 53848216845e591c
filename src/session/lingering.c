/* SPDX-License-Identifier: MIT */
#include "session/lingering.h"

#include <string.h>

#include "attach/procfs.h"
#include "base/clock.h"
#include "base/str.h"
#include "session/family.h"

#define LINGERING_CHILDREN_MS 2000u /* at most, for a child that was announced */
#define LINGERING_NAMES 3u

static bool is_recorded(void *context, pid_t pid)
{
        const struct lingering_among *a = context;

        for (uint32_t i = 0; i < a->count; i++)
                if (a->recordings[i]->pid == (uint32_t)pid)
                        return true;
        return false;
}

/* One that was killed before it could say hello is nowhere to be found, and nobody waits for it. */
bool lingering_children(struct lingering *l, const struct lingering_among *a)
{
        if (a->come >= a->announced)
                return false;
        if (!l->children_end_ns)
                l->children_end_ns = clock_now_ns() + LINGERING_CHILDREN_MS * 1000000ull;
        return clock_now_ns() < l->children_end_ns &&
               family_other(a->session, is_recorded, (void *)a);
}

bool lingering_lasts(struct lingering *l, const struct lingering_among *a)
{
        if (!l->wait_ms)
                return false;
        if (!l->end_ns)
                l->end_ns = l->wait_ms == LINGERING_ALL ? UINT64_MAX
                                                        : clock_now_ns() + l->wait_ms * 1000000u;
        if (clock_now_ns() >= l->end_ns)
                return false;
        return a->count > 0 || lingering_children(l, a) || family_find(a->session);
}

static void add_name(struct str *to, const char *program, uint32_t pid)
{
        const char *slash = strrchr(program, '/');

        str_format(to, "%s%s (pid %u)", to->length ? ", " : "", slash ? slash + 1 : program, pid);
}

char *lingering_news(struct lingering *l, const struct lingering_among *a)
{
        char name[16] = "a process";
        struct str names = { 0 };
        uint32_t alive = 0;
        pid_t silent;

        if (l->told)
                return NULL;
        /* The end of one that is dead already will be seen in a moment. */
        for (uint32_t i = 0; i < a->count; i++)
                if (!recording_is_gone(a->recordings[i]) && ++alive <= LINGERING_NAMES)
                        add_name(&names, a->recordings[i]->program, a->recordings[i]->pid);
        silent = alive ? 0 : family_other(a->session, is_recorded, (void *)a);
        if (!alive && !silent)
                return NULL;
        l->told = true;
        if (silent) {
                process_thread_name((uint32_t)silent, (uint32_t)silent, name);
                add_name(&names, name, (uint32_t)silent);
        }
        if (alive > LINGERING_NAMES)
                str_format(&names, " and %u other%s", alive - LINGERING_NAMES,
                           alive == LINGERING_NAMES + 1 ? "" : "s");
        return names.data;
}
