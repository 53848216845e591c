/* SPDX-License-Identifier: MIT */
#include "agent/space.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/executable.h"
#include "agent/sys.h"

#include "agent/guest.h"

static uint64_t without(uint64_t value, uint64_t ours)
{
        return value == SPACE_NONE || value < ours ? value : value - ours;
}

struct space_limit space_of_program(struct space_limit kernel, uint64_t ours)
{
        return (struct space_limit){ without(kernel.soft, ours), without(kernel.hard, ours) };
}

/* Whether the kernel knows how to start PATH.  A file that we may not read is not looked at
 * further. */
static bool is_program(const char *path)
{
        char magic[4] = { 0 };
        long fd = executable_open(SYS_AT_HERE, path), got;

        if (fd < 0)
                return false;
        got = sys_read(fd, magic, sizeof magic);
        sys_close(fd);
        return got == sizeof magic &&
               (memcmp(magic, "\177ELF", 4) == 0 || memcmp(magic, "#!", 2) == 0);
}

static bool is_found(const char *file)
{
        char path[EXECUTABLE_PATH];

        return executable_find(file, path) && is_program(path);
}

static bool is_sure(const char *file, bool searched)
{
        return file && (searched && !bytes_find(file, '/') ? is_found(file) : is_program(file));
}

bool space_lower(struct space_limit *was, const char *file, bool searched)
{
        uint64_t ours = arena_reserved();
        struct space_limit own;

        if (!ours || sys_failed(sys_call6(SYS_prlimit64, 0, SPACE_LIMIT, 0, (long)was, 0, 0)))
                return false;
        own = space_of_program(*was, ours);
        if (own.soft == was->soft && own.hard == was->hard)
                return false;
        if (own.hard != was->hard && !is_sure(file, searched))
                own.hard = was->hard;
        return !sys_failed(sys_call6(SYS_prlimit64, 0, SPACE_LIMIT, (long)&own, 0, 0, 0));
}

/* A hard limit that cannot be had back leaves the soft one as high as it may be. */
void space_raise(const struct space_limit *was)
{
        struct space_limit now = *was;

        if (sys_failed(sys_call6(SYS_prlimit64, 0, SPACE_LIMIT, (long)&now, 0, 0, 0)) &&
            !sys_failed(sys_call6(SYS_prlimit64, 0, SPACE_LIMIT, 0, (long)&now, 0, 0))) {
                now.soft = now.hard;
                sys_call6(SYS_prlimit64, 0, SPACE_LIMIT, (long)&now, 0, 0, 0);
        }
}
