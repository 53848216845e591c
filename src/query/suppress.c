/* SPDX-License-Identifier: MIT */
/*
 * suppress.c -- which rule covers a stack, and the rules that are always there.
 *
 * Cost:   frames times lines of all rules; only for stacks that lost something.
 */
#include "query/suppress.h"

#include <stdlib.h>
#include <string.h>

#include "base/c_library.h"
#include "base/heap.h"
#include "names/perfmap.h"
#include "words/label.h"

#define LEAK(name) (1u << PROFILE_LEAK_##name)
#define LEAK_LOST (LEAK(DEFINITE) | LEAK(INDIRECT) | LEAK(POSSIBLE))

static const char built_in_loader[] = "memory of the dynamic loader";
static const char built_in_exceptions[] =
        "libstdc++ keeps memory for exceptions thrown when memory runs out";
static const char built_in_python[] =
        "Python's interpreter keeps strings, types and caches for good";

/* Our own, in Valgrind's format.  Only what hands no memory to its caller: what strdup or getline
 * returned is never covered.  base/c_library.c explains the names of the loader.  What is still
 * reachable is no error and needs no rule. */
static const struct {
        const char *reason;
        uint32_t leaks;
        const char *lines[4];
} built_in[] = {
        { "the table of thread-local variables of a thread",
          LEAK_LOST,
          { "...", "fun:_dl_allocate_tls*" } },
        { "thread-local variables of a library, made by the loader at their first use",
          LEAK_LOST,
          { "...", "fun:*tls_get_addr*" } },
        { built_in_loader, LEAK_LOST, { "fun:*", "obj:*/ld-linux*" } },
        { built_in_loader, LEAK_LOST, { "fun:*", "obj:*/ld-2.*" } },
        { built_in_loader, LEAK_LOST, { "fun:*", "obj:*/ld64.so*" } },
        { built_in_loader, LEAK_LOST, { "fun:*", "obj:*/ld.so.*" } },
        { built_in_exceptions,
          LEAK_LOST,
          { "fun:malloc", "obj:*/libstdc++.so*", "...", "obj:*/ld-linux*" } },
        { built_in_exceptions,
          LEAK_LOST,
          { "fun:malloc", "obj:*/libstdc++.so*", "...", "obj:*/ld-2.*" } },
        { built_in_exceptions,
          LEAK_LOST,
          { "fun:malloc", "obj:*/libstdc++.so*", "...", "obj:*/ld64.so*" } },
        { built_in_exceptions,
          LEAK_LOST,
          { "fun:malloc", "obj:*/libstdc++.so*", "...", "obj:*/ld.so.*" } },
        { "an exception in flight is held by a pointer behind its header",
          LEAK(POSSIBLE),
          { "fun:malloc", "fun:__cxa_allocate_exception" } },
        { "tcmalloc's own objects: its memory is not searched, as no allocator's is",
          LEAK_LOST,
          { "fun:*", "obj:*/libtcmalloc*" } },
        { "the list of functions to call at exit", LEAK_LOST, { "...", "fun:__cxa_atexit" } },
        { "the locale in use", LEAK_LOST, { "...", "fun:setlocale" } },
        { "the time zone in use", LEAK_LOST, { "...", "fun:tzset" } },
        { "the time zone in use", LEAK_LOST, { "...", "fun:localtime*" } },
        { "the time zone in use", LEAK_LOST, { "...", "fun:mktime" } },
        { "the user database in use", LEAK_LOST, { "...", "fun:getpw*" } },
        { "the group database in use", LEAK_LOST, { "...", "fun:getgr*" } },
        { "types of GLib are never freed, and held by pointers behind their headers",
          LEAK(POSSIBLE),
          { "...", "fun:g_type_register_*" } },
        { "types of GLib are never freed, and held by pointers behind their headers",
          LEAK(POSSIBLE),
          { "...", "fun:g_type_add_interface_*" } },
        { "the table of names of GLib is never freed", LEAK_LOST, { "...", "fun:g_quark_from_*" } },
        { "the table of names of GLib is never freed", LEAK_LOST, { "...", "fun:g_intern_*" } },
        { built_in_python, LEAK_LOST, { "fun:*", "obj:*/*python*" } },
};

