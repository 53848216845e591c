/* SPDX-License-Identifier: MIT */
/* test_findings.c -- what is wrong with runs, and in which forms it is told. */
#include "query/findings.h"

#include "export/ci.h"
#include "forge_check.h"
#include "profile/unseen.h"
#include "tap.h"

static const struct finding *find(const struct findings *f, enum finding_kind kind, uint32_t line)
{
        for (uint32_t i = 0; i < f->count; i++)
                if (f->all[i].kind == kind && finding_place(&f->all[i].stack) &&
                    finding_place(&f->all[i].stack)->line == line)
                        return &f->all[i];
        return NULL;
}

TEST(each_class_and_place_is_a_finding)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        struct profile p;
        const struct finding *parse;

        forge_leaky(&p);
        is_true(forge_check(&f, &p, &b, NULL));
        findings_settle(&f);
        is_equal(f.process_count, 1);
        parse = find(&f, FINDING_DEFINITE, 10);
        if (is_true(parse)) {
                is_equal(parse->count, 1);
                is_equal(parse->bytes, 100);
                is_equal(parse->hanging_count, 2);
                is_equal(parse->hanging_bytes, 200);
                is_equal(parse->state, FINDING_BREAKS);
                is_text(finding_place(&parse->stack)->path, "a.c");
                is_equal(parse->stack.count, 3);
                is_text(parse->stack.frames[2].function, "main");
        }
        is_true(find(&f, FINDING_DEFINITE, 20));
        is_true(find(&f, FINDING_INDIRECT, 10));
        is_true(find(&f, FINDING_DEFINITE, 7));
        findings_free(&f);
        profile_free(&p);
}

TEST(possibly_lost_is_a_hint_and_reachable_is_nothing)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        struct profile p;

        forge_leaky(&p);
        forge_check(&f, &p, &b, NULL);
        findings_settle(&f);
        for (uint32_t i = 0; i < f.count; i++)
                is_equal(f.all[i].state == FINDING_HINT, f.all[i].kind == FINDING_POSSIBLE);
        for (uint32_t i = 0; i < f.count; i++)
                /* of small, all of it reachable */
                is_true(finding_place(&f.all[i].stack)->line != 5);
        findings_free(&f);
        profile_free(&p);
}

TEST(worst_comes_first)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        struct profile p;

        forge_leaky(&p);
        forge_error(&p, LEDGER_ERROR_MISMATCHED, 2);
        forge_check(&f, &p, &b, NULL);
        findings_settle(&f);
        is_equal(f.all[0].kind, FINDING_MISMATCHED);
        is_equal(f.all[1].kind, FINDING_DEFINITE);
        is_equal(finding_place(&f.all[1].stack)->line, 10); /* 300 bytes with what hangs on it */
        is_equal(f.all[f.count - 1].kind, FINDING_POSSIBLE);
        is_equal(findings_broken(&f), f.count - 2);
        findings_free(&f);
        profile_free(&p);
}

TEST(a_wrong_release_has_both_stacks)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        struct str text = { 0 };
        struct profile p;

        forge_usual(&p);
        forge_error(&p, LEDGER_ERROR_DOUBLE_FREE, 3);
        forge_check(&f, &p, &b, NULL);
        is_equal(f.all[0].kind, FINDING_DOUBLE_FREE);
        is_text(f.all[0].stack.frames[0].function, "small");
        is_text(f.all[0].origin.frames[0].function, "tiny");
        finding_say(&f.all[0], &text);
        is_text(str_get(&text), "double free, 3 times, of 4 B");
        str_free(&text);
        findings_free(&f);
        profile_free(&p);
}

TEST(what_several_processes_have_is_told_once)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        const struct finding *load;
        struct profile p;
        uint32_t count;

        forge_leaky(&p);
        forge_check(&f, &p, &b, NULL);
        count = f.count;
        forge_check(&f, &p, &b, NULL);
        forge_check(&f, &p, &b, NULL);
        is_equal(f.count, 3 * count);
        findings_settle(&f);
        is_equal(f.count, count);
        load = find(&f, FINDING_DEFINITE, 7);
        is_equal(load->processes, 3);
        is_equal(load->process, 0);
        is_equal(load->count, 3);
        is_equal(load->bytes, 300);
        findings_free(&f);
        profile_free(&p);
}

