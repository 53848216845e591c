/* SPDX-License-Identifier: MIT */
/*
 * test_sandbox.c -- the agent's judgement of system calls against the kernel's: random filters,
 * random arguments.
 */
#include "agent/sandbox.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/environment.h"
#include "agent/fatal.h"
#include "agent/fault.h"
#include "agent/sys.h"
#include "tap.h"

#define PROGRAMS 1000u
#define QUESTIONS 24u
#define LENGTH 40u
#define CALL SYS_getpid /* which looks at none of its arguments */

/* ---- what the agent's code needs of the rest ---- */

static volatile uint32_t gate = GATE_OFF;

struct agent agent = { .gate = &gate };

bool agent_wake(void)
{
        return false;
}

uint32_t sys_pid_known(void)
{
        return 0;
}

const char *bytes_after(const char *text, const char *prefix)
{
        size_t length = strlen(prefix);

        return strncmp(text, prefix, length) ? NULL : text + length;
}

void arena_stock_up(void) {}
void environment_filters(uint32_t number) { (void)number; }
void fatal_start(void) {}
void fatal_withdraw(void) {}
void fault_prepare(void) {}

/* ---- filters ---- */

static uint64_t seed = 88172645463325252u;

static uint32_t any(uint32_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)((seed >> 11) % below);
}

/* Numbers that meet each other now and then. */
static uint32_t any_number(void)
{
        static const uint32_t few[] = { 0, 1, 2, 7, 8, 255, 0x7fffffff, 0x80000000, 0xffffffff };

        return any(3) ? few[any(sizeof few / sizeof *few)] : any(0xffffffff);
}

static struct sock_filter result(void)
{
        static const uint32_t actions[] = { SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM,
                                            SECCOMP_RET_ERRNO };

        return (struct sock_filter){ .code = BPF_RET | BPF_K, .k = actions[any(3)] };
}

