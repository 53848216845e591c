/* SPDX-License-Identifier: MIT */
#include "query/root_name.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "profile/machine.h"
#include "query/block_origin.h"
#include "words/label.h"
#include "words/text.h"

/* ---- finding ---- */

/* Numbers of threads are used again: the last one that had it. */
static const char *thread_name(const struct profile *p, uint32_t tid)
{
        for (uint32_t i = p->thread_count; tid && i-- > 0;)
                if (p->threads[i].tid == tid) /* a core file has no names */
                        return p->threads[i].name && *p->threads[i].name ? p->threads[i].name
                                                                         : NULL;
        return NULL;
}

static void find_frame(const struct profile *p, struct symbols *s, struct root_name *h)
{
        uint32_t number = 0;

        for (uint32_t i = 0; i < p->frame_count; i++) {
                const struct profile_frame *frame = &p->frames[i];

                if (frame->tid != h->root->tid)
                        continue;
                if (frame->low <= h->at && h->at < frame->high) {
                        h->frame = number;
                        h->stopped = frame;
                        symbols_stopped(s, frame, &h->function);
                        if (variable_in_frame(s, frame->module, frame->pc, frame->exact,
                                              frame->high, h->at, &h->variable))
                                h->offset = h->at - h->variable.start;
                        return;
                }
                number++;
        }
}

static uint64_t module_bias(const struct profile *p, uint32_t module)
{
        return module < p->module_count ? p->modules[module].bias : 0;
}

struct root_name root_name_at(const struct profile *p, struct symbols *s, uint32_t index,
                              uint64_t at)
{
        const struct profile_root *root = &p->roots[index];
        struct root_name h = { .root = root, .at = at, .frame = ROOT_NAME_NO_FRAME };

        h.thread = thread_name(p, root->tid);
        h.offset = h.at - root->start;
        if (root->kind == PROFILE_ROOT_DATA) {
                h.offset = h.at - module_bias(p, root->module);
                if (variable_at(s, root->module, h.at, &h.variable))
                        h.offset = h.at - h.variable.start;
        } else if (root->kind == PROFILE_ROOT_TLS && root->module < p->module_count) {
                h.offset = h.at - root->base;
                if (variable_tls(s, root->module, h.offset, &h.variable))
                        h.offset -= h.variable.start;
        } else if (root->kind == PROFILE_ROOT_STACK) {
                find_frame(p, s, &h);
        }
        return h;
}

/* ---- words ---- */

static void add_thread(const struct root_name *h, struct str *out)
{
        str_text(out, "thread ");
        if (h->thread)
                text_name(out, h->thread);
        str_format(out, h->thread ? " (%" PRIu32 ")" : "%" PRIu32, h->root->tid);
}

static const char *module_name(const struct profile *p, uint32_t module)
{
        return module < p->module_count && p->modules[module].path
                       ? label_base(p->modules[module].path)
                       : NULL;
}

static void add_variable(const struct profile *p, const struct root_name *h, struct str *out)
{
        const struct variable *v = &h->variable;

        str_text(out, v->name);
        if (v->function)
                str_format(out, " in %.*s()", (int)label_length(v->function), v->function);
        label_place(&(struct symbol_frame){ .file = v->file, .line = v->line }, out);
        if (module_name(p, h->root->module))
                str_format(out, " (%s)", module_name(p, h->root->module));
}

static void write_data(const struct profile *p, const struct root_name *h, struct str *out)
{
        const char *module = module_name(p, h->root->module);

        if (h->variable.name) {
                str_text(out,
                         h->variable.is_static || h->variable.function ? "static " : "global ");
                add_variable(p, h, out);
        } else if (module) {
                str_format(out, "data of %s", module);
        } else {
                str_text(out, "data of an unknown module");
        }
}

static void write_tls(const struct profile *p, const struct root_name *h, struct str *out)
{
        const char *module = module_name(p, h->root->module);

        if (h->variable.name) {
                str_text(out, "thread-local ");
                add_variable(p, h, out);
        } else if (module) {
                str_format(out, "thread-local data of %s", module);
        } else {
                str_text(out, "thread-local data");
        }
}

