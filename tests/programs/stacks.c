/* SPDX-License-Identifier: MIT */
/*
 * stacks.c -- call chains that are known by name: each allocates a block of a size of its own and
 * tells who called whom.
 *
 * Room:   tests only.  "stack SIZE inner .. outer"; * stands for any number of frames that are not
 *         ours to name, ! at the end for a stack whose outer end cannot be found.  Correct at -O0
 *         and -O2, gcc and clang.
 */
#include "chain.h"
#include "truth.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa, noinline))
#endif

static volatile int sink;
static void *volatile keep;

void *asm_with_cfi(void *(*)(void));
void *asm_with_other_rbp(void *(*)(void));
void *asm_with_rbp_only(void *(*)(void));
void *asm_with_nothing(void *(*)(void));
void asm_trap_first(void);
void *nocfi_outer(void *(*)(void), int);

FRAME static void *take(size_t n)
{
        keep = malloc(n);
        sink++;
        return keep;
}

FRAME static void *plain_c(void)
{
        void *p = take(9001);
        sink++;
        return p;
}

FRAME static void *plain_b(void)
{
        void *p = plain_c();
        sink++;
        return p;
}

FRAME static void plain_a(void)
{
        plain_b();
        sink++;
}

FRAME static void *called_back(void)
{
        void *p = take(9002);
        sink++;
        return p;
}

FRAME static void through_library(void)
{
        chain_outer(called_back);
        sink++;
}

FRAME static int compare(const void *a, const void *b)
{
        if (!sink++)
                take(9003);
        return *(const int *)a - *(const int *)b;
}

FRAME static void sorting(void)
{
        int numbers[] = {3, 1, 2};
        sink = 0;
        qsort(numbers, 3, sizeof numbers[0], compare);
        sink++;
}

FRAME static int find(const void *a, const void *b)
{
        if (!sink++)
                take(9004);
        return *(const int *)a - *(const int *)b;
}

FRAME static void searching(void)
{
        int numbers[] = {1, 2, 3}, key = 3;
        sink = 0;
        keep = bsearch(&key, numbers, 3, sizeof numbers[0], find);
        sink++;
}

FRAME static void on_signal(int sig)
{
        (void)sig;
        take(9005);
        sink++;
}

FRAME static void raising(void)
{
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
        sink++;
}

FRAME static void on_trap(int sig, siginfo_t *info, void *context)
{
        (void)sig, (void)info;
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
        take(9006);
        sink++;
}

FRAME static void trapping(void)
{
        struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
        sigaction(SIGILL, &act, NULL);
        asm_trap_first();
        sink++;
}

FRAME static void binding(void)
{
        sink += chain_pick();
        sink++;
}

FRAME static void with_alloca(size_t n)
{
        char *buffer = alloca(n);
        memset(buffer, 1, n);
        take(9008);
        sink += buffer[n / 2];
}

FRAME static void with_array(size_t n)
{
        char buffer[n];
        memset(buffer, 1, n);
        take(9009);
        sink += buffer[n / 2];
}

FRAME static void realigned(void)
{
        _Alignas(64) volatile char buffer[128];
        buffer[0] = 1;
        take(9010);
        sink += buffer[0] + (int)((uintptr_t)buffer % 64);
}

FRAME static void realigned_with_alloca(size_t n)
{
        _Alignas(128) volatile char buffer[128];
        char *more = alloca(n);
        buffer[0] = more[0] = 1;
        take(9011);
        sink += buffer[0] + more[n - 1] * 0;
}

FRAME __attribute__((force_align_arg_pointer)) static void realigned_by_attribute(void)
{
        take(9012);
        sink++;
}

FRAME static void *from_asm_with_cfi(void)
{
        return take(9013);
}

FRAME static void asm_cfi(void)
{
        asm_with_cfi(from_asm_with_cfi);
        sink++;
}

FRAME static void *from_asm_with_other_rbp(void)
{
        void *p = take(9014);
        sink++;
        return p;
}

FRAME static void asm_other_rbp(void)
{
        asm_with_other_rbp(from_asm_with_other_rbp);
        sink++;
}

