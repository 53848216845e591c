/* SPDX-License-Identifier: MIT */
#include "scan/tls.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define TLS_HEADERS_MAX 64u
#define TLS_DYNAMIC_MAX 256u
#define TLS_MODULES_MAX 4096u

/* ---- headers ---- */

static uint64_t width_of(const struct tls *t)
{
        return search_width(t->freeze->narrow);
}

/* The number of BYTES at P, as the program has it. */
static uint64_t number(const struct tls *t, const uint8_t *p, uint64_t bytes)
{
        uint64_t value = 0;

        for (uint64_t i = 0; i < bytes; i++)
                value |= (uint64_t)p[i] << 8 * (t->freeze->turned ? bytes - 1 - i : i);
        return value;
}

/* What is asked of a program header, in either word size. */
struct header {
        uint32_t type, flags;
        uint64_t offset, address, bytes, align;
};

static struct header take_header(const struct tls *t, const uint8_t *p)
{
        uint64_t w = width_of(t);

        if (w == 4)
                return (struct header){ (uint32_t)number(t, p, 4), (uint32_t)number(t, p + 24, 4),
                                        number(t, p + 4, 4), number(t, p + 8, 4),
                                        number(t, p + 20, 4), number(t, p + 28, 4) };
        return (struct header){ (uint32_t)number(t, p, 4), (uint32_t)number(t, p + 4, 4),
                                number(t, p + 8, 8), number(t, p + 16, 8), number(t, p + 40, 8),
                                number(t, p + 48, 8) };
}

static void read_header(const struct header *h, uint64_t bias, struct tls_module *out)
{
        if (h->type == PT_TLS) {
                out->tls_bytes = h->bytes;
                out->tls_alignment = h->align && !(h->align & (h->align - 1)) ? h->align : 1;
        }
        out->interp = out->interp || h->type == PT_INTERP;
        if (h->type == PT_GNU_RELRO)
                out->relro = (struct search_range){ bias + h->address,
                                                    bias + h->address + h->bytes };
        if (h->type == PT_DYNAMIC)
                out->dynamic = bias + h->address;
        if (h->type == PT_LOAD && (h->flags & PF_W) && out->data_count < TLS_DATA_MAX)
                out->data[out->data_count++] = (struct search_range){
                        bias + h->address, bias + h->address + h->bytes };
}

/* The file begins at START.  The ledger knows the difference to its addresses only of
 * modules that were on a stack. */
static uint64_t find_bias(const struct header *headers, uint32_t count, uint64_t start)
{
        for (uint32_t i = 0; i < count; i++)
                if (headers[i].type == PT_LOAD && headers[i].offset == 0)
                        return start - headers[i].address;
        return start;
}

/* The head of the file has in either size: where the headers are, from 24 + a word on; behind that
 * and a third word and 6 bytes how large each is, and how many there are. */
static bool read_headers(const struct tls *t, uint64_t start, struct tls_module *out)
{
        uint8_t head[sizeof(Elf64_Ehdr)], bytes[TLS_HEADERS_MAX * sizeof(Elf64_Phdr)];
        uint64_t w = width_of(t), size = w == 8 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
        const uint8_t *sizes = head + 24 + 3 * w + 6;
        struct header headers[TLS_HEADERS_MAX];
        uint32_t count;

        *out = (struct tls_module){ 0 };
        if (freeze_read(t->freeze, start, head, sizeof head) != sizeof head ||
            memcmp(head, ELFMAG, SELFMAG) != 0 ||
            head[EI_CLASS] != (w == 8 ? ELFCLASS64 : ELFCLASS32))
                return false;
        count = (uint32_t)number(t, sizes + 2, 2);
        if (number(t, sizes, 2) != size || count > TLS_HEADERS_MAX ||
            freeze_read(t->freeze, start + number(t, head + 24 + w, w), bytes, count * size) !=
                    count * size)
                return false;
        for (uint32_t i = 0; i < count; i++)
                headers[i] = take_header(t, bytes + i * size);
        out->readable = true;
        for (uint32_t i = 0; i < count; i++)
                read_header(&headers[i], find_bias(headers, count, start), out);
        return true;
}

bool tls_module(const struct tls *t, uint32_t index, struct tls_module *out)
{
        *out = t->modules[index];
        return out->readable;
}

/* ---- the loader's list ---- */

static uint64_t word_at(const struct tls *t, uint64_t address)
{
        uint64_t word = 0;

        return freeze_words(t->freeze, address, &word, 1) ? word : 0;
}