/* The function in one name, as lists show it. */
static void add_function(const struct profile *p, const struct root_name *h, struct str *out)
{
        size_t start = out->length;

        if (h->function->function) {
                str_text(out, h->function->function);
                if (symbol_name(h->function))
                        out->length = start + label_length(out->data + start);
                out->data[out->length] = 0;
        } else if (module_name(p, h->stopped->module)) {
                str_format(out, "%s+0x%" PRIx64, module_name(p, h->stopped->module),
                           h->stopped->pc - module_bias(p, h->stopped->module));
        } else {
                str_format(out, "0x%" PRIx64, h->stopped->pc);
        }
}

static void write_mapping(const struct profile *p, struct symbols *s, const struct root_name *h,
                          struct str *out)
{
        if (!h->root->region) {
                str_text(out, "memory mapped by the program");
                return;
        }
        str_text(out, "memory mapped by ");
        block_origin_write(p, block_origin_of(p, s, p->regions[h->root->region - 1].site), 0, out);
}

/* What needs no more than its kind. */
static const char *const plain_words[PROFILE_ROOT_COUNT] = {
        [PROFILE_ROOT_THREAD] = "thread data of the C library (keys, argument, result)",
        [PROFILE_ROOT_OTHER] = "memory of unknown origin",
        [PROFILE_ROOT_PENDING] = "block that realloc is moving"
};

void root_name_owner(const struct profile *p, struct symbols *s, const struct root_name *h,
                     struct str *out)
{
        switch (h->root->kind) {
        case PROFILE_ROOT_DATA:
                write_data(p, h, out);
                return;
        case PROFILE_ROOT_TLS:
                write_tls(p, h, out);
                return;
        case PROFILE_ROOT_STACK:
                str_text(out, "stack of ");
                add_thread(h, out);
                if (h->stopped) {
                        str_text(out, ", ");
                        add_function(p, h, out);
                }
                return;
        case PROFILE_ROOT_REGISTER:
                str_text(out, "registers of ");
                add_thread(h, out);
                return;
        case PROFILE_ROOT_MAPPING:
                write_mapping(p, s, h, out);
                return;
        case PROFILE_ROOT_API:
                str_format(out, "SEEP_ROOT 0x%" PRIx64 ", ", h->root->start);
                text_size(out, (int64_t)(h->root->end - h->root->start));
                return;
        default:
                str_text(out, plain_words[h->root->kind]);
                if (h->root->kind == PROFILE_ROOT_THREAD) {
                        str_text(out, " of ");
                        add_thread(h, out);
                }
        }
}

/* "local variable list of serve [server.c:90], frame 2 of thread main (4711)" */
static void write_stack(const struct profile *p, const struct root_name *h, struct str *out)
{
        if (h->variable.name)
                str_format(out, "local variable %s of ", h->variable.name);
        else
                str_text(out, "stack of ");
        if (h->stopped) {
                add_function(p, h, out);
                label_place(h->function, out);
                str_format(out, ", frame %" PRIu32 " of ", h->frame);
        }
        add_thread(h, out);
}

void root_name_write(const struct profile *p, struct symbols *s, const struct root_name *h,
                     struct str *out)
{
        const char *module = module_name(p, h->root->module);
        char name[MACHINE_NAME_MAX];

        switch (h->root->kind) {
        case PROFILE_ROOT_DATA:
                if (!h->variable.name && module)
                        str_format(out, "data at %s+0x%" PRIx64, module, h->offset);
                else
                        write_data(p, h, out);
                return;
        case PROFILE_ROOT_STACK:
                write_stack(p, h, out);
                return;
        case PROFILE_ROOT_REGISTER:
                str_format(out, "register %s of ",
                           machine_register(p->meta.machine, (uint32_t)(h->at / 8), name));
                add_thread(h, out);
                return;
        case PROFILE_ROOT_TLS:
                write_tls(p, h, out);
                str_text(out, " of ");
                add_thread(h, out);
                return;
        default:
                root_name_owner(p, s, h, out);
        }
}

