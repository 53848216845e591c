/* SPDX-License-Identifier: MIT */
/* info.c -- `seep info` as JSON, and the words both formats share. */
#include "cli/info.h"

#include <elf.h>
#include <string.h>

#include "base/json.h"
#include "profile/machine.h"
#include "profile/unseen.h"
#include "wire/hello.h"

const struct info_flag info_flags[INFO_FLAG_COUNT] = {
        { WIRE_F_NO_MMAP, "no-mmap", "without mappings" },
        { WIRE_F_NO_CXX, "no-cxx", "operator new recorded as malloc" },
        { WIRE_F_NO_STACKS, "no-stacks", "without stacks" },
        { WIRE_F_VERIFY, "verify", "every stack compared with a full unwind" },
        { WIRE_F_FREE_STACKS, "free-stacks", "with stacks of frees" },
        { WIRE_F_START_OFF, "start-off", "switched off at the start" },
        { WIRE_F_TRACK_FDS, "track-fds", "with file descriptors" },
        { WIRE_F_EVENTS, "events", "with an event log" },
        { WIRE_F_ATTENDED, "attended", "started by the program itself" },
        { WIRE_F_LIMIT_ENOMEM, "limit-enomem", "allocations beyond the limit fail" },
        { WIRE_F_LIMIT_SNAPSHOT, "limit-snapshot", "a snapshot at the limit" },
        { WIRE_F_KEEP_GOING, "keep-going", "invalid frees not passed on" },
        { WIRE_F_DEEPBIND, "deepbind", "RTLD_DEEPBIND left in place" },
        { WIRE_F_OMIT, "omit", "without the allocations of some modules" },
        { WIRE_F_LEAK_SCAN, "leak-scan", "leaks searched for at the end" },
};

uint64_t info_count(uint64_t count, uint64_t less)
{
        return count > less ? count - less : 0;
}

/* "exit", "signal", ... for meta.end. */
static const char *info_end_word(uint32_t end)
{
        static const char *const words[] = { "running", "exit", "signal", "exec", "gone" };

        return end <= PROFILE_END_GONE ? words[end] : words[0];
}

void info_build_id(const struct profile_module *m, struct str *out)
{
        for (uint32_t i = 0; i < m->build_id_bytes; i++)
                str_format(out, "%02x", m->build_id[i]);
}

static void add_section(struct info_section *sum, const struct file_section *s)
{
        sum->pieces++;
        sum->damaged += !s->whole;
        sum->stored_bytes += s->stored_bytes;
        sum->raw_bytes += s->raw_bytes;
}

bool info_sum_sections(const struct file_layout *l, uint32_t i, struct info_section *sum)
{
        const char *name = l->sections[i].name;

        *sum = (struct info_section){ 0 };
        for (uint32_t k = 0; k < l->count; k++) {
                if (strcmp(l->sections[k].name, name))
                        continue;
                if (k < i)
                        return false;
                add_section(sum, &l->sections[k]);
        }
        return true;
}

void info_sum_log(const struct file_layout *l, struct info_section *sum)
{
        *sum = (struct info_section){ 0 };
        for (uint32_t i = 0; i < l->count; i++)
                if (!strcmp(l->sections[i].name, "events"))
                        add_section(sum, &l->sections[i]);
}

static void put_key(struct str *out, const char *key)
{
        str_format(out, "%s\"%s\": ", out->data[out->length - 1] == '{' ? "" : ", ", key);
}

static void put_text(struct str *out, const char *key, const char *text)
{
        put_key(out, key);
        json_text(out, text);
}

static void put_number(struct str *out, const char *key, uint64_t value)
{
        put_key(out, key);
        str_format(out, "%llu", (unsigned long long)value);
}

static void put_bool(struct str *out, const char *key, bool value)
{
        put_key(out, key);
        str_text(out, value ? "true" : "false");
}

static void put_texts(struct str *out, const char *key, char **texts, uint32_t count)
{
        put_key(out, key);
        str_char(out, '[');
        for (uint32_t i = 0; i < count; i++) {
                str_text(out, i ? ", " : "");
                json_text(out, texts[i]);
        }
        str_char(out, ']');
}

