/* SPDX-License-Identifier: MIT */
/*
 * moved_aarch64.c -- functions that begin with each instruction that depends on its place, called
 * as they are, by way of their trampoline, and patched: the results are the same.
 *
 * Room:   tests only; linked with src/attach/arch/patch_aarch64.c and moved_aarch64.c, run by
 *         qemu.  Prints what differs, and how many were tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "attach/patch.h"

#define FUNCTION(name, code)                                                              \
        ".globl " #name "\n.balign 64\n" #name ":\n" code ".size " #name ", . - " #name "\n"
#define ONE_OR_TWO "mov x0, #1\n ret\n 1: mov x0, #2\n ret\n"

/* x9: where to return to, for those that lose x30; x10: helper. */
__asm__(".text\n"
        FUNCTION(f_plain, "add x0, x0, #1\n ret\n")
        FUNCTION(f_adr, "adr x0, f_plain\n ret\n")
        FUNCTION(f_adrp, "adrp x0, f_plain\n add x0, x0, :lo12:f_plain\n ret\n")
        FUNCTION(f_ldr, "ldr x0, 1f\n ret\n .balign 8\n 1: .quad 0x1122334455667788\n")
        FUNCTION(f_ldr_w, "ldr w0, 1f\n ret\n 1: .word 0x99887766\n")
        FUNCTION(f_ldrsw, "ldrsw x0, 1f\n ret\n 1: .word -5\n")
        FUNCTION(f_ldr_s, "ldr s0, 1f\n fmov w0, s0\n ret\n 1: .word 0x12345678\n")
        FUNCTION(f_ldr_d, "ldr d0, 1f\n fmov x0, d0\n ret\n .balign 8\n "
                          "1: .quad 0x1234567890abcdef\n")
        FUNCTION(f_ldr_q, "ldr q0, 1f\n fmov x0, v0.d[1]\n ret\n .balign 16\n "
                          "1: .quad 1, 0x5555666677778888\n")
        FUNCTION(f_prfm, "prfm pldl1keep, f_plain\n add x0, x0, #3\n ret\n")
        FUNCTION(f_cbz, "cbz x0, 1f\n" ONE_OR_TWO)
        FUNCTION(f_cbnz, "cbnz w0, 1f\n" ONE_OR_TWO)
        FUNCTION(f_tbz, "tbz x0, #3, 1f\n" ONE_OR_TWO)
        FUNCTION(f_tbnz, "tbnz x0, #40, 1f\n" ONE_OR_TWO)
        FUNCTION(f_eq, "b.eq 1f\n" ONE_OR_TWO)
        FUNCTION(f_gt, "b.gt 1f\n" ONE_OR_TWO)
        FUNCTION(f_back, "b f_plain\n")
        FUNCTION(f_bl, "bl helper\n br x9\n")
        FUNCTION(f_blr, "blr x10\n br x9\n")
        FUNCTION(f_ret, "ret\n")
        FUNCTION(f_pac, "paciasp\n stp x29, x30, [sp, #-16]!\n add x0, x0, #5\n "
                        "ldp x29, x30, [sp], #16\n autiasp\n ret\n")
        FUNCTION(f_pac_adr, "paciasp\n adr x0, f_plain\n autiasp\n ret\n")
        FUNCTION(f_bti, "bti c\n cbz x0, 1f\n" ONE_OR_TWO)
        FUNCTION(f_bti_pac, "bti c\n paciasp\n add x0, x0, #6\n autiasp\n ret\n")
        FUNCTION(helper, "mov x0, x30\n ret\n")
        FUNCTION(f_loop, "subs x0, x0, #1\n b.gt f_loop\n ret\n")
        FUNCTION(f_brk, "brk #0\n ret\n")
        /* call(function, x): flags as of comparing x with 5 */
        FUNCTION(call, "stp x29, x30, [sp, #-16]!\n mov x2, x0\n mov x0, x1\n adrp x10, helper\n "
                       "add x10, x10, :lo12:helper\n"
                       " adr x9, 1f\n cmp x0, #5\n blr x2\n 1: ldp x29, x30, [sp], #16\n ret\n")
        /* hook: what is at `way` is called with everything as it was */
        FUNCTION(hook, "adrp x17, hooked\n add x17, x17, :lo12:hooked\n ldr x16, [x17]\n "
                       "add x16, x16, #1\n str x16, [x17]\n"
                       " adrp x17, way\n ldr x17, [x17, :lo12:way]\n br x17\n"));

