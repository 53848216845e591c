/* SPDX-License-Identifier: MIT */
/* sarif.c -- findings as SARIF 2.1.0, which code scanning services and editors read. */
#include "export/ci.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "words/label.h"

/* Append PATH as a part of a URI. */
static void put_uri(struct str *out, const char *path)
{
        for (; *path; path++)
                if (isalnum((unsigned char)*path) || strchr("-._~/", *path))
                        str_char(out, *path);
                else
                        str_format(out, "%%%02X", (unsigned char)*path);
}

static void put_text(struct str *out, const char *name, const char *text)
{
        str_format(out, "\"%s\": ", name);
        json_text(out, text);
}

/* "DefiniteLeak" for "definite-leak". */
static void put_pascal(struct str *out, const char *word)
{
        bool start = true;

        for (; *word; word++) {
                if (*word != '-')
                        str_char(out, (char)(start ? toupper((unsigned char)*word) : *word));
                start = *word == '-';
        }
}

static void write_rules(struct str *out)
{
        for (enum finding_kind kind = 0; kind < FINDING_KINDS; kind++) {
                const struct finding_words *words = finding_words(kind);
                struct str title = { 0 };

                str_format(&title, "%c%s.", toupper((unsigned char)words->title[0]),
                           words->title + 1);
                str_text(out, kind ? ",\n  {" : "\n  {");
                put_text(out, "id", words->word);
                str_text(out, ", \"name\": \"");
                put_pascal(out, words->word);
                str_text(out, "\", \"shortDescription\": {");
                put_text(out, "text", str_get(&title));
                str_text(out, "}, \"fullDescription\": {");
                put_text(out, "text", words->text);
                str_text(out, "}, \"help\": {");
                put_text(out, "text", words->text);
                str_format(out, "}, \"defaultConfiguration\": {\"level\": \"%s\"}}",
                           kind == FINDING_POSSIBLE ? "note" : "error");
                str_free(&title);
        }
}

/* ---- places ---- */

/* "physicalLocation": {...}.  PATH is relative to the source tree; else FILE is used when it is
 * absolute.  false: there is none. */
static bool put_physical(struct str *out, const char *path, const char *file, uint32_t line)
{
        if (!path && !(file && file[0] == '/'))
                return false;
        str_text(out, "\"physicalLocation\": {\"artifactLocation\": {\"uri\": \"");
        str_text(out, path ? "" : "file://");
        put_uri(out, path ? path : file);
        str_text(out, path ? "\", \"uriBaseId\": \"SRCROOT\"}" : "\"}");
        if (line)
                str_format(out, ", \"region\": {\"startLine\": %" PRIu32 "}", line);
        str_char(out, '}');
        return true;
}

static void put_logical(struct str *out, const struct finding_frame *frame)
{
        str_text(out, "\"logicalLocations\": [{\"fullyQualifiedName\": ");
        json_text(out, frame->signature ? frame->signature : frame->function);
        str_text(out, ", \"kind\": \"function\"}]");
}

/* {"physicalLocation": ..., "logicalLocations": ...} */
static void put_frame_location(struct str *out, const struct finding_frame *frame)
{
        str_char(out, '{');
        if (put_physical(out, frame->path, frame->file, frame->line))
                str_text(out, ", ");
        put_logical(out, frame);
        str_char(out, '}');
}

/* A result needs a place that is a file: the source line in the user's tree, or
 * else the program itself. */
static void write_location(const struct findings *f, const struct finding *finding, struct str *out)
{
        const struct finding_stack *stack = &finding->stack;
        const struct finding_frame *place = finding_place(stack);
        const struct findings_process *process = &f->processes[finding->process];

        str_text(out, ", \"locations\": [");
        if (stack->place < stack->count) {
                put_frame_location(out, place);
        } else {
                str_char(out, '{');
                /* Readers want a line. */
                put_physical(out, process->exe[0] == '/' ? NULL : label_base(process->program),
                             process->exe, 1);
                if (place) {
                        str_text(out, ", ");
                        put_logical(out, place);
                }
                str_char(out, '}');
        }
        str_char(out, ']');
}

