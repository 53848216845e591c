/* SPDX-License-Identifier: MIT */
#include "query/findings.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_library.h"
#include "base/heap.h"
#include "base/order.h"
#include "base/signals.h"
#include "profile/unseen.h"
#include "query/baseline.h"
#include "query/budget.h"
#include "query/errors.h"
#include "query/leaks.h"
#include "query/walk.h"
#include "words/label.h"
#include "words/text.h"

/* ---- words ---- */

const struct finding_words *finding_words(enum finding_kind kind)
{
        static const struct finding_words words[FINDING_KINDS] = {
#define FINDING_WORDS(id, word, valgrind, title, text) \
        [FINDING_##id] = { word, valgrind, title, text },
                FINDINGS_KINDS(FINDING_WORDS)
#undef FINDING_WORDS
        };

        return &words[kind];
}

const char *findings_keep(struct findings *f, struct str *text)
{
        const char *kept = string_pool_text(&f->texts, str_get(text));

        str_free(text);
        return kept;
}

/* "12.0 KiB in 3 blocks" */
static void say_amount(uint64_t bytes, uint64_t count, const char *noun, struct str *out)
{
        text_size(out, (int64_t)bytes);
        str_text(out, " in ");
        text_count(out, (int64_t)count, noun);
}

static void say_leak(const struct finding *finding, struct str *out)
{
        say_amount(finding->bytes, finding->count, "block", out);
        str_format(out, " %s", finding_words(finding->kind)->title);
        if (finding->known_bytes) {
                str_text(out, " (more than the ");
                text_size(out, (int64_t)finding->known_bytes);
                str_text(out, " of the baseline)");
        }
        if (!finding->hanging_count)
                return;
        str_text(out, ", with ");
        say_amount(finding->hanging_bytes, finding->hanging_count, "block", out);
        str_text(out, finding->count == 1 ? " reachable only through it"
                                          : " reachable only through them");
}

void finding_say(const struct finding *finding, struct str *out)
{
        if (finding->kind == FINDING_BUDGET) {
                str_text(out, finding->text);
        } else if (finding->kind == FINDING_UNSEEN) {
                str_format(out, "%s: %s", finding_words(FINDING_UNSEEN)->title, finding->text);
        } else if (finding_is_leak(finding->kind)) {
                say_leak(finding, out);
        } else if (finding->kind == FINDING_FORBIDDEN) {
                text_count(out, (int64_t)finding->count, "allocation");
                str_format(out, " where --no-alloc-in '%s' allows none, ", finding->text);
                text_size(out, (int64_t)finding->bytes);
        } else {
                str_text(out, finding->text);
                if (finding->count > 1)
                        str_text(out, ", "), text_count(out, (int64_t)finding->count, "time");
                if (finding->offset)
                        str_text(out, ", "), text_count(out, (int64_t)finding->offset, "byte"),
                                str_text(out, " inside a block");
                if (finding->bytes)
                        str_text(out, finding->offset ? " of " : ", of "),
                                text_size(out, (int64_t)finding->bytes);
        }
}

const struct finding_frame *finding_place(const struct finding_stack *stack)
{
        if (stack->place < stack->count)
                return &stack->frames[stack->place];
        return stack->own < stack->count ? &stack->frames[stack->own] : NULL;
}

void finding_frame_say(const struct finding_frame *frame, struct str *out)
{
        struct symbol_frame place = { .file = frame->path ? frame->path : frame->file,
                                      .line = frame->line };

        str_text(out, frame->function);
        label_place(&place, out);
}

/* ---- stacks ---- */

/* FILE is of the pool.  To find it out takes system calls: once for each file. */
static const char *path_of(struct findings *f, const struct findings_request *r, const char *file)
{
        uint32_t *known = file ? lookup_pointer(&f->files, file) : NULL;
        struct str path = { 0 };

        if (known && !*known) {
                *known = 1;
                if (location_relative(r->root, file, &path)) {
                        f->paths = heap_grow(f->paths, f->path_count + 1, sizeof *f->paths);
                        f->paths[f->path_count++] = findings_keep(f, &path);
                        *known = f->path_count + 1;
                }
        }
        return known && *known > 1 ? f->paths[*known - 2] : NULL;
}

/* Whether MODULE, NULL unknown, is the program or a library that did not come with the system. */
static bool is_own(const struct profile *p, const char *module)
{
        if (!module || module[0] != '/')
                return false;
        return !location_is_system(module) || (p->meta.exe && strcmp(module, p->meta.exe) == 0);
}

static void add_frame(struct findings *f, const struct findings_request *r,
                      const struct findings_recording *recording, uint32_t node,
                      const struct symbol_frame *frame, struct finding_stack *out)
{
        const struct profile *p = recording->profile;
        const struct profile_node *n = &p->nodes[node];
        const char *module = n->module < p->module_count ? p->modules[n->module].path : NULL;
        struct finding_frame made = { .line = frame->line, .inlined = frame->inlined,
                                      .address = n->pc - !n->exact };
        struct str name = { 0 };

        label_short(p, node, frame, &name);
        made.function = findings_keep(f, &name);
        made.signature = string_pool_text(&f->texts, symbol_name(frame));
        made.file = string_pool_text(&f->texts, frame->file);
        made.path = path_of(f, r, made.file);
        made.module = string_pool_text(&f->texts, module);
        out->frames = heap_grow(out->frames, out->count + 1, sizeof *out->frames);
        if (made.path && out->place == UINT32_MAX && !wrapper_or_library(frame))
                out->place = out->count;
        if (out->own == UINT32_MAX && is_own(p, module) && !wrapper_or_library(frame))
                out->own = out->count;
        out->frames[out->count++] = made;
}

static bool is_same_function(const struct finding_frame *a, const struct finding_frame *b)
{
        const char *one = a->signature ? a->signature : a->function;
        const char *other = b->signature ? b->signature : b->function;

        return strcmp(one, other) == 0 &&
               (!a->module || !b->module || strcmp(a->module, b->module) == 0);
}

/* From the outside inwards, as calltree.h does: where a function is called again, what it
 * did until then goes away. */
static void fold_recursion(struct finding_stack *stack)
{
        for (uint32_t i = stack->count; i-- > 0;) {
                uint32_t outer = stack->count;

                for (uint32_t k = i + 1; k < stack->count && !stack->frames[i].folded; k++)
                        if (!stack->frames[k].folded &&
                            is_same_function(&stack->frames[i], &stack->frames[k]))
                                outer = k;
                for (uint32_t k = i + 1; k <= outer && outer < stack->count; k++)
                        stack->frames[k].folded = true;
        }
}

struct finding_stack findings_stack(struct findings *f, const struct findings_request *r,
                                    struct findings_recording *recording, uint32_t node)
{
        const struct profile *p = recording->profile;
        struct wrapper_frame from = wrappers_trim(recording->wrappers, p, recording->symbols, node);
        struct walk w = walk_from(p, recording->symbols, from);
        struct finding_stack made = { .place = UINT32_MAX, .own = UINT32_MAX };
        struct fold *fold = from.node > 1 ? recording->fold : NULL;
        bool whole = fold && fold_is_outside(fold, from);

        while (walk_next(&w)) {
                struct wrapper_frame at = { w.node, w.level };

                add_frame(f, r, recording, w.node, w.frame, &made);
                made.frames[made.count - 1].folded = fold && !fold_shows(fold, at, whole);
        }
        if (recording->fold && !recording->fold->recursion)
                fold_recursion(&made);
        if (made.place == UINT32_MAX)
                made.place = made.count;
        if (made.own == UINT32_MAX)
                made.own = 0;
        return made;
}

/* The version of a library is not part of its name: "libstdc++.so". */
static const char *module_name(const char *path, struct str *out)
{
        const char *base = label_base(path), *end = strstr(base, ".so.");

        str_clear(out);
        str_bytes(out, base, end ? (size_t)(end - base) + strlen(".so") : strlen(base));
        return str_get(out);
}

/* Frames without those outside that begin a thread, or Rust's main: they are of the system and
 * change with it, not with the program. */
static uint32_t own_frames(const struct finding_stack *stack)
{
        const struct finding_frame *frames = stack->frames;
        uint32_t count = 0;

        while (count < stack->count &&
               !strstr(frames[count].function, "::__rust_begin_short_backtrace"))
                count++;
        if (count && count < stack->count &&
            strncmp(frames[count - 1].function, "core::ops::function::FnOnce::call_once", 38) == 0)
                count--;
        while (count && frames[count - 1].module && c_library_has(frames[count - 1].module))
                count--;
        return count ? count : stack->count;
}

static bool is_same_name(const struct finding_frame *a, const struct finding_frame *b)
{
        if (a->signature && b->signature)
                return strcmp(a->function, b->function) == 0;
        if (a->signature || b->signature || !a->module || !b->module)
                return !a->signature && !b->signature && !a->module && !b->module;
        return strcmp(a->module, b->module) == 0;
}

/* Each name once: how deep parse_list < parse_value < parse_list goes is a matter of the input. */
void findings_names(const struct finding_stack *stack, struct str *out)
{
        const struct finding_frame **told = heap_zero(stack->count, sizeof *told);
        uint32_t count = 0, all = own_frames(stack);
        struct str module = { 0 };

        for (uint32_t i = 0; i < all; i++) {
                const struct finding_frame *frame = &stack->frames[i];
                uint32_t at = 0;

                while (at < count && !is_same_name(told[at], frame))
                        at++;
                if (at < count)
                        continue;
                str_text(out, count ? " < " : "");
                text_name(out, frame->signature ? frame->function
                               : frame->module  ? module_name(frame->module, &module)
                                                : "?");
                told[count++] = frame;
        }
        str_free(&module);
        free(told);
}

/* FNV-1a. */
uint64_t findings_fingerprint(const struct finding_stack *stack)
{
        uint64_t hash = 0xcbf29ce484222325u;
        struct str names = { 0 };

        findings_names(stack, &names);
        for (const char *c = str_get(&names); *c; c++)
                hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
        str_free(&names);
        return hash;
}

/* ---- one process ---- */

struct finding *findings_new(struct findings *f, enum finding_kind kind, enum finding_state state)
{
        struct finding *made;

        f->all = heap_grow(f->all, f->count + 1, sizeof *f->all);
        made = &f->all[f->count++];
        *made = (struct finding){ .kind = kind, .state = state, .process = f->process_count - 1,
                                  .processes = 1 };
        return made;
}

static const char *ending_of(struct findings *f, const struct profile_meta *meta)
{
        char name[SIGNALS_NAME_BYTES];
        struct str text = { 0 };

        if (meta->end == PROFILE_END_SIGNAL) {
                signals_name(meta->exit_signal, name);
                str_text(&text, name);
        } else if (meta->end == PROFILE_END_EXIT && meta->exit_code) {
                str_format(&text, "exit %u", meta->exit_code);
        }
        return text.length ? findings_keep(f, &text) : NULL;
}

/* Ended by what nobody sends: a mistake of its own. */
static bool has_crashed(const struct profile_meta *meta)
{
        static const int signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                if (meta->end == PROFILE_END_SIGNAL && meta->exit_signal == (uint32_t)signals[i])
                        return true;
        return false;
}

static void add_process(struct findings *f, const struct findings_recording *recording)
{
        const struct profile *p = recording->profile;
        struct findings_process made = { .program = string_pool_text(&f->texts, p->meta.program),
                                         .exe = string_pool_text(&f->texts, p->meta.exe),
                                         .recording = string_pool_text(&f->texts, recording->path),
                                         .arg_count = p->meta.arg_count, .pid = p->meta.pid,
                                         .ppid = p->meta.ppid, .duration_ms = p->meta.duration_ms,
                                         .peak_bytes = p->totals.peak_bytes,
                                         .live_bytes = p->totals.live_bytes,
                                         .allocations = p->totals.allocations,
                                         .ended = ending_of(f, &p->meta),
                                         .crashed = has_crashed(&p->meta) };

        made.args = heap_zero(made.arg_count, sizeof *made.args);
        for (uint32_t i = 0; i < made.arg_count; i++)
                made.args[i] = string_pool_text(&f->texts, p->meta.args[i]);
        f->processes = heap_grow(f->processes, f->process_count + 1, sizeof *f->processes);
        f->processes[f->process_count++] = made;
}

/* Give the last finding its stack and its state. */
static bool place_finding(struct findings *f, const struct findings_request *r,
                          struct findings_recording *recording, uint32_t node)
{
        struct finding *last = &f->all[f->count - 1];
        bool known;

        last->stack = findings_stack(f, r, recording, node);
        last->fingerprint = findings_fingerprint(&last->stack);
        known = baseline_knows(r->baseline, last->kind, last->fingerprint) ||
                (r->accept && last->state != FINDING_HINT);
        if (known && !r->accept && !baseline_allows(r->baseline, last, &last->known_bytes))
                known = false;
        else
                last->known_bytes = 0;
        if (known)
                last->state = FINDING_KNOWN;
        return known;
}

static void add_leaks(struct findings *f, const struct findings_request *r,
                      struct findings_recording *recording, const struct leaks *l,
                      struct budget_tally *tally)
{
        static const enum finding_kind kinds[] = { [PROFILE_LEAK_POSSIBLE] = FINDING_POSSIBLE,
                                                   [PROFILE_LEAK_INDIRECT] = FINDING_INDIRECT,
                                                   [PROFILE_LEAK_DEFINITE] = FINDING_DEFINITE };

        for (uint32_t i = 0; i < l->count; i++) {
                const struct leaks_row *row = &l->rows[i];
                bool possible = row->leak == PROFILE_LEAK_POSSIBLE;
                struct finding *made;

                if (row->leak < PROFILE_LEAK_POSSIBLE || !row->own.blocks)
                        continue;
                made = findings_new(f, kinds[row->leak], possible ? FINDING_HINT : FINDING_ALLOWED);
                made->count = row->own.blocks;
                made->bytes = row->own.bytes;
                made->hanging_count = row->hanging.blocks;
                made->hanging_bytes = row->hanging.bytes;
                if (place_finding(f, r, recording,
                                  recording->profile->sites[row->stack->site].node) ||
                    possible)
                        continue;
                tally->blocks += row->own.blocks;
                tally->bytes += row->own.bytes;
        }
}

static void add_releases(struct findings *f, const struct findings_request *r,
                         struct findings_recording *recording, const struct leaks *l,
                         struct budget_tally *tally)
{
        static const enum finding_kind kinds[] = {
                [LEDGER_ERROR_NONE] = FINDING_UNKNOWN_FREE,
                [LEDGER_ERROR_DOUBLE_FREE] = FINDING_DOUBLE_FREE,
                [LEDGER_ERROR_MISMATCHED] = FINDING_MISMATCHED,
                [LEDGER_ERROR_UNKNOWN_FREE] = FINDING_UNKNOWN_FREE };
        const struct profile *p = recording->profile;
        uint64_t excused = 0; /* of all, of which the list may be only the first ones */

        for (uint32_t i = 0; i < p->error_count; i++) {
                const struct profile_error *error = &p->errors[i];
                struct errors_block around = errors_around(p, error);
                bool known = l->forgiven && l->forgiven[i];
                struct str what = { 0 };
                struct finding *made;

                if (!known) {
                        made = findings_new(
                                f,
                                kinds[error->type <= LEDGER_ERROR_UNKNOWN_FREE ? error->type : 0],
                                FINDING_ALLOWED);
                        errors_what(p, error, &what);
                        made->text = findings_keep(f, &what);
                        made->count = error->count;
                        /* Which the text has told. */
                        made->bytes = error->wrong == LEDGER_WRONG_SIZE ? 0 : error->size;
                        made->address = error->address;
                        made->thread = error->thread;
                        if (around.site) {
                                made->bytes = around.size;
                                made->offset = error->address - around.address;
                        }
                        if (error->free_node)
                                made->first = findings_stack(f, r, recording, error->free_node);
                        if (errors_origin(p, error))
                                made->origin = findings_stack(
                                        f, r, recording, p->sites[errors_origin(p, error)].node);
                        made->origin_print = findings_fingerprint(&made->origin);
                        known = place_finding(f, r, recording, error->node);
                }
                excused += known ? error->count : 0;
        }
        tally->releases = p->totals.double_frees + p->totals.mismatched + p->totals.unknown_frees;
        tally->releases -= excused < tally->releases ? excused : tally->releases;
}

/* ---- rules ---- */

static bool read_rules(const struct findings_request *r, const struct profile *p,
                       struct suppressions *rules, struct str *trouble, struct err *e)
{
        for (uint32_t i = 0; i < r->suppression_count; i++)
                if (!suppress_read_file(rules, r->suppressions[i], e))
                        return false;
        leaks_usual_rules(rules, p, false, trouble);
        return true;
}

static bool same_rule(const struct findings_rule *a, const struct findings_rule *b)
{
        /* texts of one pool. */
        return a->name == b->name && a->file == b->file && a->line == b->line;
}

/* The same rules are read again for each process: sum up what they did. */
static void add_rules(struct findings *f, const struct suppressions *rules)
{
        for (uint32_t i = 0; i < rules->count; i++) {
                const struct suppress_rule *rule = &rules->rules[i];
                struct findings_rule made = { string_pool_text(&f->texts, rule->name),
                                              rule->source == SUPPRESS_FILE
                                                      ? string_pool_text(&f->texts, rule->file)
                                                      : NULL,
                                              rule->at,
                                              rule->times,
                                              rule->blocks,
                                              rule->bytes };
                uint32_t at = 0;

                if (!made.times && !made.file)
                        continue;
                while (at < f->rule_count && !same_rule(&f->rules[at], &made))
                        at++;
                if (at == f->rule_count) {
                        f->rules = heap_grow(f->rules, ++f->rule_count, sizeof *f->rules);
                        f->rules[at] = made;
                        continue;
                }
                f->rules[at].times += made.times;
                f->rules[at].blocks += made.blocks;
                f->rules[at].bytes += made.bytes;
        }
}

/* ---- all ---- */

/* Why nothing is known about leaks at the end of a process; NULL: it is. */
static const char *find_unknown(struct findings *f, const struct leaks *l)
{
        const struct profile *p = l->sel->profile;
        struct str why = { 0 };

        if (!l->scan) {
                str_text(&why, "not searched for leaks: ");
                leaks_not_scanned(p, &why);
        } else if (!PROFILE_SCAN_IS_LAST(l->scan->when) && p->meta.end != PROFILE_END_UNKNOWN) {
                str_text(&why, "not searched for leaks when it ended, only ");
                leaks_when(l->scan, &why);
        }
        return why.length ? findings_keep(f, &why) : NULL;
}

static void add_leaks_and_releases(struct findings *f, const struct findings_request *r,
                                   struct findings_recording *recording, struct suppressions *rules,
                                   struct budget_tally *tally)
{
        struct leaks_request request = { .suppressions = rules, .key = LEAKS_BY_LEAKED_BYTES };
        struct leaks leaks;

        leaks_make(&leaks, tally->sel, recording->symbols, &request);
        if (budgets_want_leaks(r->budgets)) {
                add_leaks(f, r, recording, &leaks, tally);
                f->processes[f->process_count - 1].unknown = find_unknown(f, &leaks);
        }
        if (r->budgets->limits[BUDGET_BAD_FREES].set)
                add_releases(f, r, recording, &leaks, tally);
        leaks_free(&leaks);
}

static void add_unseen(struct findings *f, const struct findings_request *r,
                       const struct profile *p)
{
        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++) {
                struct str text = { 0 };

                if (unseen_say(p, reason, &text))
                        findings_new(f, FINDING_UNSEEN,
                                     r->allow_unseen ? FINDING_ALLOWED : FINDING_BREAKS)
                                ->text = findings_keep(f, &text);
        }
}

