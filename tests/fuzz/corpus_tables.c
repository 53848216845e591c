/* SPDX-License-Identifier: MIT */
/*
 * corpus_tables.c -- makes what the readers of unwind tables and maps are fuzzed with.
 *
 * usage: corpus_tables DIRECTORY READER     writes what READER starts from, as NAME.READER; the
 *        same bytes every time
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "tables.h"

static const char maps[] = "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:01 1311 /usr/bin/a b\\012c\n"
                           "55d0c0a02000-55d0c0a06000 r-xp 00002000 fe:01 1311 /usr/bin/a b\\012c\n"
                           "7ffc1d0de000-7ffc1d0ff000 rw-p 00000000 00:00 0 [stack]\n"
                           "7ffc1d1f2000-7ffc1d1f4000 r-xp 00000000 00:00 0 [vdso]\n"
                           "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"
                           "7f0000000000-7f0000001000 rwxs 00000000 00:05 12 /memfd:x (deleted)\n"
                           "7f0000002000-7f0000003000 rwxp 00000000 00:00 0 \n";

/* A read of each kind that an expression has. */
static const uint8_t expression[] = { 0x77, 0x88, 0x01, 0x06, 0x76, 0x70, 0x94, 4,    0x22,
                                      0x23, 0x81, 0x02, 0x12, 0x30, 0x29, 0x28, 1,    0,
                                      0x31, 0x13, 0x0e, 1,    2,    3,    4,    5,    6,
                                      7,    8,    0x0a, 1,    2,    0x10, 0xff, 0x01, 0x1b,
                                      0x1c, 0x2f, 0,    0,    0x1f, 0x20 };

static bool put(const char *directory, const char *name, const void *bytes, size_t count)
{
        char path[4096];
        FILE *f;
        bool good;

        snprintf(path, sizeof path, "%s/%s", directory, name);
        f = fopen(path, "wb");
        good = f && fwrite(bytes, 1, count, f) == count;
        return f && fclose(f) == 0 && good;
}

/* Each kind of operation once, and states in each other. */
static void odd(struct tables *t)
{
        static const uint8_t cie[] = { 7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b, 0x0c, 7, 8, 0x90, 1 };
        static const uint8_t program[] = {
                0x0a, 0x02, 1,    0x03, 1,    0,    0x04, 1,    0,    0,    0,    0x05, 6,
                2,    0x06, 6,    0x07, 3,    0x08, 12,   0x09, 13,   14,   0x0c, 7,    16,
                0x0d, 6,    0x0e, 32,   0x11, 6,    0x7e, 0x12, 7,    0x7c, 0x13, 0x7c, 0x14,
                3,    1,    0x15, 12,   1,    0x16, 13,   2,    0x76, 0,    0x10, 6,    2,
                0x76, 0x70, 0x2e, 16,   0x0b, 0xc6, 0x86, 2,    0x0f, 3,    0x76, 0x78, 6
        };

        tables_begin(t, 2);
        tables_cie(t, &(struct tables_cie){ .augmentation = "zPLR",
                                            .program = cie,
                                            .program_bytes = sizeof cie });
        tables_fde(t, 0, 0x80, program, sizeof program);
        tables_cie(t, &(struct tables_cie){ .version = 3, .augmentation = NULL });
        tables_fde(t, 0x80, 0x80, program, 20);
        tables_finish(t);
}

static bool put_file(const char *directory, const struct tables *t)
{
        struct {
                Elf64_Ehdr e;
                Elf64_Shdr sections[3];
                char names[32];
                uint8_t tables[4096];
        } file;

        memset(&file, 0, sizeof file);
        file.e.e_shoff = sizeof file.e;
        file.e.e_shentsize = sizeof file.sections[0];
        file.e.e_shnum = 3;
        file.e.e_shstrndx = 1;
        memcpy(file.names, "\0.eh_frame", 11);
        file.sections[1].sh_offset = sizeof file.e + sizeof file.sections;
        file.sections[2] = (Elf64_Shdr){ .sh_name = 1,
                                         .sh_type = SHT_PROGBITS,
                                         .sh_flags = SHF_ALLOC,
                                         .sh_size = t->size - t->frames,
                                         .sh_addr = sizeof file - sizeof file.tables + t->frames };
        memcpy(file.tables, t->data, t->size);
        return put(directory, "file.ehindex", &file, sizeof file - sizeof file.tables + t->size);
}

/* Four bytes that say what is asked, then the table: an entry in the word, entries of each kind
 * behind the pairs, and code without. Words have their lowest byte first. */
static const uint8_t ehabi[] = {
        32, 0, 5, 3,
        0, 0, 0, 0x20, 0xb0, 0xa8, 0x01, 0x80,          /* +4 += 8; pop {r4, lr} */
        8, 0, 0, 0x20, 20, 0, 0, 0,                     /* of kind 1, at 32 */
        16, 0, 0, 0x20, 24, 0, 0, 0,                    /* of a language, at 44 */
        24, 0, 0, 0x20, 1, 0, 0, 0,
        0x97, 0x02, 0x01, 0x81, 0xb0, 0x09, 0x84, 0x20, /* vsp = r7; ...; pop {r4, r7, lr} */
        0xb0, 0xb0, 0xb0, 0xb0,
        0, 0, 0, 0, 0x0f, 0xb1, 0x01, 0x02, 0xff, 0x8f, 0xd1, 0xb2, 0x20, 0xb3, 0x11, 0xc8,
};

/* In front of the tables, what is asked for. */
static bool put_tables(const char *directory, const char *name, const struct tables *t,
                       const char *asked)
{
        uint8_t all[2 + sizeof t->data];

        memcpy(all, asked, 2);
        memcpy(all + 2, t->data, t->size);
        return put(directory, name, all, 2 + t->size);
}

int main(int argc, char **argv)
{
        struct tables usual, unusual;
        const char *to, *reader;

        if (argc != 3)
                return 2;
        to = argv[1];
        reader = argv[2];
        tables_sample(&usual);
        odd(&unusual);
        if (!strcmp(reader, "cfi"))
                return !(put_tables(to, "usual.cfi", &usual, "\x10\x40") &&
                         put_tables(to, "odd.cfi", &unusual, "\x7f\x20"));
        if (!strcmp(reader, "rule"))
                return !(put_tables(to, "usual.rule", &usual, "\x10\x00") &&
                         put_tables(to, "linkage.rule", &usual, "\x60\x00") &&
                         put_tables(to, "odd.rule", &unusual, "\x7f\x00"));
        if (!strcmp(reader, "expression"))
                return !put(to, "all.expression", expression, sizeof expression);
        if (!strcmp(reader, "ehabi"))
                return !put(to, "some.ehabi", ehabi, sizeof ehabi);
        if (!strcmp(reader, "maps"))
                return !put(to, "some.maps", maps, sizeof maps - 1);
        return !put_file(to, &usual);
}
