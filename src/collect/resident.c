/* SPDX-License-Identifier: MIT */
#include "collect/resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "collect/counters.h"
#include "collect/shadow_walk.h"

static void free_mappings(struct profile_mapping *mappings, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                free(mappings[i].name);
        free(mappings);
}

void resident_free(struct resident *r)
{
        free_mappings(r->mappings, r->count);
        *r = (struct resident){ 0 };
}

/* A number to the BASE at *AT that UNTIL follows; *AT is then behind that, or NULL. */
static uint64_t parse_field(const char **at, int base, char until)
{
        char *end = NULL;
        uint64_t value = *at ? strtoull(*at, &end, base) : 0;

        *at = end && end > *at && *end == until ? end + 1 : NULL;
        return value;
}

/* "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0    [heap]" of LENGTH bytes; false: another line.
 *                                                     By hand: a third of the observer's time
 * for a short-lived process went into sscanf(). */
static bool parse_head(const char *line, size_t length, struct profile_mapping *out)
{
        const char *at = line, *rights;

        *out = (struct profile_mapping){ .start = parse_field(&at, 16, '-') };
        out->end = parse_field(&at, 16, ' ');
        rights = at;
        if (!rights || strnlen(rights, 5) < 5 || rights[4] != ' ')
                return false;
        out->flags = (rights[0] == 'r' ? PROFILE_MAPPING_READ : 0) |
                     (rights[1] == 'w' ? PROFILE_MAPPING_WRITE : 0) |
                     (rights[2] == 'x' ? PROFILE_MAPPING_EXECUTE : 0) |
                     (rights[3] == 's' ? PROFILE_MAPPING_SHARED : 0);
        at = rights + 5;
        out->offset = parse_field(&at, 16, ' ');
        out->device = parse_field(&at, 16, ':') << 32;
        out->device |= parse_field(&at, 16, ' ');
        out->inode = parse_field(&at, 10, ' ');
        if (!at || at > line + length)
                return false;
        while (*at == ' ')
                at++;
        length -= (size_t)(at - line);
        out->name = heap_zero(length + 1, 1);
        memcpy(out->name, at, length);
        return true;
}

/* FLAGS has words of two letters; "um": userfaultfd is told of missing pages. */
static bool is_watched(const char *flags)
{
        for (; flags[0] == ' ' && flags[1] > ' ' && flags[2] > ' '; flags += 3)
                if (flags[1] == 'u' && flags[2] == 'm')
                        return true;
        return false;
}

static void parse_number(const char *line, struct profile_mapping *to)
{
        static const char rss[] = "Rss:", anonymous[] = "Anonymous:", flags[] = "VmFlags:";

        if (strncmp(line, rss, sizeof rss - 1) == 0)
                to->rss_bytes = strtoull(line + sizeof rss - 1, NULL, 10) * 1024;
        else if (strncmp(line, anonymous, sizeof anonymous - 1) == 0)
                to->anonymous_bytes = strtoull(line + sizeof anonymous - 1, NULL, 10) * 1024;
        else if (strncmp(line, flags, sizeof flags - 1) == 0)
                to->watched = is_watched(line + sizeof flags - 1);
}