/* One frame as rules see it. */
struct frame {
        const char *const *names; /* of the allocation function, which is in no
                                   * stack of ours; ends with NULL */
        const char *function, *file, *module;
        uint32_t line;
        uint32_t node; /* for its mangled name; 0: it has none of its own */
        uint32_t number; /* in the memo */
};

struct rule_view {
        const struct profile *profile;
        uint32_t node; /* of the stack */
        struct suppress_memo *memo;
        struct symbols *names;
        struct frame *frames;
        uint32_t count;
        uint64_t may; /* of all frames */
};

void suppress_add_built_in(struct suppressions *s)
{
        uint32_t more = sizeof built_in / sizeof *built_in;

        s->rules = heap_grow(s->rules, s->count + more, sizeof *s->rules);
        for (uint32_t i = 0; i < more; i++) {
                struct suppress_rule *rule = &s->rules[s->count++];

                *rule = (struct suppress_rule){ .source = SUPPRESS_BUILT_IN,
                                                .about = SUPPRESS_LEAK,
                                                .leaks = built_in[i].leaks,
                                                .interpreter = built_in[i].reason ==
                                                               built_in_python,
                                                .name = heap_text(built_in[i].reason) };
                for (size_t k = 0; k < sizeof built_in[i].lines / sizeof *built_in[i].lines &&
                                   built_in[i].lines[k];
                     k++)
                        suppress_parse_line(rule, built_in[i].lines[k]);
        }
}

static void memo_free(struct suppress_memo *m)
{
        lookup_free(&m->known);
        free(m->first);
        free(m->fits);
        free(m->may);
        free(m->needs);
        free(m->frames);
        *m = (struct suppress_memo){ 0 };
}

void suppress_truncate(struct suppressions *s, uint32_t count)
{
        memo_free(&s->memo);
        while (s->count > count) {
                struct suppress_rule *rule = &s->rules[--s->count];

                for (uint32_t k = 0; k < rule->line_count; k++) {
                        free(rule->lines[k].pattern);
                        free(rule->lines[k].readable);
                }
                free(rule->lines);
                free(rule->name);
                free(rule->file);
        }
}

static uint64_t line_bit(uint32_t line)
{
        return 1ull << line % 64;
}

/* Made for the rules and the names that there are now. */
static struct suppress_memo *memo_of(struct suppressions *s, const struct symbols *names)
{
        struct suppress_memo *m = &s->memo;

        if (m->first && m->names == names && m->rules == s->count)
                return m;
        memo_free(m);
        m->names = names;
        m->rules = s->count;
        m->first = heap_zero((size_t)s->count + 1, sizeof *m->first);
        m->needs = heap_zero((size_t)s->count + 1, sizeof *m->needs);
        for (uint32_t i = 0; i < s->count; i++) {
                m->first[i] = m->lines;
                m->lines += s->rules[i].line_count;
                for (uint32_t k = 0; k < s->rules[i].line_count; k++)
                        m->needs[i] |= s->rules[i].lines[k].match == SUPPRESS_REST
                                               ? 0
                                               : line_bit(m->first[i] + k);
                if (s->rules[i].about == SUPPRESS_LEAK)
                        m->leaks |= s->rules[i].leaks;
        }
        return m;
}

void suppress_free(struct suppressions *s)
{
        suppress_truncate(s, 0);
        free(s->rules);
        *s = (struct suppressions){ 0 };
}

/* ---- frames ---- */

static const char *const new_names[] = { "_Znwm",
                                         "operator new(unsigned long)",
                                         "_ZnwmRKSt9nothrow_t",
                                         "operator new(unsigned long, std::nothrow_t const&)",
                                         "_ZnwmSt11align_val_t",
                                         "operator new(unsigned long, std::align_val_t)",
                                         NULL };
