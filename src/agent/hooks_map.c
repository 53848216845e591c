/* SPDX-License-Identifier: MIT */
/*
 * hooks_map.c -- mmap and its relatives, and the calls that change what code is mapped or who we are.
 *
 * Room:   inside; called by the program.
 * Keeps:  the C library's own mappings (malloc's arenas, thread stacks, libraries) do not come through here.
 */
#include "agent/hook.h"
#include "agent/life.h"
#include "agent/object.h"
#include "agent/region.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define FAILED ((void *)-1)

void *hook_mmap(void *at, size_t size, int protection, int flags, int fd, long offset) HOOK("mmap");
void *hook_mmap64(void *at, size_t size, int protection, int flags, int fd, long offset) HOOK("mmap64");
int hook_munmap(void *at, size_t size) HOOK("munmap");
void *hook_mremap(void *at, size_t old_size, size_t size, int flags, void *to) HOOK("mremap");
int hook_dlclose(void *handle) HOOK("dlclose");
int hook_fork(void) HOOK("fork");

static bool map_enter(struct hook *h)
{
        if (unlikely(!agent_on()) || (agent.flags & WIRE_F_NO_MMAP)) {
                h->thread = NULL;
                return false;
        }
        hook_enter(h);
        return h->thread != NULL;
}

#define MAP(CALL)                                                                                   \
        struct hook h;                                                                              \
        uint64_t ticket;                                                                            \
        void *p;                                                                                    \
                                                                                                    \
        ARCH_FRAME(h.caller);                                                                       \
        if (!map_enter(&h))                                                                         \
                return CALL;                                                                        \
        ticket = region_ticket();                                                                   \
        p = CALL;                                                                                   \
        hook_returned(&h);                                                                          \
        if (p != FAILED) {                                                                          \
                if (flags & MAP_FIXED)                                                              \
                        region_remove(h.thread, (uint64_t)p, size, ticket);                         \
                region_add(h.thread, (uint64_t)p, size, LEDGER_KIND_MMAP, &h.caller);               \
        }                                                                                           \
        hook_leave(&h);                                                                             \
        return p

void *hook_mmap(void *at, size_t size, int protection, int flags, int fd, long offset)
{
        MAP(real.mmap_(at, size, protection, flags, fd, offset));
}

void *hook_mmap64(void *at, size_t size, int protection, int flags, int fd, long offset)
{
        MAP((real.mmap64_ ? real.mmap64_ : real.mmap_)(at, size, protection, flags, fd, offset));
}

int hook_munmap(void *at, size_t size)
{
        struct hook h;
        uint64_t ticket;
        int result;

        ARCH_FRAME(h.caller);
        if (!map_enter(&h))
                return real.munmap_(at, size);
        ticket = region_ticket();
        result = real.munmap_(at, size);
        hook_returned(&h);
        if (result == 0)
                region_remove(h.thread, (uint64_t)at, size, ticket);
        hook_leave(&h);
        return result;
}

void *hook_mremap(void *at, size_t old_size, size_t size, int flags, void *to)
{
        struct hook h;
        uint64_t ticket;
        void *p;

        ARCH_FRAME(h.caller);
        if (!map_enter(&h))
                return real.mremap_(at, old_size, size, flags, to);
        ticket = region_ticket();
        p = real.mremap_(at, old_size, size, flags, to);
        hook_returned(&h);
        if (p != FAILED) {
                if (old_size)
                        region_remove(h.thread, (uint64_t)at, old_size, ticket);
                if (flags & MREMAP_FIXED)
                        region_remove(h.thread, (uint64_t)p, size, ticket);
                region_add(h.thread, (uint64_t)p, size, LEDGER_KIND_MREMAP, &h.caller);
        }
        hook_leave(&h);
        return p;
}

int hook_dlclose(void *handle)
{
        bool on = agent_on();
        int result = real.dlclose_(handle);

        if (on)
                object_rescan();
        return result;
}

int hook_fork(void)
{
        bool on = agent_on();
        long copy = on ? life_before_fork() : -1;
        int result = real.fork_();

        if (on && result == 0 && agent.follow == FOLLOW_ALL)
                life_child(copy);
        else
                life_parent(copy);
        return result;
}
