/* SPDX-License-Identifier: MIT */
/*
 * test_file.c -- what goes into a `.seep` file comes out again, and damage is seen, told and
 * survived.
 */
#include <fcntl.h>
#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "profile/file.h"
#include "profile/format.h"
#include "profile/image.h"
#include "profile/parts.h"
#include "profile/settle.h"
#include "sample.h"
#include "tap.h"

static char directory[] = "/tmp/seep-unit-XXXXXX";

/* DIRECTORY/NAME in a buffer that lasts until the next but one call. */
static const char *path_of(const char *name)
{
        static char paths[2][sizeof directory + 64];
        static bool made; /* the name may end in an X of its own */
        static int turn;

        turn = !turn;
        if (!made && !mkdtemp(directory))
                abort();
        made = true;
        snprintf(paths[turn], sizeof paths[turn], "%s/%s", directory, name);
        return paths[turn];
}

static int entries_in_directory(void)
{
        DIR *d = opendir(path_of("."));
        int count = 0;

        while (d && readdir(d))
                count++;
        closedir(d);
        return count - 2;
}

static void put_file(const char *path, const void *bytes, size_t count)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        is_true(fd >= 0 && io_write(fd, bytes, count));
        close(fd);
}

TEST(every_field_survives_the_way_through_a_file)
{
        for (uint64_t seed = 1; seed <= 60; seed++) {
                struct profile p, q;
                struct err e = { 0 };

                sample_profile(&p, seed, seed < 50 ? (uint32_t)seed : 3000);
                if (!is_true(file_write(&p, path_of("a.seep"), &e)) ||
                    !is_true(file_read(&q, path_of("a.seep"), &e)))
                        printf("# seed %llu: %s\n", (unsigned long long)seed, e.text);
                is_text(sample_difference(&p, &q), NULL);
                is_true(!q.truncated);
                profile_free(&p);
                profile_free(&q);
        }
        is_equal(entries_in_directory(), 1);
        unlink(path_of("a.seep"));
}

static bool has_several_pieces(const struct profile *p)
{
        return p->node_count > FORMAT_PIECE && p->change_count > FORMAT_PIECE &&
               p->thread_count > FORMAT_TEXT_PIECE;
}

TEST(arrays_of_several_pieces_survive_too)
{
        struct profile p, q;
        struct err e = { 0 };
        uint64_t seed = 116; /* sizes are random: the first with enough of each */

        for (sample_profile(&p, seed, 100000); !has_several_pieces(&p);
             sample_profile(&p, ++seed, 100000))
                profile_free(&p);
        is_true(file_write(&p, path_of("a.seep"), &e) && file_read(&q, path_of("a.seep"), &e));
        is_text(sample_difference(&p, &q), NULL);
        profile_free(&p);
        profile_free(&q);
        unlink(path_of("a.seep"));
}

TEST(an_empty_profile_survives_too)
{
        struct profile p = { 0 }, q;
        struct err e = { 0 };
        struct str file = { 0 };

        is_true(image_write(&p, IMAGE_PACKED, &file, &e) &&
                image_read(&q, file.data, file.length, "f", &e));
        is_true(!q.truncated && q.node_count == 0 && q.block_count == 0);
        is_text(q.meta.program, "");
        sample_touch(&q);
        profile_free(&q);
        str_free(&file);
}

TEST(the_same_profile_gives_the_same_bytes)
{
        struct profile p;
        struct err e = { 0 };
        struct str a = { 0 }, b = { 0 };

        sample_profile(&p, 7, 500);
        is_true(image_write(&p, IMAGE_PACKED, &a, &e) && image_write(&p, IMAGE_PACKED, &b, &e));
        is_true(a.length == b.length && !memcmp(a.data, b.data, a.length));
        profile_free(&p);
        str_free(&a);
        str_free(&b);
}