static const char *const new_array_names[] = { "_Znam",
                                               "operator new[](unsigned long)",
                                               "_ZnamRKSt9nothrow_t",
                                               "operator new[](unsigned long, std::nothrow_t"
                                               " const&)",
                                               "_ZnamSt11align_val_t",
                                               "operator new[](unsigned long, std::align_val_t)",
                                               NULL };
static const char *const delete_names[] = { "_ZdlPv", "operator delete(void*)", "_ZdlPvm",
                                            "operator delete(void*, unsigned long)", NULL };
static const char *const delete_array_names[] = { "_ZdaPv", "operator delete[](void*)", "_ZdaPvm",
                                                  "operator delete[](void*, unsigned long)", NULL };

/* What Valgrind and LSan call the innermost frame of a block of KIND. */
static const char *const *allocation_names(uint32_t kind)
{
        static const char *const plain[LEDGER_KIND_COUNT][2] = {
#define SUPPRESS_KIND(name, number, text, family) [number] = { text },
                LEDGER_KINDS(SUPPRESS_KIND)
#undef SUPPRESS_KIND
        };
        static const char *const arrays[] = { "reallocarray", "realloc", NULL };
        static const char *const aligned[] = { "aligned_alloc", "memalign", NULL };

        switch (kind) {
        case LEDGER_KIND_NEW:
                return new_names;
        case LEDGER_KIND_NEW_ARRAY:
                return new_array_names;
        case LEDGER_KIND_REALLOCARRAY:
                return arrays;
        case LEDGER_KIND_ALIGNED_ALLOC:
                return aligned;
        default:
                break;
        }
        return plain[kind < LEDGER_KIND_COUNT ? kind : LEDGER_KIND_NONE];
}

const char *suppress_allocation(uint32_t kind, enum suppress_format format)
{
        const char *const *names = allocation_names(kind);

        return names[format == SUPPRESS_AS_LSAN &&
                     (names == new_names || names == new_array_names)];
}

static const char *const *release_names(uint32_t family)
{
        static const char *const plain[] = { "free", "realloc", "cfree", NULL };

        if (family == LEDGER_FAMILY_NEW)
                return delete_names;
        return family == LEDGER_FAMILY_NEW_ARRAY ? delete_array_names : plain;
}

/* ---- patterns ---- */

/* * is any text, ONE (unless 0) any character. */
static bool pattern_fits(const char *pattern, const char *text, char one)
{
        const char *star = NULL, *again = NULL;

        for (;;) {
                if (*pattern == '*') {
                        star = ++pattern;
                        again = text;
                } else if (*text && (*pattern == *text || (one && *pattern == one))) {
                        pattern++;
                        text++;
                } else if (!*text && !*pattern) {
                        return true;
                } else if (star && *again) {
                        pattern = star;
                        text = ++again;
                } else {
                        return false;
                }
        }
}

/* Without the parameters, too. */
static bool name_fits(const char *pattern, const char *name, char one)
{
        size_t length = label_length(name);
        char *bare;
        bool fits;

        if (pattern_fits(pattern, name, one))
                return true;
        if (!name[length])
                return false;
        bare = heap_text(name);
        bare[length] = 0;
        fits = pattern_fits(pattern, bare, one);
        free(bare);
        return fits;
}

static bool function_fits(const struct rule_view *v, const struct frame *frame,
                          const struct suppress_line *line)
{
        const char *raw;

        for (const char *const *name = frame->names; name && *name; name++)
                if (pattern_fits(line->pattern, *name, '?'))
                        return true;
        if (frame->names)
                return false;
        if (!frame->function)
                return pattern_fits(line->pattern, "???", '?');
        if (name_fits(line->pattern, frame->function, '?'))
                return true;
        if (line->readable && strcmp(line->readable, frame->function) == 0)
                return true;
        raw = line->raw && frame->node ? symbols_raw_name(v->names, frame->node) : NULL;
        return raw && pattern_fits(line->pattern, raw, '?');
}