static void put_exit(struct str *out, const struct profile_meta *m)
{
        put_text(out, "end", info_end_word(m->end));
        put_key(out, "exit");
        str_char(out, '{');
        put_key(out, "code");
        if (m->end == PROFILE_END_EXIT)
                str_format(out, "%u", m->exit_code);
        else
                str_text(out, "null");
        put_key(out, "signal");
        if (m->end == PROFILE_END_SIGNAL)
                str_format(out, "%u", m->exit_signal);
        else
                str_text(out, "null");
        str_char(out, '}');
}

static void put_meta(struct str *out, const struct profile_meta *m)
{
        char name[MACHINE_NAME_MAX];
        bool first = true;

        put_text(out, "program", m->program);
        put_texts(out, "args", m->args, m->arg_count);
        put_text(out, "executable", m->exe);
        put_text(out, "directory", m->cwd);
        put_text(out, "host", m->host);
        put_text(out, "machine", machine_name(m->machine, name));
        put_number(out, "word_bits", 8ull * m->word_bytes);
        put_text(out, "byte_order", m->byte_order == ELFDATA2MSB ? "big" : "little");
        put_number(out, "page_bytes", m->page_bytes);
        put_text(out, "engine", m->engine);
        put_text(out, "version", m->version);
        put_number(out, "pid", m->pid);
        put_number(out, "parent_pid", m->ppid);
        put_number(out, "start_ns", m->start_realtime_ns);
        put_number(out, "duration_ms", m->duration_ms);
        put_exit(out, m);
        put_number(out, "depth", m->depth);
        put_key(out, "flags");
        str_char(out, '[');
        for (unsigned i = 0; i < INFO_FLAG_COUNT; i++)
                if (m->flags & info_flags[i].flag) {
                        str_format(out, "%s\"%s\"", first ? "" : ", ", info_flags[i].word);
                        first = false;
                }
        str_char(out, ']');
}

static void put_counts(struct str *out, const struct profile *p)
{
        put_key(out, "counts");
        str_char(out, '{');
#define PUT_COUNT(member, key, noun, less) put_number(out, key, info_count(p->member, less));
        INFO_COUNTS(PUT_COUNT)
#undef PUT_COUNT
        str_char(out, '}');
}

static void put_log(struct str *out, const struct file_layout *l)
{
        struct info_section sum;

        info_sum_log(l, &sum);
        put_key(out, "event_log");
        if (!sum.pieces) {
                str_text(out, "null");
                return;
        }
        str_char(out, '{');
        put_number(out, "bytes", sum.stored_bytes);
        put_number(out, "batches", sum.pieces);
        put_bool(out, "whole", !sum.damaged);
        str_char(out, '}');
}

static void put_classes(struct str *out, const struct profile *p)
{
        struct info_class sums[PROFILE_LEAK_COUNT];

        info_sum_classes(p, sums);
        put_key(out, "classes");
        str_char(out, '{');
        for (uint32_t leak = PROFILE_LEAK_COUNT; --leak > PROFILE_LEAK_UNKNOWN;) {
                put_key(out, profile_leak_word(leak));
                str_char(out, '{');
                put_number(out, "blocks", sums[leak].blocks);
                put_number(out, "bytes", sums[leak].bytes);
                str_char(out, '}');
        }
        str_char(out, '}');
}

/* null: nobody searched.  With "trouble": somebody tried. */
static void put_scan(struct str *out, const struct profile *p)
{
        const struct profile_scan *s = p->scans;

        put_key(out, "leak_search");
        if (!p->scan_count) {
                str_text(out, "null");
                return;
        }
        str_char(out, '{');
        put_text(out, "when", profile_scan_word(s->when));
        put_number(out, "ms", s->ms);
        put_text(out, "trouble", *s->trouble ? s->trouble : NULL);
        put_bool(out, "graph", s->flags & PROFILE_SCAN_GRAPH);
        put_bool(out, "copy", s->flags & PROFILE_SCAN_COPY);
        put_bool(out, "unaligned", s->flags & PROFILE_SCAN_UNALIGNED);
        put_bool(out, "increment", s->flags & PROFILE_SCAN_INCREMENT);
        put_number(out, "pause_us", s->pause_us);
        put_number(out, "scan_us", s->scan_us);
        put_number(out, "threads", s->threads);
        put_number(out, "roots", s->roots);
        put_number(out, "root_bytes", s->root_bytes);
        put_number(out, "heap_bytes", s->heap_bytes);
        put_classes(out, p);
        str_char(out, '}');
}

