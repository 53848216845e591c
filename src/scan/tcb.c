/* SPDX-License-Identifier: MIT */
#include "scan/tcb.h"

#include <stdlib.h>

#include "base/heap.h"

#define TCB_BYTES 2304u        /* struct pthread of glibc, ... */
#define TCB_BYTES_NARROW 1152u /* ... with words of 4 bytes */
#define PAGE_LEAST 4096u
#define TCB_ROOM (64u << 10)   /* at the end of a stack: it and thread-local storage */

static uint64_t tcb_bytes(const struct freeze *f)
{
        return f->narrow ? TCB_BYTES_NARROW : TCB_BYTES;
}

struct search_range tcb_of(const struct freeze *f, uint64_t tp)
{
        uint64_t bytes = tcb_bytes(f);

        if (freeze_kind(f)->tls_above)
                return (struct search_range){ tp > bytes ? tp - bytes : 0,
                                              tp + 2 * search_width(f->narrow) };
        return (struct search_range){ tp, tp + bytes };
}

/* ---- where the thread pointer leads to it ---- */

/* WORDS are the first ones at AT. */
static bool is_tcb(uint64_t at, const uint64_t *words)
{
        return words[0] == at && words[2] == at && at % 16 == 0;
}

/* ---- where it lies below the thread pointer ---- */

/* It has a node of a list of threads, and behind that the thread's number: NODE is where they are,
 * from the thread pointer on. */
struct form {
        int64_t node;
};

#define NODE_WORDS 3u /* next, previous, number */

static uint32_t number_in(const struct freeze *f, uint64_t word)
{
        return (uint32_t)(f->turned && !f->narrow ? word >> 32 : word);
}

/* Whether WORDS at AT are a node: both neighbours lead back to it. */
static bool is_node(const struct freeze *f, uint64_t at, const uint64_t *words)
{
        uint64_t width = search_width(f->narrow), back;

        return words[0] && words[1] && words[0] % width == 0 && words[1] % width == 0 &&
               freeze_words(f, words[0] + width, &back, 1) == 1 && back == at &&
               freeze_words(f, words[1], &back, 1) == 1 && back == at;
}

/* By the first thread, whose number is known. */
static bool find_form(const struct freeze *f, struct form *out)
{
        uint64_t width = search_width(f->narrow), words[TCB_BYTES / 4];
        const struct freeze_thread *t = f->thread_count ? &f->threads[0] : NULL;
        uint64_t start = t && t->tp > tcb_bytes(f) ? t->tp - tcb_bytes(f) : 0;
        size_t have = start ? freeze_words(f, start, words, (t->tp - start) / width) : 0;

        if (start && !have) { /* its mapping begins here */
                start = start / PAGE_LEAST * PAGE_LEAST + PAGE_LEAST;
                if (start < t->tp)
                        have = freeze_words(f, start, words, (t->tp - start) / width);
        }
        for (size_t i = 0; i + NODE_WORDS <= have; i++) {
                uint64_t at = start + width * i;

                if (number_in(f, words[i + 2]) != t->tid || !is_node(f, at, &words[i]))
                        continue;
                out->node = (int64_t)(at - t->tp);
                return true;
        }
        return false;
}

/* ---- both ---- */

bool tcb_is_known(const struct freeze *f)
{
        uint64_t words[3], at = f->thread_count ? f->threads[0].tp : 0;
        struct form form;

        if (freeze_kind(f)->tls_above)
                return find_form(f, &form);
        return at && freeze_words(f, at, words, 3) == 3 && is_tcb(at, words);
}

/* The one that WORD, at AT, is the beginning (or the node) of. */
static struct search_range tcb_by(const struct freeze *f, const struct form *form, uint64_t at)
{
        return tcb_of(f, freeze_kind(f)->tls_above ? at - (uint64_t)form->node : at);
}

uint32_t tcb_find(const struct freeze *f, uint64_t start, uint64_t end, struct search_range *found,
                  uint32_t room)
{
        uint64_t width = search_width(f->narrow);
        uint64_t low = end - start > TCB_ROOM ? end - TCB_ROOM : start;
        bool above = freeze_kind(f)->tls_above;
        struct form form = { 0 };
        uint64_t *words;
        uint32_t count = 0;
        size_t have;

        if (above && !find_form(f, &form))
                return 0;
        words = heap_zero(TCB_ROOM / width, sizeof *words);
        have = freeze_words(f, low, words, (end - low) / width);
        for (size_t i = 0; i + 2 < have && count < room; i++) {
                uint64_t at = low + width * i;
                struct search_range r = tcb_by(f, &form, at);

                if (!(above ? is_node(f, at, &words[i]) : is_tcb(at, &words[i])) || r.start >= end)
                        continue;
                found[count++] = (struct search_range){ r.start > start ? r.start : start,
                                                        r.end < end ? r.end : end };
        }
        free(words);
        return count;
}
