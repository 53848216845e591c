/* SPDX-License-Identifier: MIT */
/* late_blocks.c -- the first allocations of the program itself come when mmap is the end of it
 * (seccomp); the C library has got memory before. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int main(void)
{
        struct sock_fprog filter = { sizeof code / sizeof *code, code };

        puts("begin"); /* which takes a buffer */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
                return 2;
        for (int i = 0; i < 100; i++) {
                void *volatile p = malloc(100);

                free(p);
        }
        puts("end");
        return 3;
}