bool findings_add(struct findings *f, const struct findings_request *r,
                  struct findings_recording *recording, struct str *trouble, struct err *e)
{
        struct select_request request = { .cost = SELECT_LIVE, .wrappers = recording->wrappers };
        struct suppressions rules = { 0 };
        struct selection sel = { 0 };
        struct budget_tally tally = { .sel = &sel, .first = f->count };
        bool good = read_rules(r, recording->profile, &rules, trouble, e) &&
                    select_make(&sel, recording->profile, recording->symbols, &request, e);

        if (good) {
                add_process(f, recording);
                add_leaks_and_releases(f, r, recording, &rules, &tally);
                budget_judge(f, r, recording, &tally);
                add_unseen(f, r, recording->profile);
                add_rules(f, &rules);
        }
        f->has_baseline = f->has_baseline || r->baseline;
        select_free(&sel);
        suppress_free(&rules);
        return good;
}

static const struct finding_frame *placed(const struct finding *finding)
{
        static const struct finding_frame nowhere;
        const struct finding_frame *frame = finding_place(&finding->stack);

        return frame ? frame : &nowhere;
}

/* Texts are of one pool: equal ones have equal pointers. */
static int by_identity(const void *a, const void *b)
{
        const struct finding *x = a, *y = b;
        uintptr_t text_x = (uintptr_t)x->text, text_y = (uintptr_t)y->text;
        uint32_t line_x = placed(x)->line, line_y = placed(y)->line;

        return ORDER(x->kind, y->kind) ?: ORDER(x->fingerprint, y->fingerprint) ?:
               ORDER(x->origin_print, y->origin_print) ?: ORDER(line_x, line_y) ?:
               ORDER(text_x, text_y) ?: ORDER(x->process, y->process);
}

