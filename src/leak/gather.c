/* SPDX-License-Identifier: MIT */
#include "leak/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "base/page.h"

void gather_bytes(const struct search_memory *m, uint64_t start, void *to, size_t bytes)
{
        uint8_t *out = to;
        size_t done = 0;

        while (done < bytes) {
                size_t hole;

                done += m->read(m->context, start + done, out + done, bytes - done);
                hole = page_bytes() - (start + done) % page_bytes();
                hole = hole < bytes - done ? hole : bytes - done;
                memset(out + done, 0, hole);
                done += hole;
        }
}

void gather_words(const struct search_memory *m, const uint64_t *addresses, uint64_t *words,
                  size_t count)
{
        uint32_t *order = arrange_start((uint32_t)count);
        uint8_t *piece = heap_grow(NULL, GATHER_PIECE, 1);
        uint32_t width = search_width(m->narrow);

        arrange_by(order, (uint32_t)count, addresses);
        for (size_t i = 0, end; i < count; i = end) {
                uint64_t start = addresses[order[i]], last = start;

                for (end = i + 1; end < count; end++) {
                        uint64_t next = addresses[order[end]];

                        if (next - last > GATHER_GAP || next - start > GATHER_PIECE - width)
                                break;
                        last = next;
                }
                gather_bytes(m, start, piece, last - start + width);
                for (size_t k = i; k < end; k++)
                        words[order[k]] = search_word(piece + (addresses[order[k]] - start),
                                                      m->narrow, m->turned);
        }
        free(piece);
        free(order);
}
