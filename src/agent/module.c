/* SPDX-License-Identifier: MIT */
#include "agent/module.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/maps.h"
#include "agent/object.h"
#include "agent/ring.h"

#include "agent/guest.h"

#define BUCKETS 4096u

/* What we know of an entry besides. */
struct entry {
        uint64_t path;  /* hash of it */
        uint64_t print; /* of what nodes name */
        uint32_t text;  /* the path, in STRINGS */
        uint32_t next;  /* of the same bucket: 1 + number, 0 the last */
        bool used;      /* code is mapped there */
        bool named;     /* nodes may name it */
        bool spare;     /* in the list of those that can be given away, or once was */
};

static struct {
        struct entry *at;
        uint32_t *bucket; /* by path: 1 + number */
        uint16_t *spare;
        uint32_t count, spares;
} modules;

static struct {
        struct arena_table at, spare;
} memory;

bool module_start(void)
{
        modules.at = arena_table(&memory.at, LEDGER_MODULES_MAX * sizeof *modules.at);
        modules.bucket = arena_private(BUCKETS * sizeof *modules.bucket);
        modules.spare = arena_table(&memory.spare, LEDGER_MODULES_MAX * sizeof *modules.spare);
        modules.count = modules.spares = 0;
        return modules.at && modules.bucket && modules.spare;
}

/* Whether there is a place for an entry with this number. */
static bool has_room(uint32_t number)
{
        return number < LEDGER_MODULES_MAX &&
               arena_table_open(&memory.at, (number + 1ull) * sizeof *modules.at) &&
               arena_table_open(&memory.spare, (number + 1ull) * sizeof *modules.spare) &&
               arena_commit(LEDGER_MODULES, (number + 1ull) * sizeof(struct ledger_module));
}

static struct ledger_module *entry_of(uint32_t number)
{
        return (struct ledger_module *)arena_at(LEDGER_MODULES) + number;
}

static uint64_t hash_text(const char *text)
{
        uint64_t h = 0xcbf29ce484222325ull;

        for (; *text; text++)
                h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
        return h ^ h >> 29;
}

static uint32_t *bucket_of(uint64_t path)
{
        return &modules.bucket[path % BUCKETS];
}

static void link_in(uint32_t number, uint64_t path)
{
        uint32_t *bucket = bucket_of(path);

        modules.at[number].path = path;
        modules.at[number].next = *bucket;
        *bucket = number + 1;
}

static void link_out(uint32_t number)
{
        uint32_t *at = bucket_of(modules.at[number].path);

        while (*at && *at != number + 1)
                at = &modules.at[*at - 1].next;
        if (*at)
                *at = modules.at[number].next;
}

/* The module that nodes name for PATH with the content PRINT; with PRINT 0 any of that path. */
static uint32_t find_named(uint64_t path, uint64_t print)
{
        for (uint32_t i = *bucket_of(path); i; i = modules.at[i - 1].next) {
                const struct entry *e = &modules.at[i - 1];

                if (e->path == path && e->named && (!print || e->print == print))
                        return i - 1;
        }
        return MODULE_NONE;
}

/* An entry whose code went and came from the file that O is of. */
static uint32_t find_gone(uint64_t path, const struct object *o)
{
        for (uint32_t i = *bucket_of(path); i; i = modules.at[i - 1].next) {
                const struct entry *e = &modules.at[i - 1];
                const struct ledger_module *m = entry_of(i - 1);

                if (e->path == path && !e->used && m->dev == o->dev && m->ino == o->ino)
                        return i - 1;
        }
        return MODULE_NONE;
}

/* An entry that nobody needs, or a new one. */
static uint32_t take_fresh(void)
{
        uint32_t number = modules.count;

        while (modules.spares) {
                struct entry *e;

                number = modules.spare[--modules.spares];
                e = &modules.at[number];
                e->spare = false;
                if (number >= modules.count || e->used || e->named)
                        continue; /* it was taken back meanwhile */
                link_out(number);
                return number;
        }
        number = modules.count;
        if (!has_room(number))
                return MODULE_NONE;
        modules.count++;
        return number;
}

static void publish_count(void)
{
        __atomic_store_n(&agent.head->module_count, modules.count, __ATOMIC_RELEASE);
}

/* Places at the end of the table where nothing is any more. */
static void shorten(void)
{
        while (modules.count && !modules.at[modules.count - 1].used &&
               (entry_of(modules.count - 1)->flags & LEDGER_MODULE_PLACE))
                link_out(--modules.count);
        publish_count();
}

/* Entry NUMBER has no code any more. */
static void release(uint32_t number)
{
        struct entry *e = &modules.at[number];

        e->used = false;
        entry_of(number)->gone_ms = agent_now_ms() | 1;
        if (e->named)
                return;
        if (!e->spare) {
                modules.spare[modules.spares++] = (uint16_t)number;
                e->spare = true;
        }
        shorten();
}

/* Where O is, into its entry.  The bias of what was there before moves along: it is the same
 * library, as far as we know. */