static bool is_head(const char *line)
{
        return (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f');
}

uint32_t resident_parse(const char *text, struct profile_mapping **out)
{
        uint32_t count = 0;

        *out = NULL;
        for (size_t length; *text; text += length + (text[length] == '\n')) {
                length = strcspn(text, "\n");
                *out = heap_next(*out, count, sizeof **out);
                if (is_head(text))
                        count += parse_head(text, length, &(*out)[count]);
                else if (count && (*text == 'R' || *text == 'A' || *text == 'V'))
                        parse_number(text, &(*out)[count - 1]);
        }
        return count;
}

/* ---- blocks that are not recorded ---- */

struct unrecorded {
        struct profile_mapping *at, *end; /* sorted; blocks come nearly so */
        struct profile_mapping *first;
};

static void add_unrecorded(void *context, const struct ledger_block *b, uint64_t address)
{
        struct unrecorded *u = context;

        if (LEDGER_BLOCK_SITE(*b) || !LEDGER_BLOCK_SIZE(*b))
                return;
        if (u->at > u->first && address < u->at[-1].end)
                u->at = u->first;
        while (u->at < u->end && u->at->end <= address)
                u->at++;
        if (u->at == u->end || address < u->at->start)
                return;
        u->at->unrecorded_blocks++;
        u->at->unrecorded_bytes += LEDGER_BLOCK_SIZE(*b);
}

/* What nobody recorded is not free for that. */
static void find_unrecorded(const struct view *v, struct profile_mapping *mappings, uint32_t count)
{
        struct unrecorded u = { .at = mappings, .first = mappings, .end = mappings + count };

        if (v && v->head.unrecorded)
                shadow_walk(v, &(struct shadow_visitor){ .context = &u, .take = add_unrecorded });
}

/* The counters and not the last slice: that may be as old as the observer is busy. */
static void read_live(struct resident *r, const struct view *v)
{
        uint64_t blocks = 0, bytes = 0;

        for (uint32_t i = 0, slots = v ? counters_slots(v) : 0; i < slots; i++) {
                struct counters_slot one;

                counters_slot(v, i, &one);
                blocks += one.allocs - one.frees;
                bytes += one.alloc_bytes - one.free_bytes;
        }
        r->live_blocks = (int64_t)blocks < 0 ? 0 : blocks; /* between two halves of an event */
        r->live_bytes = (int64_t)bytes < 0 ? 0 : bytes;
}

/* A program of another processor is run by an emulator: what grows by brk() is the emulator's, and
 * the heap of the program lies in mappings like others. */
static void tell_emulator(const struct view *v, struct profile_mapping *mappings, uint32_t count)
{
        if (!v || !view_is_emulated(v))
                return;
        for (uint32_t i = 0; i < count; i++)
                if (strcmp(mappings[i].name, "[heap]") == 0) {
                        free(mappings[i].name);
                        mappings[i].name = heap_text("[heap of the emulator]");
                }
}

void resident_look(struct resident *r, struct keepers_process of, uint64_t now_ms)
{
        uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        struct profile_mapping *mappings;
        struct str text = { 0 };
        int fd = process_open(of.pid, "smaps");
        uint32_t count = fd >= 0 && io_read(fd, &text) ? resident_parse(str_get(&text), &mappings)
                                                       : 0;

        if (fd >= 0)
                close(fd);
        if (count)
                tell_emulator(of.view, mappings, count);
        if (count && keepers_find(&r->keepers, of, mappings, count)) {
                free_mappings(r->mappings, r->count);
                r->mappings = mappings;
                r->count = count;
                r->ms = now_ms;
                read_live(r, of.view);
                find_unrecorded(of.view, mappings, count);
        } else if (count) /* the last look stands */
                free_mappings(mappings, count);
        str_free(&text);
        r->pause_ms = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * RESIDENT_SHARE / 1000000u;
        r->due_ms = now_ms + (r->pause_ms > RESIDENT_EVERY_MS ? r->pause_ms : RESIDENT_EVERY_MS);
}

void resident_store(const struct resident *r, struct profile *p)
{
        p->totals.mappings_ms = r->ms;
        p->totals.mappings_live_bytes = r->live_bytes;
        p->totals.mappings_live_blocks = r->live_blocks;
        p->mapping_count = r->count;
        p->mappings = heap_zero(r->count, sizeof *p->mappings);
        for (uint32_t i = 0; i < r->count; i++) {
                p->mappings[i] = r->mappings[i];
                p->mappings[i].name = heap_text(r->mappings[i].name);
        }
}

/* ---- how much memory of a process is resident, as it would be without us ---- */

#define RSS_PEAK_MS 100u

void rss_open(struct rss *s, uint32_t pid)
{
        *s = (struct rss){ .pid = pid, .statm = process_open(pid, "statm") };
}

void rss_close(struct rss *s)
{
        if (s->statm >= 0)
                close(s->statm);
        s->statm = -1;
}

static uint64_t without(uint64_t ledger_bytes, uint64_t bytes)
{
        return bytes > ledger_bytes ? bytes - ledger_bytes : 0;
}

static void raise_peak(struct rss *s, uint64_t bytes)
{
        if (bytes > s->peak_bytes)
                s->peak_bytes = bytes;
}

void rss_read(struct rss *s, const struct view *v)
{
        char text[128];
        unsigned long long pages = 0;
        ssize_t n = s->statm < 0 ? -1 : pread(s->statm, text, sizeof text - 1, 0);

        text[n > 0 ? n : 0] = 0;
        if (sscanf(text, "%*u %llu", &pages) == 1 && pages)
                s->last_bytes = without(view_own_bytes(v), pages * (uint64_t)sysconf(_SC_PAGESIZE));
        raise_peak(s, s->last_bytes);
}

/* How large the ledger was at that time is not known: not larger than at most. */
void rss_told(struct rss *s, const struct view *v, uint64_t bytes)
{
        raise_peak(s, without(v->most_own, bytes));
}

void rss_read_peak(struct rss *s, const struct view *v, uint64_t now_ms)
{
        uint64_t peak_bytes = process_peak_rss(s->pid);

        rss_read(s, v);
        rss_told(s, v, peak_bytes);
        if (peak_bytes)
                s->ms = now_ms;
}

void rss_follow(struct rss *s, const struct view *v, uint64_t now_ms)
{
        if (now_ms >= s->ms + (s->ms / 8 < RSS_PEAK_MS ? s->ms / 8 : RSS_PEAK_MS))
                rss_read_peak(s, v, now_ms);
        else
                rss_read(s, v);
}
