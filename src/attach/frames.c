/* SPDX-License-Identifier: MIT */
/*
 * frames.c -- what the signal handlers interrupted that threads of another process are in.
 *
 * Keeps:  a frame is known by what the kernel writes into each (arch/frames.h).  A frame that was
 *         left long ago may still be there: what is changed in it changes nothing.
 */
#include "attach/arch/frames.h"
#include "attach/inject_parts.h"

#define STACK_MOST (1u << 20) /* of one stack that is looked at */
#define PART (16u << 10)

/* Whether the word at AT, which has the mark, is one of a frame: then *PC and *SP. */
static bool read_frame(const struct memory *m, uint64_t at, struct inject_frame *f, uint64_t *sp)
{
        f->at = at - FRAMES_PC;
        return memory_read(m, f->at, &f->pc, sizeof f->pc) == sizeof f->pc &&
               memory_read(m, at - FRAMES_SP, sp, sizeof *sp) == sizeof *sp &&
               frames_is_one(m, at);
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
                        if (words[i] != FRAMES_MARK ||
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
