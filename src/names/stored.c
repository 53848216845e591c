/* SPDX-License-Identifier: MIT */
#include "names/stored.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"

struct stored_place {
        uint64_t address;
        uint32_t module, node;
};

static int place_compare(const void *a, const void *b)
{
        const struct stored_place *x = a, *y = b;

        return ORDER(x->module, y->module) ?: ORDER(x->address, y->address);
}

/* Every address once, sorted.  What compilers made while the program ran has its names
 * in the recording already. */
static uint32_t stored_places(const struct profile *p, struct stored_place **out)
{
        struct stored_place *places = heap_zero(p->node_count, sizeof *places);
        uint32_t count = 0, kept = 0;

        for (uint32_t i = 2; i < p->node_count; i++) {
                uint32_t module = p->nodes[i].module;

                if (module < p->module_count &&
                    !(p->modules[module].flags & LEDGER_MODULE_ANONYMOUS))
                        places[count++] = (struct stored_place){ symbols_address(p, i), module, i };
        }
        qsort(places, count, sizeof *places, place_compare);
        for (uint32_t i = 0; i < count; i++)
                if (!kept || place_compare(&places[kept - 1], &places[i]) != 0)
                        places[kept++] = places[i];
        *out = places;
        return kept;
}

uint32_t stored_collect(struct symbols *s, const struct profile *p, struct profile_symbol **symbols)
{
        struct stored_place *places;
        uint32_t place_count = stored_places(p, &places), count = 0, room = 0;

        *symbols = NULL;
        for (uint32_t i = 0; i < place_count; i++) {
                const struct symbol_frame *frames;
                uint32_t depth = symbols_node(s, places[i].node, &frames);

                if (depth == 1 && !frames[0].function && !frames[0].line)
                        continue;
                if (count + depth > room) {
                        room = (count + depth) * 2;
                        *symbols = heap_grow(*symbols, room, sizeof **symbols);
                }
                for (uint32_t j = 0; j < depth; j++)
                        (*symbols)[count++] = (struct profile_symbol){
                                places[i].module, j, places[i].address,
                                heap_text(frames[j].function), heap_text(frames[j].file),
                                frames[j].line, 0 };
        }
        free(places);
        return count;
}

void stored_replace(struct profile *p, struct profile_symbol *symbols, uint32_t count)
{
        for (uint32_t i = 0; i < p->symbol_count; i++) {
                free(p->symbols[i].function);
                free(p->symbols[i].file);
        }
        free(p->symbols);
        p->symbols = symbols;
        p->symbol_count = count;
}

static int stored_compare(const struct profile_symbol *symbol, uint32_t module, uint64_t address)
{
        return ORDER(symbol->module, module) ?: ORDER(symbol->address, address);
}

/* Index of the first stored symbol that is not before (MODULE, ADDRESS). */
static uint32_t stored_first(const struct profile *p, uint32_t module, uint64_t address)
{
        return (uint32_t)FIND_FIRST(p->symbol_count, i,
                                    stored_compare(&p->symbols[i], module, address) < 0);
}

uint32_t stored_find(const struct profile *p, uint32_t module, uint64_t address, uint32_t *first)
{
        uint32_t count = 0;

        *first = stored_first(p, module, address);
        while (*first + count < p->symbol_count &&
               stored_compare(&p->symbols[*first + count], module, address) == 0)
                count++;
        return count;
}

bool stored_has_lines(const struct profile *p, uint32_t module)
{
        for (uint32_t i = stored_first(p, module, 0);
             i < p->symbol_count && p->symbols[i].module == module; i++)
                if (p->symbols[i].line)
                        return true;
        return false;
}