/* One that the kernel takes; LEFT follow. */
static struct sock_filter instruction(uint32_t left)
{
        static const uint16_t alu[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
                                        BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
        static const uint16_t jumps[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
        uint16_t operation = alu[any(10)];

        switch (any(12)) {
        case 0: return (struct sock_filter){ .code = BPF_LD | BPF_W | BPF_LEN };
        case 1: return (struct sock_filter){ .code = BPF_LDX | BPF_W | BPF_LEN };
        case 2:
                return (struct sock_filter){
                        .code = (uint16_t)((any(2) ? BPF_LD : BPF_LDX) | BPF_IMM), .k = any_number()
                };
        case 3:
                return (struct sock_filter){
                        .code = (uint16_t)((any(2) ? BPF_LD : BPF_LDX) | BPF_MEM), .k = any(2)
                };
        case 4: return (struct sock_filter){ .code = any(2) ? BPF_ST : BPF_STX, .k = any(2) };
        case 5:
                return (struct sock_filter){ .code = (uint16_t)(BPF_MISC |
                                                                (any(2) ? BPF_TAX : BPF_TXA)) };
        case 6:
        case 7:
                return (struct sock_filter){
                        .code = (uint16_t)(BPF_ALU | operation |
                                           (operation != BPF_NEG && any(2) ? BPF_X : BPF_K)),
                        .k = operation == BPF_NEG                           ? 0
                             : operation == BPF_LSH || operation == BPF_RSH ? any(32)
                                                                            : any_number() | 1
                };
        case 8:
        case 9:
                return (struct sock_filter){ .code = (uint16_t)(BPF_JMP | jumps[any(4)] |
                                                                (any(2) ? BPF_X : BPF_K)),
                                             .jt = (uint8_t)any(left),
                                             .jf = (uint8_t)any(left),
                                             .k = any_number() };
        case 10:
                return any(4) ? result()
                              : (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = any(left) };
        default:
                return (struct sock_filter){ .code = BPF_LD | BPF_W | BPF_ABS,
                                             .k = 16 + 4 * any(12) };
        }
}

/* Lets all calls pass but one, about which it has its own mind. */
static unsigned short make(struct sock_filter *code)
{
        unsigned short n = 0;

        code[n++] = (struct sock_filter){ .code = BPF_LD | BPF_W | BPF_ABS,
                                          .k = offsetof(struct seccomp_data, nr) };
        code[n++] = (struct sock_filter){ .code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 1, .k = CALL };
        code[n++] = (struct sock_filter){ .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
        code[n++] = (struct sock_filter){ .code = BPF_LD | BPF_IMM };
        code[n++] = (struct sock_filter){ .code = BPF_LDX | BPF_IMM, .k = 3 };
        code[n++] = (struct sock_filter){ .code = BPF_ST };
        code[n++] = (struct sock_filter){ .code = BPF_STX, .k = 1 };
        for (uint32_t left = LENGTH; left > 0; left--)
                code[n++] = instruction(left);
        code[n++] = result();
        return n;
}

/* ---- both ---- */

struct question {
        uint64_t arguments[SANDBOX_ARGUMENTS];
};

static struct question questions[QUESTIONS];

enum { KERNEL_ALLOWS = 1, KERNEL_DOES_NOT, KERNEL_REFUSED };

/* What the kernel does, for each question. */
static void ask_kernel(const struct sock_fprog *program, uint8_t *out)
{
        pid_t child = fork();

        if (child == 0) {
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) < 0) {
                        out[0] = KERNEL_REFUSED;
                        _exit(0);
                }
                for (uint32_t i = 0; i < QUESTIONS; i++) {
                        const uint64_t *a = questions[i].arguments;

                        out[i] = syscall(CALL, a[0], a[1], a[2], a[3], a[4], a[5]) > 0
                                         ? KERNEL_ALLOWS
                                         : KERNEL_DOES_NOT;
                }
                _exit(0);
        }
        waitpid(child, NULL, 0);
}

static void compare(uint8_t *kernel, uint32_t *taken, uint32_t *allowed, uint32_t *different)
{
        struct sock_filter code[LENGTH + 16];
        struct sock_fprog program = { make(code), code };
        int filter;

        for (uint32_t i = 0; i < QUESTIONS; i++)
                for (uint32_t j = 0; j < SANDBOX_ARGUMENTS; j++)
                        questions[i].arguments[j] = (uint64_t)any_number() << 32 | any_number();
        memset(kernel, 0, QUESTIONS);
        ask_kernel(&program, kernel);
        if (kernel[0] == KERNEL_REFUSED)
                return;
        (*taken)++;
        filter = sandbox_enter(&program);
        /* 0: it was killed there, by a division */
        for (uint32_t i = 0; i < QUESTIONS && kernel[i]; i++) {
                bool ours = sandbox_allows(CALL, questions[i].arguments);

                *allowed += ours;
                *different += ours != (kernel[i] == KERNEL_ALLOWS);
        }
        sandbox_entered(filter, false);
}

TEST(filters_say_to_us_what_they_say_to_the_kernel)
{
        uint8_t *kernel = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                               0);
        uint32_t taken = 0, allowed = 0, different = 0;

        for (uint32_t i = 0; i < PROGRAMS; i++)
                compare(kernel, &taken, &allowed, &different);
        is_true(taken > PROGRAMS / 2);
        is_true(allowed > taken && allowed < taken * QUESTIONS);
        is_equal(different, 0);
}

static const uint64_t none[SANDBOX_ARGUMENTS];

TEST(without_a_filter_everything_is_allowed)
{
        is_true(sandbox_allows(SYS_execve, none));
}

TEST(in_the_strict_mode_nothing_is)
{
        sandbox_enter(NULL);
        is_true(!sandbox_allows(SYS_getpid, none));
        is_true(!sandbox_allows(SYS_read, none));
}

TAP_MAIN(filters_say_to_us_what_they_say_to_the_kernel, without_a_filter_everything_is_allowed,
         in_the_strict_mode_nothing_is)
