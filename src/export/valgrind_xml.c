/* SPDX-License-Identifier: MIT */
/*
 * valgrind_xml.c -- leaks and invalid frees as `valgrind --xml=yes` writes them (protocol 4).
 *
 * Keeps:  order and nesting of elements are those of Valgrind's
 *         docs/internals/xml-output-protocol4.txt: readers rely on it.
 */
#include "export/ci.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <stdio.h>

#include "base/xml.h"
#include "words/label.h"
#include "words/text.h"

static bool is_told(const struct finding *finding)
{
        return finding_words(finding->kind)->valgrind && finding->state != FINDING_KNOWN;
}

static void put_number(struct str *out, const char *indent, const char *name, uint64_t value)
{
        str_text(out, indent);
        str_char(out, '<');
        str_text(out, name);
        str_char(out, '>');
        str_number(out, value);
        str_text(out, "</");
        str_text(out, name);
        str_text(out, ">\n");
}

/* ---- the head ---- */

static void write_preamble(const struct findings_process *process, struct str *out)
{
        struct str command = { 0 };

        str_text(&command, "Command:");
        for (uint32_t i = 0; i < process->arg_count; i++)
                str_format(&command, " %s", process->args[i]);
        str_text(out,
                 "<preamble>\n  <line>seep " SEEP_VERSION ", leaks and invalid frees</line>\n");
        xml_element(out, "  ", "line", str_get(&command));
        str_text(out, "</preamble>\n\n");
        str_free(&command);
}

/* Days, hours, minutes, seconds. */
static void write_status(const char *state, uint64_t ms, struct str *out)
{
        uint64_t s = ms / 1000;

        str_format(out,
                   "<status>\n  <state>%s</state>\n  <time>%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64
                   ":%02" PRIu64 ".%03" PRIu64 " </time>\n</status>\n\n", state, s / 86400,
                   s / 3600 % 24, s / 60 % 60, s % 60, ms % 1000);
}

/* ---- errors ---- */

static void write_place(const struct finding_frame *frame, struct str *out)
{
        const char *base = label_base(frame->file);
        size_t length = base - frame->file > 1 ? (size_t)(base - frame->file) - 1
                                               : (size_t)(base - frame->file);
        char directory[PATH_MAX];

        if (length && length < sizeof directory) {
                memcpy(directory, frame->file, length);
                directory[length] = 0;
                xml_element(out, "      ", "dir", directory);
        }
        xml_element(out, "      ", "file", base);
        if (frame->line)
                put_number(out, "      ", "line", frame->line);
}

static void write_address(uint64_t address, struct str *out)
{
        char digits[2 + 16 + 1], *at = digits + sizeof digits - 1;

        *at = 0;
        do
                *--at = "0123456789ABCDEF"[address & 15];
        while (address >>= 4);
        *--at = 'x';
        *--at = '0';
        xml_element(out, "      ", "ip", at);
}

static void write_stack(const struct finding_stack *stack, struct str *out)
{
        static const struct finding_frame unknown;

        str_text(out, "  <stack>\n");
        for (uint32_t i = 0; i < (stack->count ? stack->count : 1); i++) {
                /* Readers want at least one frame. */
                const struct finding_frame *frame = stack->count ? &stack->frames[i] : &unknown;

                str_text(out, "    <frame>\n");
                write_address(frame->address, out);
                if (frame->module)
                        xml_element(out, "      ", "obj", frame->module);
                if (frame->signature)
                        xml_element(out, "      ", "fn", frame->signature);
                if (frame->file)
                        write_place(frame, out);
                str_text(out, "    </frame>\n");
        }
        str_text(out, "  </stack>\n");
}

static void begin_error(const struct finding *finding, uint32_t unique, struct str *out)
{
        str_format(out, "<error>\n  <unique>0x%" PRIx32 "</unique>\n", unique);
        put_number(out, "  ", "tid", finding->thread ? finding->thread : 1);
        xml_element(out, "  ", "kind", finding_words(finding->kind)->valgrind);
}

static void say_address(const struct finding *finding, struct str *out)
{
        str_format(out, "Address 0x%" PRIx64 " is ", finding->address);
        if (finding->kind == FINDING_UNKNOWN_FREE && !finding->offset) {
                str_text(out, "not stack'd, malloc'd or (recently) free'd");
                return;
        }
        text_number(out, (int64_t)finding->offset);
        str_text(out, " bytes inside a block of size ");
        text_number(out, (int64_t)finding->bytes);
        str_text(out, finding->kind == FINDING_DOUBLE_FREE ? " free'd" : " alloc'd");
}

