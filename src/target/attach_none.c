/* SPDX-License-Identifier: MIT */
/* attach_none.c -- in place of attach.c on processors whose programs cannot be changed yet. */
#include "target/target.h"

bool attach_start(const struct attach_order *o)
{
        (void)o;
        say("on this processor seep-target cannot attach to processes that run: it can start them");
        kernel_exit(3);
        return false;
}
