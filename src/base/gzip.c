/* SPDX-License-Identifier: MIT */
#include "base/gzip.h"

#include <string.h>
#include <zlib.h>

#include "base/heap.h"

enum { GZIP_WINDOW = 15 + 16 }; /* the largest, with gzip's frame around it */
enum { GZIP_STEP = 1 << 30 };   /* zlib counts what it is given in an unsigned int */

bool gzip_is_name(const char *name)
{
        size_t length = name ? strlen(name) : 0;

        return length > 3 && strcmp(name + length - 3, ".gz") == 0;
}

static voidpf take(voidpf unused, uInt count, uInt size)
{
        (void)unused;
        return heap_zero(count, size);
}

void gzip_pack(const void *bytes, size_t count, int level, struct str *out)
{
        z_stream z = { .zalloc = take, .next_in = (Bytef *)(uintptr_t)bytes };
        int status = Z_OK;

        /* Can only fail for want of memory. */
        deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY);
        while (status == Z_OK) {
                enum { ROOM = 1 << 16 };
                uInt more = count < GZIP_STEP ? (uInt)count : GZIP_STEP;
                char *at = str_room(out, ROOM);

                z.next_out = (Bytef *)at;
                z.avail_out = ROOM;
                if (!z.avail_in) {
                        z.avail_in = more;
                        count -= more;
                }
                status = deflate(&z, count ? Z_NO_FLUSH : Z_FINISH);
                str_end(out, (char *)z.next_out);
        }
        deflateEnd(&z);
}
