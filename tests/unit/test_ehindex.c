/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <elf.h>

#include "agent/ehindex.h"
#include "tables.h"

/* A file whose bytes are its memory: headers, the names of its sections, the tables. */
static struct {
        Elf64_Ehdr e;
        Elf64_Shdr sections[3];
        char names[32];
        uint8_t tables[4096];
} file;
static size_t size;

static void make(const struct tables *t)
{
        memset(&file, 0, sizeof file);
        file.e.e_shoff = offsetof(__typeof__(file), sections);
        file.e.e_shentsize = sizeof file.sections[0];
        file.e.e_shnum = 3;
        file.e.e_shstrndx = 1;
        memcpy(file.names, "\0.eh_frame_hdr\0.eh_frame", 25);
        file.sections[1].sh_offset = offsetof(__typeof__(file), names);
        file.sections[2] = (Elf64_Shdr){ .sh_name = 15,
                                         .sh_type = SHT_PROGBITS,
                                         .sh_flags = SHF_ALLOC,
                                         .sh_addr = offsetof(__typeof__(file), tables) + t->frames,
                                         .sh_size = t->size - t->frames };
        memcpy(file.tables, t->data, t->size);
        size = offsetof(__typeof__(file), tables) + t->size;
}

static const struct ehindex *build(void)
{
        uint8_t *memory = tables_place(&file, size);

        tables_open(memory, size, SIZE_MAX);
        tables_object.bias = (uint64_t)memory;
        return ehindex_build(tables_file(&file, size), &tables_object);
}

static uint64_t code(uint32_t offset)
{
        return tables_object.bias + offsetof(__typeof__(file), tables) + TABLES_CODE + offset;
}

TEST(entries_are_found_in_the_order_of_their_code)
{
        const struct ehindex *x;
        struct tables t;

        tables_begin(&t, 0);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, 0x80, 0x10, NULL, 0);
        tables_fde(&t, 0x00, 0x10, NULL, 0);
        tables_fde(&t, 0x40, 0x10, NULL, 0);
        t.fde_count = 0;
        tables_finish(&t);
        make(&t);
        x = build();
        is_true(x && x->count == 3);
        if (!x || x->count != 3)
                return;
        is_true(x->at[0].start == code(0) && x->at[1].start == code(0x40) &&
                x->at[2].start == code(0x80));
        is_true(!ehindex_find(x, code(0) - 1));
        is_true(ehindex_find(x, code(0x3f)) == x->at[0].fde &&
                ehindex_find(x, code(0x40)) == x->at[1].fde);
        tables_object.index = x;
        is_true(cfi_find(&tables_object, code(0x48), tables_thread.work));
        is_true(!cfi_find(&tables_object, code(0x58), tables_thread.work));
}

TEST(a_section_outside_of_the_memory_is_not_read)
{
        static const uint64_t places[] = { 0, 0x7fffffffffff, UINT64_MAX - 3, UINT64_MAX,
                                           1ull << 63 };
        struct tables t;

        tables_sample(&t);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                make(&t);
                file.sections[2].sh_addr = places[i];
                is_true(!build());
                make(&t);
                file.sections[2].sh_size = places[i];
                is_true(!build() == !places[i]); /* as far as there is memory */
        }
        make(&t);
        file.sections[2].sh_addr = size - 4;
        is_true(!build());
}

TEST(a_walk_ends_with_what_is_wrong)
{
        static const uint32_t lengths[] = { 0, 1, 3, 0x7fffffff, 0xfffffffc, 0xffffffff };
        const struct ehindex *x;
        struct tables t;

        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                tables_sample(&t);
                tables_set_u32(&t, t.fdes[1].at, lengths[i]);
                make(&t);
                x = build();
                is_true(x && x->count == 1);
                tables_sample(&t);
                tables_set_u32(&t, t.cie, lengths[i]);
                make(&t);
                x = build();
                is_true(!x || x->count <= 2);
        }
}

TEST(headers_that_lie_give_nothing)
{
        struct tables t;

        tables_sample(&t);
        make(&t);
        is_true(build() != NULL);
        file.e.e_shoff = UINT64_MAX;
        is_true(!build());
        make(&t);
        file.e.e_shstrndx = 3;
        is_true(!build());
        make(&t);
        file.e.e_shentsize = 1;
        is_true(!build());
        make(&t);
        file.sections[1].sh_offset = 1ull << 62;
        is_true(!build());
        make(&t);
        file.sections[2].sh_name = 0xffffffff;
        is_true(!build());
        make(&t);
        file.e.e_shnum = 0xffff;
        is_true(build() != NULL); /* it was found before they end */
        file.sections[2].sh_name = 1;
        is_true(!build());
        is_true(!ehindex_build(-1, &tables_object));
}

TAP_MAIN(entries_are_found_in_the_order_of_their_code, a_section_outside_of_the_memory_is_not_read,
         a_walk_ends_with_what_is_wrong, headers_that_lie_give_nothing)
