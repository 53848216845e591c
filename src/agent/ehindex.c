/* SPDX-License-Identifier: MIT */
/*
 * ehindex.c -- a table of unwind entries for objects that were linked without one.
 *
 * Keeps:  only the section headers are read from the file; the entries themselves are read where
 *         the loader mapped them, inside of what is readable there.
 */
#include "agent/ehindex.h"

#include <elf.h>
#include <link.h>

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/cfi.h"
#include "agent/object.h"
#include "agent/sys.h"

#include "agent/guest.h"

struct section {
        uint64_t address, size;
};

static bool read_at(long fd, void *to, uint64_t count, uint64_t offset)
{
        return sys_read_at(fd, to, count, offset) == (long)count;
}

/* The loaded section called .eh_frame. */
static bool find_section(long fd, struct section *out)
{
        ElfW(Ehdr) e;
        ElfW(Shdr) names, s;
        char name[10];

        if (!read_at(fd, &e, sizeof e, 0) || e.e_shentsize != sizeof s ||
            e.e_shstrndx >= e.e_shnum ||
            !read_at(fd, &names, sizeof names, e.e_shoff + e.e_shstrndx * sizeof s))
                return false;
        for (unsigned i = 0; i < e.e_shnum; i++) {
                if (!read_at(fd, &s, sizeof s, e.e_shoff + i * sizeof s))
                        return false;
                if (!(s.sh_flags & SHF_ALLOC) || s.sh_type == SHT_NOBITS ||
                    !read_at(fd, name, sizeof name, names.sh_offset + s.sh_name))
                        continue;
                if (memcmp(name, ".eh_frame", sizeof name))
                        continue;
                *out = (struct section){ s.sh_addr, s.sh_size };
                return true;
        }
        return false;
}

/* The FDEs of O in S, at most MOST; with OUT, write them there.  Returns how many. */
static uint64_t walk(const struct object *o, struct section s, struct ehindex *out, uint64_t most)
{
        const uint8_t *p = (const uint8_t *)(uintptr_t)s.address, *end = p + s.size;
        uint64_t count = 0;

        while (end - p >= 8 && count < most) {
                uint32_t length, id;
                uint64_t start;

                __builtin_memcpy(&length, p, 4);
                __builtin_memcpy(&id, p + 4, 4);
                if (length == 0 || length == 0xffffffff || length > (uint64_t)(end - p) - 4)
                        break;
                if (id && cfi_fde_start(o, p, &start)) {
                        if (out)
                                out->at[count] = (struct ehindex_entry){ start, p };
                        count++;
                }
                p += 4 + (uint64_t)length;
        }
        return count;
}

/* Shell sort: the entries are nearly sorted as the linker wrote them. */
static void sort(struct ehindex *x)
{
        for (uint64_t gap = x->count / 2; gap; gap /= 2)
                for (uint64_t i = gap; i < x->count; i++) {
                        struct ehindex_entry moved = x->at[i];
                        uint64_t j = i;

                        for (; j >= gap && x->at[j - gap].start > moved.start; j -= gap)
                                x->at[j] = x->at[j - gap];
                        x->at[j] = moved;
                }
}

const struct ehindex *ehindex_build(long fd, const struct object *o)
{
        const struct object_area *a;
        struct ehindex *x = NULL;
        struct section s;
        uint64_t count;

        if (!find_section(fd, &s))
                return NULL;
        s.address += o->bias;
        a = object_area(o, s.address, 8);
        if (!a)
                return NULL;
        if (s.size > a->high - s.address)
                s.size = a->high - s.address;
        count = walk(o, s, NULL, UINT64_MAX);
        x = count ? arena_private(sizeof *x + count * sizeof x->at[0]) : NULL;
        if (x) {
                x->count = walk(o, s, x, count);
                sort(x);
        }
        return x;
}

const uint8_t *ehindex_find(const struct ehindex *x, uint64_t pc)
{
        uint64_t low = 0, high = x->count;

        while (low < high) {
                uint64_t middle = (low + high) / 2;

                if (x->at[middle].start <= pc)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low ? x->at[low - 1].fde : NULL;
}
