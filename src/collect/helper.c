/* SPDX-License-Identifier: MIT */
#include "collect/helper.h"

#include <unistd.h>

#include "base/heap.h"
#include "collect/counters.h"
#include "profile/model.h"

#define LIST_BASE_BYTES (8u << 20)
#define LIST_SHORT_BYTES (16u << 20)
#define LIST_BLOCK 16u /* packed (profile/packed.h), and what a file is written from */

static void end_quietly(void)
{
        _exit(1);
}

void helper_begin(pid_t program, struct room *room, void (*full)(void))
{
        struct room own;

        room = room ? room : &own;
        room_offer(0);
        room_find(room, "", program);
        room_bound(room);
        heap_when_empty(full ? full : end_quietly);
}

uint64_t helper_blocks(const struct view *v)
{
        uint32_t slots = counters_slots(v);
        uint64_t blocks = 0;

        for (uint32_t i = 0; i < slots; i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                blocks += slot.allocs - slot.frees;
        }
        return (int64_t)blocks > 0 ? blocks : 0;
}

/* Short ones are not worth asking for. */
bool helper_may_list(const struct view *v, pid_t program, char why[ROOM_WHY_BYTES])
{
        uint64_t blocks = helper_blocks(v), most = v->present_bytes / sizeof(struct ledger_block);
        uint64_t bytes = LIST_BASE_BYTES + (blocks < most ? blocks : most) * LIST_BLOCK;
        struct room room;

        *why = 0;
        if (bytes < LIST_SHORT_BYTES)
                return true;
        room_find(&room, "", program);
        return room_allows(&room, bytes, why);
}
