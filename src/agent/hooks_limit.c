/* SPDX-License-Identifier: MIT */
/*
 * hooks_limit.c -- limits on address space and on locked memory, as the program means them.
 *
 * Room:   inside; called by the program.
 * Keeps:  the reservation of the ledger counts as address space of the process, though almost
 *         none of it is ever used.  A program that limits itself (ulimit -v in a shell,
 *         setrlimit) means its own memory: the kernel is told that much more, and the program is
 *         told the number it gave.  mlockall() is refused by the kernel when all of the address
 *         space is more than may be locked: where that is because of the reservation, the
 *         program's own memory is locked piece by piece.
 */
#include "agent/arena.h"
#include "agent/hook.h"
#include "agent/maps.h"
#include "agent/space.h"
#include "agent/sys.h"

#include "agent/guest.h"

int hook_getrlimit(int resource, void *out) HOOK("getrlimit");
int hook_getrlimit64(int resource, struct space_limit *out) HOOK("getrlimit64");
int hook_setrlimit(int resource, const void *in) HOOK("setrlimit");
int hook_setrlimit64(int resource, const struct space_limit *in) HOOK("setrlimit64");
int hook_prlimit(int pid, int resource, const void *in, void *out) HOOK("prlimit");
int hook_prlimit64(int pid, int resource, const struct space_limit *in, struct space_limit *out)
        HOOK("prlimit64");

/* struct rlimit of glibc, in the functions without 64 in their names; all ones: no limit. */
struct plain_limit {
        arch_word soft, hard;
};

/* Also of a process that is not recorded any more, or a forked child that never is:
 * the reservation is there. */
static uint64_t reserved(int resource)
{
        return resource == SPACE_LIMIT ? arena_reserved() : 0;
}

static uint64_t for_kernel(uint64_t value, uint64_t ours)
{
        return value > SPACE_NONE - ours ? SPACE_NONE : value + ours;
}

/* All of them are this one; OURS is what the ledger takes if PID is ourselves. */
static int change(int pid, int resource, const struct space_limit *in, struct space_limit *out)
{
        uint64_t ours = pid == 0 || (uint32_t)pid == sys_pid() ? reserved(resource) : 0;
        struct space_limit raised;
        int result;

        if (in && ours) {
                raised = (struct space_limit){ for_kernel(in->soft, ours),
                                               for_kernel(in->hard, ours) };
                in = &raised;
        }
        result = (real.prlimit64_ ? real.prlimit64_ : real.prlimit_)(pid, resource, in, out);
        if (result == 0 && out && ours)
                *out = space_of_program(*out, ours);
        return result;
}

static uint64_t widen(arch_word value)
{
        return value == (arch_word)-1 ? SPACE_NONE : value;
}

static arch_word narrow(uint64_t value)
{
        return value < (arch_word)-1 ? (arch_word)value : (arch_word)-1;
}

/* The same with limits of one word.  With 64 bits that is all there is, and in musl none are
 * smaller. */
static int change_plain(int pid, int resource, const void *in, void *out)
{
        const struct plain_limit *given = in;
        struct plain_limit *told = out;
        struct space_limit wanted, found = { 0, 0 };
        int result;

        if (sizeof(arch_word) == sizeof(uint64_t) || !real.gnu_get_libc_version)
                return change(pid, resource, in, out);
        if (in)
                wanted = (struct space_limit){ widen(given->soft), widen(given->hard) };
        result = change(pid, resource, in ? &wanted : NULL, out ? &found : NULL);
        if (result == 0 && out)
                *told = (struct plain_limit){ narrow(found.soft), narrow(found.hard) };
        return result;
}

int hook_prlimit(int pid, int resource, const void *in, void *out)
{
        agent_on();
        return change_plain(pid, resource, in, out);
}

int hook_prlimit64(int pid, int resource, const struct space_limit *in, struct space_limit *out)
{
        agent_on();
        return change(pid, resource, in, out);
}

int hook_getrlimit(int resource, void *out)
{
        agent_on();
        if (reserved(resource))
                return change_plain(0, resource, NULL, out);
        return real.getrlimit_(resource, out);
}

