/* SPDX-License-Identifier: MIT */
/*
 * hooks_map.c -- mmap and its relatives, and the calls that change what code is mapped or who we
 * are.
 *
 * Room:   inside; called by the program.
 * Keeps:  the C library's own mappings (malloc's arenas, thread stacks, libraries) do not come
 *         through here; for stacks see hooks_thread.c.
 */
#include "agent/apart.h"
#include "agent/arena.h"
#include "agent/fatal.h"
#include "agent/hook.h"
#include "agent/life.h"
#include "agent/object.h"
#include "agent/pool.h"
#include "agent/quarantine.h"
#include "agent/queue.h"
#include "agent/region.h"
#include "agent/ring.h"
#include "agent/signal.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define FAILED ((void *)-1)

void *hook_mmap(void *at, size_t size, int protection, int flags, int fd, ARCH_MAP_PARAMETER)
        HOOK("mmap");
void *hook_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset)
        HOOK("mmap64");
int hook_munmap(void *at, size_t size) HOOK("munmap");
void *hook_mremap(void *at, size_t old_size, size_t size, int flags, void *to) HOOK("mremap");
int hook_madvise(void *at, size_t size, int advice) HOOK("madvise");
void *hook_dlopen(const char *path, int flags) HOOK("dlopen");
void *hook_dlmopen(long space, const char *path, int flags) HOOK("dlmopen");
int hook_dlclose(void *handle) HOOK("dlclose");
int hook_fork(void) HOOK("fork");

static struct thread *map_enter(struct arch_state caller)
{
        if (unlikely(!agent_on() || (agent.flags & WIRE_F_NO_MMAP)))
                return NULL;
        return hook_enter(caller);
}

/* Blocks of the program's own pools go with the mapping that they were in. */
static void pool_unmapped(struct thread *t, void *at, size_t size, struct arch_state caller)
{
        if (unlikely(agent.special & SPECIAL_POOLS))
                pool_range_gone(t, (uintptr_t)at, (uintptr_t)at + size, 0, caller);
}

static void *map_inner(void *p)
{
        if (agent.unfollowed && p != FAILED)
                life_allocated();
        return p;
}

#define MAP(CALL)                                                                           \
        struct arch_state caller;                                                           \
        struct thread *t;                                                                   \
        uint64_t ticket;                                                                    \
        void *p;                                                                            \
                                                                                            \
        ARCH_FRAME(caller);                                                                 \
        t = map_enter(caller);                                                              \
        if (!t)                                                                             \
                return map_inner(CALL);                                                     \
        ticket = queue_ticket();                                                            \
        hook_call(t, caller);                                                               \
        p = CALL;                                                                           \
        hook_work(t);                                                                       \
        if (p != FAILED) {                                                                  \
                if (flags & MAP_FIXED)                                                      \
                        region_remove(t, (uintptr_t)p, size, ticket);                       \
                if (!region_add(t, (uintptr_t)p, size, LEDGER_KIND_MMAP, caller) &&         \
                    (flags & MAP_FIXED))                                                    \
                        region_leaves(t, (uintptr_t)p, size); /* for the log: it is gone */ \
        }                                                                                   \
        hook_leave(t);                                                                      \
        return p

void *hook_mmap(void *at, size_t size, int protection, int flags, int fd, ARCH_MAP_PARAMETER)
{
        MAP(real.mmap_(at, size, protection, flags, fd, ARCH_MAP_ARGUMENT));
}

/* A C library that has no mmap64 (musl since 1.2.4) has offsets of 64 bits. */
typedef void *map_wide(void *, size_t, int, int, int, int64_t);

void *hook_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset)
{
        MAP(real.mmap64_ ? real.mmap64_(at, size, protection, flags, fd, offset)
                         : ((map_wide *)(void (*)(void))real.mmap_)(at, size, protection, flags,
                                                                    fd, offset));
}

int hook_munmap(void *at, size_t size)
{
        struct arch_state caller;
        struct thread *t;
        uint64_t ticket;
        int result;

        ARCH_FRAME(caller);
        t = map_enter(caller);
        if (!t)
                return real.munmap_(at, size);
        hook_work(t);
        ticket = region_leaves(t, (uintptr_t)at, size);
        hook_call(t, caller);
        result = real.munmap_(at, size);
        hook_work(t);
        if (result == 0) {
                region_remove(t, (uintptr_t)at, size, ticket);
                pool_unmapped(t, at, size, caller);
                object_range_unmapped((uintptr_t)at, (uintptr_t)at + size);
        } else {
                region_stays(t);
        }
        hook_leave(t);
        return result;
}

