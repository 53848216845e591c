/* SPDX-License-Identifier: MIT */
/*
 * symbol.c -- address to function, file, line, and the functions inlined there.
 *
 * Keeps:  asked in this order: answers of this run, names stored in the recording, the
 *         cache on disk, the module's file.  A module's file is opened only when the first
 *         three do not know an address.
 * Cost:   50,000 addresses of a stripped 30 MB program: 0.2 s the first time, 0.06 s from the
 *         cache.
 */
#include "names/symbol.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/lookup.h"
#include "base/order.h"
#include "names/cache.h"
#include "names/debug.h"
#include "names/demangle.h"
#include "names/extent.h"
#include "names/module.h"
#include "names/perfmap.h"
#include "names/string_pool.h"
#include "names/resolver.h"
#include "names/start.h"
#include "names/stored.h"
#include "names/symtab.h"
#include "profile/plain_texts.h"

enum { SYMBOL_CHUNK = 8192 };

struct symbol_answer {
        uint64_t address; /* in the module's file, the one that was looked up */
        const struct symbol_frame *frames;
        uint32_t module;
        uint16_t count;
        uint8_t fresh;  /* not from the cache: to be saved */
        uint8_t cached; /* from the cache */
};

struct symbol_module {
        struct module file;
        struct cache cache;
        bool cache_tried, file_tried;
        uint32_t fresh_count;
};

struct symbols {
        const struct profile *profile;
        struct file_search search;
        struct string_pool pool;
        struct symbol_module *modules;
        struct symbol_answer *answers;
        struct lookup answer_numbers; /* by module and address */
        uint32_t answer_count;
        struct symbol_frame **chunks;
        size_t chunk_count, chunk_used;
        const char **shown;   /* raw names and paths, as libdw gives them, to the texts shown ... */
        struct lookup shown_numbers; /* ... by pointer, since libdw's texts do not move */
        uint32_t shown_count;
        struct symbols_beside beside;
        uint8_t *start; /* by node: start code; NULL: nobody asked yet */
        struct lookup wrappers; /* by name: 1 a function that only passes allocations on */
};

struct symbols *symbols_new(const struct profile *p, const struct symbol_options *options)
{
        struct symbols *s = heap_zero(1, sizeof *s);

        s->profile = p;
        file_search_init(&s->search, options);
        s->search.recorded_ns = p->meta.start_realtime_ns;
        s->modules = heap_zero(p->module_count, sizeof *s->modules);
        s->chunk_used = SYMBOL_CHUNK;
        s->pool.plain = !s->search.options.raw;
        if (s->pool.plain)
                profile_plain(p);
        return s;
}