static void make_image(struct str *file, uint64_t seed, uint32_t size, enum image_packing packing)
{
        struct profile p;
        struct err e = { 0 };

        sample_profile(&p, seed, size);
        is_true(image_write(&p, packing, file, &e));
        profile_free(&p);
}

/* A copy with exactly SIZE bytes, so that a read behind its end is seen. */
static bool read_copy(struct profile *q, const struct str *file, size_t size, struct err *e)
{
        char *copy = malloc(size ? size : 1);
        bool good;

        memcpy(copy, file->data, size);
        good = image_read(q, copy, size, "f.seep", e);
        free(copy);
        return good;
}

TEST(a_file_cut_at_any_byte_gives_what_is_whole_and_says_so)
{
        struct str file = { 0 };
        uint64_t least = 0;

        make_image(&file, 5, 12, IMAGE_PLAIN);
        for (size_t size = 0; size < file.length; size++) {
                struct profile q;
                struct err e = { 0 };

                if (!read_copy(&q, &file, size, &e)) {
                        is_true(e.exit_code == ERR_EXIT_BAD_FILE && e.text[0] && !q.nodes &&
                                !q.meta.program);
                        is_equal(least, 0);
                        continue;
                }
                is_true(q.truncated && !q.meta.complete && q.meta.warning_count);
                has_text(q.meta.warnings[q.meta.warning_count - 1], "was cut off after");
                /* more bytes never give less */
                is_true(q.node_count + q.site_count + q.block_count >= least);
                least = q.node_count + q.site_count + q.block_count;
                sample_touch(&q);
                profile_free(&q);
        }
        is_true(least > 0);
        str_free(&file);
}

TEST(a_wrong_byte_anywhere_is_noticed_and_costs_no_more_than_its_section)
{
        struct str file = { 0 };

        make_image(&file, 11, 10, IMAGE_PACKED);
        for (size_t at = 0; at < file.length; at++) {
                for (int bit = 0; bit < 8; bit += 3) {
                        struct profile q;
                        struct err e = { 0 };
                        bool good;

                        file.data[at] ^= (char)(1 << bit);
                        good = read_copy(&q, &file, file.length, &e);
                        if (at >= FORMAT_MAGIC_BYTES)
                                is_true(good && q.truncated && q.meta.warning_count);
                        else
                                is_true(!good && e.exit_code == ERR_EXIT_BAD_FILE);
                        if (good)
                                sample_touch(&q);
                        profile_free(&q);
                        file.data[at] ^= (char)(1 << bit);
                }
        }
        str_free(&file);
}

TEST(a_lie_under_a_right_checksum_is_refused_or_harmless)
{
        struct str file = { 0 };

        make_image(&file, 21, 9, IMAGE_PLAIN);
        for (size_t at = FORMAT_HEADER_BYTES; at + FORMAT_SECTION_BYTES < file.length;) {
                struct format_section head;
                char *body = file.data + at + sizeof head;

                memcpy(&head, file.data + at, sizeof head);
                for (size_t i = 0; i < head.stored_bytes * 256; i += 37) {
                        struct format_section lie = head;
                        struct profile q;
                        struct err e = { 0 };
                        char old = body[i / 256];

                        body[i / 256] = (char)i;
                        lie.body_crc = format_crc(body, head.stored_bytes);
                        lie.crc = format_crc(&lie, offsetof(struct format_section, crc));
                        memcpy(file.data + at, &lie, sizeof lie);
                        if (is_true(read_copy(&q, &file, file.length, &e)))
                                sample_touch(&q);
                        profile_free(&q);
                        body[i / 256] = old;
                }
                memcpy(file.data + at, &head, sizeof head);
                at += sizeof head + head.stored_bytes;
        }
        str_free(&file);
}

static void set_header_crc(struct str *file)
{
        struct format_header *h = (struct format_header *)(void *)file->data;

        h->crc = format_crc(h, offsetof(struct format_header, crc));
        h->back_crc = format_crc(h->back_count,
                                 offsetof(struct format_header, back_crc) - FORMAT_HEADER_LEAST);
}

