/* SPDX-License-Identifier: MIT */
/*
 * frames.c -- the frames that signal handlers of another process have interrupted.
 *
 * Keeps:  a frame is known by what the kernel writes into each (arch/frames.h).  A frame that was
 *         left long ago may still be there: what is changed in it changes nothing.
 */
#include "attach/arch/frames.h"
#include "attach/elf_words.h"
#include "attach/inject_parts.h"

#define STACK_MOST (1u << 20) /* of one stack that is looked at */
#define PART (16u << 10)

static bool read_word(const struct memory *m, uint64_t at, const struct frames_form *form,
                      uint64_t *word)
{
        *word = 0; /* little endian: the lower half comes first */
        return memory_read(m, at, word, form->width) == form->width;
}

/* Whether the word at AT, which has the mark, is one of a frame: then F and *SP. */
static bool read_frame(const struct memory *m, uint64_t at, const struct frames_form *form,
                       struct inject_frame *f, uint64_t *sp)
{
        f->at = at + (uint64_t)form->pc;
        return read_word(m, f->at, form, &f->pc) &&
               read_word(m, at + (uint64_t)form->sp, form, sp) &&
               frames_is_one(m, at, form->width == 4);
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
        const struct frames_form form = frames_form(j->narrow);
        uint8_t part[PART];
        uint64_t at = arch_stack(&t->registers) & ~7ull, sp;
        uint64_t start = at, end = stack_end(j, at), other = 0;
        uint32_t count = 0;

        while (form.mark && count < room) {
                size_t want = end - at < PART ? end - at : PART, got = 0;

                if (at < end)
                        got = memory_read(&m, at, part, want) / form.width;
                for (size_t i = 0; i < got && count < room; i++) {
                        if (elf_words_word(part + i * form.width, j->narrow) != form.mark ||
                            !read_frame(&m, at + i * form.width, &form, &out[count], &sp))
                                continue;
                        count++;
                        if (sp < start || sp >= end)
                                other = sp & ~7ull;
                }
                at += got * form.width;
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
