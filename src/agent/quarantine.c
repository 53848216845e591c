/* SPDX-License-Identifier: MIT */
#include "agent/quarantine.h"

#include "agent/arena.h"
#include "agent/fill.h"
#include "agent/real.h"
#include "agent/record.h"

#include "agent/guest.h"

#define RING_LEAST_BITS 10u
#define RING_MOST_BITS 22u
#define RING_BYTES_PER_PLACE 64u /* with smaller blocks the ring is full before its bytes are
                                  * reached */
#define RING_SPARE 8u /* places that stay free, for those who are about to put a block in */

/* One place.  TURN: 2 * lap while it is free for that lap, one more while it is taken. */
struct held {
        uint64_t turn;
        uint64_t address, size, align;
        uint32_t node, ms;
        uint32_t family, reserved;
};

#define WAYS 8u /* places that an address may be found by */

static struct {
        struct held *ring;
        uint32_t *index; /* by address: 1 + the place in the ring of a block that was put
                          * there, newest first come */
        uint32_t bits;
        _Alignas(64) uint64_t in;
        _Alignas(64) uint64_t out;
} quarantine;

bool quarantine_start(void)
{
        quarantine.bits = RING_LEAST_BITS;
        while (quarantine.bits < RING_MOST_BITS &&
               RING_BYTES_PER_PLACE << quarantine.bits < agent.quarantine)
                quarantine.bits++;
        if (!agent.quarantine || agent.sample)
                return false;
        quarantine.index = arena_private(sizeof *quarantine.index << (quarantine.bits + 1));
        quarantine.ring = quarantine.index
                                  ? arena_private(sizeof *quarantine.ring << quarantine.bits)
                                  : NULL;
        return quarantine.ring != NULL;
}

static uint64_t turn_of(uint64_t place)
{
        return place >> quarantine.bits << 1;
}

static struct held *place_at(uint64_t place)
{
        return &quarantine.ring[place & ((1u << quarantine.bits) - 1)];
}

/* Take the next place behind *END for a change from TURN + FROM; NULL: the ring is full, or
 * empty. */
static struct held *take_place(uint64_t *end, uint64_t from, uint64_t *place)
{
        *place = __atomic_load_n(end, __ATOMIC_RELAXED);
        for (;;) {
                struct held *h = place_at(*place);
                uint64_t turn = __atomic_load_n(&h->turn, __ATOMIC_ACQUIRE),
                         wanted = turn_of(*place) + from;

                if (turn < wanted)
                        return NULL;
                if (turn > wanted)
                        *place = __atomic_load_n(end, __ATOMIC_RELAXED);
                else if (__atomic_compare_exchange_n(end, place, *place + 1, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        return h;
        }
}

/* The WAYS entries of the index for ADDRESS. */
static uint32_t *ways_of(uint64_t address)
{
        uint64_t hash = address * 0x9e3779b97f4a7c15ull >> (64 - quarantine.bits - 1);

        return &quarantine.index[hash & ~(uint64_t)(WAYS - 1)];
}

static bool is_taken(const struct held *h)
{
        return __atomic_load_n(&h->turn, __ATOMIC_ACQUIRE) & 1;
}

/* An entry that leads nowhere any more is used again; where there is none, one is lost,
 * and the first free with it. */
static void note_place(uint64_t address, uint64_t place)
{
        uint32_t *ways = ways_of(address), at = (uint32_t)(place & ((1u << quarantine.bits) - 1)),
                 way = 0;

        while (way < WAYS - 1 && ways[way] && is_taken(&quarantine.ring[ways[way] - 1]))
                way++;
        ways[way] = at + 1;
}

bool quarantine_put(struct thread *t, const struct ledger_block *gone, uint64_t address,
                    const struct book_release *r, struct arch_state caller)
{
        uint64_t size = LEDGER_BLOCK_SIZE(*gone), place;
        uint32_t kind = agent_book.sites[LEDGER_BLOCK_SITE(*gone)].kind, node = 0;
        struct held *h;

        if (size > agent.quarantine)
                return false;
        if (!(agent.flags & WIRE_F_NO_STACKS) && stack_capture_whole(t, caller))
                node = stack_node(t);
        h = take_place(&quarantine.in, 0, &place);
        if (!h)
                return false;
        fill_kept(address, size);
        h->address = address;
        h->size = size;
        h->align = LEDGER_KIND_HAS_ALIGNMENT(kind) ? LEDGER_KIND_ALIGNMENT(kind) : 0;
        h->family = r->family;
        h->node = node;
        h->ms = agent_now_ms();
        __atomic_add_fetch(&agent.head->quarantine_bytes, size, __ATOMIC_RELAXED);
        __atomic_add_fetch(&agent.head->quarantine_blocks, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&h->turn, turn_of(place) + 1, __ATOMIC_RELEASE);
        note_place(address, place);
        return true;
}

uint32_t quarantine_freed_by(uint64_t address)
{
        const uint32_t *ways = quarantine.ring ? ways_of(address) : NULL;

        for (uint32_t way = 0; ways && way < WAYS; way++) {
                const struct held *h = ways[way] ? &quarantine.ring[ways[way] - 1] : NULL;

                if (h && is_taken(h) && h->address == address)
                        return h->node;
        }
        return 0;
}

static void release(const struct held *h)
{
        void *p = (void *)(uintptr_t)h->address;

        if (h->family == LEDGER_FAMILY_NEW && h->align)
                REAL(delete_aligned_)(p, h->align);
        else if (h->family == LEDGER_FAMILY_NEW_ARRAY && h->align)
                REAL(delete_array_aligned_)(p, h->align);
        else if (h->family == LEDGER_FAMILY_NEW)
                REAL(delete_)(p);
        else if (h->family == LEDGER_FAMILY_NEW_ARRAY)
                REAL(delete_array_)(p);
        else
                real.free_(p);
}

/* Release the oldest one; false: there is none that can be had. */
static bool release_oldest(void)
{
        struct ledger_head *head = agent.head;
        struct held *h, gone;
        uint64_t place;

        h = take_place(&quarantine.out, 1, &place);
        if (!h)
                return false;
        gone = *h;
        head->quarantine_from_ms = gone.ms;
        __atomic_store_n(&h->turn, turn_of(place) + 2, __ATOMIC_RELEASE);
        __atomic_sub_fetch(&head->quarantine_bytes, gone.size, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&head->quarantine_blocks, 1, __ATOMIC_RELAXED);
        release(&gone);
        return true;
}

static bool is_full(void)
{
        uint64_t in = __atomic_load_n(&quarantine.in, __ATOMIC_RELAXED),
                 out = __atomic_load_n(&quarantine.out, __ATOMIC_RELAXED);

        return __atomic_load_n(&agent.head->quarantine_bytes, __ATOMIC_RELAXED) >
                       agent.quarantine ||
               in - out > (1u << quarantine.bits) - RING_SPARE;
}

void quarantine_drain(void)
{
        while (is_full() && release_oldest())
                ;
}

bool quarantine_empty(void)
{
        bool any = false;

        while (release_oldest())
                any = true;
        return any;
}
