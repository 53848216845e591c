/* SPDX-License-Identifier: MIT */
/*
 * resource.c -- anything with a handle that the program acquires and releases.
 *
 * Keeps:  the table is changed by the holder of the queue's lock only (queue.h).
 */
#include "agent/resource.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/queue.h"
#include "agent/ring.h"
#include "agent/sys.h"
#include "book/peak.h"

#include "agent/guest.h"

#define BUCKETS (1u << 16)
#define TYPE_NAME_MAX 63u

static uint32_t *buckets; /* entry + 1, 0 none */
static uint32_t unused;   /* list of entries given back; + 1 */

/* ---- types ---- */

static uint32_t find_type(const char *name)
{
        uint32_t count = __atomic_load_n(&agent.head->type_count, __ATOMIC_ACQUIRE);

        for (uint32_t i = 0; i < count; i++)
                if (bytes_same_text((const char *)arena_at(LEDGER_STRINGS) +
                                            agent.head->type_name[i],
                                    name))
                        return LEDGER_KIND_TYPE_FIRST + i;
        return 0;
}

/* New types are rare: a lock with signals blocked. */
static uint32_t add_type(const char *name)
{
        static uint32_t lock;
        uint64_t mask = sys_block_signals(~0ull);
        uint32_t kind, count;

        while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
                sys_yield();
        count = agent.head->type_count;
        if (count == LEDGER_TYPES_MAX - 1)
                name = "other types";
        kind = find_type(name);
        if (!kind && count == LEDGER_TYPES_MAX) {
                kind = LEDGER_KIND_TYPE_FIRST + LEDGER_TYPES_MAX - 1;
        } else if (!kind) {
                agent.head->type_name[count] = book_string(&agent_book, name);
                __atomic_store_n(&agent.head->type_count, count + 1, __ATOMIC_RELEASE);
                kind = LEDGER_KIND_TYPE_FIRST + count;
        }
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        sys_restore_signals(mask);
        return kind;
}

uint32_t resource_kind(const char *type)
{
        char name[TYPE_NAME_MAX + 1];
        uint32_t length = 0, kind;

        while (type && length < TYPE_NAME_MAX && type[length]) {
                name[length] = type[length];
                length++;
        }
        name[length] = 0;
        kind = find_type(length ? name : "resource");
        return kind ? kind : add_type(length ? name : "resource");
}

/* ---- the table ---- */

static struct ledger_handle *entries(void)
{
        return arena_at(LEDGER_HANDLES);
}

static uint32_t *bucket_of(uint32_t kind, uint64_t handle)
{
        return &buckets[(handle * 0x9e3779b97f4a7c15ull + kind * 0xc2b2ae3d27d4eb4full) >> 48];
}

static uint32_t kind_of(const struct ledger_handle *h)
{
        return agent_book.sites[h->site].kind;
}

/* The link that leads to the entry of HANDLE, or to the end of its chain. */
static uint32_t *link_to(uint32_t kind, uint64_t handle)
{
        uint32_t *link = bucket_of(kind, handle);

        while (*link &&
               (entries()[*link - 1].handle != handle || kind_of(&entries()[*link - 1]) != kind))
                link = &entries()[*link - 1].next;
        return link;
}

static uint32_t entry_new(void)
{
        uint32_t at = unused;

        if (at) {
                unused = entries()[at - 1].next;
                return at;
        }
        at = agent.head->handle_count + 1;
        if (!arena_commit(LEDGER_HANDLES, (uint64_t)at * sizeof(struct ledger_handle)))
                return 0;
        agent.head->handle_count = at;
        return at;
}

static void apply_release_of(struct thread *t, uint32_t kind, uint64_t handle)
{
        uint32_t *link = buckets ? link_to(kind, handle) : NULL, at;
        struct ledger_handle *h;
        struct ledger_counter *c;

        if (!link || !*link)
                return;
        at = *link;
        h = &entries()[at - 1];
        c = thread_counter(t, h->site);
        if (c) {
                peak_before_free(agent.head, c);
                c->frees++;
                c->free_bytes += h->amount;
                c->lifetime_ms += agent_now_ms() - h->birth_ms;
        }
        *link = h->next;
        h->site = 0;
        h->next = unused;
        unused = at;
}

/* first: handle, second: kind */
static void apply_release(struct thread *t, const struct operation *o)
{
        apply_release_of(t, (uint32_t)o->second, o->first);
}

/* first, second: from and to; site: kind */
static void apply_release_range(struct thread *t, const struct operation *o)
{
        for (uint32_t i = 0; i < agent.head->handle_count; i++) {
                const struct ledger_handle *h = &entries()[i];

                if (h->site && h->handle >= o->first && h->handle <= o->second &&
                    kind_of(h) == o->site)
                        apply_release_of(t, o->site, h->handle);
        }
}

/* first: handle, second: amount */
static void apply_acquire(struct thread *t, const struct operation *o)
{
        uint32_t kind = agent_book.sites[o->site].kind, at, *bucket;
        struct ledger_counter *c = thread_counter(t, o->site);

        if (!buckets)
                buckets = arena_private(BUCKETS * sizeof *buckets);
        if (!buckets || !c)
                return;
        apply_release_of(t, kind, o->first);
        at = entry_new();
        if (!at) {
                __atomic_add_fetch(&agent.head->handles_not_kept, 1, __ATOMIC_RELAXED);
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
                return;
        }
        bucket = bucket_of(kind, o->first);
        entries()[at - 1] = (struct ledger_handle){ o->first, o->second, o->site, o->birth_ms,
                                                    o->thread, *bucket };
        *bucket = at;
        peak_before_alloc(agent.head, c);
        c->allocs++;
        c->alloc_bytes += o->second;
}

void resource_acquire(struct thread *t, uint32_t kind, uint64_t handle, uint64_t amount,
                      struct arch_state caller)
{
        struct operation *o = kind && !(agent.special & SPECIAL_OFF) ? queue_new_at(t, kind, caller)
                                                                     : NULL;

        if (!o)
                return;
        o->apply = apply_acquire;
        o->first = handle;
        o->second = amount;
        ring_put(t, LEDGER_EVENT_ACQUIRE, kind, o->site, handle, amount);
        queue_submit(t, o);
}

void resource_release(struct thread *t, uint32_t kind, uint64_t handle, struct arch_state caller)
{
        struct operation *o = kind ? queue_new(t) : NULL;

        if (!o)
                return;
        o->apply = apply_release;
        o->first = handle;
        o->second = kind;
        o->ticket = queue_ticket();
        ring_put(t, LEDGER_EVENT_RELEASE, kind, 0, handle, caller.pc);
        queue_submit(t, o);
}

void resource_release_range(struct thread *t, uint32_t kind, uint64_t first, uint64_t last)
{
        struct operation *o = kind ? queue_new(t) : NULL;

        if (!o)
                return;
        o->apply = apply_release_range;
        o->first = first;
        o->second = last;
        o->site = kind;
        o->ticket = queue_ticket();
        queue_submit(t, o);
}