static void write_release(const struct finding *finding, uint32_t unique, struct str *out)
{
        bool mismatched = finding->kind == FINDING_MISMATCHED;
        struct str about = { 0 };

        begin_error(finding, unique, out);
        xml_element(out, "  ", "what",
                    mismatched ? "Mismatched free() / delete / delete []"
                               : "Invalid free() / delete / delete[] / realloc()");
        write_stack(&finding->stack, out);
        say_address(finding, &about);
        xml_element(out, "  ", "auxwhat", str_get(&about));
        if (finding->first.count)
                write_stack(&finding->first, out);
        if (finding->origin.count && finding->kind == FINDING_DOUBLE_FREE)
                xml_element(out, "  ", "auxwhat", "Block was alloc'd at");
        if (finding->origin.count)
                write_stack(&finding->origin, out);
        str_text(out, "</error>\n\n");
        str_free(&about);
}

/* Which of how many this is. */
struct record_number {
        uint32_t number, all;
};

static void write_leak(const struct finding *finding, uint32_t unique, struct record_number record,
                       struct str *out)
{
        uint64_t bytes = finding->bytes + finding->hanging_bytes;
        struct str text = { 0 };

        text_number(&text, (int64_t)bytes);
        if (finding->hanging_count) {
                str_text(&text, " (");
                text_number(&text, (int64_t)finding->bytes);
                str_text(&text, " direct, ");
                text_number(&text, (int64_t)finding->hanging_bytes);
                str_text(&text, " indirect)");
        }
        str_text(&text, " bytes in ");
        text_number(&text, (int64_t)finding->count);
        str_format(&text, " blocks are %s in loss record %" PRIu32 " of %" PRIu32,
                   finding_words(finding->kind)->title, record.number, record.all);
        begin_error(finding, unique, out);
        str_text(out, "  <xwhat>\n");
        xml_element(out, "    ", "text", str_get(&text));
        put_number(out, "    ", "leakedbytes", bytes);
        put_number(out, "    ", "leakedblocks", finding->count);
        str_text(out, "  </xwhat>\n");
        write_stack(&finding->stack, out);
        str_text(out, "</error>\n\n");
        str_free(&text);
}

/* ---- the end ---- */

static void write_pair(uint64_t count, const char *name, const char *text, struct str *out)
{
        str_text(out, "  <pair>\n");
        put_number(out, "    ", "count", count);
        xml_element(out, "    ", name, text);
        str_text(out, "  </pair>\n");
}

/* How often each invalid free happened; leaks are not counted there. */
static void write_error_counts(const struct findings *f, struct str *out)
{
        uint32_t unique = 0;

        str_text(out, "<errorcounts>\n");
        for (uint32_t i = 0; i < f->count; i++) {
                char number[16];

                if (!is_told(&f->all[i]) || !finding_is_release(f->all[i].kind))
                        continue;
                snprintf(number, sizeof number, "0x%" PRIx32, unique++);
                write_pair(f->all[i].count, "unique", number, out);
        }
        str_text(out, "</errorcounts>\n\n");
}

static void write_suppression_counts(const struct findings *f, struct str *out)
{
        uint64_t known = 0;

        str_text(out, "<suppcounts>\n");
        for (uint32_t i = 0; i < f->rule_count; i++)
                if (f->rules[i].times)
                        write_pair(f->rules[i].times, "name", f->rules[i].name, out);
        for (uint32_t i = 0; i < f->count; i++)
                known += f->all[i].state == FINDING_KNOWN;
        if (known)
                write_pair(known, "name", "baseline", out);
        str_text(out, "</suppcounts>\n\n</valgrindoutput>\n");
}

void valgrind_xml_write(const struct findings *f, struct str *out)
{
        const struct findings_process *process = &f->processes[0];
        struct record_number record = { 0 };
        uint32_t unique = 0;

        str_text(out,
                 VALGRIND_XML_HEAD "\n<protocolversion>4</"
                                   "protocolversion>\n<protocoltool>memcheck</protocoltool>\n\n");
        write_preamble(process, out);
        str_format(out,
                   "<pid>%" PRIu32 "</pid>\n<ppid>%" PRIu32 "</ppid>\n<tool>memcheck</tool>\n\n",
                   process->pid, process->ppid);
        str_text(out,
                 "<args>\n  <vargv>\n    <exe>seep</exe>\n    <arg>check</arg>\n  </vargv>\n  "
                 "<argv>\n");
        xml_element(out, "    ", "exe", process->program);
        for (uint32_t i = 1; i < process->arg_count; i++)
                xml_element(out, "    ", "arg", process->args[i]);
        str_text(out, "  </argv>\n</args>\n\n");
        write_status("RUNNING", 0, out);
        for (uint32_t i = 0; i < f->count; i++) {
                record.all += is_told(&f->all[i]) && finding_is_leak(f->all[i].kind);
                if (is_told(&f->all[i]) && finding_is_release(f->all[i].kind))
                        write_release(&f->all[i], unique++, out);
        }
        write_status("FINISHED", process->duration_ms, out);
        for (uint32_t i = 0; i < f->count; i++)
                if (is_told(&f->all[i]) && finding_is_leak(f->all[i].kind)) {
                        record.number++;
                        write_leak(&f->all[i], unique++, record, out);
                        str_drain(out);
                }
        write_error_counts(f, out);
        write_suppression_counts(f, out);
}