static int by_weight(const void *a, const void *b)
{
        const struct finding *x = a, *y = b;
        uint64_t bytes_x = x->bytes + x->hanging_bytes, bytes_y = y->bytes + y->hanging_bytes;

        return ORDER(x->state, y->state) ?: ORDER(x->kind, y->kind) ?: ORDER(bytes_y, bytes_x) ?:
               ORDER(x->process, y->process) ?: ORDER(x->fingerprint, y->fingerprint) ?:
               ORDER(placed(x)->line, placed(y)->line);
}

static bool is_same(const struct finding *a, const struct finding *b)
{
        return a->kind == b->kind && a->kind != FINDING_BUDGET &&
               a->fingerprint == b->fingerprint && a->origin_print == b->origin_print &&
               a->text == b->text && placed(a)->line == placed(b)->line;
}

static void free_finding(struct finding *finding)
{
        free(finding->stack.frames);
        free(finding->origin.frames);
        free(finding->first.frames);
}

static bool differ_in_lines(const struct finding_stack *a, const struct finding_stack *b)
{
        uint32_t i = 0;

        while (i < a->count && i < b->count && a->frames[i].line == b->frames[i].line)
                i++;
        return i < a->count || i < b->count;
}

static void join(struct finding *to, struct finding *from)
{
        to->others = to->others || from->others || differ_in_lines(&to->stack, &from->stack);
        to->state = from->state < to->state ? from->state : to->state;
        to->count += from->count;
        to->known_bytes = to->known_bytes ? to->known_bytes : from->known_bytes;
        to->bytes = finding_is_release(to->kind) ? to->bytes : to->bytes + from->bytes;
        to->hanging_count += from->hanging_count;
        to->hanging_bytes += from->hanging_bytes;
        free_finding(from);
}

