/* SPDX-License-Identifier: MIT */
/*
 * dump.c -- every field of a profile in memory as JSON, for comparison with readers of the file.
 *
 * Lists the fields once more, on purpose: it must not share the tables that the writer uses.
 */
#include "dump.h"

#include <string.h>

static void key(struct str *out, const char *name)
{
        char last = out->length ? out->data[out->length - 1] : 0;

        str_format(out, "%s\"%s\": ", last == '{' ? "" : ", ", name);
}

static void number(struct str *out, const char *name, uint64_t value)
{
        key(out, name);
        str_format(out, "%llu", (unsigned long long)value);
}

static void hex(struct str *out, const void *bytes, size_t count)
{
        str_char(out, '"');
        for (size_t i = 0; i < count; i++)
                str_format(out, "%02x", ((const unsigned char *)bytes)[i]);
        str_char(out, '"');
}

static void text(struct str *out, const char *value)
{
        if (value)
                hex(out, value, strlen(value));
        else
                str_text(out, "null");
}

static void texts(struct str *out, const char *name, char **values, uint32_t count)
{
        key(out, name);
        str_char(out, '[');
        for (uint32_t i = 0; i < count; i++) {
                str_text(out, i ? ", " : "");
                text(out, values[i]);
        }
        str_char(out, ']');
}

static void numbers(struct str *out, const char *name, const uint64_t *values, size_t count)
{
        key(out, name);
        str_char(out, '[');
        for (size_t i = 0; i < count; i++)
                str_format(out, "%s%llu", i ? ", " : "", (unsigned long long)values[i]);
        str_char(out, ']');
}

#define NUMBER(field) number(out, #field, r->field);
#define TEXT(field) (key(out, #field), text(out, r->field));

