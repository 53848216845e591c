/* SPDX-License-Identifier: MIT */
/*
 * callgrind.c -- functions with their own costs by line, and what they call, as kcachegrind and
 * callgrind_annotate read it.
 *
 * Keeps:  what flows into a function flows out of it, once for each stack, so that inclusive
 *         costs are right for readers that sum up callers and for those that sum up callees.
 *         Recursion is folded for that:
 *
 *             main f f f g        main f g            a function that calls itself is one
 *             main f g f g        main f g f'2 g'2    met again: it has a second name, once
 *             main f g f g f h    main f g f'2 h      a third time is the second
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/order.h"
#include "export/export.h"
#include "export/stack_costs.h"
#include "export/strings.h"

/* What a frame of a folded stack is. */
struct folded_call {
        uint32_t function; /* twice its number, + 1 for the second name */
        uint32_t line;     /* of the call, in the parent */
};

/* Costs of a line: its own, or those of a call. */
struct entry {
        uint32_t function, line;
        uint32_t callee; /* 1 + its function; 0: own */
        bool any; /* costs that are not zero */
        struct costs costs;
        uint64_t calls;
};

enum { NAME_OBJECT, NAME_FILE, NAME_FUNCTION, NAME_KINDS };

/* Numbers of the names of a function. */
struct spelling {
        uint32_t of[NAME_KINDS];
        bool known;
};

struct callgrind {
        const struct export_input *in;
        struct stack_costs stacks; /* by line */
        struct function_table numbers;
        uint32_t *functions; /* by frame: number, from 0 */
        uint32_t *examples;  /* by function: a frame of it */
        uint32_t *folded;    /* by node of the stacks: its fold */
        struct branches tree; /* the folded stacks; 0 the root */
        struct folded_call *folds;   /* by key of a node of the tree */
        uint32_t fold_room;
        struct function_table fold_numbers, entry_numbers;
        struct entry *entries;
        uint32_t entry_count, entry_room;
        enum cost_kind events[COST_COUNT];
        int event_count;
        struct strings names[NAME_KINDS]; /* each is written once, then told by its number */
        uint32_t written[NAME_KINDS];
        struct spelling *spellings; /* by function, as in folds */
        struct str *out;
};

/* ---- folding ---- */

static uint32_t fold_child(struct callgrind *c, uint32_t parent, struct folded_call fold)
{
        struct function_key key = { .name = fold.function, .line = fold.line };
        uint32_t number = function_key_number(&c->fold_numbers, &key);

        if (number >= c->fold_room) {
                c->fold_room = c->fold_room ? c->fold_room * 2 : 1024;
                c->folds = heap_grow(c->folds, c->fold_room, sizeof *c->folds);
        }
        c->folds[number] = fold;
        return branches_child(&c->tree, parent, number);
}

static const struct folded_call *fold_at(const struct callgrind *c, uint32_t node)
{
        return &c->folds[c->tree.list[node].frame];
}

/* Below NODE of the tree, FUNCTION is called at LINE: where the stack is then. */
static uint32_t fold_step(struct callgrind *c, uint32_t node, uint32_t function, uint32_t line)
{
        bool met = false;

        if (node && fold_at(c, node)->function / 2 == function)
                return node;
        for (uint32_t at = node; at; at = c->tree.list[at].parent) {
                uint32_t other = fold_at(c, at)->function;

                if (other == 2 * function + 1)
                        return at;
                met |= other == 2 * function;
        }
        return fold_child(c, node, (struct folded_call){ 2 * function + met, line });
}

static uint32_t line_of(const struct callgrind *c, uint32_t node)
{
        return node ? c->stacks.frames[c->stacks.nodes[node].frame].names->line : 0;
}

static void fold_stacks(struct callgrind *c)
{
        const struct stack_costs *s = &c->stacks;

        c->folded = heap_zero(s->node_count, sizeof *c->folded);
        branches_start(&c->tree, 1, s->node_count / 2);
        for (uint32_t i = 1; i < s->node_count; i++) {
                uint32_t parent = s->nodes[i].parent;

                c->folded[i] = fold_step(c, c->folded[parent], c->functions[s->nodes[i].frame],
                                         line_of(c, parent));
        }
}

