/* SPDX-License-Identifier: MIT */
/*
 * why_nowhere.c -- what is known about an address that is in no block.
 *
 * Room:   outside.
 */
#include "query/why_form.h"

#include <inttypes.h>

#include "query/maker.h"
#include "words/label.h"
#include "words/text.h"

/* Append what the memory is that holds roots there; false: none does. */
static bool tell_root(const struct profile *p, struct symbols *s, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->root_count; i++) {
                struct holder holder;

                if (p->roots[i].kind == PROFILE_ROOT_REGISTER || address < p->roots[i].start || address >= p->roots[i].end)
                        continue;
                holder = holder_at(p, s, i, address);
                str_text(out, "it is in ");
                holder_write(p, s, &holder, out);
                return true;
        }
        return false;
}

static bool tell_region(const struct profile *p, struct symbols *s, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->region_count; i++)
                if (address >= p->regions[i].start && address < p->regions[i].end) {
                        str_text(out, p->regions[i].stack ? "it is in the stack of a thread made by " : "it is in memory mapped by ");
                        maker_write(p, maker_of(p, s, p->regions[i].site), 0, out);
                        return true;
                }
        return false;
}

static bool tell_module(const struct profile *p, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (p->modules[i].path && address >= p->modules[i].start && address < p->modules[i].end) {
                        str_format(out, "it is in %s", label_base(p->modules[i].path));
                        return true;
                }
        return false;
}

static bool tell_error(const struct profile *p, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->error_count; i++)
                if (p->errors[i].address == address) {
                        str_text(out, "a wrong release of it is in 'seep report --errors'");
                        return true;
                }
        return false;
}

#define NEAR_BYTES 65536u /* a block further away has nothing to do with it */

/* The last block in front of it, or the first behind it when that is nearer. */
static void tell_nearest(const struct profile *p, uint64_t address, struct str *out)
{
        const struct profile_block *nearest = NULL;
        uint64_t distance = UINT64_MAX;
        bool behind = false;

        for (uint64_t i = 0; i < p->block_count; i++) {
                const struct profile_block *b = &p->blocks[i];
                uint64_t away = b->address > address ? b->address - address : address - b->address - (b->size ? b->size - 1 : 0);

                if (away < distance) {
                        distance = away;
                        nearest = b;
                        behind = b->address > address;
                }
        }
        if (!nearest || distance > NEAR_BYTES)
                return;
        str_format(out, "%sthe nearest is 0x%" PRIx64 " of ", out->length ? "; " : "", nearest->address);
        text_count(out, (int64_t)nearest->size, "byte");
        if (behind)
                str_format(out, ", 0x%" PRIx64 " bytes behind it", distance);
        else if (distance > 1)
                str_format(out, ", which ends 0x%" PRIx64 " bytes before it", distance - 1);
        else
                str_text(out, ", which ends right before it");
}

void why_no_block(const struct profile *p, struct symbols *s, uint64_t address, struct err *e)
{
        struct str known = { 0 };

        if (!tell_root(p, s, address, &known) && !tell_region(p, s, address, &known) && !tell_module(p, address, &known))
                tell_error(p, address, &known);
        tell_nearest(p, address, &known);
        if (!p->block_count)
                str_text(&known, "there were no live blocks at all");
        err_set(e, ERR_EXIT_USAGE, "no block at 0x%" PRIx64 " was live then: freed, or never one%s%s", address, known.length ? "; " : "",
                str_get(&known));
        str_free(&known);
}