/* ---- owners ---- */

static uint64_t function_key(const struct root_name *h)
{
        if (!h->stopped)
                return 0;
        /* Equal names have equal addresses. */
        return h->function->function ? (uintptr_t)h->function->function : h->stopped->pc;
}

struct root_name_key root_name_key(const struct profile *p, const struct root_name *h)
{
        uint64_t kind = (uint64_t)h->root->kind << 32;
        uint32_t site = h->root->region ? p->regions[h->root->region - 1].site : 0;

        switch (h->root->kind) {
        case PROFILE_ROOT_DATA:
        case PROFILE_ROOT_TLS:
                return (struct root_name_key){ kind | h->root->module,
                                               h->variable.name ? h->variable.start : UINT64_MAX };
        case PROFILE_ROOT_STACK:
                return (struct root_name_key){ kind | h->root->tid, function_key(h) };
        case PROFILE_ROOT_REGISTER:
        case PROFILE_ROOT_THREAD:
                return (struct root_name_key){ kind | h->root->tid, 0 };
        case PROFILE_ROOT_MAPPING:
                return (struct root_name_key){
                        kind, site && site < p->site_count ? p->nodes[p->sites[site].node].pc : 0 };
        case PROFILE_ROOT_API:
                return (struct root_name_key){ kind, h->root->start };
        default:
                return (struct root_name_key){ kind, 0 };
        }
}

/* ---- JSON ---- */

static const char *const kind_words[PROFILE_ROOT_COUNT] = {
#define ROOT_NAME_WORD(name, number, word) [number] = word,
        PROFILE_ROOTS(ROOT_NAME_WORD)
#undef ROOT_NAME_WORD
};

static void json_variable(const struct root_name *h, struct str *out)
{
        const struct variable *v = &h->variable;
        bool is_static = v->is_static || (v->function && h->root->kind != PROFILE_ROOT_STACK);

        json_text_field(out, ", \"variable\": {\"", "name", v->name);
        str_format(out, ", \"static\": %s, \"function\": ", is_static ? "true" : "false");
        json_text(out, v->function);
        json_place(out, v->file, v->line);
        json_field(out, ", \"", "size", v->size);
        str_char(out, '}');
}

void root_name_json(const struct profile *p, const struct root_name *h, struct str *out)
{
        const struct profile_root *root = h->root;
        char name[MACHINE_NAME_MAX];

        str_format(out, "\"kind\": \"%s\"", kind_words[root->kind]);
        if (root->kind == PROFILE_ROOT_REGISTER)
                str_format(out, ", \"register\": \"%s\"",
                           machine_register(p->meta.machine, (uint32_t)(h->at / 8), name));
        else
                str_format(out, ", \"address\": \"0x%" PRIx64 "\"", h->at);
        if (root->tid) {
                json_field(out, ", \"", "tid", root->tid);
                json_text_field(out, ", \"", "thread", h->thread);
        }
        if (h->variable.name)
                json_variable(h, out);
        if (h->stopped) {
                json_field(out, ", \"", "frame", h->frame);
                json_text_field(out, ", \"", "function", symbol_name(h->function));
                json_place(out, h->function->file, h->function->line);
                str_text(out, ", \"module\": ");
                json_text(out, h->stopped->module < p->module_count
                                       ? p->modules[h->stopped->module].path
                                       : NULL);
        } else if (root->kind == PROFILE_ROOT_DATA || root->kind == PROFILE_ROOT_TLS) {
                str_text(out, ", \"module\": ");
                json_text(out,
                          root->module < p->module_count ? p->modules[root->module].path : NULL);
        }
        if (root->region)
                json_field(out, ", \"", "site", p->regions[root->region - 1].site);
        json_field(out, ", \"", "offset", h->offset);
}