/* Functions of the frames, lines apart. */
static void find_functions(struct callgrind *c)
{
        const struct stack_costs *s = &c->stacks;

        c->functions = heap_zero(s->frame_count, sizeof *c->functions);
        c->examples = heap_zero(s->frame_count, sizeof *c->examples);
        c->spellings = heap_zero(2 * (size_t)s->frame_count, sizeof *c->spellings);
        for (uint32_t i = 0; i < s->frame_count; i++) {
                struct symbol_frame whole = *s->frames[i].names;
                uint32_t before = c->numbers.count;

                whole.line = 0;
                c->functions[i] = function_number(&c->numbers, s->profile, s->frames[i].node,
                                                  &whole) -
                                  1;
                if (c->functions[i] == before)
                        c->examples[before] = i;
        }
}

/* ---- entries ---- */

static int compare(const void *a, const void *b)
{
        const struct entry *x = a, *y = b;

        return ORDER(x->function, y->function) ?: ORDER(x->callee, y->callee) ?:
               ORDER(x->line, y->line);
}

/* Costs of the same place are one entry. */
static uint32_t entry_number(struct callgrind *c, uint32_t function, uint32_t callee, uint32_t line)
{
        struct function_key key = { .name = function, .file = callee, .line = line };
        uint32_t number = function_key_number(&c->entry_numbers, &key) - 1;

        if (number < c->entry_count)
                return number;
        if (c->entry_count == c->entry_room) {
                c->entry_room = c->entry_room ? c->entry_room * 2 : 256;
                c->entries = heap_grow(c->entries, c->entry_room, sizeof *c->entries);
        }
        c->entries[c->entry_count++] = (struct entry){ .function = function, .line = line,
                                                       .callee = callee };
        return number;
}

static bool any_event(const struct callgrind *c, const struct costs *costs)
{
        bool any = false;

        for (int i = 0; i < c->event_count; i++)
                any |= costs->of[c->events[i]] != 0;
        return any;
}

static void add_own(struct callgrind *c)
{
        const struct stack_costs *s = &c->stacks;

        for (uint32_t i = 0; i < s->sample_count; i++) {
                const struct stack_costs_sample *sample = &s->samples[i];
                uint32_t own;

                if (!any_event(c, &sample->costs))
                        continue;
                own = entry_number(c, fold_at(c, c->folded[sample->node])->function, 0,
                                   line_of(c, sample->node));
                c->entries[own].any = true;
                cost_add(&c->entries[own].costs, &sample->costs);
        }
}

/* By node of the tree: the entry of the call that it is. */
static uint32_t *find_calls(struct callgrind *c)
{
        uint32_t *calls = heap_zero(c->tree.count, sizeof *calls);

        for (uint32_t i = 1; i < c->tree.count; i++)
                if (c->tree.list[i].parent)
                        calls[i] = entry_number(c, fold_at(c, c->tree.list[i].parent)->function,
                                                fold_at(c, i)->function + 1, fold_at(c, i)->line);
        return calls;
}

/* SUMS by node of the tree: one cost of all stacks that pass. */
static void sum_up(const struct callgrind *c, enum cost_kind cost, uint64_t *sums)
{
        memset(sums, 0, c->tree.count * sizeof *sums);
        for (uint32_t i = 0; i < c->stacks.sample_count; i++)
                sums[c->folded[c->stacks.samples[i].node]] += c->stacks.samples[i].costs.of[cost];
        for (uint32_t i = c->tree.count; i-- > 1;)
                sums[c->tree.list[i].parent] += sums[i];
}

/* Cost by cost: all of them for all nodes at once would be much memory.  How often a function was
 * called is not known; how many allocations came through the call is. */
