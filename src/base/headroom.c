/* SPDX-License-Identifier: MIT */
#include "base/headroom.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"

#define NO_LIMIT UINT64_MAX
#define UNLIMITED (UINT64_C(1) << 62) /* version 1 writes the largest number of pages for "none" */
#define SHARE_LEFT 8u                 /* one part in so many stays free, for the program */
#define MIB (UINT64_C(1) << 20)

/* ---- numbers in files ---- */

static uint64_t minus(uint64_t a, uint64_t b)
{
        return a > b ? a - b : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
        return a > NO_LIMIT - b ? NO_LIMIT : a + b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* The number in DIRECTORY/FILE; NO_LIMIT for "max", for none, and for none that can be read. */
static uint64_t number_in(const char *directory, const char *file)
{
        struct str text = { 0 };
        char path[PATH_MAX];
        uint64_t value = NO_LIMIT;

        snprintf(path, sizeof path, "%s/%s", directory, file);
        if (io_read_file(path, &text) && *str_get(&text) >= '0' && *str_get(&text) <= '9')
                value = strtoull(str_get(&text), NULL, 10);
        str_free(&text);
        return value < UNLIMITED ? value : NO_LIMIT;
}

/* The number behind the word KEY at the start of a line of TEXT; FALLBACK when there is none. */
static uint64_t number_behind(const char *text, const char *key, uint64_t fallback)
{
        const char *line = text;
        size_t length = strlen(key);

        while (line && !(strncmp(line, key, length) == 0 && strchr(" :\t", line[length]))) {
                line = strchr(line, '\n');
                line += line != NULL;
        }
        return line ? strtoull(line + length + strspn(line + length, " :\t"), NULL, 10) : fallback;
}

/* The same, of the file PATH. */
static uint64_t number_of(const char *path, const char *key, uint64_t fallback)
{
        struct str text = { 0 };

        if (io_read_file(path, &text))
                fallback = number_behind(str_get(&text), key, fallback);
        str_free(&text);
        return fallback;
}

static void bound_by(struct headroom *r, uint64_t bytes, const char *what, uint64_t most)
{
        if (bytes >= r->bytes)
                return;
        r->bytes = bytes;
        if (most == NO_LIMIT)
                snprintf(r->limit, sizeof r->limit, "%s", what);
        else
                snprintf(r->limit, sizeof r->limit, "%.400s (%" PRIu64 " MiB)", what, most / MIB);
}

/* ---- cgroups ---- */

/* One that a process is in: its directory, down from where the hierarchy is mounted. */
struct group {
        char path[PATH_MAX];
        size_t top; /* the part of the path that is the mount */
        bool old;   /* version 1 */
};

/* What the kernel takes back by itself when it is needed: file pages not used lately. */
static uint64_t reclaimable(const char *directory, bool old)
{
        char path[PATH_MAX + 16];

        snprintf(path, sizeof path, "%s/memory.stat", directory);
        return number_of(path, old ? "total_inactive_file" : "inactive_file", 0);
}

static void look_at_old(struct headroom *r, const char *directory, const char *name, uint64_t swap)
{
        uint64_t most = number_in(directory, "memory.limit_in_bytes"),
                 both = number_in(directory, "memory.memsw.limit_in_bytes");
        uint64_t back = most == NO_LIMIT && both == NO_LIMIT ? 0 : reclaimable(directory, true);
        char what[HEADROOM_LIMIT_BYTES];

        snprintf(what, sizeof what, "the memory limit of the cgroup %.400s", name);
        if (most != NO_LIMIT)
                bound_by(r,
                         plus(minus(most, number_in(directory, "memory.usage_in_bytes")),
                              back + swap),
                         what, most);
        if (both != NO_LIMIT)
                bound_by(r,
                         plus(minus(both, number_in(directory, "memory.memsw.usage_in_bytes")),
                              back),
                         what, both);
}

static void look_at_new(struct headroom *r, const char *directory, const char *name, uint64_t swap)
{
        uint64_t most = least(number_in(directory, "memory.max"),
                              number_in(directory, "memory.high"));
        char what[HEADROOM_LIMIT_BYTES];
        uint64_t more;

        if (most == NO_LIMIT)
                return;
        more = minus(number_in(directory, "memory.swap.max"),
                     number_in(directory, "memory.swap.current"));
        snprintf(what, sizeof what, "the memory limit of the cgroup %.400s", name);
        bound_by(r,
                 plus(minus(most, number_in(directory, "memory.current")),
                      reclaimable(directory, false) + least(more, swap)),
                 what, most);
}

/* It and all that it is in. */
static void look_at_group(struct headroom *r, struct group *g, uint64_t swap)
{
        for (;;) {
                const char *name = g->path[g->top] ? g->path + g->top : "/";
                char *slash;

                if (g->old)
                        look_at_old(r, g->path, name, swap);
                else
                        look_at_new(r, g->path, name, swap);
                slash = strrchr(g->path, '/');
                if (strlen(g->path) <= g->top || !slash || (size_t)(slash - g->path) < g->top)
                        return;
                *slash = 0;
        }
}

/* Word NUMBER (from 0) of LINE, its end marked. */
static bool word_of(const char *line, unsigned number, char *out, size_t room)
{
        size_t length;

        for (; number && *line && *line != '\n'; number--) {
                line += strcspn(line, " \n");
                line += *line == ' ';
        }
        length = strcspn(line, " \n");
        if (!length || length >= room)
                return false;
        memcpy(out, line, length);
        out[length] = 0;
        return true;
}

static bool has_word(const char *list, const char *word)
{
        size_t length = strlen(word);

        for (; list; list = strchr(list, ','), list += list != NULL)
                if (strncmp(list, word, length) == 0 && strchr(",\n ", list[length]))
                        return true;
        return false;
}

/* "ID PARENT DEV ROOT POINT OPTIONS [...] - TYPE SOURCE SUPER": is LINE the mount where PATH of
 * that version is, and where? */
static bool mount_holds(const char *line, const char *root, const char *path, struct group *g)
{
        const char *rest = strstr(line, " - "), *end = strchr(line, '\n');
        char type[32], from[PATH_MAX], point[PATH_MAX], super[512];
        size_t length;

        if (!rest || (end && rest > end) || !word_of(rest + 3, 0, type, sizeof type) ||
            strcmp(type, g->old ? "cgroup" : "cgroup2") != 0)
                return false;
        if (g->old && (!word_of(rest + 3, 2, super, sizeof super) || !has_word(super, "memory")))
                return false;
        if (!word_of(line, 3, from, sizeof from) || !word_of(line, 4, point, sizeof point))
                return false;
        length = strcmp(from, "/") == 0 ? 0 : strlen(from);
        if (strncmp(path, from, length) != 0 || strncmp(path, "/..", 3) == 0)
                /* Outside of what is mounted here: what can be seen is the top. */
                path = "", length = 0;
        path += length;
        if ((size_t)snprintf(g->path, sizeof g->path, "%s%s%s", root, point,
                             strcmp(path, "/") == 0 ? "" : path) >= sizeof g->path)
                return false;
        g->top = strlen(root) + strlen(point);
        return true;
}

/* MOUNTS: /proc/self/mountinfo. */
static bool find_mount(const char *mounts, const char *root, const char *path, struct group *g)
{
        bool found = false;

        for (const char *line = mounts; line && *line && !found; line += line != NULL) {
                found = mount_holds(line, root, path, g);
                line = strchr(line, '\n');
        }
        return found;
}

/* Where cgroups are looked for. */
struct groups {
        const char *root, *mounts;
        uint64_t swap;
};

/* A line "ID:CONTROLLERS:PATH" of /proc/PID/cgroup; version 2 has the number 0 and no
 * controllers. */
static void look_at_line(struct headroom *r, const struct groups *in, const char *line)
{
        const char *controllers = strchr(line, ':'),
                   *path = controllers ? strchr(controllers + 1, ':') : NULL;
        char copy[PATH_MAX], list[256];
        struct group g;

        if (!path || (size_t)(path - controllers) >= sizeof list ||
            strcspn(path, "\n") >= sizeof copy)
                return;
        snprintf(list, sizeof list, "%.*s ", (int)(path - controllers - 1), controllers + 1);
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
        g.old = list[0] != ' ';
        if ((!g.old || has_word(list, "memory")) && find_mount(in->mounts, in->root, copy, &g))
                look_at_group(r, &g, in->swap);
}

static void look_at_lines(struct headroom *r, const struct groups *in, const char *text)
{
        for (const char *line = text; line && *line; line += line != NULL) {
                look_at_line(r, in, line);
                line = strchr(line, '\n');
        }
}

static void read_below(const char *root, const char *file, struct str *out)
{
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s/proc/%s", root, file);
        io_read_file(path, out);
}

/* Mostly OTHER is in the same ones as we are, which are looked at once then. */
static void look_at_cgroups(struct headroom *r, const char *root, pid_t other, uint64_t swap)
{
        struct str mounts = { 0 }, ours = { 0 }, theirs = { 0 };
        struct groups in = { .root = root, .swap = swap };
        char file[32];

        snprintf(file, sizeof file, "%d/cgroup", (int)other);
        read_below(root, "self/mountinfo", &mounts);
        read_below(root, "self/cgroup", &ours);
        if (other)
                read_below(root, file, &theirs);
        in.mounts = str_get(&mounts);
        look_at_lines(r, &in, str_get(&ours));
        if (strcmp(str_get(&ours), str_get(&theirs)) != 0)
                look_at_lines(r, &in, str_get(&theirs));
        str_free(&mounts);
        str_free(&ours);
        str_free(&theirs);
}

/* ---- the machine, and ourselves ---- */

static void look_at_machine(struct headroom *r, const char *root, uint64_t *swap)
{
        uint64_t available, promised, most;
        struct str meminfo = { 0 };
        char vm[PATH_MAX];

        read_below(root, "meminfo", &meminfo);
        snprintf(vm, sizeof vm, "%s/proc/sys/vm", root);
        *swap = number_behind(str_get(&meminfo), "SwapFree", 0) * 1024;
        available = number_behind(str_get(&meminfo), "MemAvailable", NO_LIMIT);
        most = number_behind(str_get(&meminfo), "CommitLimit", NO_LIMIT);
        promised = number_behind(str_get(&meminfo), "Committed_AS", 0);
        str_free(&meminfo);
        if (available != NO_LIMIT)
                bound_by(r, available * 1024 + *swap, "the free memory of this machine", NO_LIMIT);
        if (most != NO_LIMIT && number_in(vm, "overcommit_memory") == 2)
                bound_by(r, minus(most, promised) * 1024,
                         "what the kernel still promises (vm.overcommit_memory=2)", NO_LIMIT);
}

/* Of our own process: what field NUMBER (from 0) of /proc/self/statm counts. */
static uint64_t own_bytes(unsigned number)
{
        struct str text = { 0 };
        char word[32] = "0";

        if (io_read_file("/proc/self/statm", &text))
                word_of(str_get(&text), number, word, sizeof word);
        str_free(&text);
        return strtoull(word, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define STATM_SIZE 0u
#define STATM_DATA 5u

/* ---- for callers ---- */

void headroom_find(struct headroom *r, const char *root, pid_t other)
{
        uint64_t swap;

        *r = (struct headroom){ .bytes = NO_LIMIT };
        look_at_machine(r, root, &swap);
        look_at_cgroups(r, root, other, swap);
        if (!*root) {
                struct rlimit limit;

                if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
                        bound_by(r, minus(limit.rlim_cur, own_bytes(STATM_SIZE)),
                                 "the limit on address space (ulimit -v)", limit.rlim_cur);
                if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
                        bound_by(r, minus(limit.rlim_cur, own_bytes(STATM_DATA)),
                                 "the limit on data (ulimit -d)", limit.rlim_cur);
        }
        if (r->bytes != NO_LIMIT)
                r->bytes -= r->bytes / SHARE_LEFT;
}

bool headroom_allows(const struct headroom *r, uint64_t need, char why[HEADROOM_WHY_BYTES])
{
        if (need <= r->bytes)
                return true;
        snprintf(why, HEADROOM_WHY_BYTES,
                 "about %" PRIu64 " MiB of memory, and %s leaves %" PRIu64 " MiB", need / MIB + 1,
                 r->limit, r->bytes / MIB);
        return false;
}

void headroom_bound(const struct headroom *r)
{
        struct rlimit limit;
        uint64_t most = plus(own_bytes(STATM_DATA), r->bytes);

        if (r->bytes == NO_LIMIT || getrlimit(RLIMIT_DATA, &limit) < 0 ||
            (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= most))
                return;
        limit.rlim_cur = most;
        setrlimit(RLIMIT_DATA, &limit);
}

void headroom_offer(pid_t pid)
{
        char path[64];
        int fd;

        if (pid)
                snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
        else
                snprintf(path, sizeof path, "/proc/self/oom_score_adj");
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        io_write(fd, "1000", 4); /* raising it needs no rights; where it fails, nothing is lost */
        close(fd);
}

uint64_t headroom_kills(void)
{
        return number_of("/proc/vmstat", "oom_kill", 0);
}
