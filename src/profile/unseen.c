/* SPDX-License-Identifier: MIT */
/* unseen.c -- memory that seep knows it did not see, reason by reason, and tables that were
 * full. */
#include "profile/unseen.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"

static const char *stop_text(uint32_t reason)
{
        static const char *const texts[] = {
#define STOP_TEXT(name, number, text) [number] = text,
                LEDGER_STOPS(STOP_TEXT)
#undef STOP_TEXT
        };

        return reason < sizeof texts / sizeof *texts ? texts[reason] : "unknown reason";
}

/* Where there were too many stacks, shorter ones are fewer. */
static void say_stopped(const struct profile *p, struct str *out)
{
        uint32_t reason = p->meta.stop_reason;
        bool stacks = reason == LEDGER_STOP_NODES_FULL || reason == LEDGER_STOP_SITES_FULL ||
                      reason == LEDGER_STOP_COUNTERS_FULL;

        str_format(out, "recording of new blocks stopped early: %s; the program continued%s",
                   stop_text(reason), stacks ? " (record with --depth N for fewer)" : "");
}

static void say_own_malloc(const struct profile *p, struct str *out)
{
        (void)p;
        str_text(out,
                 "the program (or a library preloaded before seep) has its own malloc, which "
                 "bypasses seep: what it allocates is not in this recording (link the allocator as "
                 "a shared library)");
}

static void say_lost(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.lost_events;

        bool journal = strcmp(p->meta.engine ? p->meta.engine : "", "journal") == 0;

        str_format(out, "%" PRIu64 " event%s could not be recorded: the %s had no room for %s",
                   count, count == 1 ? "" : "s", journal ? "journal" : "ledger",
                   count == 1 ? "it" : "them");
}

static void say_forks(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.forks_not_followed;

        str_format(out,
                   "%" PRIu64 " forked %s allocated memory and %s not recorded (--follow=all, "
                   "unless chroot is in the way)", count, count == 1 ? "child" : "children",
                   count == 1 ? "was" : "were");
}

static void say_shut_out(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.shut_out;

        str_format(out,
                   "%" PRIu64 " %s started under a system call filter (seccomp) that forbids what "
                   "recording needs, and %s not recorded", count,
                   count == 1 ? "program or child was" : "programs or children were",
                   count == 1 ? "is" : "are");
}

static void say_untracked(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.untracked_blocks;

        str_format(out,
                   "%" PRIu64 " block%s at an address not divisible by 8: counted only, never "
                   "shown as live", count, count == 1 ? "" : "s");
}

static void say_missed(const struct profile *p, struct str *out)
{
        bool one = p->totals.missed_frees == 1;

        str_format(out,
                   "%" PRIu64 " block%s handed out again although seep had not seen %s free: "
                   "something calls the allocator bypassing seep; the numbers were corrected, and "
                   "leaks from there are not reported", p->totals.missed_frees,
                   one ? " was" : "s were", one ? "its" : "their");
}

/* At the last search. */
static uint64_t gone(const struct profile *p)
{
        const struct profile_scan *scan = profile_scanned(p);

        return scan ? scan->gone : 0;
}

static void say_gone(const struct profile *p, struct str *out)
{
        bool one = gone(p) == 1;

        str_format(out,
                   "%" PRIu64 " block%s free for the allocator although seep had not seen %s free: "
                   "something calls the allocator bypassing seep; %s as live, and leaks from there "
                   "are not reported", gone(p), one ? " was" : "s were", one ? "its" : "their",
                   one ? "it counts" : "they count");
}

/* The same for blocks that it had and we did not. */
static uint64_t in_heap(const struct profile *p)
{
        const struct profile_scan *scan = profile_scanned(p);

        return scan ? scan->unseen : 0;
}

static void say_heap(const struct profile *p, struct str *out)
{
        bool one = in_heap(p) == 1;

        str_format(out,
                   "%" PRIu64 " block%s in use for the allocator although seep had not seen %s "
                   "allocation: something calls the allocator bypassing seep (mallocx of jemalloc, "
                   "for example); %s in no count, and pointers in %s were followed", in_heap(p),
                   one ? " was" : "s were", one ? "its" : "their", one ? "it is" : "they are",
                   one ? "it" : "them");
}

static void say_one_way(const struct profile *p, struct str *out)
{
        bool one = p->totals.one_way == 1;

        str_format(out,
                   "blocks of %" PRIu64 " function%s of a custom allocator are never seen freed, "
                   "because what frees them could not be hooked: they count as live, and leaks of "
                   "theirs are not reported", p->totals.one_way, one ? "" : "s");
}

