/* SPDX-License-Identifier: MIT */
/*
 * inject_add.c -- functions of libraries that a recorded process loads later are patched when they
 * are loaded.
 */
#include "attach/inject_parts.h"
#include "attach/procfs.h"

/* Room for trampolines, and the plan: one thread stands still. */
static bool plan(struct inject *j, struct err *e)
{
        const char *why = remote_begin(&j->remote, j->hold, &j->maps);
        bool good;

        if (why)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s", why);
        good = inject_plan_later(j, e);
        remote_end(&j->remote);
        return good;
}

/* What is written down and not in place does no harm; the other way round nobody would take it out.
 * All stand still. */
static bool put(struct inject *j, struct err *e)
{
        if (!inject_write_room(j))
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "its memory cannot be written");
        if (inject_put(j, e))
                return true;
        j->room->count = j->first;
        inject_write_room(j);
        return false;
}

static bool is_recorded(struct inject *j, struct err *e)
{
        return (inject_find_image(j) && j->room->alive &&
                image_place(&j->image, j->image.base, e)) ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "there is no agent in it");
}

static void add(struct inject_job *job)
{
        struct inject j;
        bool good = inject_open(&j, job->pid, procfs_living(job->pid), job->image, job->e);

        j.request = job->request;
        j.out = job->out;
        good = good && inject_find(&j, job->e) && is_recorded(&j, job->e) &&
               inject_with_one(&j, plan, job->e);
        if (good && j.room->count > j.first)
                good = inject_with_all(&j, put, job->e);
        job->good = good;
        job->out->patched = good ? j.room->count - j.first : 0;
        inject_close(&j);
}

bool inject_add(pid_t pid, const struct inject_request *q, struct inject_result *out,
                struct err *e)
{
        struct inject_job job = { .pid = pid, .request = q, .image = q->image, .out = out, .e = e,
                                  .run = add };

        *out = (struct inject_result){ .ledger = -1 };
        return inject_do(&job);
}
