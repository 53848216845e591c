/* SPDX-License-Identifier: MIT */
/* export.c -- the formats of other tools: the table, and what the formats share. */
#include "export/export.h"

#include <string.h>

#include "profile/events_log.h"
#include "query/leaks.h"

#define FOLLOWS_BUT_COST (EXPORT_FOLLOWS_AT | EXPORT_FOLLOWS_RANGE | EXPORT_FOLLOWS_FILTERS)

const struct export_format export_formats[] = {
        { "pprof", ".pb.gz",
          "go tool pprof, Pyroscope, Parca, Perfetto: all costs, lines, inlined functions, threads",
          EXPORT_BINARY | EXPORT_FOLLOWS_ALL, export_pprof },
        { "collapsed", ".folded",
          "flamegraph.pl, inferno, speedscope, Firefox Profiler: one line per stack",
          EXPORT_FOLLOWS_ALL, export_collapsed },
        { "svg", ".svg",
          "browsers and everything that shows pictures: a flame graph, for an issue or a merge "
          "request",
          EXPORT_FOLDS | EXPORT_FOLLOWS_ALL, export_svg },
        { "speedscope", ".speedscope.json", "speedscope.app: a flame graph per cost",
          EXPORT_FOLLOWS_ALL, export_speedscope },
        { "callgrind", "callgrind.out.",
          "kcachegrind, qcachegrind, callgrind_annotate: callers, callees, source lines",
          EXPORT_FOLLOWS_ALL, export_callgrind },
        { "gprof2dot", ".json",
          "gprof2dot -f json, then dot: a picture of who calls whom (as memtrail writes it)",
          EXPORT_FOLLOWS_ALL, export_gprof2dot },
        { "csv", ".csv", "spreadsheets, pandas: the table of 'seep report --csv'",
          EXPORT_FOLLOWS_ALL, export_csv },
        { "json", ".json", "jq, scripts: the same as 'seep report --json'",
          EXPORT_MARKS | EXPORT_RESOURCES | EXPORT_FOLLOWS_ALL, export_json },
        { "dhat", ".dhat.json",
          "dh_view.html of Valgrind, Firefox Profiler: blocks by lifetime, at the peak, at the end",
          EXPORT_COURSE | EXPORT_FOLLOWS_AT | EXPORT_FOLLOWS_FILTERS, export_dhat },
        { "massif", ".massif.out", "ms_print, massif-visualizer: the heap over time",
          EXPORT_COURSE | FOLLOWS_BUT_COST, export_massif },
        { "firefox", ".firefox.json",
          "profiler.firefox.com: what was allocated and kept over time, with the heap as a track",
          EXPORT_COURSE | FOLLOWS_BUT_COST, export_firefox },
        { "heaptrack", ".heaptrack", "heaptrack_print, heaptrack_gui: every allocation and free",
          EXPORT_EVENTS | EXPORT_COURSE | FOLLOWS_BUT_COST, export_heaptrack },
        { "sqlite", ".sqlite",
          "sqlite3 and everything that reads its databases: tables and views ('seep sql' needs no "
          "file)",
          EXPORT_BINARY | EXPORT_MARKS | EXPORT_RESOURCES | EXPORT_FOLLOWS_FILTERS, export_sqlite },
        { "valgrind-xml", ".xml",
          "plug-ins of editors and CI for Valgrind: leaks and invalid frees", EXPORT_FINDINGS,
          export_valgrind_xml },
        { "sarif", ".sarif", "code scanning, editors: leaks and invalid frees (SARIF 2.1.0)",
          EXPORT_FINDINGS, export_sarif },
        { "junit", ".xml", "CI servers: a test case per leak and invalid free", EXPORT_FINDINGS,
          export_junit },
        { "maps", ".maps",
          "addr2line, memtraq.pl and others that translate addresses: which file was mapped where "
          "(/proc/PID/maps)",
          0, export_maps },
        { 0 },
};

const struct export_format *export_find(const char *word)
{
        for (const struct export_format *format = export_formats; format->word; format++)
                if (strcmp(format->word, word) == 0)
                        return format;
        return NULL;
}

bool export_cost(const struct export_input *in, const struct cost_source *source,
                 enum cost_kind *cost, struct err *e)
{
        struct str why = { 0 };

        *cost = in->cost_set ? in->cost : cost_selected(in->sel);
        if (source->known[*cost])
                return true;
        if (source->leaks.sel) /* of the whole run: only leaks can be missing */
                leaks_not_scanned(in->profile, &why);
        err_set(e, ERR_EXIT_USAGE, "--cost %s: %s%s", cost_names[*cost].word,
                source->leaks.sel
                        ? "the recording was not searched for leaks: "
                        : "known for the whole run only, not for --at, --range and --thread",
                str_get(&why));
        str_free(&why);
        return false;
}

bool export_gives(const struct export_input *in, const struct cost_source *source,
                  enum cost_kind cost)
{
        return source->known[cost] && (!in->cost_set || in->cost == cost);
}

void export_remark_negative(const struct export_input *in, uint32_t count)
{
        if (count && in->remarks)
                str_format(in->remarks,
                           "this format has no negative numbers: %u stack%s with less memory than "
                           "before %s left out\n", count, count == 1 ? "" : "s",
                           count == 1 ? "is" : "are");
}

void export_remark_cut(const struct export_input *in, const struct events_log *log)
{
        const char *why = events_log_why(log);

        if (events_log_headless(log) && in->remarks)
                str_text(in->remarks,
                         "the first events are no longer in the log (--max-files): older blocks "
                         "are left out\n");
        if (why && in->remarks)
                str_format(in->remarks, "the event log ends before the run: %s\n", why);
}

bool export_more(const struct export_input *in, struct str *out)
{
        return !in->reader || out->length < EXPORT_AT_ONCE || in->reader->take(in->reader, out);
}