void *hook_mremap(void *at, size_t old_size, size_t size, int flags, void *to)
{
        struct arch_state caller;
        struct thread *t;
        uint64_t ticket;
        void *p;

        ARCH_FRAME(caller);
        t = map_enter(caller);
        if (!t)
                return real.mremap_(at, old_size, size, flags, to);
        hook_work(t);
        ticket = region_leaves(t, (uintptr_t)at, old_size);
        hook_call(t, caller);
        p = real.mremap_(at, old_size, size, flags, to);
        hook_work(t);
        if (p != FAILED) {
                if (old_size) {
                        region_remove(t, (uintptr_t)at, old_size, ticket);
                        if (p != at)
                                pool_unmapped(t, at, old_size, caller);
                }
                if (flags & MREMAP_FIXED)
                        region_remove(t, (uintptr_t)p, size, ticket);
                if (!region_add(t, (uintptr_t)p, size, LEDGER_KIND_MREMAP, caller) &&
                    (flags & MREMAP_FIXED))
                        region_leaves(t, (uintptr_t)p, size);
        } else {
                region_stays(t);
        }
        hook_leave(t);
        return p;
}

int hook_madvise(void *at, size_t size, int advice)
{
        if (unlikely(advice == MADV_WIPEONFORK) && agent_on())
                agent.head->wipes = 1;
        return REAL(madvise_)(at, size, advice);
}

#define DEEPBIND 8 /* RTLD_DEEPBIND, glibc's alone */
#define BASE_NAMESPACE 0 /* LM_ID_BASE, the same */
#define NEW_NAMESPACE (-1) /* LM_ID_NEWLM, the same */

/* A library that is bound to itself and what it needs before all others calls the C
 * library's malloc past us. */
static int without_deepbind(const char *path, int flags)
{
        struct ledger_head *h = agent.head;

        if (!agent_on() || !real.gnu_get_libc_version)
                return flags;
        if (agent.flags & WIRE_F_DEEPBIND) {
                h->deepbind_kept++;
                return flags;
        }
        if (!h->deepbind_taken++ && path)
                h->deepbind_name = book_string(&agent_book, path);
        return flags & ~DEEPBIND;
}

/* The real function looks at its return address: the library is searched for as its caller's own
 * paths say.  So this ends in a jump, and the program's address stays where it is;
 * test_invalid.py holds it. */
void *hook_dlopen(const char *path, int flags)
{
        if (unlikely(flags & DEEPBIND))
                flags = without_deepbind(path, flags);
        return REAL(dlopen_)(path, flags);
}

/* As above. */
void *hook_dlmopen(long space, const char *path, int flags)
{
        if (space != BASE_NAMESPACE && agent_on())
                apart_called(space == NEW_NAMESPACE);
        else if (flags & DEEPBIND)
                flags = without_deepbind(path, flags);
        return REAL(dlmopen_)(space, path, flags);
}

/* What is kept back may have come from an operator new of the library that goes. */
static void release_kept(void)
{
        struct arch_state caller;
        struct thread *t;

        ARCH_FRAME(caller);
        t = hook_enter(caller);
        if (!t)
                return;
        hook_call(t, caller);
        quarantine_empty();
        hook_leave(t);
}

int hook_dlclose(void *handle)
{
        bool on = agent_on();
        int result;

        if (on) {
                ring_look();
                apart_settle();
        }
        if (on && agent.special & SPECIAL_QUARANTINE)
                release_kept();
        result = real.dlclose_(handle);

        if (on && agent_on()) {
                real_forget_cxx();
                object_unmapped();
                apart_closed();
        }
        return result;
}

/* As if we had never been there. */
static void unrecorded_child(void)
{
        signal_forked();
        fatal_forked();
}

int hook_fork(void)
{
        bool on = agent_on();
        long copy = on ? life_before_fork() : -1;
        int result = real.fork_();

        if (result == 0 && agent.emulated)
                agent_wipe();
        if (!agent.head && copy >= 0) { /* an injected agent that has left meanwhile */
                sys_close(copy);
                on = false;
        } else if (on && result == 0 && agent.follow == FOLLOW_ALL) {
                life_child(copy);
        } else {
                life_parent(copy, result > 0);
        }
        if (on && result == 0 && *agent.gate != GATE_ON)
                unrecorded_child();
        return result;
}
