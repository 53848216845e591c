/* SPDX-License-Identifier: MIT */
/*
 * frames_x86_64.c -- what the signal handlers of x86-64 interrupted that threads of another process
 * are in.
 *
 * Keeps:  a frame is known by what the kernel writes into each (SIGNAL_MARK), and by its
 *         return address, where the system call is that ends a handler.  A frame that was left long
 *         ago may still be there: what is changed in it changes nothing.
 */
#if defined(__x86_64__) && defined(__LP64__)
#include <string.h>

#include "attach/inject_parts.h"

/* In each frame: the segments of 64-bit code (cs, gs, fs, ss).  From there back to the program
 * counter, the stack pointer, and the return address of the handler. */
#define SIGNAL_MARK 0x002b000000000033ull
#define SIGNAL_PC 16u
#define SIGNAL_SP 24u
#define SIGNAL_BACK 192u
#define SIGNAL_RETURN_BYTES 9u

/* mov $15, %rax (or %eax); syscall */
static bool is_signal_return(const uint8_t *code)
{
        return memcmp(code, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9) == 0 ||
               memcmp(code, "\xb8\x0f\0\0\0\x0f\x05", 7) == 0;
}

#define STACK_MOST (1u << 20) /* of one stack that is looked at */
#define PART (16u << 10)

static bool is_return(const struct memory *m, uint64_t at)
{
        uint8_t code[SIGNAL_RETURN_BYTES];

        return memory_read(m, at, code, sizeof code) == sizeof code &&
               is_signal_return(code);
}

/* Whether the word at AT, which has the mark, is one of a frame: then *PC and *SP. */
static bool read_frame(const struct memory *m, uint64_t at, struct inject_frame *f, uint64_t *sp)
{
        uint64_t back = 0;

        f->at = at - SIGNAL_PC;
        return memory_read(m, at - SIGNAL_BACK, &back, sizeof back) == sizeof back &&
               memory_read(m, f->at, &f->pc, sizeof f->pc) == sizeof f->pc &&
               memory_read(m, at - SIGNAL_SP, sp, sizeof *sp) == sizeof *sp &&
               is_return(m, back);
}

/* How much there is of the stack that has SP: what was mapped a moment ago, or a little. */
static uint64_t stack_end(const struct inject *j, uint64_t sp)
{
        const struct mapping *m = mappings_find(&j->maps, sp);
        uint64_t most = sp + (m ? STACK_MOST : PART);

        return m && m->end < most ? m->end : most;
}

uint32_t inject_frames(const struct inject *j, const struct hold_thread *t,
                       struct inject_frame *out, uint32_t room)
{
        const struct memory m = { .tid = t->tid, .mem = -1, .pagemap = -1 };
        uint64_t words[PART / sizeof(uint64_t)], at = arch_stack(&t->registers) & ~7ull, sp;
        uint64_t start = at, end = stack_end(j, at), other = 0;
        uint32_t count = 0;

        while (count < room) {
                size_t want = end - at < PART ? end - at : PART, got = 0;

                if (at < end)
                        got = memory_read(&m, at, words, want) / sizeof *words;
                for (size_t i = 0; i < got && count < room; i++) {
                        if (words[i] != SIGNAL_MARK ||
                            !read_frame(&m, at + i * sizeof *words, &out[count], &sp))
                                continue;
                        count++;
                        if (sp < start || sp >= end)
                                other = sp & ~7ull;
                }
                at += got * sizeof *words;
                if (got)
                        continue;
                if (!other) /* else: the handler has a stack of its own */
                        break;
                at = start = other;
                end = stack_end(j, at);
                other = 0;
        }
        return count;
}

#endif