static void put_marks(struct str *out, const struct profile *p)
{
        put_key(out, "marks");
        str_char(out, '[');
        for (uint32_t i = 0; i < p->mark_count; i++) {
                const struct profile_mark *m = &p->marks[i];

                str_text(out, i ? ",\n    {" : "\n    {");
                put_text(out, "type", profile_mark_word(m->type));
                put_number(out, "number", m->seq);
                put_text(out, "label", m->label);
                put_number(out, "ms", m->ms);
                put_number(out, "thread", m->thread);
                put_number(out, "live_bytes", p->slices[m->slice].live_bytes);
                put_number(out, "live_blocks", p->slices[m->slice].live_blocks);
                put_bool(out, "exact", m->flags & LEDGER_MARK_WAITED);
                str_char(out, '}');
        }
        str_char(out, ']');
}

static void put_sections(struct str *out, const struct file_layout *l)
{
        put_key(out, "sections");
        str_char(out, '[');
        for (uint32_t i = 0; i < l->count; i++) {
                str_text(out, i ? ",\n    {" : "\n    {");
                put_text(out, "name", l->sections[i].name);
                put_number(out, "type", l->sections[i].type);
                put_number(out, "offset", l->sections[i].offset);
                put_number(out, "stored_bytes", l->sections[i].stored_bytes);
                put_number(out, "raw_bytes", l->sections[i].raw_bytes);
                put_bool(out, "whole", l->sections[i].whole);
                str_char(out, '}');
        }
        str_char(out, ']');
}

static void put_module(struct str *out, const struct profile_module *m, const struct info_names *n)
{
        struct str id = { 0 };

        info_build_id(m, &id);
        put_text(out, "path", m->path);
        put_text(out, "build_id", m->build_id_bytes ? str_get(&id) : NULL);
        put_key(out, "start");
        str_format(out, "\"0x%llx\"", (unsigned long long)m->start);
        put_key(out, "end");
        str_format(out, "\"0x%llx\"", (unsigned long long)m->end);
        put_key(out, "bias");
        str_format(out, "\"0x%llx\"", (unsigned long long)m->bias);
        if (n) {
                put_number(out, "frames_asked", n->asked);
                put_number(out, "frames_named", n->named);
                put_bool(out, "lines", n->lines);
        }
        str_free(&id);
}

void info_json(const struct info *info, struct str *out)
{
        const struct profile *p = &info->profile;

        str_char(out, '{');
        put_number(out, "seep", 1);
        put_text(out, "file", info->file);
        put_number(out, "bytes", info->layout.bytes);
        put_number(out, "format_version", info->layout.format_version);
        put_bool(out, "whole", !p->truncated);
        put_bool(out, "complete", p->meta.complete);
        put_texts(out, "warnings", p->meta.warnings, p->meta.warning_count);
        put_key(out, "full");
        unseen_full_json(p, out);
        put_meta(out, &p->meta);
        put_number(out, "ledger_bytes", p->totals.ledger_bytes);
        put_number(out, "older", p->totals.older);
        put_counts(out, p);
        put_texts(out, "types", p->types, p->type_count);
        put_log(out, &info->layout);
        put_scan(out, p);
        put_marks(out, p);
        put_sections(out, &info->layout);
        put_key(out, "modules");
        str_char(out, '[');
        for (uint32_t i = 0; i < p->module_count; i++) {
                str_text(out, i ? ",\n    {" : "\n    {");
                put_module(out, &p->modules[i], info->names ? &info->names[i] : NULL);
                str_char(out, '}');
        }
        str_text(out, "]}\n");
}
