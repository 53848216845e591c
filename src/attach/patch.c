/* SPDX-License-Identifier: MIT */
#include "attach/patch.h"

bool patch_enter(const struct patch *p, uint64_t pc, uint64_t *to)
{
        for (unsigned i = 0; i < p->instructions; i++) {
                unsigned at = p->steps[i].at;

                /* At the jump itself nothing of the function has been done yet: it is called. */
                if (pc != p->entry + at || at <= p->jump || at >= p->length)
                        continue;
                *to = p->trampoline + p->steps[i].moved;
                return true;
        }
        return false;
}

bool patch_leave(const struct patch *p, uint64_t pc, uint64_t *to)
{
        if ((p->far && pc == p->trampoline + p->far) ||
            (p->landing && pc == p->entry + p->jump + p->landing)) {
                *to = p->entry + p->jump;
                return true;
        }
        for (unsigned i = 0; i < p->instructions; i++) {
                if (pc != p->trampoline + p->steps[i].moved)
                        continue;
                *to = p->entry + p->steps[i].at;
                return true;
        }
        return false;
}