FRAME static void *from_asm_with_rbp_only(void)
{
        void *p = take(9015);
        sink++;
        return p;
}

FRAME static void asm_rbp_only(void)
{
        asm_with_rbp_only(from_asm_with_rbp_only);
        sink++;
}

FRAME static void *from_asm_with_nothing(void)
{
        void *p = take(9016);
        sink++;
        return p;
}

FRAME static void asm_nothing(void)
{
        asm_with_nothing(from_asm_with_nothing);
        sink++;
}

FRAME static void *from_nocfi(void)
{
        void *p = take(9017);
        sink++;
        return p;
}

FRAME static void without_cfi(void)
{
        nocfi_outer(from_nocfi, 3);
        sink++;
}

FRAME static void variadic(int count, ...)
{
        va_list ap;
        double sum = 0;
        va_start(ap, count);
        while (count--)
                sum += va_arg(ap, double);
        va_end(ap);
        take(9018);
        sink += (int)sum;
}

static jmp_buf out;

FRAME __attribute__((noreturn)) static void never_returns(void)
{
        take(9019);
        longjmp(out, 1);
}

/* The call is the last instruction: the return address lies in the next function. */
FRAME static void last_call(void)
{
        never_returns();
}

FRAME static void jumping(void)
{
        if (!setjmp(out))
                last_call();
        sink++;
}

FRAME static void ping(int n);

FRAME static void pong(int n)
{
        ping(n - 1);
        sink++;
}

FRAME static void ping(int n)
{
        if (n)
                pong(n);
        else
                take(9020);
        sink++;
}

FRAME static void *large_frame(void)
{
        volatile char buffer[300000];
        buffer[0] = 1;
        void *p = take(9021);
        sink += buffer[0];
        return p;
}

static void tell_expected(void)
{
        truth_say("stack 9001 take plain_c plain_b plain_a main\n"
                  "stack 9002 take called_back chain_inner chain_outer through_library main\n"
                  "stack 9003 take compare * sorting main\n"
                  "stack 9004 take find * searching main\n"
                  "stack 9005 take on_signal * raising main\n"
                  "stack 9006 take on_trap * asm_trap_first trapping main\n"
                  "stack 9007 chain_resolver * binding main\n"
                  "stack 9008 take with_alloca main\n"
                  "stack 9009 take with_array main\n");
        truth_say("stack 9010 take realigned main\n"
                  "stack 9011 take realigned_with_alloca main\n"
                  "stack 9012 take realigned_by_attribute main\n"
                  "stack 9014 take from_asm_with_other_rbp asm_with_other_rbp asm_other_rbp main\n"
                  "stack 9015 take from_asm_with_rbp_only asm_with_rbp_only asm_rbp_only main\n"
                  "stack 9016 take from_asm_with_nothing asm_with_nothing !\n"
                  "stack 9017 take from_nocfi nocfi_inner nocfi_outer nocfi_outer nocfi_outer "
                  "nocfi_outer without_cfi main\n"
                  "stack 9018 take variadic main\n"
                  "stack 9019 take never_returns last_call jumping main\n"
                  "stack 9020 take ping pong ping pong ping main\n"
                  "stack 9021 take large_frame main\n");
#ifdef __OPTIMIZE__
        /* `return take()` became a jump */
        truth_say("stack 9013 take asm_with_cfi asm_cfi main\n");
#else
        truth_say("stack 9013 take from_asm_with_cfi asm_with_cfi asm_cfi main\n");
#endif
}

int main(void)
{
        tell_expected();
        plain_a();
        through_library();
        sorting();
        searching();
        raising();
        trapping();
        binding();
        with_alloca(1000);
        with_array(1000);
        realigned();
        realigned_with_alloca(500);
        realigned_by_attribute();
        asm_cfi();
        asm_other_rbp();
        asm_rbp_only();
        asm_nothing();
        without_cfi();
        variadic(3, 1.0, 2.0, 3.0);
        jumping();
        ping(2);
        large_frame();
        return 0;
}
