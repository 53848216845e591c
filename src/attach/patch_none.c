/* SPDX-License-Identifier: MIT */
/* patch_none.c -- in place of patch.c in a build without patching, or for another processor. */
#include "attach/patch.h"

bool patch_is_possible(struct err *e)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "this build of seep cannot change code of programs: it needs x86-64 or "
                       "aarch64, and -Dinject when it is built");
}

bool patch_keeps_registers(bool narrow)
{
        (void)narrow;
        return false;
}

uint64_t patch_reach(bool narrow)
{
        (void)narrow;
        return 0;
}

bool patch_plan(struct patch *p, const struct patch_code *c, struct err *e)
{
        (void)p, (void)c;
        return patch_is_possible(e);
}