TEST(a_newer_format_is_refused_with_both_versions)
{
        struct str file = { 0 };
        struct profile q;
        struct err e = { 0 };

        make_image(&file, 3, 10, IMAGE_PACKED);
        file.data[offsetof(struct format_header, version)] = 9;
        set_header_crc(&file);
        is_true(!image_read(&q, file.data, file.length, "new.seep", &e));
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
        has_text(e.text, "new.seep has format version 9");
        has_text(e.text, "reads version 1");
        str_free(&file);
}

TEST(a_promise_of_billions_of_records_allocates_nothing)
{
        struct str file = { 0 };
        struct profile q;
        struct err e = { 0 };
        struct format_header *h;

        make_image(&file, 3, 10, IMAGE_PACKED);
        h = (struct format_header *)(void *)file.data;
        for (unsigned i = 0; i < FORMAT_ARRAY_COUNT; i++)
                *format_header_count(h, i) = 0xfffffff0u;
        set_header_crc(&file);
        is_true(image_read(&q, file.data, file.length, "f", &e) && q.truncated);
        has_text(q.meta.warnings[q.meta.warning_count - 1], "of 4294967280 nodes");
        profile_free(&q);
        str_free(&file);
}

/* Put a section of type 200, packed in a way nobody knows yet, in front of the END section. */
static void add_unknown_section(struct str *file)
{
        struct format_section head = { FORMAT_SECTION_MARK, 200, 0x8000, 5, 1ull << 40, 0, 0 }, end;
        struct format_header h;
        char last[FORMAT_SECTION_BYTES + 1];

        memcpy(&h, file->data, sizeof h);
        memcpy(last, file->data + file->length - sizeof last, sizeof last);
        file->length -= sizeof last;
        head.body_crc = format_crc("hello", 5);
        head.crc = format_crc(&head, offsetof(struct format_section, crc));
        str_bytes(file, &head, sizeof head);
        str_bytes(file, "hello", 5);
        last[FORMAT_SECTION_BYTES]++;
        memcpy(&end, last, sizeof end);
        end.body_crc = format_crc(last + FORMAT_SECTION_BYTES, 1);
        end.crc = format_crc(&end, offsetof(struct format_section, crc));
        memcpy(last, &end, sizeof end);
        str_bytes(file, last, sizeof last);
        h.section_count++;
        h.file_bytes = file->length;
        memcpy(file->data, &h, sizeof h);
        set_header_crc(file);
}

TEST(sections_of_unknown_types_are_skipped)
{
        struct str file = { 0 };
        struct profile p, q;
        struct err e = { 0 };

        sample_profile(&p, 3, 10);
        make_image(&file, 3, 10, IMAGE_PACKED);
        add_unknown_section(&file);
        is_true(image_read(&q, file.data, file.length, "f", &e));
        is_true(!q.truncated);
        is_text(sample_difference(&p, &q), NULL);
        profile_free(&p);
        profile_free(&q);
        str_free(&file);
}

TEST(files_of_other_tools_are_named)
{
        static const struct {
                const char *bytes, *word;
        } files[] = { { "\x1f\x8b\x08", "gzip" },
                      { "\x28\xb5\x2f\xfdxxx", "zstd" },
                      { "\x7f"
                        "ELF\x02\x01",
                        "ELF" },
                      { "desc: --pages\ncmd: ./a\n", "massif" },
                      { "v 10300 3\n", "heaptrack" },
                      { "hello, world\n", "not a seep recording" },
                      { "{\"dhatFileVersion\":2", "DHAT" } };

        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                struct profile q;
                struct err e = { 0 };

                put_file(path_of("other"), files[i].bytes, strlen(files[i].bytes));
                is_true(!file_read(&q, path_of("other"), &e));
                is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
                has_text(e.text, files[i].word);
        }
        unlink(path_of("other"));
}