/* ---- fingerprints ---- */

static uint64_t print_of(const char *const *names, uint32_t count, uint32_t line)
{
        struct finding_frame frames[8] = { { 0 } };
        struct finding_stack stack = { frames, count, 0, 0 };

        for (uint32_t i = 0; i < count; i++)
                frames[i] = (struct finding_frame){
                        .function = names[i], .signature = names[i], .line = line, .address = line
                };
        return findings_fingerprint(&stack);
}

TEST(a_fingerprint_is_of_names_and_not_of_lines)
{
        static const char *const a[] = { "f", "g", "main" }, *const b[] = { "f", "h", "main" },
                                 *const c[] = { "fg", "main" };

        is_true(print_of(a, 3, 1) == print_of(a, 3, 2));
        is_true(print_of(a, 3, 1) != print_of(b, 3, 1));
        is_true(print_of(a, 3, 1) != print_of(a, 2, 1));
        is_true(print_of(a, 3, 1) != print_of(c, 2, 1));
}

TEST(the_depth_of_a_recursion_does_not_matter)
{
        static const char *const once[] = { "f", "g", "main" }, *const deep[] = { "f", "g", "g",
                                                                                  "g", "main" };
        static const char *const mutual[] = { "f", "g", "f", "g", "g", "f", "main" },
                                 *const other[] = { "g", "f", "g", "main" };

        is_true(print_of(once, 3, 1) == print_of(deep, 5, 1));
        is_true(print_of(once, 3, 1) == print_of(mutual, 7, 1));
        is_true(print_of(once, 3, 1) != print_of(other, 4, 1)); /* the innermost is another */
}

TEST(how_the_system_begins_a_thread_does_not_matter)
{
        struct finding_frame debian[] = {
                { .function = "f", .signature = "f", .module = "/app" },
                { .function = "start_thread",
                  .signature = "start_thread",
                  .module = "/lib/libc.so.6" },
                { .function = "clone3", .signature = "clone3", .module = "/lib/libc.so.6" }
        };
        struct finding_frame alpine[] = { debian[0],
                                          { .function = "ld-musl-x86_64.so.1+0x1234",
                                            .module = "/lib/ld-musl-x86_64.so.1" } };
        struct finding_frame rust[] = {
                debian[0],
                { .function = "core::ops::function::FnOnce::call_once",
                  .signature = "",
                  .module = "/app" },
                { .function = "std::sys::backtrace::__rust_begin_short_backtrace",
                  .signature = "",
                  .module = "/app" },
                { .function = "std::rt::lang_start_internal", .signature = "", .module = "/app" }
        };
        struct finding_stack alone = { debian, 1, 1, 0 }, a = { debian, 3, 3, 0 },
                             b = { alpine, 2, 2, 0 }, c = { rust, 4, 4, 0 },
                             library = { debian + 1, 2, 2, 0 };
        struct str names = { 0 };

        is_true(findings_fingerprint(&a) == findings_fingerprint(&alone));
        is_true(findings_fingerprint(&b) == findings_fingerprint(&alone));
        is_true(findings_fingerprint(&c) == findings_fingerprint(&alone));
        findings_names(&library, &names);
        is_text(str_get(&names), "start_thread < clone3"); /* there is nothing else */
        str_free(&names);
}

TEST(code_without_names_counts_as_its_module)
{
        struct finding_frame here = { .function = "libx.so+0x10", .module = "/usr/lib/libx.so" };
        struct finding_frame there = { .function = "libx.so+0x999", .module = "/opt/libx.so" },
                             nowhere = { .function = "0x123" };
        struct finding_stack a = { &here, 1, 1, 0 }, b = { &there, 1, 1, 0 },
                             c = { &nowhere, 1, 1, 0 };
        struct str names = { 0 };

        is_true(findings_fingerprint(&a) == findings_fingerprint(&b));
        is_true(findings_fingerprint(&a) != findings_fingerprint(&c));
        findings_names(&a, &names);
        is_text(str_get(&names), "libx.so");
        here.module = "/usr/lib/libx.so.6.0.30";
        is_true(findings_fingerprint(&a) == findings_fingerprint(&b));
        str_free(&names);
}

