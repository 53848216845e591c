/* SPDX-License-Identifier: MIT */
/* error.c -- invalid frees. */
#include "book/error.h"

#define ALIGNMENT_MOST (1ull << 15) /* more is kept as this (LEDGER_KIND_ALIGNMENT) */

static bool same(const struct ledger_error *e, const struct ledger_error *f)
{
        return e->type == f->type && e->node == f->node && e->alloc_site == f->alloc_site &&
               e->release == f->release && e->wrong == f->wrong && e->given == f->given;
}

bool error_prepare(struct book *k)
{
        return book_commit(k, LEDGER_ERRORS, ERROR_MAX * sizeof(struct ledger_error));
}

void error_note(struct book *k, struct ledger_error *f)
{
        struct ledger_error *all = book_part(k, LEDGER_ERRORS);
        uint32_t count = __atomic_load_n(&k->head->error_count, __ATOMIC_ACQUIRE);

        f->first_ms = book_now_ms(k);
        f->count = 1;
        for (uint32_t i = 0; i < count && i < ERROR_MAX; i++)
                if (same(&all[i], f)) {
                        __atomic_add_fetch(&all[i].count, 1, __ATOMIC_RELAXED);
                        return;
                }
        if (count >= ERROR_MAX - 64 || !error_prepare(k)) {
                __atomic_add_fetch(&k->head->faults_not_kept, 1, __ATOMIC_RELAXED);
                return;
        }
        count = __atomic_fetch_add(&k->head->error_count, 1, __ATOMIC_ACQ_REL);
        if (count < ERROR_MAX)
                all[count] = *f;
}

struct ledger_error error_of(enum ledger_error_type type, const struct ledger_block *block,
                             uint32_t family)
{
        return (struct ledger_error){ .type = type,
                                      .release = family,
                                      .alloc_site = block ? LEDGER_BLOCK_SITE(*block) : 0,
                                      .size = block ? LEDGER_BLOCK_SIZE(*block) : 0 };
}

/* The alignment that R names, as far as it can be compared; 0 none. */
static uint64_t alignment_of(const struct book_release *r)
{
        if (!r->aligned)
                return 0;
        return r->align < ALIGNMENT_MOST ? r->align : ALIGNMENT_MOST;
}

/* Was a block of KIND made with an alignment that its release has to name?  What memalign and its
 * kin gave may go by plain free. */
static bool has_alignment(uint32_t kind, const struct book_release *r)
{
        return LEDGER_KIND_HAS_ALIGNMENT(kind) && (r->family != LEDGER_FAMILY_C || r->sized);
}

struct ledger_error error_mismatch(const struct book *k, const struct ledger_block *block,
                                   const struct book_release *r)
{
        uint32_t kind = k->sites[LEDGER_BLOCK_SITE(*block)].kind; /* with its alignment */
        uint64_t own = has_alignment(kind, r) ? LEDGER_KIND_ALIGNMENT(kind) : 0;
        struct ledger_error f = error_of(LEDGER_ERROR_MISMATCHED, block, r->family);

        f.alignment = own ? (uint8_t)(63 - __builtin_clzll(own)) : 0;
        if (book_family(LEDGER_KIND_PLAIN(kind)) != r->family) {
                f.wrong = LEDGER_WRONG_FAMILY;
        } else if (alignment_of(r) != own) {
                f.wrong = LEDGER_WRONG_ALIGNMENT;
                f.given = r->aligned ? r->align : 0;
        } else if (r->sized && r->size != f.size) {
                f.wrong = LEDGER_WRONG_SIZE;
                f.given = r->size;
        } else {
                f.type = LEDGER_ERROR_NONE;
        }
        return f;
}