#define FUNCTIONS(X)                                                                      \
        X(f_plain) X(f_adr) X(f_adrp) X(f_ldr) X(f_ldr_w) X(f_ldrsw) X(f_ldr_s)           \
        X(f_ldr_d) X(f_ldr_q) X(f_prfm) X(f_cbz) X(f_cbnz) X(f_tbz) X(f_tbnz) X(f_eq)     \
        X(f_gt) X(f_back) X(f_bl) X(f_blr) X(f_ret) X(f_pac) X(f_pac_adr) X(f_bti)        \
        X(f_bti_pac)
#define DECLARE(name) extern char name[];
FUNCTIONS(DECLARE)
extern char f_loop[], f_brk[], hook[];
unsigned long call(void *function, unsigned long x);
unsigned long hooked, way;

static const struct {
        char *at;
        const char *name;
} functions[] = {
#define ROW(name) { name, #name },
        FUNCTIONS(ROW)
};

static int tried, wrong;

static void expect(unsigned long found, unsigned long wanted, const char *what, const char *name)
{
        tried++;
        if (found == wanted)
                return;
        wrong++;
        printf("%s of %s: %lx instead of %lx\n", what, name, found, wanted);
}

static bool plan(struct patch *p, char *function, char *trampoline, void *to)
{
        struct err e = { 0 };
        struct patch_code code = { (const uint8_t *)function, 64, 0, 0 };

        *p = (struct patch){ .entry = (uintptr_t)function,
                             .hook = (uintptr_t)to,
                             .trampoline = (uintptr_t)trampoline };
        return patch_plan(p, &code, &e);
}

static void write_code(void *at, const void *from, size_t bytes)
{
        memcpy(at, from, bytes);
        __builtin___clear_cache(at, (char *)at + bytes);
}

static void check(char *function, const char *name, char *trampoline, void *to)
{
        static const unsigned long values[] = { 0, 5, 8, 1ul << 40, -1ul };
        struct patch p;

        if (!plan(&p, function, trampoline, to)) {
                expect(0, 1, "plan", name);
                return;
        }
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                unsigned long wanted = call(function, values[i]), before = hooked;

                write_code(trampoline, p.code, p.used);
                expect(call(trampoline, values[i]), wanted, "trampoline", name);
                way = (unsigned long)trampoline;
                write_code(function, p.after, p.length);
                expect(call(function, values[i]), wanted, "patch", name);
                expect(hooked, before + 1, "hook", name);
                write_code(function, p.before, p.length);
                expect(call(function, values[i]), wanted, "original", name);
        }
}

int main(void)
{
        unsigned long page = 65536, text = (unsigned long)f_plain & ~(page - 1);
        int all = PROT_READ | PROT_WRITE | PROT_EXEC, how = MAP_PRIVATE | MAP_ANONYMOUS;
        char *near = mmap((void *)(text + (64ul << 20)), page, all, how, -1, 0);
        char *far = mmap((void *)(text + (1ul << 34)), page, all, how, -1, 0);
        /* ldr x16, 8; br x16: the same hook from far away */
        struct { unsigned code[2]; void *to; } veneer = { { 0x58000050, 0xd61f0200 }, hook };
        struct patch p;

        if (near == MAP_FAILED || far == MAP_FAILED || mprotect((void *)text, 2 * page, all) != 0)
                return 2;
        write_code(far, &veneer, sizeof veneer);
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
                check(functions[i].at, functions[i].name, near, hook);
                check(functions[i].at, functions[i].name, near, far);
        }
        expect(plan(&p, f_loop, near, hook), 0, "jump to the first bytes", "f_loop");
        expect(plan(&p, f_brk, near, hook), 0, "breakpoint", "f_brk");
        expect(plan(&p, f_plain, far, far), 0, "nothing within reach", "f_plain");
        printf("%d tried, %d wrong\n", tried, wrong);
        return wrong != 0;
}