TEST(what_is_no_file_gets_a_clear_message)
{
        struct profile q;
        struct err e = { 0 };

        is_true(!file_read(&q, path_of("missing"), &e));
        has_text(e.text, "No such file");
        is_true(!file_read(&q, path_of("."), &e));
        has_text(e.text, "is a directory");
        is_true(!file_read(&q, "/dev/zero", &e));
        has_text(e.text, "not a regular file");
        put_file(path_of("empty"), "", 0);
        is_true(!file_read(&q, path_of("empty"), &e));
        has_text(e.text, "is empty");
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
        unlink(path_of("empty"));
}

TEST(a_new_file_has_the_mode_that_umask_gives)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        struct stat st = { 0 };
        mode_t old = umask(027);

        is_true(file_write(&p, path_of("mode.seep"), &e));
        umask(old);
        is_true(!stat(path_of("mode.seep"), &st));
        is_equal(st.st_mode & 07777, 0640);
        unlink(path_of("mode.seep"));
}

TEST(a_link_stays_a_link_and_a_device_a_device)
{
        struct profile p = { 0 }, q;
        struct err e = { 0 };
        struct stat st;

        put_file(path_of("target.seep"), "old", 3);
        is_true(!symlink("target.seep", path_of("link.seep")));
        is_true(file_write(&p, path_of("link.seep"), &e));
        is_true(!lstat(path_of("link.seep"), &st) && S_ISLNK(st.st_mode));
        is_true(file_read(&q, path_of("target.seep"), &e));
        profile_free(&q);
        is_true(file_write(&p, "/dev/null", &e));
        is_true(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
        unlink(path_of("link.seep"));
        unlink(path_of("target.seep"));
}

TEST(a_full_disk_leaves_the_old_file_and_no_other)
{
        struct rlimit old, small;
        struct profile p;
        struct err e = { 0 };
        struct str kept = { 0 };

        sample_profile(&p, 4, 2000);
        put_file(path_of("full.seep"), "old", 3);
        getrlimit(RLIMIT_FSIZE, &old);
        small = old;
        small.rlim_cur = 4096; /* write() then fails as on a full disk, after a part */
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        is_true(!file_write(&p, path_of("full.seep"), &e));
        setrlimit(RLIMIT_FSIZE, &old);
        has_text(e.text, "cannot write");
        is_equal(entries_in_directory(), 1);
        is_true(io_read_file(path_of("full.seep"), &kept));
        is_text(str_get(&kept), "old");
        is_true(!file_write(&p, "/dev/full", &e));
        has_text(e.text, "No space left");
        profile_free(&p);
        str_free(&kept);
        unlink(path_of("full.seep"));
}

/* The disk is full after any number of bytes. */
TEST(wherever_a_write_fails_nothing_changes)
{
        struct rlimit old, small;
        struct profile p;
        struct str image = { 0 };
        struct err e = { 0 };

        sample_profile(&p, 14, 40);
        is_true(image_write(&p, IMAGE_PACKED, &image, &e));
        getrlimit(RLIMIT_FSIZE, &old);
        small = old;
        signal(SIGXFSZ, SIG_IGN);
        for (size_t room = 0; room < image.length; room += 1 + image.length / 50) {
                small.rlim_cur = room;
                setrlimit(RLIMIT_FSIZE, &small);
                is_true(!file_write(&p, path_of("full.seep"), &e));
                setrlimit(RLIMIT_FSIZE, &old);
                is_equal(entries_in_directory(), 0);
        }
        is_true(file_write(&p, path_of("full.seep"), &e));
        unlink(path_of("full.seep"));
        profile_free(&p);
        str_free(&image);
}

/* As the first writers made it: without the arrays that came later, a header of half the size. */
TEST(a_file_with_the_short_header_is_read)
{
        struct profile p, q;
        struct str file = { 0 }, old = { 0 };
        struct err e = { 0 };
        struct format_header *h;
        sample_profile(&p, 11, 30);
        for (uint32_t i = 0; i < p.site_count; i++)
                p.sites[i].kind %= LEDGER_KIND_COUNT;
        for (unsigned later = FORMAT_ARRAYS_FRONT; later < FORMAT_ARRAY_COUNT; later++) {
                format_free_texts(later, format_records(&p, later), format_count(&p, later));
                format_set_count(&p, later, 0);
        }
        is_true(image_write(&p, IMAGE_PACKED, &file, &e));
        h = (struct format_header *)(void *)file.data;
        h->header_bytes = FORMAT_HEADER_LEAST;
        h->file_bytes -= FORMAT_HEADER_BYTES - FORMAT_HEADER_LEAST;
        set_header_crc(&file);
        str_bytes(&old, file.data, FORMAT_HEADER_LEAST);
        str_bytes(&old, file.data + FORMAT_HEADER_BYTES, file.length - FORMAT_HEADER_BYTES);
        is_true(read_copy(&q, &old, old.length, &e) && !q.truncated);
        is_text(sample_difference(&p, &q), NULL);
        profile_free(&p);
        profile_free(&q);
        str_free(&file);
        str_free(&old);
}

/* A number that is 0 takes a byte, so a piece of zeros at its end without these bytes is one of
 * before there were such columns. */
TEST(a_file_that_does_not_tell_its_machine_is_of_x86_64)
{
        struct profile p, q = { 0 };
        struct str body = { 0 };
        struct cursor c;

        sample_profile(&p, 12, 30);
        p.meta.machine = EM_S390;
        p.meta.byte_order = ELFDATA2MSB;
        p.meta.page_bytes = 65536;
        meta_put(&p.meta, &body);
        c = (struct cursor){ (const uint8_t *)body.data, (const uint8_t *)body.data + body.length,
                             false };
        is_true(meta_get(&q.meta, &c) && q.meta.machine == EM_S390 &&
                q.meta.byte_order == ELFDATA2MSB && q.meta.page_bytes == 65536);
        profile_free(&q);
        q = (struct profile){ 0 };
        c = (struct cursor){ (const uint8_t *)body.data,
                             (const uint8_t *)body.data + body.length - 5, false };
        is_true(meta_get(&q.meta, &c) && !cursor_left(&c));
        settle_profile(&q, true);
        is_true(q.meta.machine == EM_X86_64 && q.meta.byte_order == ELFDATA2LSB &&
                q.meta.page_bytes == 4096);
        profile_free(&q);
        profile_free(&p);
        str_free(&body);
}

TEST(columns_that_came_later_are_zero_in_earlier_files)
{
        struct columns_state s = { .declared = { 0 } };
        struct profile p, q = { 0 };
        struct str body = { 0 };
        struct err e = { 0 };
        uint32_t late = format_tables[FORMAT_MODULES].late;

        sample_profile(&p, 12, 30);
        is_true(p.module_count > 3 && late);
        for (uint32_t i = 0; i < p.module_count; i++)
                p.modules[i].code_start = p.modules[i].code_end = p.modules[i].code_offset =
                        p.modules[i].device = p.modules[i].inode = 0;
        is_true(columns_put(&s, &p, FORMAT_MODULES, 0, p.module_count, &body, &e));
        for (uint32_t k = 0; k <= late; k++) {
                struct cursor c = { (const uint8_t *)body.data,
                                    (const uint8_t *)body.data + body.length -
                                            (size_t)k * p.module_count,
                                    false };

                is_true(columns_get(&s, &q, FORMAT_MODULES, p.module_count, &c) &&
                        !cursor_left(&c));
                is_equal(memcmp(q.modules[2].build_id, p.modules[2].build_id,
                                sizeof q.modules[2].build_id),
                         0);
                is_equal(q.modules[2].code_start + q.modules[2].code_end + q.modules[2].inode, 0);
                profile_free(&q);
                q = (struct profile){ 0 };
        }
        profile_free(&p);
        columns_state_free(&s);
        str_free(&body);
}

/* Where the section of TYPE starts; 0 none. */
static size_t find_section(const struct str *file, unsigned type)
{
        for (size_t at = FORMAT_HEADER_BYTES; at < file->length;) {
                struct format_section head;

                memcpy(&head, file->data + at, sizeof head);
                if (head.type == type)
                        return at;
                at += sizeof head + head.stored_bytes;
        }
        return 0;
}

/* Read seed 11 with one byte of the section of ARRAY wrong. */
static void read_without(struct profile *q, unsigned array)
{
        struct str file = { 0 };
        struct err e = { 0 };
        size_t at;

        make_image(&file, 11, 30, IMAGE_PLAIN);
        at = find_section(&file, array + FORMAT_FIRST_ARRAY);
        is_true(at);
        file.data[at + FORMAT_SECTION_BYTES] ^= 1;
        is_true(read_copy(q, &file, file.length, &e));
        is_true(q->truncated);
        str_free(&file);
}

TEST(what_refers_to_lost_records_refers_to_the_unknown)
{
        struct profile q;

        read_without(&q, FORMAT_NODES);
        is_equal(q.node_count, 2);
        is_true(q.site_count > 1 && q.sites[1].node <= 1);
        has_text(q.meta.warnings[q.meta.warning_count - 1], "is damaged; missing: all ");
        profile_free(&q);
        read_without(&q, FORMAT_SITES);
        is_equal(q.site_count, 1);
        is_true(q.block_count && q.blocks[0].site == 0);
        profile_free(&q);
        read_without(&q, FORMAT_CHANGES);
        is_true(q.slice_count && !q.change_count);
        for (uint32_t i = 0; i < q.slice_count; i++)
                is_equal(q.slices[i].change_count, 0);
        profile_free(&q);
        read_without(&q, FORMAT_SLICES);
        is_true(!q.slice_count && !q.mark_count);
        profile_free(&q);
        read_without(&q, FORMAT_TYPES);
        is_true(q.type_count > 0);
        for (uint32_t i = 0; i < q.type_count; i++)
                is_text(q.types[i], "unknown");
        profile_free(&q);
        read_without(&q, FORMAT_THREADS);
        is_equal(q.thread_count, 1);
        is_text(q.threads[0].name, "");
        profile_free(&q);
}

/* Else a small file could make every passage over the slices take without end. */
TEST(no_change_is_passed_in_two_slices)
{
        struct profile p;
        uint32_t first, count;

        sample_profile(&p, 7, 300);
        is_true(p.slice_count >= 4 && p.change_count >= 4);
        first = p.change_count / 2;
        count = p.change_count - first;
        for (uint32_t i = 0; i < p.slice_count; i++) {
                p.slices[i].change_first = i % 2 ? 0 : first;
                p.slices[i].change_count = i % 2 ? first + 1 : count;
        }
        settle_profile(&p, false);
        is_true(p.slices[0].change_first == first && p.slices[0].change_count == count);
        for (uint32_t i = 1; i < p.slice_count; i++)
                is_equal(p.slices[i].change_count, 0);
        profile_free(&p);
}

TEST(a_lost_list_of_modules_leaves_the_addresses)
{
        struct profile q;

        read_without(&q, FORMAT_MODULES);
        is_true(q.node_count > 2 && !q.module_count && !q.symbol_count);
        for (uint32_t i = 0; i < q.node_count; i++)
                is_equal(q.nodes[i].module, PROFILE_NO_MODULE);
        profile_free(&q);
}

TEST(a_damaged_section_head_costs_only_its_section)
{
        struct str file = { 0 };
        struct profile p, q;
        struct err e = { 0 };

        sample_profile(&p, 11, 30);
        make_image(&file, 11, 30, IMAGE_PLAIN);
        file.data[find_section(&file, FORMAT_SITES + FORMAT_FIRST_ARRAY) + 8] ^= 4; /* its length */
        is_true(read_copy(&q, &file, file.length, &e));
        is_true(q.truncated && q.site_count == 1 && q.node_count == p.node_count &&
                q.block_count == p.block_count);
        profile_free(&p);
        profile_free(&q);
        str_free(&file);
}

TEST(a_directory_that_is_not_there_is_told)
{
        struct profile p = { 0 };
        struct err e = { 0 };

        is_true(!file_write(&p, path_of("nowhere/a.seep"), &e));
        has_text(e.text, "No such file or directory");
        is_true(!file_write(&p, path_of("."), &e));
        has_text(e.text, "is a directory");
}

TEST(a_profile_that_contradicts_itself_is_not_written)
{
        struct profile p;
        struct err e = { 0 };
        struct str out = { 0 };

        sample_profile(&p, 11, 30);
        is_true(p.site_count > 1);
        p.nodes[1].parent = 1;
        is_true(!image_write(&p, IMAGE_PACKED, &out, &e));
        has_text(e.text, "nodes[1] has the parent 1");
        p.nodes[1].parent = 0;
        p.sites[1].node = p.node_count;
        str_clear(&out);
        is_true(!image_write(&p, IMAGE_PACKED, &out, &e));
        has_text(e.text, "sites[1] refers to nodes[");
        profile_free(&p);
        str_free(&out);
}

TEST(the_layout_lists_every_section_and_adds_up)
{
        struct profile p;
        struct file_layout l;
        struct err e = { 0 };
        uint64_t sum = FORMAT_HEADER_BYTES;

        sample_profile(&p, 6, 40);
        is_true(file_write(&p, path_of("l.seep"), &e) && file_sections(&l, path_of("l.seep"), &e));
        for (uint32_t i = 0; i < l.count; i++) {
                is_true(l.sections[i].whole);
                is_equal(l.sections[i].offset, sum);
                sum += FORMAT_SECTION_BYTES + l.sections[i].stored_bytes;
        }
        is_equal(sum, l.bytes);
        is_text(l.sections[0].name, "meta");
        is_text(l.sections[l.count - 1].name, "end");
        file_sections_free(&l);
        profile_free(&p);
        unlink(path_of("l.seep"));
}

TEST(nothing_is_left_behind)
{
        is_equal(entries_in_directory(), 0);
        is_true(!rmdir(directory));
}

TAP_MAIN(every_field_survives_the_way_through_a_file, a_file_with_the_short_header_is_read,
         a_file_that_does_not_tell_its_machine_is_of_x86_64,
         columns_that_came_later_are_zero_in_earlier_files, arrays_of_several_pieces_survive_too,
         an_empty_profile_survives_too, the_same_profile_gives_the_same_bytes,
         a_file_cut_at_any_byte_gives_what_is_whole_and_says_so,
         a_wrong_byte_anywhere_is_noticed_and_costs_no_more_than_its_section,
         a_lie_under_a_right_checksum_is_refused_or_harmless,
         a_newer_format_is_refused_with_both_versions,
         a_promise_of_billions_of_records_allocates_nothing, sections_of_unknown_types_are_skipped,
         files_of_other_tools_are_named, what_is_no_file_gets_a_clear_message,
         a_new_file_has_the_mode_that_umask_gives, a_link_stays_a_link_and_a_device_a_device,
         a_full_disk_leaves_the_old_file_and_no_other, wherever_a_write_fails_nothing_changes,
         what_refers_to_lost_records_refers_to_the_unknown, no_change_is_passed_in_two_slices,
         a_lost_list_of_modules_leaves_the_addresses, a_damaged_section_head_costs_only_its_section,
         a_directory_that_is_not_there_is_told, a_profile_that_contradicts_itself_is_not_written,
         the_layout_lists_every_section_and_adds_up, nothing_is_left_behind)
