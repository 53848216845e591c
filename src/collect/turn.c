/* SPDX-License-Identifier: MIT */
#include "collect/turn.h"

#include <string.h>

/* Numbers of WIDTH bytes, from this place of an entry on and up to that of the next row. */
struct turn_row {
        uint32_t at, width;
};

/* A table of entries of BYTES each. */
struct turn_layout {
        const struct turn_row *rows;
        uint32_t count, bytes;
};

/* tests/lint/turns.py compares these rows with the structs of ledger.h. */
#define ROW(part, field, width) { offsetof(struct ledger_##part, field), width }

static const struct turn_row head[] = {
        ROW(head, magic, 8),
        ROW(head, version, 4),
        ROW(head, file_size, 8),
        ROW(head, pid, 4),
        ROW(head, start_realtime_ns, 8),
        ROW(head, node_count, 4),
        ROW(head, truncated_captures, 8),
        ROW(head, exe, 1),
        ROW(head, command_bytes, 4),
        ROW(head, limit_bytes, 8),
        ROW(head, wipes, 4),
        ROW(head, missed_frees, 8),
        ROW(head, deepbind_taken, 4),
        ROW(head, quarantine_blocks, 8),
        ROW(head, omit, 4),
        ROW(head, ledger_limit, 8),
        ROW(head, thin_count, 4),
        ROW(head, thin[0].mean, 8),
        ROW(head, thin[0].from_ms, 4),
        ROW(head, thin[1].mean, 8),
        ROW(head, thin[1].from_ms, 4),
        ROW(head, thin[2].mean, 8),
        ROW(head, thin[2].from_ms, 4),
        ROW(head, thin[3].mean, 8),
        ROW(head, thin[3].from_ms, 4),
        ROW(head, thin[4].mean, 8),
        ROW(head, thin[4].from_ms, 4),
        ROW(head, thin[5].mean, 8),
        ROW(head, thin[5].from_ms, 4),
        ROW(head, thin[6].mean, 8),
        ROW(head, thin[6].from_ms, 4),
        ROW(head, thin[7].mean, 8),
        ROW(head, thin[7].from_ms, 4),
        ROW(head, scan_sp, 8),
        ROW(head, tick_ms, 4),
        ROW(head, scan_definite, 8),
        ROW(head, reclaims, 4),
        ROW(head, look, 8),
        ROW(head, working, 4),
        ROW(head, journal_reserved, 8),
        ROW(head, journal_wake, 4),
        ROW(head, peak_bytes, 8),
        ROW(head, ending, 4),
};
static const struct turn_row node[] = { ROW(node, pc_module, 8), ROW(node, parent, 4) };
static const struct turn_row site[] = { ROW(site, node, 4) };
static const struct turn_row slot[] = { ROW(slot, used, 4), ROW(slot, allocs, 8),
                                        ROW(slot, fill, 1), ROW(slot, chunk, 4) };
static const struct turn_row counter[] = { ROW(counter, allocs, 8), ROW(counter, peak_blocks, 4) };
static const struct turn_row chunk[] = { ROW(chunk, base, 8), ROW(chunk, plane, 4) };
static const struct turn_row block[] = { ROW(block, a, 8) };
static const struct turn_row thread[] = { ROW(thread, tid, 4), ROW(thread, name, 1),
                                          ROW(thread, base_allocs, 8) };
static const struct turn_row module[] = { ROW(module, start, 8), ROW(module, path, 4),
                                          ROW(module, build_id, 1), ROW(module, dev, 8) };
static const struct turn_row region[] = { ROW(region, start, 8), ROW(region, site, 4) };
static const struct turn_row error[] = {
        ROW(error, type, 4),       ROW(error, address, 8), ROW(error, release, 4),
        ROW(error, size, 8),       ROW(error, first_free, 4), ROW(error, wrong, 1),
        ROW(error, reserved, 2),   ROW(error, given, 8),
};
static const struct turn_row mark[] = { ROW(mark, type, 4), ROW(mark, reserved, 8) };
static const struct turn_row death[] = { ROW(death, key, 8) };
static const struct turn_row handle[] = { ROW(handle, handle, 8), ROW(handle, site, 4) };
static const struct turn_row event[] = { ROW(event, stamp, 4), ROW(event, type, 1),
                                         ROW(event, thread, 2), ROW(event, site, 4),
                                         ROW(event, address, 8) };
static const struct turn_row range[] = { ROW(range, start, 8) };

#define LAYOUT(part) { part, sizeof part / sizeof *part, sizeof(struct ledger_##part) }

/* STRINGS are bytes, ORDER is the agent's alone. */
static const struct turn_layout layouts[LEDGER_PARTS] = {
        [LEDGER_HEAD] = LAYOUT(head),       [LEDGER_NODES] = LAYOUT(node),
        [LEDGER_SITES] = LAYOUT(site),      [LEDGER_SLOTS] = LAYOUT(slot),
        [LEDGER_COUNTERS] = LAYOUT(counter), [LEDGER_CHUNKS] = LAYOUT(chunk),
        [LEDGER_SHADOW] = LAYOUT(block),    [LEDGER_THREADS] = LAYOUT(thread),
        [LEDGER_MODULES] = LAYOUT(module),  [LEDGER_REGIONS] = LAYOUT(region),
        [LEDGER_ERRORS] = LAYOUT(error),    [LEDGER_MARKS] = LAYOUT(mark),
        [LEDGER_DEATHS] = LAYOUT(death),    [LEDGER_HANDLES] = LAYOUT(handle),
        [LEDGER_JOURNAL] = LAYOUT(event),   [LEDGER_OWN] = LAYOUT(range),
        [LEDGER_ROOTS] = LAYOUT(range),
};

static void turn_bytes(uint8_t *bytes, size_t count, uint32_t width)
{
        for (size_t i = 0; width > 1 && i + width <= count; i += width)
                for (uint32_t k = 0; k < width / 2; k++) {
                        uint8_t low = bytes[i + k];

                        bytes[i + k] = bytes[i + width - 1 - k];
                        bytes[i + width - 1 - k] = low;
                }
}

/* All of one width: most of what is read, and the largest. */
static void turn_words(uint8_t *bytes, size_t count)
{
        for (size_t i = 0; i + 8 <= count; i += 8) {
                uint64_t word;

                memcpy(&word, bytes + i, sizeof word);
                word = __builtin_bswap64(word);
                memcpy(bytes + i, &word, sizeof word);
        }
}

/* Where the row behind ROW begins; of the last one, where the entry ends. */
static uint32_t row_end(const struct turn_layout *l, uint32_t row)
{
        return row + 1 < l->count ? l->rows[row + 1].at : l->bytes;
}

void turn_part(enum ledger_part part, uint64_t at, void *bytes, size_t count)
{
        const struct turn_layout *l = &layouts[part];
        uint8_t *to = bytes;
        uint32_t place = l->bytes ? (uint32_t)(at % l->bytes) : 0, row = 0;

        if (l->count == 1 && l->rows[0].width == 8) {
                turn_words(to, count);
                return;
        }
        while (l->count && count) {
                size_t step;

                while (row_end(l, row) <= place)
                        row++;
                step = row_end(l, row) - place;
                step = step < count ? step : count;
                turn_bytes(to, step, l->rows[row].width);
                to += step;
                count -= step;
                place += (uint32_t)step;
                if (place == l->bytes)
                        place = row = 0;
        }
}