static bool same_module(const struct profile_module *a, const struct profile_module *b)
{
        bool there = a->start == b->start && a->bias == b->bias && a->load_ms == b->load_ms;

        /* A file that has a number is the same wherever it is loaded. */
        return (there || a->build_id_bytes) &&
               strcmp(a->path ? a->path : "", b->path ? b->path : "") == 0 &&
               a->build_id_bytes == b->build_id_bytes &&
               memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

/* Of another process all must be known for certain: files by their number, and
 * nothing that it made itself. */
static bool same_modules(const struct profile *a, const struct profile *b)
{
        bool same_process = a->meta.start_realtime_ns == b->meta.start_realtime_ns;

        if (b->module_count < a->module_count || (!same_process && (a->jit_count || b->jit_count)))
                return false;
        for (uint32_t i = 0; i < a->module_count; i++)
                if (!same_module(&a->modules[i], &b->modules[i]) ||
                    (!same_process && i && !a->modules[i].build_id_bytes))
                        return false;
        return true;
}

bool symbols_follow(struct symbols *s, const struct profile *p)
{
        uint32_t before = s->profile->module_count;

        if (s->beside.kept || !same_modules(s->profile, p))
                return false;
        s->modules = heap_grow(s->modules, p->module_count + 1, sizeof *s->modules);
        memset(s->modules + before, 0, (p->module_count - before) * sizeof *s->modules);
        s->profile = p;
        free(s->start);
        s->start = NULL;
        if (s->pool.plain)
                profile_plain(p);
        return true;
}

/* Room for COUNT frames that never move. */
static struct symbol_frame *symbols_frames(struct symbols *s, uint32_t count)
{
        struct symbol_frame *frames;

        if (s->chunk_used + count > SYMBOL_CHUNK) {
                s->chunks = heap_grow(s->chunks, s->chunk_count + 1, sizeof *s->chunks);
                s->chunks[s->chunk_count++] = heap_zero(SYMBOL_CHUNK, sizeof **s->chunks);
                s->chunk_used = 0;
        }
        frames = s->chunks[s->chunk_count - 1] + s->chunk_used;
        s->chunk_used += count;
        return frames;
}

/* "/a/./b/../c" is "/a/c": compilers write paths as they were told them. */
static char *path_cleaned(const char *path)
{
        char *clean = heap_text(path), *to = clean;

        for (const char *from = path; *from;) {
                size_t part = strcspn(from + 1, "/") + 1;

                if (strncmp(from, "/./", 3) == 0 || strncmp(from, "//", 2) == 0) {
                        from += from[1] == '/' ? 1 : 2;
                        continue;
                }
                if (strncmp(from, "/../", 4) == 0 && to > clean && *clean == '/') {
                        while (to > clean && *--to != '/')
                                continue;
                        from += 3;
                        continue;
                }
                memmove(to, from, part);
                to += part;
                from += part;
        }
        *to = 0;
        return clean;
}

static const char *symbols_shown(struct symbols *s, const char *raw, char *(*make)(const char *))
{
        uint32_t number = raw ? lookup_number(&s->shown_numbers, (uintptr_t)raw, 0) : 0;

        if (!raw)
                return NULL;
        if (number == s->shown_count) {
                char *text = make(raw);

                s->shown = heap_next(s->shown, s->shown_count, sizeof *s->shown);
                s->shown[s->shown_count++] = string_pool_text(&s->pool, text);
                free(text);
        }
        return s->shown[number];
}

const struct profile *symbols_profile(const struct symbols *s)
{
        return s->profile;
}

const char *symbols_name(struct symbols *s, const char *raw)
{
        return symbols_shown(s, raw, demangle_name);
}

/* What a function without a name is called that begins at START of MODULE. */
static const char *symbols_extent(struct symbols *s, uint32_t module, uint64_t start)
{
        struct str name = { 0 };
        const char *kept;

        extent_name(&name, s->profile->modules[module].path, start);
        kept = string_pool_text(&s->pool, str_get(&name));
        str_free(&name);
        return kept;
}

/* A frame of MODULE that was kept somewhere, by build id maybe: there the file had another name. */
static struct symbol_frame symbols_kept(struct symbols *s, uint32_t module, const char *function,
                                        const char *file)
{
        struct symbol_frame frame = { .file = string_pool_text(&s->pool, file) };

        if (function && module < s->profile->module_count && s->profile->modules[module].path &&
            extent_parse(function, &frame.start))
                frame.function = symbols_extent(s, module, frame.start);
        else if (function)
                frame.function = string_pool_text(&s->pool, demangle_spoken(function));
        return frame;
}

const char *symbols_path(struct symbols *s, const char *raw)
{
        return symbols_shown(s, raw, path_cleaned);
}

const char *symbols_keep(struct symbols *s, const char *text)
{
        return string_pool_text(&s->pool, text);
}

struct symbols_beside *symbols_beside(struct symbols *s)
{
        return &s->beside;
}

/* A C++ function that is not external has no linkage name in the debug information; the symbol
 * table has it.  And the C library's debug information has its own names of functions that
 * programs call by others: __pthread_create_2_1, ___timer_create. */
static const char *symbols_outer_name(const struct debug_frame *frame,
                                      const struct symtab_entry *entry)
{
        if (!frame->function)
                return entry ? entry->name : NULL;
        if (frame->linked || !entry)
                return frame->function;
        if (strncmp(frame->function, "__", 2) == 0 && entry->name[0] != '_' && !entry->local &&
            (!frame->entry || frame->entry == entry->start))
                return entry->name;
        return entry->start == frame->entry && strncmp(entry->name, "_Z", 2) == 0 ? entry->name
                                                                                 : frame->function;
}

static uint32_t symbols_from_file(struct symbols *s, uint32_t module, uint64_t address,
                                  struct symbol_frame **out)
{
        struct module *file = symbols_open_module(s, module);
        struct debug_frame found[DEBUG_FRAMES] = { { 0 } };
        uint32_t count = file->debug ? debug_find(file->debug, address, found) : 0;
        const struct symtab_entry *entry = file->dwfl ? symtab_find(&file->table, address) : NULL;
        struct symbol_frame *frames;

        if (count == 0) {
                found[0] = (struct debug_frame){ 0 };
                count = 1;
        }
        found[count - 1].function = symbols_outer_name(&found[count - 1], entry);
        frames = symbols_frames(s, count);
        for (uint32_t i = 0; i < count; i++)
                frames[i] = (struct symbol_frame){ symbols_name(s, found[i].function),
                                                   symbols_path(s, found[i].file), found[i].line,
                                                   i + 1 < count, 0, NULL, false };
        if (!frames[count - 1].function)
                frames[count - 1].start = module_extent(file, address);
        if (frames[count - 1].start)
                frames[count - 1].function = symbols_extent(s, module, frames[count - 1].start);
        *out = frames;
        return count;
}

static struct symbol_module *symbols_cached_module(struct symbols *s, uint32_t index)
{
        struct symbol_module *m = &s->modules[index];

        if (!m->cache_tried) {
                m->cache_tried = true;
                cache_open(&m->cache, &s->profile->modules[index], &s->search);
        }
        return m;
}

static uint32_t symbols_from_cache(struct symbols *s, uint32_t module, uint64_t address,
                                   struct symbol_frame **out)
{
        const struct cache *c = &symbols_cached_module(s, module)->cache;
        const struct cache_entry *entry = c->map ? cache_find(c, address) : NULL;
        struct symbol_frame *frames;

        if (!entry || entry->count > DEBUG_FRAMES)
                return 0;
        frames = symbols_frames(s, entry->count);
        for (uint32_t i = 0; i < entry->count; i++) {
                const struct cache_frame *kept = &c->frames[entry->first + i];

                frames[i] = symbols_kept(s, module,
                                         kept->function ? c->text + kept->function : NULL,
                                         kept->file ? c->text + kept->file : NULL);
                frames[i].line = kept->line;
                frames[i].inlined = kept->inlined != 0;
        }
        *out = frames;
        return entry->count;
}

static uint32_t symbols_from_recording(struct symbols *s, uint32_t module, uint64_t address,
                                       struct symbol_frame **out)
{
        const struct profile *p = s->profile;
        uint32_t first, count = stored_find(p, module, address, &first);
        struct symbol_frame *frames;

        if (!count || count > DEBUG_FRAMES)
                return 0;
        frames = symbols_frames(s, count);
        for (uint32_t i = 0; i < count; i++) {
                const struct profile_symbol *stored = &p->symbols[first + i];

                frames[i] = symbols_kept(s, module, stored->function, stored->file);
                frames[i].line = stored->line;
                frames[i].inlined = i + 1 < count;
        }
        *out = frames;
        return count;
}

struct module *symbols_open_module(struct symbols *s, uint32_t index)
{
        struct symbol_module *m = &s->modules[index];

        if (!m->file_tried) {
                m->file_tried = true;
                module_open(&m->file, &s->profile->modules[index], &s->search);
        }
        return &m->file;
}

/* Code that was made while the program ran: the compiler's own map names it. */
static uint32_t symbols_from_map(struct symbols *s, uint64_t pc, struct symbol_frame **out)
{
        const struct profile *p = s->profile;
        uint32_t low = (uint32_t)FIND_FIRST(p->jit_count, i, p->jit[i].start <= pc);

        *out = symbols_frames(s, 1);
        if (low && pc - p->jit[low - 1].start < p->jit[low - 1].bytes) {
                struct str function = { 0 }, script = { 0 };

                perfmap_read(p->jit[low - 1].name, &function, &script);
                (*out)->function = string_pool_text(&s->pool, str_get(&function));
                (*out)->script = script.length ? string_pool_text(&s->pool, script.data) : NULL;
                str_free(&function);
                str_free(&script);
        }
        return 1;
}

/* Such code may lie in a file that has no name any more. */
static bool symbols_may_be_made(const struct symbols *s, uint32_t module,
                                const struct symbol_frame *frame)
{
        return !frame->function && !frame->line && !s->profile->modules[module].build_id_bytes;
}

/* Stored names without lines are second to whatever has them. */
static struct symbol_answer symbols_resolve(struct symbols *s, uint32_t module, uint64_t address)
{
        struct symbol_answer answer = { .address = address, .module = module };
        struct symbol_frame *frames, *stored;
        uint32_t stored_count = symbols_from_recording(s, module, address, &stored), count;
        struct symbol_module *m;

        if (module >= s->profile->module_count) {
                count = symbols_from_map(s, address, &frames);
        } else if (stored_count && stored[0].line) {
                frames = stored;
                count = stored_count;
        } else {
                m = symbols_cached_module(s, module);
                count = symbols_from_cache(s, module, address, &frames);
                answer.cached = count != 0;
                if (!count) {
                        count = symbols_from_file(s, module, address, &frames);
                        answer.fresh = m->file.dwfl != NULL;
                        m->fresh_count += answer.fresh;
                }
                if (stored_count && !frames[0].line &&
                    (symbol_name(stored) || !symbol_name(frames))) {
                        frames = stored;
                        count = stored_count;
                        m->fresh_count -= answer.fresh;
                        answer.fresh = 0;
                }
                if (symbols_may_be_made(s, module, &frames[0]))
                        count = symbols_from_map(s, address + s->profile->modules[module].bias,
                                                 &frames);
        }
        for (uint32_t i = 0; s->wrappers.table.count && i < count; i++)
                frames[i].is_wrapper = *lookup_pointer(&s->wrappers, frames[i].function) != 0;
        answer.frames = frames;
        answer.count = (uint16_t)count;
        return answer;
}

bool symbols_add_wrapper(struct symbols *s, const char *function)
{
        uint32_t *known = lookup_pointer(&s->wrappers, function);

        if (*known)
                return false;
        *known = 1;
        for (size_t i = 0; i < s->chunk_count; i++)
                for (size_t k = 0; k < SYMBOL_CHUNK; k++)
                        if (s->chunks[i][k].function == function)
                                s->chunks[i][k].is_wrapper = true;
        return true;
}

void symbols_share_wrappers(const struct symbols *s, struct symbols *other)
{
        for (uint32_t i = 0; i < s->wrappers.table.count; i++)
                if (s->wrappers.list[i].value)
                        symbols_add_wrapper(other, symbols_keep(other, (const char *)(uintptr_t)
                                                                        s->wrappers.list[i].a));
}

uint64_t symbols_address(const struct profile *p, uint32_t node)
{
        const struct profile_node *n = &p->nodes[node];
        uint64_t bias = n->module < p->module_count ? p->modules[n->module].bias : 0;

        return n->pc - bias - (n->exact ? 0 : 1);
}

/* ADDRESS is one in the file of MODULE. */
static uint32_t symbols_at(struct symbols *s, uint32_t module, uint64_t address,
                           const struct symbol_frame **frames)
{
        uint32_t number = lookup_number(&s->answer_numbers, address, module);

        if (number == s->answer_count) {
                s->answers = heap_next(s->answers, s->answer_count, sizeof *s->answers);
                s->answers[s->answer_count++] = symbols_resolve(s, module, address);
        }
        *frames = s->answers[number].frames;
        return s->answers[number].count;
}

uint32_t symbols_node(struct symbols *s, uint32_t node, const struct symbol_frame **frames)
{
        return symbols_at(s, s->profile->nodes[node].module, symbols_address(s->profile, node),
                          frames);
}

uint32_t symbols_stopped(struct symbols *s, const struct profile_frame *frame,
                         const struct symbol_frame **frames)
{
        uint64_t bias = frame->module < s->profile->module_count
                                ? s->profile->modules[frame->module].bias
                                : 0;

        return symbols_at(s, frame->module, frame->pc - bias - (frame->exact ? 0 : 1), frames);
}

bool symbols_is_start(struct symbols *s, uint32_t node)
{
        if (!s->start)
                s->start = start_find(s->profile, s);
        return s->start[node];
}

bool symbols_hides(struct symbols *s, uint32_t node)
{
        return !s->search.options.all_frames && symbols_is_start(s, node);
}

const uint8_t *symbols_hidden(struct symbols *s)
{
        symbols_is_start(s, 0);
        return s->search.options.all_frames ? NULL : s->start;
}

const char *symbols_raw_name(struct symbols *s, uint32_t node)
{
        uint32_t module = s->profile->nodes[node].module;
        const struct symtab_entry *entry = NULL;
        const struct module *file = NULL;

        if (module < s->profile->module_count)
                file = symbols_open_module(s, module);
        if (file && file->dwfl)
                entry = symtab_find(&file->table, symbols_address(s->profile, node));
        return entry ? entry->name : NULL;
}

bool symbols_has_lines(struct symbols *s, uint32_t module)
{
        struct symbol_module *m;

        if (module >= s->profile->module_count)
                return false;
        if (stored_has_lines(s->profile, module))
                return true;
        m = symbols_cached_module(s, module);
        if (m->cache.map)
                return m->cache.has_lines;
        return symbols_open_module(s, module)->debug != NULL;
}

struct symbol_tally *symbols_tally(const struct symbols *s)
{
        struct symbol_tally *tally = heap_zero(s->profile->module_count, sizeof *tally);

        for (size_t i = 0; i < s->answer_count; i++) {
                const struct symbol_answer *answer = &s->answers[i];

                if (answer->module >= s->profile->module_count)
                        continue;
                tally[answer->module].asked++;
                tally[answer->module].cached += answer->cached;
                if (symbol_name(&answer->frames[answer->count - 1]))
                        tally[answer->module].named++;
                tally[answer->module].lined += answer->frames[0].line != 0;
        }
        return tally;
}

ORDER_BY(answer_compare, struct cache_answer, address)

static void symbols_save_module(struct symbols *s, uint32_t index)
{
        struct symbol_module *m = &s->modules[index];
        struct cache_answer *fresh = heap_zero(m->fresh_count, sizeof *fresh);
        size_t count = 0;

        for (size_t i = 0; i < s->answer_count; i++) {
                const struct symbol_answer *answer = &s->answers[i];

                if (answer->fresh && answer->module == index)
                        fresh[count++] = (struct cache_answer){ answer->address, answer->frames,
                                                                answer->count };
        }
        qsort(fresh, count, sizeof *fresh, answer_compare);
        cache_save(&m->cache, &s->profile->modules[index], &s->search,
                   &(struct cache_quality){ m->file.debug != NULL, module_lacking(&m->file),
                                            m->file.path }, fresh, count);
        free(fresh);
}

const struct symbol_options *symbols_options(const struct symbols *s)
{
        return &s->search.options;
}

void symbols_free(struct symbols *s)
{
        if (!s)
                return;
        if (s->beside.kept)
                s->beside.release(s->beside.kept);
        for (uint32_t i = 0; i < s->profile->module_count; i++) {
                /* Others may want the names as they are. */
                if (s->modules[i].fresh_count && !s->pool.changed)
                        symbols_save_module(s, i);
                cache_close(&s->modules[i].cache);
                module_close(&s->modules[i].file);
        }
        for (size_t i = 0; i < s->chunk_count; i++)
                free(s->chunks[i]);
        free(s->chunks);
        free(s->modules);
        free(s->start);
        free(s->answers);
        lookup_free(&s->answer_numbers);
        lookup_free(&s->wrappers);
        free(s->shown);
        lookup_free(&s->shown_numbers);
        string_pool_free(&s->pool);
        file_search_free(&s->search);
        free(s);
}

/* ---- the names of all functions of a module, called or not ---- */

bool functions_have(struct symbols *s, uint32_t module, struct functions_wish *w)
{
        const struct module *file = symbols_open_module(s, module);

        for (size_t i = 0; file->dwfl && i < file->table.count; i++) {
                w->seen++;
                if (w->fits(w->context, symbols_name(s, file->table.entries[i].name)))
                        return true;
        }
        return false;
}
