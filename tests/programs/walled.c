/* SPDX-License-Identifier: MIT */
/*
 * walled.c -- a process in which all system calls but a few are its end (seccomp): walled.
 *
 * Room:   tests only.  Says "ready", and for each byte of its input makes 200 blocks, keeps ten and
 *         says "done".  Its heap was made large before: neither it nor its C library needs any
 *         other call than read, write and exit.  Ends with 0 when all blocks are as they were left.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS 200
#define KEPT 10
#define BYTES 77
#define HEAP (4u << 20)

#define LET(number)                                                                            \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                     \
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static char *volatile held[BLOCKS];

static int build_wall(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                LET(SYS_read),
                LET(SYS_write),
                LET(SYS_exit_group),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        struct sock_fprog program = { sizeof code / sizeof *code, code };

        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static __attribute__((noinline)) int fill(void)
{
        int damaged = 0;

        for (int i = 0; i < BLOCKS; i++) {
                held[i] = malloc(BYTES);
                memset(held[i], i, BYTES);
        }
        for (int i = 0; i < BLOCKS; i++) {
                damaged |= held[i][0] != (char)i || held[i][BYTES - 1] != (char)i;
                if (i >= KEPT)
                        free(held[i]);
        }
        return damaged;
}

int main(void)
{
        char byte;

        mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
        mallopt(M_MMAP_THRESHOLD, 2 * HEAP);
        free(memset(malloc(HEAP), 1, HEAP));
        if (build_wall() || write(1, "ready\n", 6) != 6)
                _exit(2);
        while (read(0, &byte, 1) == 1)
                if (fill() || write(1, "done\n", 5) != 5)
                        _exit(3);
        _exit(0);
}