/* The value of DT_DEBUG: struct r_debug. */
static uint64_t find_debug(const struct tls *t, uint64_t dynamic)
{
        for (uint32_t i = 0; i < TLS_DYNAMIC_MAX; i++) {
                uint64_t d[2]; /* tag and value */

                if (freeze_words(t->freeze, dynamic + 2 * i * width_of(t), d, 2) != 2 ||
                    d[0] == DT_NULL)
                        return 0;
                if (d[0] == DT_DEBUG)
                        return d[1];
        }
        return 0;
}

static uint32_t module_with(const struct tls *t, uint64_t dynamic)
{
        for (uint32_t i = 0; i < t->p->module_count; i++)
                if (t->modules[i].dynamic == dynamic)
                        return i;
        return PROFILE_NO_MODULE;
}

/* struct link_map begins with: l_addr, l_name, l_ld, l_next.  What is in the list and no module of
 * ours (there is none) has a number, too. */
static void read_list(struct tls *t, uint64_t map)
{
        uint64_t link[4];

        for (uint32_t steps = 0; map && steps < TLS_MODULES_MAX; steps++, map = link[3]) {
                struct tls_module m = { 0 };
                uint32_t index;

                if (freeze_words(t->freeze, map, link, 4) != 4)
                        return;
                index = module_with(t, link[2]);
                if ((index != PROFILE_NO_MODULE ? tls_module(t, index, &m)
                                                : read_headers(t, link[0], &m)) &&
                    m.tls_bytes) {
                        t->order = heap_grow(t->order, t->order_count + 1, sizeof *t->order);
                        t->order[t->order_count++] = index;
                }
        }
}

void tls_open(struct tls *t, const struct freeze *f, const struct profile *p)
{
        uint64_t debug = 0;

        *t = (struct tls){ .freeze = f, .p = p,
                           .modules = heap_zero(p->module_count, sizeof *t->modules) };
        for (uint32_t i = 0; i < p->module_count; i++) {
                t->musl = t->musl || strstr(p->modules[i].path, "ld-musl");
                if (p->modules[i].gone_ms || !read_headers(t, p->modules[i].start, &t->modules[i]))
                        continue;
                t->loaded = t->loaded || t->modules[i].interp;
                if (!debug && t->modules[i].dynamic)
                        debug = find_debug(t, t->modules[i].dynamic);
        }
        if (debug)
                read_list(t, word_at(t, debug + width_of(t))); /* r_version, r_map */
}

void tls_close(struct tls *t)
{
        free(t->order);
        free(t->modules);
        *t = (struct tls){ 0 };
}

/* ---- blocks ---- */

/* The thread's entry for the module with number INDEX; 0: nothing yet.  dtv: in glibc pairs of
 * words, in musl single ones. */
static uint64_t entry(const struct tls *t, uint64_t dtv, uint32_t index)
{
        uint64_t w = width_of(t), value = word_at(t, dtv + (t->musl ? 1 : 2) * w * index);

        return value == UINT64_MAX >> (64 - 8 * w) || value % w ? 0 : value;
}

/* The only module that a static program has. */
static uint32_t static_block(const struct tls *t, uint64_t tp, struct tls_block *block)
{
        const struct freeze_kind *kind = freeze_kind(t->freeze);

        for (uint32_t i = 0; i < t->p->module_count; i++) {
                uint64_t bytes = t->modules[i].tls_bytes, fit = t->modules[i].tls_alignment - 1;
                uint64_t above = tp + (kind->dtv ? 0 : 2 * width_of(t)); /* behind a head, if any */

                if (!bytes || bytes > tp || strcmp(t->p->modules[i].path, t->p->meta.exe) != 0)
                        continue;
                above = (above + fit) & ~fit;
                *block = kind->tls_above ? (struct tls_block){ above, above + bytes, i }
                                         : (struct tls_block){ (tp - bytes) & ~fit, tp, i };
                return 1;
        }
        return 0;
}

uint32_t tls_blocks(const struct tls *t, uint64_t tp, struct tls_block **blocks)
{
        const struct freeze_kind *kind = freeze_kind(t->freeze);
        uint64_t dtv = word_at(t, tp + (uint64_t)(int64_t)(t->musl ? kind->dtv_musl : kind->dtv));
        uint32_t count = 0;

        *blocks = heap_zero(t->order_count + 1, sizeof **blocks);
        if (!t->order_count)
                return static_block(t, tp, *blocks);
        if (!dtv)
                return 0;
        for (uint32_t i = 0; i < t->order_count; i++) {
                struct tls_module m;
                uint64_t start = entry(t, dtv, i + 1);

                if (start && t->order[i] != PROFILE_NO_MODULE && tls_module(t, t->order[i], &m))
                        (*blocks)[count++] = (struct tls_block){ start, start + m.tls_bytes,
                                                                 t->order[i] };
        }
        return count;
}