static void add_calls(struct callgrind *c)
{
        uint32_t *calls = find_calls(c);
        uint64_t *sums = heap_zero(c->tree.count, sizeof *sums);
        uint8_t *any = heap_zero(c->tree.count, 1);

        for (int k = 0; k < c->event_count; k++) {
                sum_up(c, c->events[k], sums);
                for (uint32_t i = 1; i < c->tree.count; i++) {
                        if (c->tree.list[i].parent)
                                c->entries[calls[i]].costs.of[c->events[k]] += sums[i];
                        any[i] |= sums[i] != 0;
                }
        }
        sum_up(c, COST_ALLOC_COUNT, sums);
        for (uint32_t i = 1; i < c->tree.count; i++)
                if (c->tree.list[i].parent && any[i]) {
                        c->entries[calls[i]].any = true;
                        c->entries[calls[i]].calls += (int64_t)sums[i] > 0 ? sums[i] : 1;
                }
        free(calls);
        free(sums);
        free(any);
}

static void make_entries(struct callgrind *c)
{
        uint32_t kept = 0;

        add_own(c);
        add_calls(c);
        for (uint32_t i = 0; i < c->entry_count; i++)
                if (c->entries[i].any)
                        c->entries[kept++] = c->entries[i];
        c->entry_count = kept;
        if (kept)
                qsort(c->entries, kept, sizeof *c->entries, compare);
}

/* ---- text ---- */

/* "fl=(3) path", the second time "fl=(3)". */
static void put_name(struct callgrind *c, const char *field, int kind, uint32_t number)
{
        str_text(c->out, field);
        json_number(c->out, number + 1);
        str_char(c->out, ')');
        if (number == c->written[kind]) { /* numbers are given in the order of their first use */
                c->written[kind]++;
                str_char(c->out, ' ');
                str_text(c->out, c->names[kind].at[number]);
        }
        str_char(c->out, '\n');
}

static uint32_t name_of(struct callgrind *c, int kind, const char *name)
{
        struct str plain = { 0 };
        uint32_t number;

        stack_costs_plain_text(name ? name : "", "", 0, &plain);
        number = strings_number(&c->names[kind], plain.length ? str_get(&plain) : "???");
        str_free(&plain);
        return number;
}

static const struct spelling *spelling_of(struct callgrind *c, uint32_t function)
{
        uint32_t frame = c->examples[function / 2];
        struct spelling *s = &c->spellings[function];
        struct str name = { 0 };

        if (s->known)
                return s;
        s->known = true;
        stack_costs_name(&c->stacks, frame, &name);
        if (function % 2)
                str_text(&name, "'2");
        s->of[NAME_OBJECT] = name_of(c, NAME_OBJECT, stack_costs_module(&c->stacks, frame));
        s->of[NAME_FILE] = name_of(c, NAME_FILE, c->stacks.frames[frame].names->file);
        s->of[NAME_FUNCTION] = name_of(c, NAME_FUNCTION, str_get(&name));
        str_free(&name);
        return s;
}

static void put_function(struct callgrind *c, uint32_t function)
{
        const struct spelling *s = spelling_of(c, function);

        put_name(c, "\nob=(", NAME_OBJECT, s->of[NAME_OBJECT]);
        put_name(c, "fl=(", NAME_FILE, s->of[NAME_FILE]);
        put_name(c, "fn=(", NAME_FUNCTION, s->of[NAME_FUNCTION]);
}

static void put_call(struct callgrind *c, const struct entry *entry)
{
        const struct spelling *s = spelling_of(c, entry->callee - 1);

        put_name(c, "cob=(", NAME_OBJECT, s->of[NAME_OBJECT]);
        put_name(c, "cfi=(", NAME_FILE, s->of[NAME_FILE]);
        put_name(c, "cfn=(", NAME_FUNCTION, s->of[NAME_FUNCTION]);
        str_text(c->out, "calls=");
        json_number(c->out, entry->calls);
        str_text(c->out, " 0\n");
}

static void put_costs(struct callgrind *c, const struct costs *costs)
{
        for (int i = 0; i < c->event_count; i++) {
                str_char(c->out, ' ');
                json_number(c->out, costs->of[c->events[i]]);
        }
        str_char(c->out, '\n');
}

