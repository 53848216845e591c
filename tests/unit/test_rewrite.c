/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "names/stored.h"
#include "profile/file.h"
#include "profile/format.h"
#include "profile/image.h"
#include "profile/section.h"

#include "forge_leaks.h"
#include "put.h"
#include "sample.h"

enum { STRANGE = 201 }; /* a section number that no version of ours has */

static char path[64];

/* A file of P with a section between its last one and END that the model does not know, counted in
 * the last place of the header. */
static void write_with_stranger(const struct profile *p, const void *body, size_t bytes)
{
        struct format_section strange = { .mark = FORMAT_SECTION_MARK,
                                          .type = STRANGE,
                                          .stored_bytes = bytes,
                                          .raw_bytes = bytes };
        struct str image = { 0 }, whole = { 0 }, count = { 0 };
        struct format_header h;
        struct section s = { 0 };
        struct err e = { 0 };

        is_true(image_write(p, IMAGE_PACKED, &image, &e));
        memcpy(&h, image.data, sizeof h);
        struct section_walk w = { .data = (const uint8_t *)image.data,
                                  .size = image.length,
                                  .at = h.header_bytes };
        while (section_next(&w, &s) && s.type != FORMAT_END)
                continue;
        str_bytes(&whole, image.data, s.offset);
        strange.body_crc = format_crc(body, bytes);
        strange.crc = format_crc(&strange, offsetof(struct format_section, crc));
        str_bytes(&whole, &strange, sizeof strange);
        str_bytes(&whole, body, bytes);
        str_varint(&count, h.section_count);
        strange = (struct format_section){ .mark = FORMAT_SECTION_MARK,
                                           .type = FORMAT_END,
                                           .stored_bytes = count.length,
                                           .raw_bytes = count.length,
                                           .body_crc = format_crc(count.data, count.length) };
        strange.crc = format_crc(&strange, offsetof(struct format_section, crc));
        str_bytes(&whole, &strange, sizeof strange);
        str_bytes(&whole, count.data, count.length);
        h.section_count++;
        h.file_bytes = whole.length;
        h.back_count[FORMAT_ARRAYS_BACK - 1] = bytes;
        h.back_crc = format_crc(h.back_count,
                                offsetof(struct format_header, back_crc) - FORMAT_HEADER_LEAST);
        h.crc = format_crc(&h, offsetof(struct format_header, crc));
        memcpy(whole.data, &h, sizeof h);
        is_true(put_file(path, whole.data, whole.length));
        str_free(&image);
        str_free(&whole);
        str_free(&count);
}

static bool has_stranger(const void *body, size_t bytes)
{
        struct str file = { 0 };
        struct format_header h;
        struct section s = { 0 };
        bool found = false;

        is_true(io_read_file(path, &file));
        memcpy(&h, file.data, sizeof h);
        struct section_walk w = { .data = (const uint8_t *)file.data,
                                  .size = file.length,
                                  .at = h.header_bytes };
        while (section_next(&w, &s))
                found |= s.type == STRANGE && s.whole && s.stored_bytes == bytes &&
                         memcmp(s.body, body, bytes) == 0;
        str_free(&file);
        return found && h.back_count[FORMAT_ARRAYS_BACK - 1] == bytes;
}

/* P to PATH, with what FROM holds besides. */
static bool rewrite(const struct profile *p, const char *from, struct err *e)
{
        struct place to;
        bool good = place_open(&to, path, PLACE_NAMED) && file_rewrite(p, from, &to, e);

        place_close(&to);
        return good;
}

TEST(what_is_no_part_of_the_model_survives)
{
        static const char body[] = "transactions of another age";
        struct profile p, again;
        struct profile_symbol *names = heap_zero(1, sizeof *names);
        struct err e = { 0 };

        forge_leaky(&p);
        write_with_stranger(&p, body, sizeof body);
        is_true(file_read(&again, path, &e));
        is_true(!again.truncated);
        *names = (struct profile_symbol){ .function = heap_text("f"), .line = 3 };
        stored_replace(&again, names, 1);
        is_true(rewrite(&again, path, &e));
        is_true(has_stranger(body, sizeof body));
        profile_free(&p);
        is_true(file_read(&p, path, &e));
        is_true(!p.truncated);
        is_text(sample_difference(&p, &again), NULL);
        is_equal(p.symbol_count, 1);
        is_true(p.verdict_count == p.block_count && p.pointer_count &&
                p.scans[0].flags & PROFILE_SCAN_GRAPH);
        profile_free(&p);
        profile_free(&again);
}

TEST(a_file_that_is_not_ours_is_refused_and_stays)
{
        struct profile p;
        struct err e = { 0 };
        struct str file = { 0 };

        sample_profile(&p, 6, 5);
        is_true(put_file(path, "plain text", 10));
        is_true(!rewrite(&p, path, &e));
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
        is_true(io_read_file(path, &file));
        is_text(str_get(&file), "plain text");
        str_free(&file);
        e = (struct err){ 0 };
        is_true(!rewrite(&p, "/nowhere/at/all", &e));
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
        profile_free(&p);
        unlink(path);
}

TEST(a_place_for_the_file)
{
        int fd;

        strcpy(path, "/tmp/seep-rewrite-XXXXXX");
        fd = mkstemp(path);
        is_true(fd >= 0);
        close(fd);
}

TAP_MAIN(a_place_for_the_file, what_is_no_part_of_the_model_survives,
         a_file_that_is_not_ours_is_refused_and_stays)