TEST(the_place_is_in_the_tree_or_else_in_the_program)
{
        struct finding_frame frames[] = { { .function = "strdup" },
                                          { .function = "copy" },
                                          { .function = "main" } };
        struct finding_stack in_tree = { frames, 3, 2, 1 }, in_program = { frames, 3, 3, 1 },
                             nowhere = { frames, 3, 3, 0 }, empty = { 0 };

        is_text(finding_place(&in_tree)->function, "main");
        is_text(finding_place(&in_program)->function, "copy");
        is_text(finding_place(&nowhere)->function, "strdup");
        is_true(!finding_place(&empty));
}

/* ---- forms ---- */

static const char *written(void (*write)(const struct findings *, struct str *),
                           const struct findings *f)
{
        static struct str out;

        str_clear(&out);
        write(f, &out);
        return str_get(&out);
}

static void as_sarif(const struct findings *f, struct str *out)
{
        sarif_write(f, &forge_tree, out);
}

TEST(forms_name_the_place_in_the_users_tree)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        struct profile p;

        forge_leaky(&p);
        forge_check(&f, &p, &b, NULL);
        findings_settle(&f);
        has_text(written(as_sarif, &f), "\"artifactLocation\": {\"uri\": \"a.c\", \"uriBaseId\": "
                                        "\"SRCROOT\"}, \"region\": {\"startLine\": 10}");
        has_text(written(as_sarif, &f), "\"uri\": \"file:///src/\"");
        has_text(written(github_annotations, &f),
                 "::error file=a.c,line=10,title=definitely lost::100 B in 1 block definitely "
                 "lost, with "
                 "200 B in 2 blocks reachable only through it%0Aallocated by%0A  parse [a.c:10]%0A "
                 " load [l.c:7]%0A");
        has_text(written(junit_write, &f),
                 "<testcase classname=\"definite-leak\" name=\"parse &lt; load &lt; main\">");
        /* at another line */
        has_text(written(junit_write, &f), "name=\"parse &lt; load &lt; main #2\"");
        has_text(written(valgrind_xml_write, &f), "<text>300 (100 direct, 200 indirect) bytes in 1 "
                                                  "blocks are definitely lost in loss record");
        has_text(written(valgrind_xml_write, &f), "<leakedbytes>300</leakedbytes>");
        findings_free(&f);
        profile_free(&p);
}

TEST(hostile_names_stay_text)
{
        struct finding_frame frame = { .function = "f<\"&'|`\n::error::x%",
                                       .signature = "f<\"&'|`\n::error::x%",
                                       .file = "/src/a b,c:d%.c",
                                       .path = "a b,c:d%.c",
                                       .module = "/m",
                                       .line = 3 };
        struct finding finding = { .kind = FINDING_DEFINITE,
                                   .processes = 1,
                                   .count = 1,
                                   .bytes = 8,
                                   .stack = { &frame, 1, 0, 0 } };
        struct findings_process process = { .program = "<p|>&\n", .exe = "/x", .recording = "r" };
        struct budget_verdict verdict = { .budget = BUDGET_LEAKS, .measured = 1, .worst = "f<|>" };
        struct findings f = { .all = &finding,
                              .count = 1,
                              .processes = &process,
                              .process_count = 1,
                              .verdicts = &verdict,
                              .verdict_count = 1 };

        has_text(written(github_annotations, &f), "::error file=a b%2Cc%3Ad%25.c,line=3,");
        is_true(strstr(written(github_annotations, &f), "\n::error::") == NULL);
        has_text(written(as_sarif, &f), "\"uri\": \"a%20b%2Cc%3Ad%25.c\"");
        has_text(written(as_sarif, &f), "\"f<\\\"&'|`\\n::error::x%\"");
        has_text(written(valgrind_xml_write, &f), "<fn>f&lt;\"&amp;'|`\n::error::x%</fn>");
        has_text(written(junit_write, &f), "<testsuite name=\"&lt;p|&gt;&amp;&#10;\"");
        is_true(strstr(written(github_summary, &f), "<p|>") == NULL);
        has_text(written(github_summary, &f), "f&#60;&#124;&#62;");
}

TEST(at_most_ten_annotations)
{
        struct finding findings[25];
        struct findings f = { .all = findings, .count = 25 };
        const char *at = NULL;
        int count = 0;

        for (int i = 0; i < 25; i++)
                findings[i] = (struct finding){
                        .kind = FINDING_DEFINITE, .state = FINDING_BREAKS, .count = 1, .bytes = 1
                };
        for (at = written(github_annotations, &f); (at = strstr(at, "::error ")); at++)
                count++;
        is_equal(count, 10);
}