int hook_getrlimit64(int resource, struct space_limit *out)
{
        agent_on();
        if (reserved(resource))
                return change(0, resource, NULL, out);
        return (real.getrlimit64_ ? real.getrlimit64_ : real.getrlimit_)(resource, out);
}

int hook_setrlimit(int resource, const void *in)
{
        agent_on();
        if (reserved(resource))
                return change_plain(0, resource, in, NULL);
        return real.setrlimit_(resource, in);
}

int hook_setrlimit64(int resource, const struct space_limit *in)
{
        agent_on();
        if (reserved(resource))
                return change(0, resource, in, NULL);
        return (real.setrlimit64_ ? real.setrlimit64_ : real.setrlimit_)(resource, in);
}

/* ---- locked memory ---- */

int hook_mlockall(int flags) HOOK("mlockall");

#define LOCK_CURRENT 1 /* MCL_ */
#define LOCK_FUTURE 2
#define LOCK_ON_FAULT 4
#define LOCK_LIMIT 8 /* RLIMIT_MEMLOCK */

/* All address space of the process; 0: not known. */
static uint64_t space_bytes(void)
{
        long fd = sys_open("/proc/self/statm"), got;
        uint64_t pages = 0;
        char text[32];

        if (fd < 0)
                return 0;
        got = sys_read(fd, text, sizeof text);
        sys_close(fd);
        for (long i = 0; i < got && text[i] >= '0' && text[i] <= '9'; i++)
                pages = 10 * pages + (uint64_t)(text[i] - '0');
        return pages * SYS_PAGE;
}

/* Whether it is the reservation alone that keeps the kernel from locking all there is. */
static bool is_in_the_way(void)
{
        uint64_t limit[2] = { 0, 0 }, ours = arena_reserved(), all;

        if (!ours || sys_failed(sys_call6(SYS_prlimit64, 0, LOCK_LIMIT, 0, (long)limit, 0, 0)))
                return false;
        all = limit[0] == SPACE_NONE ? 0 : space_bytes();
        return all > limit[0] && all - ours <= limit[0];
}

static bool is_ours(uint64_t address)
{
        const struct ledger_range *own = arena_at(LEDGER_OWN);
        uint64_t count = __atomic_load_n(&agent.head->own_count, __ATOMIC_RELAXED),
                 most = agent.head->part[LEDGER_OWN].committed / sizeof *own;

        if (address - (uintptr_t)agent.head < agent.head->file_size)
                return true;
        for (uint64_t i = 0; i < count && i < most; i++)
                if (address >= own[i].start && address < own[i].end)
                        return true;
        return false;
}

/* What the kernel cannot lock (its own pages, memory without rights) it passes over, too. */
static bool lock_pieces(int flags)
{
        struct maps *maps = arena_private(sizeof *maps);
        struct maps_line line;
        bool good = maps && maps_open(maps);

        if (good && flags & LOCK_FUTURE)
                good = !sys_failed(sys_call3(SYS_mlockall, flags & ~LOCK_CURRENT, 0, 0));
        else if (good)
                sys_call3(SYS_munlockall, 0, 0, 0);
        while (good && maps_next(maps, &line))
                if (!is_ours(line.start))
                        sys_call3(SYS_mlock2, (long)line.start, (long)(line.end - line.start),
                                  (flags & LOCK_ON_FAULT) != 0);
        if (maps && maps->fd >= 0)
                maps_close(maps);
        if (maps)
                arena_private_free(maps, sizeof *maps);
        return good;
}

int hook_mlockall(int flags)
{
        agent_on();
        if (!(flags & LOCK_CURRENT) || flags & ~(LOCK_CURRENT | LOCK_FUTURE | LOCK_ON_FAULT) ||
            !is_in_the_way())
                return REAL(mlockall_)(flags);
        if (!sys_failed(sys_call3(SYS_mlockall, flags, 0, 0)) || lock_pieces(flags))
                return 0;
        return REAL(mlockall_)(flags);
}
