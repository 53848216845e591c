/* SPDX-License-Identifier: MIT */
/*
 * test_room.c -- limits on memory, read from directories that look like /proc and the mounts of
 * cgroups.
 */
#include "base/headroom.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "tap.h"

#define MIB (1024ll * 1024)

/* A sanitizer has terabytes of its own, and ends the process where malloc would say no. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

static char root[] = "/tmp/seep-room-XXXXXX";

/* TEXT into the file PATH below the root, with the directories that it is in. */
static void put(const char *path, const char *text)
{
        char whole[PATH_MAX];
        int fd;

        snprintf(whole, sizeof whole, "%s%s", root, path);
        for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = 0;
                mkdir(whole, 0700);
                *slash = '/';
        }
        fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        is_true(fd >= 0 && io_write(fd, text, strlen(text)));
        close(fd);
}

static void remove_all(const char *what)
{
        struct str command = { 0 };

        str_format(&command, "rm -rf '%s'%s", root, what);
        is_equal(system(str_get(&command)), 0);
        str_free(&command);
}

/* Nothing is limited, and the machine has 8 GiB, 1 GiB of swap among them. */
static void begin(void)
{
        static bool made;

        if (!made)
                made = is_true(mkdtemp(root) != NULL);
        remove_all("/*");
        put("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    7340032 kB\nSwapFree:   "
                             "1048576 kB\nCommitLimit: 2097152 kB\n"
                             "Committed_AS: 2000000 kB\n");
        put("/proc/sys/vm/overcommit_memory", "0\n");
        put("/proc/self/cgroup", "0::/\n");
        put("/proc/self/mountinfo",
            "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
}

/* What is left of BYTES when others have had their share. */
static long long share(long long bytes)
{
        return bytes - bytes / 8;
}

static struct headroom found(pid_t other)
{
        struct headroom r;

        headroom_find(&r, root, other);
        return r;
}

TEST(without_limits_there_is_what_the_machine_has)
{
        struct headroom r;

        begin();
        r = found(0);
        is_equal(r.bytes, share(8192 * MIB));
        is_text(r.limit, "the free memory of this machine");
}

TEST(where_the_kernel_promises_no_more_than_it_has_that_counts)
{
        struct headroom r;

        begin();
        put("/proc/sys/vm/overcommit_memory", "2\n");
        r = found(0);
        is_equal(r.bytes, share((2097152 - 2000000) * 1024));
        has_text(r.limit, "overcommit");
}

TEST(the_tightest_of_all_groups_around_counts)
{
        struct headroom r;

        begin();
        put("/proc/self/cgroup", "0::/outer/inner/leaf\n");
        put("/sys/fs/cgroup/outer/memory.max", "314572800\n"); /* 300 MiB, of which 100 are used */
        put("/sys/fs/cgroup/outer/memory.current", "104857600\n");
        put("/sys/fs/cgroup/outer/memory.swap.max", "0\n");
        put("/sys/fs/cgroup/outer/memory.swap.current", "0\n");
        put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
        put("/sys/fs/cgroup/outer/inner/memory.current", "104857600\n");
        put("/sys/fs/cgroup/outer/inner/leaf/memory.max", "max\n");
        put("/sys/fs/cgroup/outer/inner/leaf/memory.high", "max\n");
        r = found(0);
        is_equal(r.bytes, share(200 * MIB));
        is_text(r.limit, "the memory limit of the cgroup /outer (300 MiB)");

        put("/sys/fs/cgroup/outer/inner/memory.high", "209715200\n");
        put("/sys/fs/cgroup/outer/inner/memory.swap.max", "0\n");
        put("/sys/fs/cgroup/outer/inner/memory.swap.current", "0\n");
        r = found(0);
        is_equal(r.bytes, share(100 * MIB));
        is_text(r.limit, "the memory limit of the cgroup /outer/inner (200 MiB)");
}

TEST(swap_and_files_not_used_lately_are_room_too)
{
        begin();
        put("/proc/self/cgroup", "0::/one\n");
        put("/sys/fs/cgroup/one/memory.max", "104857600\n");
        put("/sys/fs/cgroup/one/memory.current", "94371840\n"); /* 10 MiB left */
        put("/sys/fs/cgroup/one/memory.stat",
            "anon 1\nfile 3\nactive_file 7\ninactive_file 4194304\n");
        put("/sys/fs/cgroup/one/memory.swap.max", "20971520\n");
        put("/sys/fs/cgroup/one/memory.swap.current", "10485760\n");
        is_equal(found(0).bytes, share((10 + 4 + 10) * MIB));
        put("/sys/fs/cgroup/one/memory.swap.max", "max\n"); /* then what the machine has */
        is_equal(found(0).bytes, share((10 + 4 + 1024) * MIB));
}

TEST(a_group_that_is_full_leaves_nothing)
{
        char why[HEADROOM_WHY_BYTES];
        struct headroom r;

        begin();
        put("/proc/self/cgroup", "0::/one\n");
        put("/sys/fs/cgroup/one/memory.max", "104857600\n");
        put("/sys/fs/cgroup/one/memory.current", "105857600\n");
        put("/sys/fs/cgroup/one/memory.swap.max", "0\n");
        r = found(0);
        is_equal(r.bytes, 0);
        is_true(headroom_allows(&r, 0, why));
        is_true(!headroom_allows(&r, 5 * MIB, why));
        is_text(why, "about 6 MiB of memory, and the memory limit of the cgroup /one (100 MiB) "
                     "leaves 0 MiB");
}

TEST(the_group_of_another_process_counts_too)
{
        begin();
        put("/proc/4711/cgroup", "0::/other\n");
        put("/sys/fs/cgroup/other/memory.max", "52428800\n");
        put("/sys/fs/cgroup/other/memory.current", "10485760\n");
        put("/sys/fs/cgroup/other/memory.swap.max", "0\n");
        is_equal(found(0).bytes, share(8192 * MIB));
        is_equal(found(4711).bytes, share(40 * MIB));
        is_equal(found(4712).bytes, share(8192 * MIB)); /* which is gone */
}

/* The groups of a container are mounted with its own at the top, whatever the names are outside. */
TEST(in_a_container_the_mount_is_the_top)
{
        begin();
        put("/proc/self/cgroup", "0::/docker/abc/below\n");
        put("/proc/self/mountinfo",
            "1 2 0:3 / /proc rw - proc proc rw\n"
            "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
        put("/sys/fs/cgroup/memory.max", "104857600\n");
        put("/sys/fs/cgroup/memory.current", "4857600\n");
        put("/sys/fs/cgroup/memory.swap.max", "0\n");
        put("/sys/fs/cgroup/below/memory.max", "52428800\n");
        put("/sys/fs/cgroup/below/memory.current", "0\n");
        put("/sys/fs/cgroup/below/memory.swap.max", "0\n");
        is_equal(found(0).bytes, share(50 * MIB));
        put("/proc/self/cgroup", "0::/../../elsewhere\n");
        is_equal(found(0).bytes, share(100000000));
        is_text(found(0).limit, "the memory limit of the cgroup / (100 MiB)");
}

TEST(version_1_is_understood)
{
        begin();
        put("/proc/self/cgroup", "9:name=systemd:/\n5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
        put("/proc/self/mountinfo",
            "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
            "32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
        put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000000\n");
        put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n");
        put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "62914560\n");
        put("/sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", "104857600\n");
        put("/sys/fs/cgroup/memory/a/memory.memsw.usage_in_bytes", "62914560\n");
        put("/sys/fs/cgroup/memory/a/memory.stat",
            "inactive_file 1\ntotal_inactive_file 1048576\n");
        put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        is_equal(found(0).bytes, share(41 * MIB));
        is_text(found(0).limit, "the memory limit of the cgroup /a (100 MiB)");
}

/* How often the files WATCHED, an inotify, were opened since this was asked last. */
static int count_opens(int watched)
{
        char events[4096];
        ssize_t got = read(watched, events, sizeof events);
        int count = 0;

        for (ssize_t at = 0; at < got; count++) {
                struct inotify_event e;

                memcpy(&e, events + at, sizeof e);
                at += (ssize_t)(sizeof e + e.len);
        }
        return count;
}

static void watch(int watched, const char *path)
{
        char whole[PATH_MAX];

        snprintf(whole, sizeof whole, "%s%s", root, path);
        is_true(inotify_add_watch(watched, whole, IN_OPEN) >= 0);
}

/* The kernel adds up the pages of a whole group for its statistics. */
TEST(no_more_is_read_than_limits_ask_for)
{
        int once = inotify_init1(IN_NONBLOCK), never = inotify_init1(IN_NONBLOCK);

        begin();
        put("/proc/self/cgroup", "4:memory:/a\n0::/one\n");
        put("/proc/4711/cgroup", "4:memory:/a\n0::/one\n");
        put("/proc/self/mountinfo",
            "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
            "32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
        put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        put("/sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 1048576\n");
        put("/sys/fs/cgroup/one/memory.max", "max\n");
        put("/sys/fs/cgroup/one/memory.stat", "inactive_file 1048576\n");
        watch(never, "/sys/fs/cgroup/memory/a/memory.stat");
        watch(never, "/sys/fs/cgroup/one/memory.stat");
        watch(once, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
        watch(once, "/sys/fs/cgroup/one/memory.max");
        watch(once, "/proc/self/mountinfo");
        watch(once, "/proc/meminfo");
        is_equal(found(4711).bytes, share(8192 * MIB));
        is_equal(count_opens(once), 4);
        is_equal(count_opens(never), 0);
        put("/sys/fs/cgroup/one/memory.max", "1048576\n");
        count_opens(once);
        found(4711);
        is_equal(count_opens(never), 1);
        close(once);
        close(never);
}

TEST(files_that_make_no_sense_are_no_limit)
{
        begin();
        put("/proc/self/cgroup", "::::\n0:\n\n4:memory\n0::/x\n4:memory:\n");
        put("/proc/self/mountinfo",
            "\n - cgroup2\n30 24 0:26 / /sys/fs/cgroup rw - cgroup2\n - \n30 24\n");
        put("/sys/fs/cgroup/x/memory.max", "lots\n");
        put("/proc/meminfo", "MemAvailable\n");
        is_true(found(0).bytes == UINT64_MAX);
}

static void say_so(void)
{
        _exit(42);
}

TEST(beyond_the_bound_memory_is_refused_and_the_kernel_takes_us_first)
{
        struct str text = { 0 };
        int status = 0;
        pid_t child = SANITIZED ? -1 : fork();

        if (SANITIZED) {
                tap_skip("a sanitizer cannot be bound");
                return;
        }

        if (child == 0) {
                struct headroom r = { .bytes = 32 * MIB };
                bool good;

                headroom_offer(0);
                good = io_read_file("/proc/self/oom_score_adj", &text) &&
                       strcmp(str_get(&text), "1000\n") == 0;
                headroom_bound(&r);
                heap_when_empty(say_so);
                free(heap_zero(8 * MIB, 1));
                _exit(good && heap_zero(64 * MIB, 1) ? 1 : 2);
        }
        is_equal(waitpid(child, &status, 0), child);
        is_equal(WEXITSTATUS(status), 42);
}

TEST(our_own_limits_count)
{
        struct rlimit limit;
        int status = 0;
        pid_t child = SANITIZED ? -1 : fork();

        if (SANITIZED) {
                tap_skip("a sanitizer cannot be bound");
                return;
        }

        if (child == 0) {
                struct headroom r;

                getrlimit(RLIMIT_DATA, &limit);
                limit.rlim_cur = 64 * MIB;
                setrlimit(RLIMIT_DATA, &limit);
                headroom_find(&r, "", 0);
                _exit(r.bytes > 16 * MIB && r.bytes < 64 * MIB && strstr(r.limit, "ulimit -d") ? 42
                                                                                               : 1);
        }
        is_equal(waitpid(child, &status, 0), child);
        is_equal(WEXITSTATUS(status), 42);
}

TEST(the_directories_are_gone)
{
        begin();
        remove_all("");
        is_true(access(root, F_OK) < 0);
}

TAP_MAIN(without_limits_there_is_what_the_machine_has,
         where_the_kernel_promises_no_more_than_it_has_that_counts,
         the_tightest_of_all_groups_around_counts, swap_and_files_not_used_lately_are_room_too,
         a_group_that_is_full_leaves_nothing, the_group_of_another_process_counts_too,
         in_a_container_the_mount_is_the_top, version_1_is_understood,
         no_more_is_read_than_limits_ask_for,
         files_that_make_no_sense_are_no_limit,
         beyond_the_bound_memory_is_refused_and_the_kernel_takes_us_first, our_own_limits_count,
         the_directories_are_gone)