TEST(a_summary_is_bounded)
{
        enum { FRAMES = 5000, MANY = 3000 };
        struct finding_frame *frames = heap_zero(FRAMES, sizeof *frames);
        struct finding *findings = heap_zero(MANY, sizeof *findings);
        struct budget_verdict *verdicts = heap_zero(MANY, sizeof *verdicts);
        struct findings_process process = { .program = "p", .exe = "/x", .recording = "r" };
        struct findings f = { .all = findings,
                              .count = MANY,
                              .processes = &process,
                              .process_count = 1,
                              .verdicts = verdicts,
                              .verdict_count = MANY };

        for (int i = 0; i < FRAMES; i++)
                frames[i].function = frames[i].signature = "a_function_with_a_long_name";
        for (int i = 0; i < MANY; i++) {
                findings[i] = (struct finding){ .kind = FINDING_DEFINITE,
                                                .state = FINDING_BREAKS,
                                                .count = 1,
                                                .bytes = 1,
                                                .stack = { frames, FRAMES, 0, 0 } };
                verdicts[i] = (struct budget_verdict){ .budget = BUDGET_LEAKS,
                                                       .kept = i < MANY - 2,
                                                       .measured = (uint64_t)i };
        }
        is_true(strlen(written(github_summary, &f)) < 1024 * 1024);
        has_text(written(github_summary, &f), "| **broken** | 2,999 blocks lost");
        has_text(written(github_summary, &f), "and 2998 more budgets");
        has_text(written(github_summary, &f), "and 4950 more\n</pre>");
        has_text(written(github_summary, &f), " more findings\n");
        free(frames);
        free(findings);
        free(verdicts);
}

TEST(every_reason_why_not_all_was_seen_is_a_finding)
{
        struct budgets b = forge_default();
        struct findings f = { 0 };
        struct profile p;

        forge_start(&p);
        p.meta.complete = 1;
        p.meta.stop_reason = LEDGER_STOP_SITES_FULL;
        p.totals.own_malloc = p.totals.lost_events = p.totals.forks_not_followed = 1;
        p.totals.ledger_limit = p.totals.thin_ms[0] = p.totals.thin_bytes = 1;
        p.totals.untracked_blocks = p.totals.sample_bytes = p.totals.missed_frees =
                p.totals.unseen_blocks = 1;
        p.totals.shut_out = p.totals.namespaces = p.totals.one_way = 1;
        p.scans = heap_zero(1, sizeof *p.scans);
        p.scans[0] = (struct profile_scan){ .trouble = heap_text(""),
                                            .suppressions = heap_text(""),
                                            .gone = 1,
                                            .unseen = 1 };
        p.scan_count = 1;
        p.truncated = true;
        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++) {
                struct str text = { 0 };

                is_true(unseen_say(&p, reason, &text) && text.length);
                str_free(&text);
        }
        is_true(forge_check(&f, &p, &b, NULL) && forge_check(&f, &p, &b, NULL));
        findings_settle(&f);
        is_true(findings_unseen(&f) && findings_failed(&f));
        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++) {
                const struct finding *finding = &f.all[f.count - 1 - reason];

                is_equal(finding->kind, FINDING_UNSEEN);
                is_equal(finding->state, FINDING_BREAKS);
                is_equal(finding->processes, 2); /* told once */
        }
        findings_free(&f);
        profile_free(&p);
}

TAP_MAIN(each_class_and_place_is_a_finding, possibly_lost_is_a_hint_and_reachable_is_nothing,
         worst_comes_first, a_wrong_release_has_both_stacks,
         what_several_processes_have_is_told_once, a_fingerprint_is_of_names_and_not_of_lines,
         the_depth_of_a_recursion_does_not_matter, how_the_system_begins_a_thread_does_not_matter,
         code_without_names_counts_as_its_module, the_place_is_in_the_tree_or_else_in_the_program,
         forms_name_the_place_in_the_users_tree, hostile_names_stay_text, at_most_ten_annotations,
         a_summary_is_bounded, every_reason_why_not_all_was_seen_is_a_finding)
