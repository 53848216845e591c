/* SPDX-License-Identifier: MIT */
#include "scan/tls.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define TLS_WORD sizeof(uintptr_t)
#define TLS_HEADERS_MAX 64u
#define TLS_DYNAMIC_MAX 256u
#define TLS_MODULES_MAX 4096u

/* ---- headers ---- */

#define TURN(field)                                                                   \
        (field = sizeof(field) == 8   ? __builtin_bswap64(field)                      \
                 : sizeof(field) == 4 ? __builtin_bswap32((uint32_t)(field))          \
                                      : __builtin_bswap16((uint16_t)(field)))

/* To our byte order: what is read of them here. */
static void turn_head(ElfW(Ehdr) *h)
{
        TURN(h->e_phoff);
        TURN(h->e_phentsize);
        TURN(h->e_phnum);
}

static void turn_header(ElfW(Phdr) *h)
{
        TURN(h->p_type);
        TURN(h->p_flags);
        TURN(h->p_offset);
        TURN(h->p_vaddr);
        TURN(h->p_memsz);
        TURN(h->p_align);
}

static void read_header(const ElfW(Phdr) *h, uint64_t bias, struct tls_module *out)
{
        if (h->p_type == PT_TLS) {
                out->tls_bytes = h->p_memsz;
                out->tls_alignment = h->p_align && !(h->p_align & (h->p_align - 1)) ? h->p_align
                                                                                    : 1;
        }
        if (h->p_type == PT_DYNAMIC)
                out->dynamic = bias + h->p_vaddr;
        if (h->p_type == PT_LOAD && (h->p_flags & PF_W) && out->data_count < TLS_DATA_MAX)
                out->data[out->data_count++] = (struct search_range){
                        bias + h->p_vaddr, bias + h->p_vaddr + h->p_memsz };
}

/* The file begins at START.  The ledger knows the difference to its addresses only of
 * modules that were on a stack. */
static uint64_t find_bias(const ElfW(Phdr) *headers, uint32_t count, uint64_t start)
{
        for (uint32_t i = 0; i < count; i++)
                if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
                        return start - headers[i].p_vaddr;
        return start;
}

static bool read_headers(const struct tls *t, uint64_t start, struct tls_module *out)
{
        ElfW(Phdr) headers[TLS_HEADERS_MAX];
        ElfW(Ehdr) head;

        *out = (struct tls_module){ 0 };
        if (freeze_read(t->freeze, start, &head, sizeof head) != sizeof head ||
            memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
                return false;
        if (t->freeze->turned)
                turn_head(&head);
        if (head.e_ident[EI_CLASS] != (TLS_WORD == 8 ? ELFCLASS64 : ELFCLASS32) ||
            head.e_phentsize != sizeof *headers || head.e_phnum > TLS_HEADERS_MAX ||
            freeze_read(t->freeze, start + head.e_phoff, headers, head.e_phnum * sizeof *headers) !=
                    head.e_phnum * sizeof *headers)
                return false;
        for (uint32_t i = 0; t->freeze->turned && i < head.e_phnum; i++)
                turn_header(&headers[i]);
        out->readable = true;
        for (uint32_t i = 0; i < head.e_phnum; i++)
                read_header(&headers[i], find_bias(headers, head.e_phnum, start), out);
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

                if (freeze_words(t->freeze, dynamic + i * sizeof d, d, 2) != 2 || d[0] == DT_NULL)
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
                if (!debug && t->modules[i].dynamic)
                        debug = find_debug(t, t->modules[i].dynamic);
        }
        if (debug)
                read_list(t, word_at(t, debug + TLS_WORD)); /* r_version, r_map */
}

void tls_close(struct tls *t)
{
        free(t->order);
        free(t->modules);
        *t = (struct tls){ 0 };
}

/* ---- blocks ---- */

/* The thread's entry for the module with NUMBER; 0: nothing yet.  dtv: in glibc pairs of
 * words, in musl single ones. */
static uint64_t entry(const struct tls *t, uint64_t dtv, uint32_t number)
{
        uint64_t value = word_at(t, dtv + (t->musl ? 1 : 2) * TLS_WORD * number);

        return value == UINTPTR_MAX || value % TLS_WORD ? 0 : value;
}

/* The only module that a static program has. */
static uint32_t static_block(const struct tls *t, uint64_t tp, struct tls_block *block)
{
        for (uint32_t i = 0; i < t->p->module_count; i++) {
                uint64_t bytes = t->modules[i].tls_bytes;

                if (!bytes || bytes > tp || strcmp(t->p->modules[i].path, t->p->meta.exe) != 0)
                        continue;
                *block = (struct tls_block){ (tp - bytes) & ~(t->modules[i].tls_alignment - 1), tp,
                                             i };
                return 1;
        }
        return 0;
}

uint32_t tls_blocks(const struct tls *t, uint64_t tp, struct tls_block **blocks)
{
        uint64_t dtv = word_at(t,
                               tp + (uint64_t)(int64_t)(t->musl ? ARCH_DTV_AT_MUSL : ARCH_DTV_AT));
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
