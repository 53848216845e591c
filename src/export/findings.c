/* SPDX-License-Identifier: MIT */
/*
 * findings.c -- leaks and invalid frees as SARIF, JUnit and Valgrind's XML.
 *
 * Keeps:  the files are those that `seep check` writes when no budget is given: nothing may be
 *         lost or released wrongly.
 */
#include "export/ci.h"
#include "export/export.h"
#include "query/budget.h"
#include "query/findings.h"
#include "query/location.h"

typedef void findings_format(const struct findings *f, const struct location_root *root,
                           struct str *out);

static bool write_findings(const struct export_input *in, findings_format *format, struct str *out,
                           struct err *e)
{
        struct budgets budgets = { .limits = { [BUDGET_LEAKS] = { .set = true },
                                               [BUDGET_BAD_FREES] = { .set = true } } };
        struct location_root root = { 0 };
        struct findings_request request = { .budgets = &budgets, .root = &root };
        struct findings_recording recording = { .profile = in->profile, .symbols = in->symbols,
                                                .path = in->file, .wrappers = in->sel->wrappers };
        struct findings found = { 0 };
        struct str trouble = { 0 };
        bool good = location_find_root(&root, NULL, e) &&
                    findings_add(&found, &request, &recording, &trouble, e);

        if (good) {
                findings_settle(&found);
                format(&found, &root, out);
        }
        if (trouble.length && in->remarks)
                str_format(in->remarks, "%s\n", str_get(&trouble));
        str_free(&trouble);
        findings_free(&found);
        location_free(&root);
        return good;
}

static void as_junit(const struct findings *f, const struct location_root *root, struct str *out)
{
        (void)root;
        junit_write(f, out);
}

static void as_valgrind_xml(const struct findings *f, const struct location_root *root,
                            struct str *out)
{
        (void)root;
        valgrind_xml_write(f, out);
}

bool export_sarif(const struct export_input *in, struct str *out, struct err *e)
{
        return write_findings(in, sarif_write, out, e);
}

bool export_junit(const struct export_input *in, struct str *out, struct err *e)
{
        return write_findings(in, as_junit, out, e);
}

bool export_valgrind_xml(const struct export_input *in, struct str *out, struct err *e)
{
        return write_findings(in, as_valgrind_xml, out, e);
}
