/* SPDX-License-Identifier: MIT */
/*
 * writer.c -- from a profile to the bytes of a file.
 *
 * Keeps:  the order of sections is the order of what a reader needs first.  The same
 *         profile gives the same bytes.
 * Cost:   0.04 s for a recording of cc1plus: 643,000 nodes, 108,000 sites, 1.5 MB.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/heap.h"
#include "base/io.h"
#include "profile/file.h"
#include "profile/image.h"
#include "profile/parts.h"
#include "profile/store.h"

#define WRITER_PACK_LEAST 1024u /* bytes; a smaller section is not worth the making of a packer */
#define WRITER_ZSTD_LEVEL 1 /* 3: files 5 % smaller, a fifth more time */

/* What the others refer to comes first, then what is missed most when a file was cut off. */
static const uint8_t writer_order[] = {
        FORMAT_MODULES, FORMAT_NODES, FORMAT_TYPES, FORMAT_SITES, FORMAT_THREADS, FORMAT_ERRORS,
        FORMAT_SLICES, FORMAT_MARKS, FORMAT_CHANGES, FORMAT_REGIONS, FORMAT_MAPPINGS,
        FORMAT_HANDLES, FORMAT_JIT, FORMAT_SYMBOLS, FORMAT_SHARES, FORMAT_DEATHS, FORMAT_BLOCKS,
        FORMAT_SCANS, FORMAT_VERDICTS, FORMAT_CONTENTS, FORMAT_ROOTS, FORMAT_FRAMES, FORMAT_HOLDS,
        FORMAT_POINTERS,
};
_Static_assert(sizeof writer_order == FORMAT_ARRAY_COUNT, "each array once");

struct writing {
        const struct profile *p;
        enum image_packing packing;
        struct str *out;
        struct str body;
        struct columns_state columns;
        struct nodes_state nodes;
        uint32_t section_count;
        const struct profile_log *log; /* NULL: leave it out */
        size_t end; /* where in OUT the END section is; the log goes before it */
        int fd;           /* where OUT goes as it is made; -1: it stays */
        uint64_t passed_on; /* bytes that are there already */
        struct err *e;
};

#define WRITER_STEP (1u << 20)

/* What is in OUT need not stay in memory. */
static bool pass_on(struct writing *w, size_t least)
{
        if (w->fd < 0 || w->out->length < least)
                return true;
        if (!io_write(w->fd, w->out->data, w->out->length))
                return err_sys(w->e, ERR_EXIT_FINDINGS, "cannot pass a recording on");
        w->passed_on += w->out->length;
        str_clear(w->out);
        return true;
}

/* One for all files of this process: it takes as long to make as a small file does to compress. */
static ZSTD_CCtx *packer(void)
{
        static ZSTD_CCtx *made;

        if (!made)
                made = ZSTD_createCCtx();
        if (!made)
                heap_none();
        return made;
}

void image_prepare(void)
{
        packer();
}

/* Append the body to the file, compressed if that makes it smaller. */
static bool add_section(struct writing *w, uint32_t type)
{
        bool pack = w->packing == IMAGE_PACKED && w->body.length >= WRITER_PACK_LEAST;
        size_t length = w->body.length, room = pack ? ZSTD_compressBound(length) : length,
               packed = length;
        struct format_section head = { .mark = FORMAT_SECTION_MARK, .type = (uint16_t)type,
                                       .stored_bytes = length, .raw_bytes = length };
        char *at = str_room(w->out, sizeof head + room), *stored = at + sizeof head;

        if (pack)
                packed = ZSTD_compressCCtx(packer(), stored, room, str_get(&w->body), length,
                                           WRITER_ZSTD_LEVEL);
        if (pack && ZSTD_isError(packed))
                return err_set(w->e, ERR_EXIT_FINDINGS, "cannot compress the recording: %s",
                               ZSTD_getErrorName(packed));
        if (packed < length) {
                head.stored_bytes = packed;
                head.flags = FORMAT_F_ZSTD;
        } else if (length) {
                memcpy(stored, w->body.data, length);
        }
        head.body_crc = format_crc(stored, head.stored_bytes);
        head.crc = format_crc(&head, offsetof(struct format_section, crc));
        memcpy(at, &head, sizeof head);
        str_end(w->out, stored + head.stored_bytes);
        w->section_count++;
        str_clear(&w->body);
        return pass_on(w, WRITER_STEP);
}

/* Sections that are made already. */
static bool add_packed(struct writing *w, const struct profile_packed *list)
{
        for (uint64_t at = 0, bytes; at < list->bytes; at += bytes) {
                bytes = w->fd < 0 || list->bytes - at < WRITER_STEP ? list->bytes - at
                                                                    : WRITER_STEP;
                str_bytes(w->out, list->sections + at, bytes);
                if (!pass_on(w, WRITER_STEP))
                        return false;
        }
        w->section_count += list->section_count;
        return true;
}

static bool put_piece(struct writing *w, unsigned array, uint64_t first, uint64_t count)
{
        str_clear(&w->body);
        str_varint(&w->body, first);
        str_varint(&w->body, count);
        if (array == FORMAT_NODES)
                return nodes_put(&w->nodes, w->p, first, count, &w->body, w->e);
        return columns_put(&w->columns, w->p, array, first, count, &w->body, w->e);
}