static void put_entries(struct callgrind *c)
{
        for (uint32_t i = 0; i < c->entry_count; i++) {
                const struct entry *entry = &c->entries[i];

                if (!i || entry[-1].function != entry->function)
                        put_function(c, entry->function);
                if (entry->callee)
                        put_call(c, entry);
                json_number(c->out, entry->line);
                put_costs(c, &entry->costs);
                str_drain(c->out);
        }
}

/* "live-bytes" is the event LiveBytes. */
static void put_event(struct str *out, const char *word)
{
        bool first = true;

        for (; *word; word++) {
                if (*word != '-')
                        str_char(out, first ? (char)(*word - 'a' + 'A') : *word);
                first = *word == '-';
        }
}

static void put_head(struct callgrind *c)
{
        const struct profile_meta *m = &c->in->profile->meta;
        struct costs totals = stack_costs_totals(&c->stacks);

        str_format(c->out,
                   "# callgrind format\nversion: 1\ncreator: seep " SEEP_VERSION "\npid: %u\ncmd: ",
                   m->pid);
        for (uint32_t i = 0; i < m->arg_count; i++) {
                str_text(c->out, i ? " " : "");
                stack_costs_plain_text(m->args[i], "", 0, c->out);
        }
        if (c->in->sel->when[0]) {
                str_text(c->out, "\ndesc: Time: ");
                stack_costs_plain_text(c->in->sel->when, "", 0, c->out);
        } else if (c->in->sel->moment == SELECT_OF_PEAK) {
                str_text(c->out, "\ndesc: Time: peak");
        }
        str_text(c->out, "\npositions: line\n");
        for (int i = 0; i < c->event_count; i++) {
                str_text(c->out, "event: ");
                put_event(c->out, cost_names[c->events[i]].word);
                str_format(c->out, " : %s\n", cost_names[c->events[i]].title);
        }
        str_text(c->out, "events:");
        for (int i = 0; i < c->event_count; i++) {
                str_char(c->out, ' ');
                put_event(c->out, cost_names[c->events[i]].word);
        }
        str_text(c->out, "\nsummary:");
        put_costs(c, &totals);
}

/* ---- the whole ---- */

/* What became less counts as nothing. */
static void drop_negative(struct callgrind *c)
{
        uint32_t negative = 0;

        for (uint32_t i = 0; i < c->stacks.sample_count; i++) {
                struct costs *costs = &c->stacks.samples[i].costs;
                bool less = false;

                for (int k = 0; k < c->event_count; k++)
                        if ((int64_t)costs->of[c->events[k]] < 0) {
                                costs->of[c->events[k]] = 0;
                                less = true;
                        }
                negative += less;
        }
        export_remark_negative(c->in, negative);
}

static void callgrind_free(struct callgrind *c)
{
        stack_costs_free(&c->stacks);
        function_free(&c->numbers);
        for (int i = 0; i < NAME_KINDS; i++)
                strings_free(&c->names[i]);
        free(c->functions);
        free(c->examples);
        free(c->spellings);
        free(c->folded);
        branches_free(&c->tree);
        free(c->folds);
        function_free(&c->fold_numbers);
        function_free(&c->entry_numbers);
        free(c->entries);
}

bool export_callgrind(const struct export_input *in, struct str *out, struct err *e)
{
        struct callgrind c = { .in = in, .out = out };
        enum cost_kind cost;
        bool good;

        stack_costs_make(&c.stacks, in, CALLTREE_BY_LINE);
        good = export_cost(in, &c.stacks.source, &cost, e);
        if (good) {
                /* The chosen cost comes first: readers sort by it. */
                c.events[c.event_count++] = cost;
                for (int i = 0; i < COST_COUNT; i++)
                        if (i != (int)cost &&
                            export_gives(c.in, &c.stacks.source, (enum cost_kind)i))
                                c.events[c.event_count++] = (enum cost_kind)i;
                drop_negative(&c);
                find_functions(&c);
                fold_stacks(&c);
                make_entries(&c);
                put_head(&c);
                put_entries(&c);
        }
        callgrind_free(&c);
        return good;
}