static void put_place(const struct object *o)
{
        struct ledger_module *m = entry_of(o->module);

        if (m->bias)
                m->bias += o->start - m->start;
        m->end = o->start - m->start + m->end > o->end ? o->start - m->start + m->end : o->end;
        m->start = o->start;
        m->dev = o->dev;
        m->ino = o->ino;
        m->code_offset = o->code_offset;
        m->code_start = o->code;
        m->code_end = o->end;
        m->gone_ms = 0;
}

/* Make NUMBER, from take_fresh(), the entry of O: a place with PATH, of no known content. */
static void make_place(struct object *o, uint32_t number, uint64_t path, uint32_t text)
{
        struct ledger_module *m = entry_of(number);
        bool another = find_named(path, 0) != MODULE_NONE;

        modules.at[number] = (struct entry){ .text = text, .used = true,
                                             .spare = modules.at[number].spare };
        link_in(number, path);
        *m = (struct ledger_module){ .path = text, .load_ms = agent_now_ms(), .start = o->start,
                                     .end = o->end };
        m->flags = (o->anonymous ? LEDGER_MODULE_ANONYMOUS : 0) |
                   (another ? LEDGER_MODULE_PLACE : 0);
        o->module = number;
        put_place(o);
        publish_count();
}

static void count_lost(void)
{
        __atomic_add_fetch(&agent.head->modules_not_kept, 1, __ATOMIC_RELAXED);
}

void module_enter(struct object *o, const struct maps_line *line)
{
        uint64_t path = hash_text(line->path);
        uint32_t number = find_gone(path, o), named = find_named(path, 0);

        o->path = path;
        if (number != MODULE_NONE) {
                o->module = number;
                modules.at[number].used = true;
                put_place(o);
        } else {
                number = take_fresh();
                o->module = number;
                if (number == MODULE_NONE)
                        count_lost();
                else
                        make_place(o, number, path,
                                   named != MODULE_NONE ? modules.at[named].text
                                                        : book_string(&agent_book, line->path));
        }
        if (number != MODULE_NONE)
                ring_put(NULL, LEDGER_EVENT_MODULE, 0, 0,
                         named == MODULE_NONE || modules.at[number].named ? number : named,
                         o->start);
}

/* An entry for O, which cannot have the one it has: that is another module's.  False: there is
 * none. */
static bool move_out(struct object *o)
{
        uint32_t text = modules.at[o->module].text, number = take_fresh();

        release(o->module);
        o->module = MODULE_NONE;
        if (number == MODULE_NONE)
                return false;
        make_place(o, number, o->path, text);
        return true;
}

/* O gets the entry NUMBER, whose code went, in the place of its own. */
static void move_to(struct object *o, uint32_t number)
{
        uint32_t old = o->module;

        o->module = number;
        modules.at[number].used = true;
        put_place(o);
        if (old == MODULE_NONE)
                return;
        entry_of(old)->flags |= modules.at[old].named ? 0 : LEDGER_MODULE_PLACE;
        release(old);
}

static void put_found(const struct object *o, const struct ledger_module *found)
{
        struct ledger_module *m = entry_of(o->module);

        m->end = found->end;
        m->bias = found->bias;
        m->build_id_bytes = found->build_id_bytes;
        memcpy(m->build_id, found->build_id, sizeof m->build_id);
        m->flags |= found->flags | LEDGER_MODULE_READ;
}

/* From now on nodes name NUMBER; other entries of its path that no node names are places. */
static void name(uint32_t number, uint64_t print)
{
        struct entry *e = &modules.at[number];

        for (uint32_t i = *bucket_of(e->path); i; i = modules.at[i - 1].next)
                if (modules.at[i - 1].path == e->path && !modules.at[i - 1].named)
                        entry_of(i - 1)->flags |= LEDGER_MODULE_PLACE;
        e->named = true;
        e->print = print;
        entry_of(number)->flags &= ~LEDGER_MODULE_PLACE;
}

uint32_t module_settle(struct object *o, const struct ledger_module *found, uint64_t print)
{
        uint32_t module = find_named(o->path, print);

        if (module != MODULE_NONE && module != o->module && !modules.at[module].used)
                move_to(o, module);
        else if (o->module != MODULE_NONE && modules.at[o->module].named && module != o->module &&
                 !move_out(o))
                count_lost();
        if (o->module == MODULE_NONE)
                return module;
        put_found(o, found);
        if (module != MODULE_NONE) {
                entry_of(o->module)->flags |= module != o->module ? LEDGER_MODULE_PLACE : 0;
                return module;
        }
        name(o->module, print);
        return o->module;
}

const char *module_path(const struct object *o)
{
        return o->module == MODULE_NONE
                       ? ""
                       : (const char *)arena_at(LEDGER_STRINGS) + modules.at[o->module].text;
}

void module_leave(struct object *o)
{
        if (o->module != MODULE_NONE)
                release(o->module);
        o->module = MODULE_NONE;
}

void module_forked(void)
{
        uint32_t count = agent.head->module_count;

        for (; modules.count < count && has_room(modules.count); modules.count++)
                modules.at[modules.count] = (struct entry){ .named = true };
        publish_count();
}

void module_again(const struct object *o)
{
        if (o->module == MODULE_NONE)
                return;
        entry_of(o->module)->path = modules.at[o->module].text;
        put_place(o);
}
