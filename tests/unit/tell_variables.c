/* SPDX-License-Identifier: MIT */
/*
 * tell_variables.c -- questions about variables, one per line, for tests/e2e/test_variables.py.
 *
 * usage: tell_variables [DEBUG-PATH...] < QUESTIONS        an answer per line, JSON
 *
 *   module PATH BIAS START END            modules are numbered from 0 on; no answer
 *   data MODULE ADDRESS [OFFSET...]       each OFFSET: from there on, through the pointer, to the
 *                                         offset in what it points to thread MODULE OFFSET frame
 *                                         MODULE PC CFA ADDRESS class VTABLE
 *
 * Numbers are hexadecimal.
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/str.h"
#include "types/variable.h"

static struct profile profile;
static struct symbols *resolver;
static struct symbol_options options = { .no_debuginfod = true, .no_cache = true };

static uint64_t number(char **rest, bool *there)
{
        char *word = strtok_r(NULL, " \n", rest);

        *there = word != NULL;
        return word ? strtoull(word, NULL, 16) : 0;
}

static void tell_text(struct str *out, const char *key, const char *text)
{
        str_format(out, "%s\"%s\":", out->length > 1 ? "," : "", key);
        if (text)
                json_text(out, text);
        else
                str_text(out, "null");
}

static void tell_number(struct str *out, const char *key, uint64_t value)
{
        str_format(out, "%s\"%s\":%llu", out->length > 1 ? "," : "", key,
                   (unsigned long long)value);
}

static void tell_type(struct str *out, const char *key, struct variable_type type)
{
        struct str name = { 0 };

        tell_text(out, key, variable_type_name(resolver, type, &name) ? str_get(&name) : NULL);
        str_free(&name);
}

/* "path": the way from the variable, "->" for each pointer. */
static void tell_way(struct str *out, const struct variable *v, uint64_t offset, char **rest)
{
        struct str way = { 0 };
        struct variable_type type = v->type, member;
        bool more = true;

        while (more) {
                uint64_t next;

                variable_path(resolver, type, &offset, &member, &way);
                next = number(rest, &more);
                if (!more)
                        break;
                str_text(&way, "->");
                type = variable_target(resolver, member);
                offset = next;
        }
        tell_text(out, "path", str_get(&way));
        tell_number(out, "left", offset);
        tell_type(out, "member", member);
        tell_type(out, "target", variable_target(resolver, member));
        tell_number(out, "target_size",
                    variable_type_size(resolver, variable_target(resolver, member)));
        str_free(&way);
}

static void tell_variable(struct str *out, bool known, const struct variable *v, uint64_t address,
                          char **rest)
{
        if (!known)
                return;
        tell_text(out, "name", v->name);
        tell_text(out, "function", v->function);
        tell_text(out, "file", v->file);
        tell_number(out, "line", v->line);
        tell_number(out, "start", v->start);
        tell_number(out, "size", v->size);
        tell_number(out, "static", v->is_static);
        tell_type(out, "type", v->type);
        tell_number(out, "type_size", variable_type_size(resolver, v->type));
        tell_way(out, v, address - v->start, rest);
}

static void tell_class(struct str *out, uint64_t vtable)
{
        struct variable_type type;

        tell_text(out, "class", variable_class(resolver, vtable, &type));
        tell_type(out, "type", type);
        tell_number(out, "type_size", variable_type_size(resolver, type));
}

static void answer(const char *word, char **rest)
{
        struct str out = { 0 };
        struct variable v;
        uint64_t n[4] = { 0 };
        bool there = true;

        str_char(&out, '{');
        n[0] = number(rest, &there);
        if (strcmp(word, "class") != 0)
                n[1] = number(rest, &there);
        if (strcmp(word, "class") == 0) {
                tell_class(&out, n[0]);
        } else if (strcmp(word, "data") == 0) {
                tell_variable(&out, variable_at(resolver, (uint32_t)n[0], n[1], &v), &v, n[1],
                              rest);
        } else if (strcmp(word, "thread") == 0) {
                tell_variable(&out, variable_tls(resolver, (uint32_t)n[0], n[1], &v), &v, n[1],
                              rest);
        } else if (strcmp(word, "frame") == 0) {
                n[2] = number(rest, &there);
                n[3] = number(rest, &there);
                tell_variable(&out,
                              variable_in_frame(resolver, (uint32_t)n[0], n[1], false, n[2], n[3],
                                                &v),
                              &v, n[3], rest);
        }
        puts(str_get(&out)[1] ? (str_char(&out, '}'), str_get(&out)) : "null");
        str_free(&out);
}

static void read_build_id(struct profile_module *m)
{
        int fd = open(m->path, O_RDONLY | O_CLOEXEC);
        Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
        const void *id;
        ssize_t bytes = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;

        if (bytes > 0 && bytes <= (ssize_t)sizeof m->build_id) {
                memcpy(m->build_id, id, (size_t)bytes);
                m->build_id_bytes = (uint32_t)bytes;
        }
        elf_end(elf);
        close(fd);
}

static void add_module(char **rest)
{
        struct profile_module m = { .path = heap_text(strtok_r(NULL, " \n", rest)) };
        bool there;

        m.bias = number(rest, &there);
        m.start = number(rest, &there);
        m.end = number(rest, &there);
        read_build_id(&m);
        profile.modules = heap_grow(profile.modules, profile.module_count + 1, sizeof m);
        profile.modules[profile.module_count++] = m;
}

int main(int argc, char **argv)
{
        char line[8192];

        options.debug_paths = (const char **)(argv + 1);
        options.debug_path_count = (uint32_t)argc - 1;
        while (fgets(line, sizeof line, stdin)) {
                char *rest, *word = strtok_r(line, " \n", &rest);

                if (word && strcmp(word, "module") == 0) {
                        add_module(&rest);
                        continue;
                }
                if (!resolver)
                        resolver = symbols_new(&profile, &options);
                if (word)
                        answer(word, &rest);
        }
        symbols_free(resolver);
        profile_free(&profile);
        return 0;
}
