/* SPDX-License-Identifier: MIT */
#include "agent/apart.h"

#include "agent/agent.h"
#include "agent/maps.h"
#include "agent/real.h"
#include "agent/sys.h"

#include "agent/guest.h"

static uint32_t fresh_calls, other_calls; /* that were counted and not looked into */
static uint32_t copies = 1;               /* of the C library, at the last look */

/* How often the file that has the C library is mapped; 0: that cannot be told. */
static uint32_t count_in(struct maps *m)
{
        uint64_t address = (uintptr_t)real.gnu_get_libc_version, dev = 0, ino = 0;
        struct maps_line line;
        uint32_t count = 0;

        for (int pass = 0; pass < 2; pass++) {
                if (!maps_open(m))
                        return 0;
                while (maps_next(m, &line)) {
                        if (pass == 0 && address >= line.start && address < line.end) {
                                dev = line.dev;
                                ino = line.ino;
                        }
                        count += pass == 1 && ino && line.dev == dev && line.ino == ino &&
                                 line.offset == 0;
                }
                maps_close(m);
                if (m->failed)
                        return 0;
        }
        return count;
}

static uint32_t count_copies(void)
{
        struct maps *m = sys_memory(sizeof *m);
        uint32_t count = m ? count_in(m) : 0;

        if (m)
                sys_unmap(m, sizeof *m);
        return count;
}

void apart_called(bool fresh)
{
        __atomic_add_fetch(fresh ? &fresh_calls : &other_calls, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&agent.head->namespaces, 1, __ATOMIC_RELAXED);
}

/* With a call that another thread is in just now this is too early for it: then it is counted the
 * next time, by the copy that it makes. */
void apart_settle(void)
{
        uint32_t fresh, other, now;

        if (*agent.gate != GATE_ON || (!__atomic_load_n(&fresh_calls, __ATOMIC_RELAXED) &&
                                       !__atomic_load_n(&other_calls, __ATOMIC_RELAXED)))
                return;
        now = count_copies();
        if (!now)
                return;
        fresh = __atomic_exchange_n(&fresh_calls, 0, __ATOMIC_RELAXED);
        other = now == 1 && copies == 1 ? __atomic_exchange_n(&other_calls, 0, __ATOMIC_RELAXED)
                                        : 0;
        __atomic_add_fetch(&agent.head->namespaces, now - copies - fresh - other, __ATOMIC_RELAXED);
        copies = now;
}

void apart_closed(void)
{
        uint32_t now = copies > 1 ? count_copies() : 0;

        if (now)
                copies = now;
}