static bool add_array(struct writing *w, unsigned array)
{
        const struct format_table *t = &format_tables[array];
        const struct profile_packed *packed = format_packed((struct profile *)(uintptr_t)w->p,
                                                            array);
        uint64_t total = format_count(w->p, array), first = 0, count;

        if (packed && packed->sections)
                return add_packed(w, packed);
        for (; first < total; first += count) {
                count = total - first < t->piece ? total - first : t->piece;
                for (;; count /= 2) { /* only very long strings make a piece too large */
                        if (!put_piece(w, array, first, count))
                                return false;
                        if (w->body.length <= FORMAT_RAW_MAX)
                                break;
                        if (count == 1)
                                return err_set(w->e, ERR_EXIT_FINDINGS,
                                               "a name of %zu bytes in %s is too long for a file",
                                               w->body.length, t->name);
                }
                if (!add_section(w, array + FORMAT_FIRST_ARRAY))
                        return false;
        }
        return true;
}

static uint64_t log_bytes(const struct profile_log *l)
{
        return l ? l->front_bytes + l->bytes + l->tail_bytes : 0;
}

static bool set_header(struct writing *w)
{
        struct format_header h = {
                .magic = FORMAT_MAGIC, .version = FORMAT_VERSION,
                .header_bytes = FORMAT_HEADER_BYTES, .section_count = w->section_count,
                .file_bytes = w->passed_on + w->out->length + log_bytes(w->log) };

        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++)
                *format_header_count(&h, array) = w->columns.declared[array];
        h.crc = format_crc(&h, offsetof(struct format_header, crc));
        h.back_crc = format_crc(h.back_count,
                                offsetof(struct format_header, back_crc) - FORMAT_HEADER_LEAST);
        if (!w->passed_on) {
                memcpy(w->out->data, &h, sizeof h);
                return true;
        }
        return pwrite(w->fd, &h, sizeof h, 0) == (ssize_t)sizeof h ||
               err_sys(w->e, ERR_EXIT_FINDINGS, "cannot pass a recording on");
}

static bool add_all(struct writing *w)
{
        static const char space[FORMAT_HEADER_BYTES];

        str_bytes(w->out, space, sizeof space);
        meta_put(&w->p->meta, &w->body);
        if (!add_section(w, FORMAT_META))
                return false;
        totals_put(&w->p->totals, &w->body);
        if (!add_section(w, FORMAT_TOTALS))
                return false;
        for (unsigned i = 0; i < FORMAT_ARRAY_COUNT; i++)
                if (!add_array(w, writer_order[i]))
                        return false;
        if (!add_packed(w, &w->p->kept))
                return false;
        if (w->fd >= 0 && w->p->log.fd < 0 && w->p->log.sections) {
                str_bytes(w->out, w->p->log.front, w->p->log.front_bytes);
                w->section_count += w->p->log.sections;
        }
        w->section_count += w->log ? w->log->sections : 0;
        w->end = w->out->length;
        str_varint(&w->body, w->section_count);
        if (!add_section(w, FORMAT_END))
                return false;
        return set_header(w) && pass_on(w, 1);
}

static bool write_all(struct writing *w)
{
        bool good;

        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++)
                w->columns.declared[array] = format_count(w->p, array);
        good = add_all(w);
        str_free(&w->body);
        columns_state_free(&w->columns);
        nodes_state_free(&w->nodes);
        return good;
}

bool image_write(const struct profile *p, enum image_packing packing, struct str *out,
                 struct err *e)
{
        struct writing w = { .p = p, .packing = packing, .out = out, .fd = -1, .e = e };

        return write_all(&w);
}

bool file_put(const struct profile *p, int fd, struct err *e)
{
        struct str out = { 0 };
        struct writing w = { .p = p, .packing = IMAGE_PLAIN, .out = &out, .fd = fd, .e = e };
        bool good = write_all(&w);

        str_free(&out);
        return good;
}

/* From this length on a run is worth the wait for the disk: a crash of the machine would cost
 * more than running it again. */
#define DURABLE_MS 10000u

bool file_write_at(const struct profile *p, struct place *to, struct err *e)
{
        struct str out = { 0 };
        struct writing w = { .p = p, .packing = IMAGE_PACKED, .out = &out, .log = &p->log, .fd = -1,
                             .e = e };
        bool good = write_all(&w);
        const struct store_part parts[] = {
                { .bytes = str_get(&out), .count = w.end },
                { .bytes = p->log.front ? p->log.front : "", .count = p->log.front_bytes },
                { .fd = p->log.fd, .offset = p->log.offset, .count = p->log.bytes },
                { .bytes = p->log.tail ? p->log.tail : "", .count = p->log.tail_bytes },
                { .bytes = str_get(&out) + w.end, .count = out.length - w.end },
        };

        to->durable = profile_end_ms(p) >= DURABLE_MS;
        good = good && store_at(to, parts, sizeof parts / sizeof *parts, e);
        str_free(&out);
        return good;
}

bool file_write(const struct profile *p, const char *path, struct err *e)
{
        struct place to;
        bool good = place_open(&to, path, PLACE_NAMED) ? file_write_at(p, &to, e)
                                                       : place_refuse(path, ERR_EXIT_FINDINGS, e);

        place_close(&to);
        return good;
}
