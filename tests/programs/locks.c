/* SPDX-License-Identifier: MIT */
/*
 * locks.c -- locks its memory, as a program that may not lock as much as it likes.
 *
 * usage: locks MIB FLAGS...     MIB: what may be locked; FLAGS: of mlockall(), one call after
 *        another
 *
 * Prints the result of each call, and whether its own memory, old and new, is locked.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Root may lock everything. */
static void become_ordinary(void)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct caps[2];

        if (syscall(SYS_capget, &head, caps))
                return;
        caps[0].effective &= ~(1u << CAP_IPC_LOCK);
        syscall(SYS_capset, &head, caps);
}

/* Of the mapping at AT. */
static int is_locked(const void *at)
{
        unsigned long start, end, here = (unsigned long)at;
        char line[4096];
        int inside = 0, locked = 0;
        FILE *f = fopen("/proc/self/smaps", "r");

        while (f && fgets(line, sizeof line, f)) {
                if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
                        inside = here >= start && here < end;
                if (inside && strncmp(line, "VmFlags:", 8) == 0)
                        locked = strstr(line, " lo") != NULL;
        }
        if (f)
                fclose(f);
        return locked;
}

int main(int argc, char **argv)
{
        struct rlimit limit = { strtoul(argv[1], NULL, 10) << 20, strtoul(argv[1], NULL, 10)
                                                                          << 20 };
        char *old = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *block = malloc(1000);

        become_ordinary();
        setrlimit(RLIMIT_MEMLOCK, &limit);
        for (int i = 2; i < argc; i++) {
                int result, error;
                char *fresh;

                errno = 0;
                result = mlockall(atoi(argv[i]));
                error = errno;
                fresh = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                printf("mlockall(%s): %d %s, heap %d, old %d, code %d, new %d\n", argv[i], result,
                       error ? strerror(error) : "-", is_locked(block), is_locked(old),
                       is_locked((void *)is_locked), is_locked(fresh));
                munmap(fresh, 1 << 20);
                munlockall();
        }
        free(block);
        munmap(old, 1 << 20);
        return 0;
}