void findings_settle(struct findings *f)
{
        uint32_t kept = 0, before = 0; /* of the finding before: its process */

        if (!f->count)
                return;
        qsort(f->all, f->count, sizeof *f->all, by_identity);
        for (uint32_t i = 0; i < f->count; i++) {
                uint32_t process = f->all[i].process;

                if (kept && is_same(&f->all[kept - 1], &f->all[i])) {
                        f->all[kept - 1].processes += process != before;
                        join(&f->all[kept - 1], &f->all[i]);
                } else {
                        f->all[kept++] = f->all[i];
                }
                before = process;
        }
        f->count = kept;
        qsort(f->all, f->count, sizeof *f->all, by_weight);
}

uint32_t findings_broken(const struct findings *f)
{
        uint32_t count = 0;

        while (count < f->count && f->all[count].state == FINDING_BREAKS) /* they come first */
                count++;
        return count;
}

bool findings_unseen(const struct findings *f)
{
        for (uint32_t i = findings_broken(f); i--;)
                if (f->all[i].kind == FINDING_UNSEEN)
                        return true;
        return false;
}

bool findings_failed(const struct findings *f)
{
        return budgets_broken(f) || findings_unseen(f);
}

void findings_free(struct findings *f)
{
        for (uint32_t i = 0; i < f->count; i++)
                free_finding(&f->all[i]);
        for (uint32_t i = 0; i < f->process_count; i++)
                free(f->processes[i].args);
        free(f->all);
        free(f->processes);
        free(f->rules);
        free(f->verdicts);
        free(f->gone);
        free(f->paths);
        lookup_free(&f->files);
        string_pool_free(&f->texts);
        *f = (struct findings){ 0 };
}
