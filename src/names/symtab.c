/* SPDX-License-Identifier: MIT */
/*
 * symtab.c -- the functions or variables of a module by address, from its symbol tables.
 *
 * Cost:   one pass and a sort, then a binary search per address.  (dwfl_module_addrinfo walks the
 *         whole table for each address: seconds for a large program.)
 */
#include "names/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"

enum { SYMTAB_LABEL = 8 }; /* rank of names that are not said to be functions */

static int symtab_compare(const void *a, const void *b)
{
        const struct symtab_entry *x = a, *y = b;

        return ORDER(x->start, y->start) ?: ORDER(x->rank, y->rank) ?: strcmp(x->name, y->name);
}

/* Of several names for one place: functions before labels, global before weak before local,
 * plain before __reserved. */
static uint32_t symtab_rank(const GElf_Sym *sym, const char *name)
{
        static const uint32_t binding_rank[] = { [STB_LOCAL] = 2, [STB_GLOBAL] = 0,
                                                 [STB_WEAK] = 1 };
        uint32_t binding = GELF_ST_BIND(sym->st_info);
        uint32_t rank = binding < 3 ? binding_rank[binding] : 0;

        if (name[0] == '_' && name[1] == '_')
                rank += 4;
        if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
                rank += SYMTAB_LABEL;
        return rank;
}

static int symtab_wanted(const GElf_Sym *sym, const char *name, enum symtab_kind kind)
{
        uint32_t type = GELF_ST_TYPE(sym->st_info);

        if (!name || !name[0] || sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
                return 0;
        /* Objects without a size are marks of the linker: __dso_handle, _DYNAMIC. */
        if (kind != SYMTAB_CODE)
                return sym->st_size && type == (kind == SYMTAB_DATA ? STT_OBJECT : STT_TLS);
        if (type == STT_NOTYPE)
                return name[0] != '$'; /* $x and $d mark code and data on ARM */
        return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Labels of hand-written assembly have no size: they reach to the next name. */
static void symtab_close_gaps(struct symtab *t)
{
        uint64_t next = 0;

        for (size_t i = t->count; i-- > 0;) {
                struct symtab_entry *entry = &t->entries[i];

                if (entry->end == entry->start && next > entry->start)
                        entry->end = next;
                if (entry->end - entry->start > t->longest)
                        t->longest = entry->end - entry->start;
                if (i && t->entries[i - 1].start != entry->start)
                        next = entry->start;
        }
}

void symtab_read(struct symtab *t, Dwfl_Module *module, enum symtab_kind kind)
{
        int symbols = dwfl_module_getsymtab(module);

        *t = (struct symtab){ 0 };
        if (symbols <= 0)
                return;
        t->entries = heap_zero((size_t)symbols, sizeof *t->entries);
        for (int i = 1; i < symbols; i++) {
                GElf_Sym sym;
                GElf_Addr address;
                const char *name = dwfl_module_getsym_info(module, i, &sym, &address, NULL, NULL,
                                                           NULL);

                if (kind == SYMTAB_THREAD)
                        address = sym.st_value;
                if (symtab_wanted(&sym, name, kind))
                        t->entries[t->count++] = (struct symtab_entry){
                                address, address + sym.st_size, name, symtab_rank(&sym, name),
                                GELF_ST_BIND(sym.st_info) == STB_LOCAL };
        }
        qsort(t->entries, t->count, sizeof *t->entries, symtab_compare);
        symtab_close_gaps(t);
}

void symtab_free(struct symtab *t)
{
        free(t->entries);
        *t = (struct symtab){ 0 };
}

/* Index of the first entry that starts behind ADDRESS. */
static size_t symtab_behind(const struct symtab *t, uint64_t address)
{
        return FIND_FIRST(t->count, i, t->entries[i].start <= address);
}

/* Entries of one start are sorted best first and met last first; a label inside a
 * function does not hide it. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address)
{
        const struct symtab_entry *best = NULL;

        for (size_t i = symtab_behind(t, address), steps = 0; i-- > 0 && steps < 64; steps++) {
                const struct symtab_entry *entry = &t->entries[i];

                if (address - entry->start > t->longest)
                        break;
                if (best && best->rank < SYMTAB_LABEL && entry->start != best->start)
                        break;
                if (address < entry->end &&
                    (!best || entry->rank < SYMTAB_LABEL || entry->start == best->start))
                        best = entry;
        }
        return best;
}
