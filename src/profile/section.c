/* SPDX-License-Identifier: MIT */
/*
 * section.c -- the sections of a file in memory, one after another, also past damaged ones.
 *
 * Keeps:  no byte is believed before its checksum was compared, no length before it was
 *         compared with what is there.
 */
#include "profile/section.h"

#include <string.h>
#include <zstd.h>

#include "base/heap.h"
#include "profile/foreign.h"
#include "profile/mapped.h"

/* A fuzzer cannot guess checksums; in its builds all of them are right. */
static bool crc_matches(const void *bytes, size_t count, uint32_t expected)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
        (void)bytes, (void)count, (void)expected;
        return true;
#else
        return format_crc(bytes, count) == expected;
#endif
}

bool section_head_good(const struct format_section *head)
{
        return head->mark == FORMAT_SECTION_MARK &&
               crc_matches(head, offsetof(struct format_section, crc), head->crc);
}

bool section_body_good(const struct format_section *head, const void *body)
{
        return crc_matches(body, head->stored_bytes, head->body_crc);
}

static bool head_at(const struct section_walk *w, size_t at, struct format_section *head)
{
        if (w->size - at < sizeof *head)
                return false;
        memcpy(head, w->data + at, sizeof *head);
        return section_head_good(head);
}

/* Seldom, as it is a system call, so that the memory for a log of any length is this. */
static void pass(struct section_walk *w)
{
        static const size_t step = 1u << 20;

        if (!w->mapped || w->at - w->passed < step)
                return;
        mapped_pass(w->data + w->passed, w->at - w->passed);
        w->passed = w->at;
}

bool section_next(struct section_walk *w, struct section *s)
{
        struct format_section head;
        size_t at = w->at, room;

        pass(w);
        while (at < w->size && !head_at(w, at, &head))
                at++;
        w->skipped += at - w->at;
        w->at = at;
        if (at >= w->size)
                return false;
        room = w->size - at - sizeof head;
        *s = (struct section){ head.type, head.flags, at, head.stored_bytes, head.raw_bytes,
                               w->data + at + sizeof head, false };
        s->whole = head.stored_bytes <= room && section_body_good(&head, s->body);
        w->at = at + sizeof head + (head.stored_bytes < room ? head.stored_bytes : room);
        return true;
}

bool section_unpack(const struct section *s, struct str *buffer, const uint8_t **raw)
{
        if (s->raw_bytes > FORMAT_RAW_MAX || s->flags & ~FORMAT_F_ZSTD)
                return false;
        if (!(s->flags & FORMAT_F_ZSTD)) {
                *raw = s->body;
                return s->raw_bytes == s->stored_bytes;
        }
        if (!buffer->data || buffer->room < s->raw_bytes) {
                str_free(buffer);
                buffer->data = heap_zero(s->raw_bytes, 1);
                buffer->room = s->raw_bytes;
        }
        if (ZSTD_decompress(buffer->data, s->raw_bytes, s->body, s->stored_bytes) != s->raw_bytes)
                return false;
        *raw = (const uint8_t *)buffer->data;
        return true;
}

void section_put(struct str *out, uint32_t type, const struct str *body, bool pack)
{
        struct format_section head = { .mark = FORMAT_SECTION_MARK, .type = (uint16_t)type,
                                       .stored_bytes = body->length, .raw_bytes = body->length };
        size_t room = ZSTD_compressBound(body->length), packed = body->length;
        char *at = str_room(out, sizeof head + room), *stored = at + sizeof head;

        if (pack)
                packed = ZSTD_compress(stored, room, str_get(body), body->length, 1);
        if (ZSTD_isError(packed) || packed >= body->length) {
                memcpy(stored, str_get(body), body->length);
        } else {
                head.stored_bytes = packed;
                head.flags = FORMAT_F_ZSTD;
        }
        head.body_crc = format_crc(stored, head.stored_bytes);
        head.crc = format_crc(&head, offsetof(struct format_section, crc));
        memcpy(at, &head, sizeof head);
        str_end(out, stored + head.stored_bytes);
}

/* A header whose checksum is wrong: believe nothing but that it is ours. */
static void distrust(struct format_header *h)
{
        h->header_bytes = FORMAT_HEADER_LEAST;
        h->section_count = 0;
        h->file_bytes = 0;
        memset(h->back_count, 0, sizeof h->back_count);
        for (unsigned i = 0; i < FORMAT_ARRAY_COUNT; i++)
                *format_header_count(h, i) = UINT32_MAX;
}

/* The second half of the header, which the first writers did not have: then there is
 * nothing of what it counts. */
static bool back_matches(struct format_header *h)
{
        size_t bytes = offsetof(struct format_header, back_crc) - FORMAT_HEADER_LEAST;

        if (h->header_bytes >= FORMAT_HEADER_BYTES)
                return crc_matches(h->back_count, bytes, h->back_crc);
        memset(h->back_count, 0, sizeof h->back_count);
        return h->header_bytes >= FORMAT_HEADER_LEAST;
}

static bool counts_fit(struct format_header *h)
{
        for (unsigned i = 0; i < FORMAT_ARRAY_COUNT; i++)
                if (*format_header_count(h, i) > UINT32_MAX && format_tables[i].count_width == 4)
                        return false;
        return true;
}

static bool too_new(const struct format_header *h, const char *name, struct err *e)
{
        return err_set(e, ERR_EXIT_BAD_FILE,
                       "%s has format version %u, this seep reads version %u: open it with the "
                       "seep that recorded it, or a newer one", name, h->version, FORMAT_VERSION);
}

bool section_header(const uint8_t *data, size_t size, const char *name, struct format_header *h,
                    bool *sound, struct err *e)
{
        if (!size)
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s is empty: the recording was never written to it", name);
        if (memcmp(data, FORMAT_MAGIC, size < FORMAT_MAGIC_BYTES ? size : FORMAT_MAGIC_BYTES))
                return foreign_explain(data, size, name, e);
        if (size < FORMAT_HEADER_LEAST)
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s was cut off after %zu bytes, inside its header: nothing can be "
                               "read", name, size);
        *h = (struct format_header){ 0 };
        memcpy(h, data, size < sizeof *h ? size : sizeof *h);
        *sound = crc_matches(h, offsetof(struct format_header, crc), h->crc);
        if (*sound && h->version > FORMAT_VERSION)
                return too_new(h, name, e);
        *sound = *sound && h->version && back_matches(h) && counts_fit(h);
        if (!*sound)
                distrust(h);
        return true;
}
