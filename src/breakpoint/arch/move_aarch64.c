/* SPDX-License-Identifier: MIT */
/* move_aarch64.c -- one instruction of aarch64. */
#include "breakpoint/move.h"

#include <string.h>

#include "attach/arch/moved_aarch64.h"

/* It is executed elsewhere, whatever it is (attach/arch/moved_aarch64.h). */
bool move_plan(struct move *m, const uint8_t *code, uint64_t at, uint64_t slot)
{
        struct moved to = { .place = slot, .code = m->bytes, .room = MOVE_BYTES };
        uint32_t w;

        memset(m, 0, sizeof *m);
        memcpy(&w, code, sizeof w);
        m->how = MOVE_CODE;
        m->length = MOVED_BYTES;
        if (!moved_is_possible(w))
                return false;
        if (!slot)
                return true;
        if (!moved_put(&to, w, at) || !moved_jump(&to, at + MOVED_BYTES) || !moved_end(&to))
                return false;
        m->count = (uint8_t)to.used;
        return true;
}
