/* SPDX-License-Identifier: MIT */
#include "scan/tcb.h"

#include <stdlib.h>

#include "base/heap.h"

#define TCB_BYTES 2304u        /* struct pthread of glibc, ... */
#define TCB_BYTES_NARROW 1152u /* ... with words of 4 bytes */
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

/* WORDS are the first ones at AT. */
static bool is_tcb(uint64_t at, const uint64_t *words)
{
        return words[0] == at && words[2] == at && at % 16 == 0;
}

bool tcb_is_known(const struct freeze *f)
{
        uint64_t words[3], at = f->thread_count ? f->threads[0].tp : 0;

        return at && freeze_words(f, at, words, 3) == 3 && is_tcb(at, words);
}

uint32_t tcb_find(const struct freeze *f, uint64_t start, uint64_t end, struct search_range *found,
                  uint32_t room)
{
        uint64_t width = search_width(f->narrow);
        uint64_t low = end - start > TCB_ROOM ? end - TCB_ROOM : start;
        uint64_t *words = heap_zero(TCB_ROOM / width, sizeof *words);
        size_t have = freeze_words(f, low, words, (end - low) / width);
        uint32_t count = 0;

        for (size_t i = 0; i + 2 < have && count < room; i++) {
                uint64_t at = low + width * i;

                if (is_tcb(at, &words[i]))
                        found[count++] = (struct search_range){
                                at, end - at < tcb_bytes(f) ? end : at + tcb_bytes(f)
                        };
        }
        free(words);
        return count;
}