static void write_stack(const struct finding_stack *stack, const char *title, struct str *out)
{
        str_text(out, "{\"message\": {");
        put_text(out, "text", title);
        str_text(out, "}, \"frames\": [");
        for (uint32_t i = 0; i < stack->count; i++) {
                str_text(out, i ? ",\n    {\"location\": " : "\n    {\"location\": ");
                put_frame_location(out, &stack->frames[i]);
                if (stack->frames[i].module) {
                        str_text(out, ", ");
                        put_text(out, "module", label_base(stack->frames[i].module));
                }
                str_char(out, '}');
        }
        str_text(out, "]}");
}

static void write_stacks(const struct finding *finding, struct str *out)
{
        if (!finding->stack.count)
                return;
        str_text(out, ",\n   \"stacks\": [");
        write_stack(&finding->stack, finding_is_release(finding->kind) ? "released" : "allocated",
                    out);
        if (finding->first.count) {
                str_text(out, ", ");
                write_stack(&finding->first, "first freed", out);
        }
        if (finding->origin.count) {
                str_text(out, ", ");
                write_stack(&finding->origin, "allocated", out);
        }
        str_char(out, ']');
}

/* ---- results ---- */

static const char *level_of(enum finding_state state)
{
        static const char *const levels[] = { [FINDING_BREAKS] = "error", [FINDING_HINT] = "note",
                                              [FINDING_ALLOWED] = "warning",
                                              [FINDING_KNOWN] = "note" };

        return levels[state];
}

/* "64 B in 1 block definitely lost, by lose." */
static void put_message(struct str *out, const struct finding *finding)
{
        const struct finding_frame *place = finding_place(&finding->stack);
        struct str text = { 0 };

        finding_say(finding, &text);
        if (place && !finding_is_general(finding->kind))
                str_format(&text, ", by %s", place->function);
        if (finding->processes > 1)
                str_format(&text, ", in %" PRIu32 " processes", finding->processes);
        str_char(&text, '.');
        put_text(out, "text", str_get(&text));
        str_free(&text);
}

static void write_result(const struct findings *f, const struct finding *finding, struct str *out)
{
        str_char(out, '{');
        put_text(out, "ruleId", finding_words(finding->kind)->word);
        str_format(out, ", \"ruleIndex\": %d, \"level\": \"%s\", \"message\": {",
                   (int)finding->kind, level_of(finding->state));
        put_message(out, finding);
        str_char(out, '}');
        write_location(f, finding, out);
        write_stacks(finding, out);
        if (!finding_is_general(finding->kind))
                str_format(out,
                           ",\n   \"partialFingerprints\": {\"stackHash/v1\": \"%016" PRIx64 "\"}",
                           finding->fingerprint);
        if (f->has_baseline && !finding_is_general(finding->kind))
                str_format(out, ", \"baselineState\": \"%s\"",
                           finding->state == FINDING_KNOWN ? "unchanged" : "new");
        str_char(out, '}');
}

void sarif_write(const struct findings *f, const struct location_root *root, struct str *out)
{
        str_text(out, SARIF_HEAD ", ");
        put_text(out, "version", SEEP_VERSION);
        str_text(out, ", \"rules\": [");
        write_rules(out);
        str_text(out, "]}},\n \"originalUriBaseIds\": {\"SRCROOT\": {\"uri\": \"file://");
        put_uri(out, root->path);
        str_text(out, "/\"}},\n \"columnKind\": \"utf16CodeUnits\",\n \"results\": [");
        for (uint32_t i = 0; i < f->count; i++) {
                str_text(out, i ? ",\n  " : "\n  ");
                write_result(f, &f->all[i], out);
                str_drain(out);
        }
        str_text(out, "]}]}\n");
}