static bool place_fits(const struct frame *frame, const struct suppress_line *line)
{
        if (!frame->file || (line->line && line->line != frame->line))
                return false;
        return pattern_fits(line->pattern, frame->file, '?') ||
               pattern_fits(line->pattern, label_base(frame->file), '?');
}

static bool any_fits(const struct frame *frame, const struct suppress_line *line)
{
        for (const char *const *name = frame->names; name && *name; name++)
                if (pattern_fits(line->pattern, *name, 0))
                        return true;
        return (frame->function && pattern_fits(line->readable, frame->function, 0)) ||
               (frame->file && pattern_fits(line->pattern, frame->file, 0)) ||
               (frame->module && pattern_fits(line->pattern, frame->module, 0));
}

static bool line_fits_frame(const struct rule_view *v, const struct frame *frame,
                            const struct suppress_line *line)
{
        switch (line->match) {
        case SUPPRESS_FUNCTION:
                return function_fits(v, frame, line);
        case SUPPRESS_OBJECT:
                return pattern_fits(line->pattern, frame->module ? frame->module : "???", '?');
        case SUPPRESS_PLACE:
                return place_fits(frame, line);
        default:
                return any_fits(frame, line);
        }
}

/* Whether line K of RULE, whose first line has the number FIRST, fits.  Found out once. */
static bool line_fits(const struct rule_view *v, const struct frame *frame,
                      const struct suppress_rule *rule, uint32_t first, uint32_t k)
{
        uint8_t *known = &v->memo->fits[(size_t)frame->number * v->memo->lines + first + k];

        if (!*known)
                *known = line_fits_frame(v, frame, &rule->lines[k]) ? 2 : 1;
        return *known == 2;
}

/* ---- stacks ---- */

/* Which lines may fit FRAME; those that need its mangled name are not tried for that. */
static uint64_t lines_that_may(const struct rule_view *v, const struct suppressions *s,
                               const struct frame *frame)
{
        uint64_t may = 0;

        for (uint32_t i = 0; i < s->count; i++)
                for (uint32_t k = 0; k < s->rules[i].line_count; k++) {
                        const struct suppress_line *line = &s->rules[i].lines[k];

                        if (line->match != SUPPRESS_REST &&
                            (line->raw || line_fits(v, frame, &s->rules[i], v->memo->first[i], k)))
                                may |= line_bit(v->memo->first[i] + k);
                }
        return may;
}

/* FRAME is told from others by the address of WHAT. */
static void view_add(struct rule_view *v, const struct suppressions *s, struct frame frame,
                     const void *what)
{
        struct suppress_memo *m = v->memo;
        uint32_t *known = lookup_pointer(&m->known, what);

        if (!*known) {
                if (m->count == m->room) {
                        m->room = m->room ? m->room * 2 : 256;
                        m->fits = heap_grow(m->fits, m->room, m->lines);
                        m->may = heap_grow(m->may, m->room, sizeof *m->may);
                }
                memset(m->fits + (size_t)m->count * m->lines, 0, m->lines);
                frame.number = m->count;
                m->may[m->count] = lines_that_may(v, s, &frame);
                *known = ++m->count;
        }
        frame.number = *known - 1;
        v->may |= m->may[frame.number];
        if (v->count == m->frame_room) {
                m->frame_room = m->frame_room ? m->frame_room * 2 : 64;
                m->frames = heap_grow(m->frames, m->frame_room, sizeof *m->frames);
        }
        v->frames = m->frames;
        v->frames[v->count++] = frame;
}