static void say_past(const struct profile *p, struct str *out)
{
        bool one = p->totals.unseen_blocks == 1;

        str_format(out,
                   "%" PRIu64 " free%s of memory whose allocation seep had not seen: something "
                   "calls the allocator bypassing seep (a library loaded with RTLD_DEEPBIND, or a "
                   "function of the C library found by dlsym)", p->totals.unseen_blocks,
                   one ? "" : "s");
}

static void say_namespaces(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.namespaces;

        str_format(out,
                   "dlmopen loaded %" PRIu64 " librar%s into separate namespaces: what their own C "
                   "libraries allocate is not in this recording", count, count == 1 ? "y" : "ies");
}

static void say_sampled(const struct profile *p, struct str *out)
{
        uint64_t bytes = p->totals.sample_bytes;

        str_format(out,
                   "numbers are estimates: about one block per %" PRIu64 "%s was recorded "
                   "(--sample); leaks and invalid frees are not known",
                   bytes % 1024 ? bytes : bytes / 1024, bytes % 1024 ? " bytes" : " KiB");
}

/* "512 KiB", or in bytes. */
static void say_size(struct str *out, uint64_t bytes)
{
        if (bytes % (1 << 20) == 0)
                str_format(out, "%" PRIu64 " MiB", bytes >> 20);
        else
                str_format(out, "%" PRIu64 "%s", bytes % 1024 ? bytes : bytes / 1024,
                           bytes % 1024 ? " bytes" : " KiB");
}

static void say_thinned(const struct profile *p, struct str *out)
{
        const struct profile_totals *t = &p->totals;
        uint32_t last = 0;

        while (last + 1 < LEDGER_THINS && t->thin_ms[last + 1])
                last++;
        str_format(out, "from %.3f s on numbers are estimates: near --limit-ledger (",
                   (double)t->thin_ms[0] / 1e3);
        say_size(out, t->ledger_limit);
        str_text(out, ") about one block per ");
        say_size(out, t->thin_bytes);
        if (last) {
                str_text(out, ", at the end per ");
                say_size(out, t->thin_bytes << last);
        }
        str_format(out, ", was recorded (%" PRIu64 " in all%s); leaks are not known",
                   t->thin_events, t->ledger_full ? ", then none" : "");
}

static void say_cut(const struct profile *p, struct str *out)
{
        (void)p;
        str_text(out,
                 "the file is damaged or incomplete: what its missing part had is not known (copy "
                 "it again, or record again)");
}

/* How much of it there is, 0 none; and the sentence. */
#define UNSEEN_ROWS(X)                                                         \
        X(STOPPED, p->meta.stop_reason, say_stopped)                           \
        X(OWN_MALLOC, p->totals.own_malloc, say_own_malloc)                    \
        X(LOST, p->totals.lost_events, say_lost)                               \
        X(FORKS, p->totals.forks_not_followed, say_forks)                      \
        X(SHUT_OUT, p->totals.shut_out, say_shut_out)                          \
        X(UNTRACKED, p->totals.untracked_blocks, say_untracked)                \
        X(MISSED, p->totals.missed_frees, say_missed)                          \
        X(GONE, gone(p), say_gone)                                             \
        X(HEAP, in_heap(p), say_heap)                                          \
        X(ONE_WAY, p->totals.one_way, say_one_way)                             \
        X(PAST, p->totals.unseen_blocks, say_past)                             \
        X(NAMESPACES, p->totals.namespaces, say_namespaces)                    \
        X(SAMPLED, p->totals.sample_bytes, say_sampled)                        \
        X(THINNED, p->totals.ledger_limit && p->totals.thin_ms[0], say_thinned) \
        X(CUT, p->truncated, say_cut)

static uint64_t unseen_holds(const struct profile *p, enum unseen reason)
{
        switch (reason) {
#define UNSEEN_HOLDS(id, count, say) case UNSEEN_##id: return count;
                UNSEEN_ROWS(UNSEEN_HOLDS)
#undef UNSEEN_HOLDS
        default:
                return 0;
        }
}

bool unseen_say(const struct profile *p, enum unseen reason, struct str *out)
{
        static void (*const say[UNSEEN_COUNT])(const struct profile *p, struct str *out) = {
#define UNSEEN_SAY(id, count, sentence) [UNSEEN_##id] = sentence,
                UNSEEN_ROWS(UNSEEN_SAY)
#undef UNSEEN_SAY
        };

        if (!unseen_holds(p, reason))
                return false;
        say[reason](p, out);
        return true;
}

bool unseen_any(const struct profile *p)
{
        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++)
                if (unseen_holds(p, reason))
                        return true;
        return false;
}