/* One array: {"name": [{...}, ...]}, FIELDS between the braces. */
#define ARRAY(name, counter, record, ...)                           \
        key(out, #name);                                            \
        str_char(out, '[');                                         \
        for (uint64_t i = 0; i < p->counter; i++) {                 \
                const struct record *r = &p->name[i];               \
                str_text(out, i ? ",\n {" : "\n {");                \
                __VA_ARGS__                                         \
                str_char(out, '}');                                 \
        }                                                           \
        str_char(out, ']');

static void dump_meta(const struct profile_meta *r, struct str *out)
{
        key(out, "meta");
        str_char(out, '{');
        TEXT(program) TEXT(exe) TEXT(cwd) TEXT(host) TEXT(engine) TEXT(version)
        texts(out, "args", r->args, r->arg_count);
        texts(out, "warnings", r->warnings, r->warning_count);
        NUMBER(pid) NUMBER(ppid) NUMBER(start_realtime_ns) NUMBER(duration_ms) NUMBER(end)
        NUMBER(exit_code)
        NUMBER(exit_signal) NUMBER(flags) NUMBER(complete) NUMBER(stop_reason) NUMBER(depth)
        NUMBER(word_bytes)
        NUMBER(machine) NUMBER(byte_order) NUMBER(page_bytes)
        str_char(out, '}');
}

static void dump_totals(const struct profile_totals *r, struct str *out)
{
        key(out, "totals");
        str_char(out, '{');
        NUMBER(allocations) NUMBER(frees) NUMBER(bytes_allocated) NUMBER(live_blocks)
        NUMBER(live_bytes)
        NUMBER(peak_bytes) NUMBER(peak_blocks) NUMBER(peak_ms) NUMBER(peak_error_bytes)
        NUMBER(temporary)
        NUMBER(unknown_frees) NUMBER(double_frees) NUMBER(mismatched) NUMBER(mmap_calls)
        NUMBER(mmap_bytes)
        NUMBER(mmap_live_bytes) NUMBER(rss_peak_bytes) NUMBER(truncated_stacks) NUMBER(lost_events)
        NUMBER(untracked_blocks) NUMBER(forks_not_followed) NUMBER(verify_captures)
        NUMBER(verify_differences)
        NUMBER(verify_backtraces) NUMBER(verify_backtrace_differences)
        numbers(out, "sizes", r->sizes, sizeof r->sizes / sizeof *r->sizes);
        numbers(out, "lifetimes", r->lifetimes, sizeof r->lifetimes / sizeof *r->lifetimes);
        NUMBER(sample_bytes) NUMBER(mappings_ms) NUMBER(own_malloc) NUMBER(forked)
        NUMBER(missed_frees)
        NUMBER(unseen_blocks) NUMBER(held_back) NUMBER(quarantine_blocks) NUMBER(quarantine_bytes)
        NUMBER(quarantine_ms)
        NUMBER(omitted) NUMBER(omitted_bytes) NUMBER(omitted_maps) NUMBER(omitted_map_bytes)
        NUMBER(ledger_bytes) NUMBER(ledger_limit) NUMBER(thin_bytes) NUMBER(thin_events)
        NUMBER(ledger_full)
        NUMBER(thin_ms[0]) NUMBER(thin_ms[1]) NUMBER(thin_ms[2]) NUMBER(thin_ms[3])
        NUMBER(thin_ms[4]) NUMBER(thin_ms[5])
        NUMBER(thin_ms[6]) NUMBER(thin_ms[7])
        NUMBER(modules_not_kept) NUMBER(threads_not_kept) NUMBER(regions_not_kept)
        NUMBER(handles_not_kept) NUMBER(errors_not_kept)
        NUMBER(roots_not_kept) NUMBER(marks_not_kept) NUMBER(deaths_not_kept)
        NUMBER(strings_not_kept) NUMBER(shut_out) NUMBER(namespaces)
        NUMBER(older) NUMBER(attached) NUMBER(one_way)
        NUMBER(mappings_live_bytes) NUMBER(mappings_live_blocks)
        str_char(out, '}');
}

static void dump_stacks(const struct profile *p, struct str *out)
{
        ARRAY(modules, module_count, profile_module, NUMBER(start) NUMBER(end) NUMBER(bias)
              TEXT(path) NUMBER(load_ms)
              NUMBER(gone_ms) NUMBER(flags) NUMBER(build_id_bytes) key(out, "build_id");
              hex(out, r->build_id, 20);
              NUMBER(code_start) NUMBER(code_end) NUMBER(code_offset) NUMBER(device) NUMBER(inode))
        ARRAY(nodes, node_count, profile_node, NUMBER(pc) NUMBER(parent) NUMBER(exact)
              key(out, "module");
              if (r->module == PROFILE_NO_MODULE) str_text(out, "null");
              else str_format(out, "%u", r->module);)
        ARRAY(sites, site_count, profile_site, NUMBER(node) NUMBER(kind) NUMBER(allocs)
              NUMBER(frees)
              NUMBER(alloc_bytes) NUMBER(live_blocks) NUMBER(live_bytes) NUMBER(peak_blocks)
              NUMBER(peak_bytes)
              NUMBER(temporary) NUMBER(lifetime_ms))
        ARRAY(symbols, symbol_count, profile_symbol, NUMBER(module) NUMBER(inline_depth)
              NUMBER(address) TEXT(function)
              TEXT(file) NUMBER(line))
}

static void dump_rest(const struct profile *p, struct str *out)
{
        ARRAY(threads, thread_count, profile_thread, NUMBER(tid) TEXT(name) NUMBER(start_ms)
              NUMBER(end_ms)
              NUMBER(allocations) NUMBER(bytes_allocated) NUMBER(live_blocks) NUMBER(live_bytes))
        ARRAY(shares, share_count, profile_share, NUMBER(site) NUMBER(thread) NUMBER(allocs)
              NUMBER(alloc_bytes)
              NUMBER(frees) NUMBER(free_bytes) NUMBER(temporary))
        ARRAY(slices, slice_count, profile_slice, NUMBER(ms) NUMBER(live_bytes) NUMBER(live_blocks)
              NUMBER(allocs)
              NUMBER(alloc_bytes) NUMBER(frees) NUMBER(rss_bytes) NUMBER(change_first)
              NUMBER(change_count) NUMBER(flags))
        ARRAY(changes, change_count, profile_change, NUMBER(site) NUMBER(live_bytes)
              NUMBER(live_blocks) NUMBER(allocs)
              NUMBER(alloc_bytes))
        ARRAY(blocks, block_count, profile_block, NUMBER(address) NUMBER(size) NUMBER(site)
              NUMBER(thread)
              NUMBER(birth_ms))
        ARRAY(regions, region_count, profile_region, NUMBER(start) NUMBER(end) NUMBER(site)
              NUMBER(thread)
              NUMBER(birth_ms) NUMBER(stack))
        ARRAY(errors, error_count, profile_error, NUMBER(type) NUMBER(node) NUMBER(alloc_site)
              NUMBER(release)
              NUMBER(thread) NUMBER(address) NUMBER(size) NUMBER(count) NUMBER(first_ms)
              NUMBER(free_node)
              NUMBER(wrong) NUMBER(alignment) NUMBER(given))
}

static void dump_marks(const struct profile *p, struct str *out)
{
        ARRAY(marks, mark_count, profile_mark, NUMBER(type) NUMBER(seq) NUMBER(slice) NUMBER(thread)
              NUMBER(flags) NUMBER(era)
              NUMBER(ms) TEXT(label))
        ARRAY(deaths, death_count, profile_death, NUMBER(site) NUMBER(birth) NUMBER(death)
              NUMBER(blocks) NUMBER(bytes))
        ARRAY(handles, handle_count, profile_handle, NUMBER(handle) NUMBER(amount) NUMBER(site)
              NUMBER(thread) NUMBER(birth_ms))
        ARRAY(jit, jit_count, profile_jit, NUMBER(start) NUMBER(bytes) TEXT(name))
        ARRAY(mappings, mapping_count, profile_mapping,
              NUMBER(start) NUMBER(end) NUMBER(rss_bytes) NUMBER(anonymous_bytes) NUMBER(flags)
              TEXT(name) NUMBER(offset)
              NUMBER(device) NUMBER(inode) NUMBER(unrecorded_blocks) NUMBER(unrecorded_bytes))
        key(out, "types");
        str_char(out, '[');
        for (uint32_t i = 0; i < p->type_count; i++) {
                str_text(out, i ? ", {\"name\": " : "{\"name\": ");
                text(out, p->types[i]);
                str_char(out, '}');
        }
        str_char(out, ']');
}

static void dump_leaks(const struct profile *p, struct str *out)
{
        ARRAY(scans, scan_count, profile_scan, NUMBER(ms) NUMBER(when) NUMBER(flags) NUMBER(threads)
              NUMBER(roots) NUMBER(pause_us)
              NUMBER(scan_us) NUMBER(root_bytes) NUMBER(heap_bytes) TEXT(trouble) TEXT(suppressions)
              NUMBER(gone) NUMBER(unseen))
        ARRAY(verdicts, verdict_count, profile_verdict, NUMBER(leak) NUMBER(flags) NUMBER(head)
              NUMBER(vtable))
        ARRAY(contents, content_count, profile_content, NUMBER(block) NUMBER(bytes)
              key(out, "data"); hex(out, r->data, 64);)
        ARRAY(roots, root_count, profile_root, NUMBER(start) NUMBER(end) NUMBER(kind) NUMBER(tid)
              NUMBER(module) NUMBER(region)
              NUMBER(base))
        ARRAY(frames, frame_count, profile_frame, NUMBER(low) NUMBER(high) NUMBER(pc) NUMBER(tid)
              NUMBER(module) NUMBER(exact))
        ARRAY(holds, hold_count, profile_hold, NUMBER(at) NUMBER(from) NUMBER(to) NUMBER(flags))
        ARRAY(pointers, pointer_count, profile_pointer, NUMBER(at) NUMBER(from) NUMBER(to)
              NUMBER(flags))
}

void dump_profile(const struct profile *p, struct str *out)
{
        str_char(out, '{');
        dump_meta(&p->meta, out);
        dump_totals(&p->totals, out);
        dump_stacks(p, out);
        dump_rest(p, out);
        dump_marks(p, out);
        dump_leaks(p, out);
        str_text(out, "}\n");
}
