/* SPDX-License-Identifier: MIT */
/* patch_none.c -- functions cannot be patched: a build without Zydis, or for another processor. */
#include "attach/inject_parts.h"

bool patch_is_possible(struct err *e)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "this build of seep cannot change code of programs: it needs x86-64 and the"
                       " library Zydis (libzydis-dev) when it is built");
}

bool patch_plan(struct patch *p, const struct patch_code *c, struct err *e)
{
        (void)p, (void)c;
        return patch_is_possible(e);
}

uint32_t inject_frames(const struct inject *j, const struct hold_thread *t,
                       struct inject_frame *out, uint32_t room)
{
        (void)j;
        (void)t;
        (void)out;
        (void)room;
        return 0;
}