/* ---- tables that were full ---- */

static void say_modules(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.modules_not_kept;

        str_format(out,
                   "the table of modules is full (%u): code that was loaded later, %" PRIu64
                   " time%s, has no names and no file in stacks", LEDGER_MODULES_MAX, count,
                   count == 1 ? "" : "s");
}

static void say_threads(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.threads_not_kept;

        str_format(out,
                   "the table of threads is full (%u): %" PRIu64 " later thread%s counted "
                   "together, as 'other threads'", LEDGER_THREAD_OTHERS - 1, count,
                   count == 1 ? " is" : "s are");
}

static void say_regions(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.regions_not_kept;

        str_format(out,
                   "the table of mappings is full: %" PRIu64 " mapping%s not in this recording",
                   count, count == 1 ? " is" : "s are");
}

static void say_handles(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.handles_not_kept;

        str_format(out,
                   "the table of resources is full: %" PRIu64 " resource%s not in this recording",
                   count, count == 1 ? " is" : "s are");
}

static void say_types(const struct profile *p, struct str *out)
{
        (void)p;
        str_format(out,
                   "the table of types of resources is full (%u): later types are counted "
                   "together, as 'other types'", LEDGER_TYPES_MAX - 1);
}

static void say_errors(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.errors_not_kept;

        str_format(out,
                   "the table of invalid frees is full: %" PRIu64 " more, from other places, %s "
                   "not shown", count, count == 1 ? "is" : "are");
}

static void say_roots(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.roots_not_kept;

        str_format(out,
                   "the table of SEEP_ROOT is full (%u): %" PRIu64 " later range%s not searched "
                   "for pointers, and blocks that only %s shown as lost", LEDGER_ROOTS_MAX, count,
                   count == 1 ? " is" : "s are", count == 1 ? "it holds are" : "they hold are");
}

static void say_marks(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.marks_not_kept;

        str_format(out,
                   "the table of marks is full (%u): %" PRIu64 " later tag%s not in this recording",
                   LEDGER_MARKS_MAX, count, count == 1 ? " or snapshot is" : "s and snapshots are");
}

static void say_deaths(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.deaths_not_kept;

        str_format(out,
                   "the table of frees between marks is full (%u): %" PRIu64 " free%s could not be "
                   "assigned to the time between two marks, and what was allocated after one and "
                   "is live at another is too high by up to that many blocks", LEDGER_DEATHS_MAX,
                   count, count == 1 ? "" : "s");
}

static void say_strings(const struct profile *p, struct str *out)
{
        uint64_t count = p->totals.strings_not_kept;

        str_format(out, "the table of names is full: %" PRIu64 " path%s, label%s or type%s empty",
                   count, count == 1 ? "" : "s", count == 1 ? "" : "s",
                   count == 1 ? " is" : "s are");
}

/* How much the table had no room for (of types: 1); 0: it was large enough. */
static uint64_t unseen_not_kept(const struct profile *p, enum unseen_table table)
{
        switch (table) {
#define UNSEEN_KEPT(id, word, count, say) case UNSEEN_FULL_##id: return count;
                UNSEEN_TABLES(UNSEEN_KEPT)
#undef UNSEEN_KEPT
        default:
                return 0;
        }
}

bool unseen_say_full(const struct profile *p, enum unseen_table table, struct str *out)
{
        static void (*const say[UNSEEN_TABLE_COUNT])(const struct profile *p, struct str *out) = {
#define UNSEEN_FULL(id, word, count, sentence) [UNSEEN_FULL_##id] = sentence,
                UNSEEN_TABLES(UNSEEN_FULL)
#undef UNSEEN_FULL
        };

        if (!unseen_not_kept(p, table))
                return false;
        say[table](p, out);
        return true;
}

void unseen_full_json(const struct profile *p, struct str *out)
{
        static const char *const words[UNSEEN_TABLE_COUNT] = {
#define UNSEEN_WORD(id, word, count, say) [UNSEEN_FULL_##id] = word,
                UNSEEN_TABLES(UNSEEN_WORD)
#undef UNSEEN_WORD
        };
        const char *before = "";

        str_char(out, '[');
        for (enum unseen_table table = 0; table < UNSEEN_TABLE_COUNT; table++) {
                struct str text = { 0 };

                if (!unseen_say_full(p, table, &text))
                        continue;
                str_format(out, "%s{\"table\": \"%s\"", before, words[table]);
                json_field(out, ", \"", "not_kept", unseen_not_kept(p, table));
                json_text_field(out, ", \"", "text", str_get(&text));
                str_char(out, '}');
                before = ", ";
                str_free(&text);
        }
        str_char(out, ']');
}