/* Valid until the next one. */
static struct rule_view view_make(struct suppressions *s, const struct profile *p,
                                  struct symbols *names, uint32_t node,
                                  const char *const *innermost)
{
        struct rule_view v = { .profile = p, .node = node, .memo = memo_of(s, names),
                               .names = names };

        view_add(&v, s, (struct frame){ .names = innermost }, innermost);
        for (; node > 1; node = p->nodes[node].parent) {
                const struct symbol_frame *frames;
                uint32_t count = symbols_node(names, node, &frames), module = p->nodes[node].module;

                for (uint32_t i = 0; i < count; i++)
                        view_add(&v, s,
                                 (struct frame){ .function = frames[i].function,
                                                 .file = frames[i].file,
                                                 .line = frames[i].line,
                                                 .module = module < p->module_count
                                                                   ? p->modules[module].path
                                                                   : NULL,
                                                 .node = i + 1 == count ? node : 0 },
                                 &frames[i]);
        }
        return v;
}

/* The lines from the innermost frame on; frames outside of the last line do not matter. */
static bool lines_fit(const struct rule_view *v, const struct suppress_rule *rule, uint32_t first)
{
        uint32_t line = 0, frame = 0, rest = UINT32_MAX, again = 0;

        while (line < rule->line_count) {
                if (rule->lines[line].match == SUPPRESS_REST) {
                        rest = ++line;
                        again = frame;
                } else if (frame < v->count && line_fits(v, &v->frames[frame], rule, first, line)) {
                        line++;
                        frame++;
                } else if (rest != UINT32_MAX && again < v->count) {
                        line = rest;
                        frame = ++again;
                } else {
                        return false;
                }
        }
        return true;
}

/* Whether all frames up to the first function of a script, or to the outer end, are of a Python
 * interpreter, its own modules and the C library: what a module of others lost is lost. */
static bool is_interpreters(const struct rule_view *v)
{
        const struct profile *p = v->profile;

        for (uint32_t node = v->node; node > 1; node = p->nodes[node].parent) {
                uint32_t module = p->nodes[node].module;
                const char *path = module < p->module_count ? p->modules[module].path : NULL;

                if (!path || path[0] != '/')
                        return true;
                if (interpreter_of(path) != INTERPRETER_PYTHON && !c_library_has(path) &&
                    !strstr(path, "/lib-dynload/"))
                        return false;
        }
        return true;
}

static bool rule_fits(const struct rule_view *v, const struct suppress_rule *rule, uint32_t first)
{
        if (rule->interpreter && !is_interpreters(v))
                return false;
        if (rule->lines[0].match != SUPPRESS_ANY)
                return lines_fit(v, rule, first);
        for (uint32_t i = 0; i < v->count; i++)
                if (line_fits(v, &v->frames[i], rule, first, 0))
                        return true;
        return false;
}

static struct suppress_rule *first_fit(struct suppressions *s, const struct rule_view *v,
                                       enum suppress_about about, uint32_t leaks)
{
        for (uint32_t i = 0; i < s->count; i++) {
                struct suppress_rule *rule = &s->rules[i];

                if (rule->about == about && (rule->leaks & leaks) &&
                    !(s->memo.needs[i] & ~v->may) && rule_fits(v, rule, s->memo.first[i])) {
                        rule->times++;
                        return rule;
                }
        }
        return NULL;
}

struct suppress_rule *suppress_leak(struct suppressions *s, const struct profile *p,
                                    struct symbols *names, uint32_t site, uint32_t leak)
{
        struct rule_view v;

        if (!(memo_of(s, names)->leaks >> leak & 1))
                return NULL;
        v = view_make(s, p, names, p->sites[site].node, allocation_names(p->sites[site].kind));
        return first_fit(s, &v, SUPPRESS_LEAK, 1u << leak);
}

struct suppress_rule *suppress_release(struct suppressions *s, const struct profile *p,
                                       struct symbols *names, const struct profile_error *error)
{
        struct rule_view v = view_make(s, p, names, error->node, release_names(error->release));

        return first_fit(s, &v, SUPPRESS_RELEASE, ~0u);
}
