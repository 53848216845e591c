/* SPDX-License-Identifier: MIT */
/*
 * cmd_ps.c -- `seep ps`: the processes that are being recorded.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/order.h"
#include "base/plain.h"
#include "cli/command.h"
#include "cli/message.h"
#include "session/ask.h"
#include "session/endpoint.h"
#include "session/family.h"
#include "words/text.h"

#define PS_OPTIONS(X)                                                                              \
        X(PS_JSON, "json", 0, NULL, "machine-readable output")                                     \
        LAST_OPTIONS(X, PS)

enum { PS_OPTIONS(OPTION_ENUM) PS_COUNT };
const struct option_entry ps_options[] = { PS_OPTIONS(OPTION_ENTRY) OPTION_END };

enum { PS_ENDPOINTS_MAX = 1024, PS_TOGETHER_MAX = 1024, PS_DAY_S = 86400 };

struct row {
        uint32_t pid;
        bool silent; /* whoever records it does not answer ... */
        bool gone;   /* ... and never will, because that seep is gone */
        const char *obstacle; /* why no other can go on with the recording; NULL */
        struct wire_status status;
};

struct rows {
        struct row *at;
        uint32_t count;
};

static int say_help(void)
{
        return command_help(COMMAND_ps,
                "List the processes that are being recorded: yours; as root, everybody's.\n"
                "STATE is on, off (new blocks are left out), silent (the seep that records it\n"
                "does not answer) or gone (that seep has ended: 'seep attach PID' continues the\n"
                "recording).\n\n",
                "\nExit status: 0 success, also when there are none, 2 usage error.\n");
}

/* ---- who they are ---- */

static bool is_listed(const struct rows *all, uint32_t pid)
{
        for (uint32_t i = 0; i < all->count; i++)
                if (all->at[i].pid == pid)
                        return true;
        return false;
}

static void add_row(struct rows *all, const struct row *row)
{
        all->at = heap_grow(all->at, all->count + 1, sizeof *all->at);
        all->at[all->count++] = *row;
}

static void offer(struct rows *all, uint32_t pid)
{
        struct row row = { .pid = pid };
        enum ask_answered answered;

        if (is_listed(all, pid) || process_state(pid) == 'Z')
                return;
        answered = ask_glance(pid, &row.status);
        row.silent = answered == ASK_SILENT;
        if (answered == ASK_ANSWERED || answered == ASK_SILENT)
                add_row(all, &row);
}

/* The agent goes on when its seep was killed, however it came in. */
static void offer_orphan(struct rows *all, uint32_t pid)
{
        struct row row = { .pid = pid, .silent = true, .gone = true };
        struct family_orphan left;

        if (!ask_is_routed() && !is_listed(all, pid) && family_is_orphan((pid_t)pid, &left)) {
                row.obstacle = left.obstacle;
                add_row(all, &row);
        }
}

/* Those with an endpoint, and whoever is recorded with them: the agent need not show in their
 * maps. */
static void offer_endpoints(struct rows *all)
{
        uint32_t *ends = heap_zero(PS_ENDPOINTS_MAX, sizeof *ends),
                 *others = heap_zero(PS_TOGETHER_MAX, sizeof *others);
        uint32_t count = endpoint_list(ends, PS_ENDPOINTS_MAX);

        for (uint32_t i = 0; i < count; i++) {
                uint32_t before = all->count, together = 0;
                struct err e = { 0 };

                offer(all, ends[i]);
                if (all->count > before && !all->at[before].silent)
                        together = ask_processes(ends[i], others, PS_TOGETHER_MAX, &e);
                for (uint32_t k = 0; k < together; k++)
                        offer(all, others[k]);
        }
        free(others);
        free(ends);
}

/* Forked ones, those of other network namespaces, and those that were left. */
static void offer_all(struct rows *all)
{
        DIR *proc = opendir("/proc");

        for (struct dirent *d; proc && (d = readdir(proc));) {
                uint32_t pid = (uint32_t)strtoul(d->d_name, NULL, 10);

                if (!pid || is_listed(all, pid))
                        continue;
                if (family_has_agent((pid_t)pid))
                        offer(all, pid);
                offer_orphan(all, pid);
        }
        if (proc)
                closedir(proc);
}

ORDER_BY(by_pid, struct row, pid)

/* ---- what is shown ---- */

static void find_user(uint32_t pid, char *out, size_t room)
{
        struct passwd *user;
        struct stat st;
        char name[32];

        snprintf(name, sizeof name, "/proc/%" PRIu32, pid);
        if (stat(name, &st) != 0)
                st.st_uid = geteuid();
        user = getpwuid(st.st_uid);
        if (user)
                snprintf(out, room, "%s", user->pw_name);
        else
                snprintf(out, room, "%u", (unsigned)st.st_uid);
}

static const char *state_of(const struct row *r)
{
        return r->gone ? "gone" : r->silent ? "silent" : r->status.off ? "off" : "on";
}

/* The time of today, or the day. */
static void find_since(const struct row *r, char *out, size_t room)
{
        time_t then = (time_t)(r->status.start_realtime_ns / 1000000000u);
        struct tm parts;

        snprintf(out, room, "-");
        if (!r->silent && localtime_r(&then, &parts))
                strftime(out, room, time(NULL) - then < PS_DAY_S ? "%H:%M:%S" : "%Y-%m-%d", &parts);
}

/* Of a silent one the kernel knows the name. */
static void find_program(struct row *r)
{
        char name[PROCFS_NAME_BYTES];

        if (r->silent)
                snprintf(r->status.program, sizeof r->status.program, "%s",
                         procfs_name((pid_t)r->pid, name));
}

static void add_text(const struct rows *all, struct str *out)
{
        str_format(out, "%7s  %-10s %-6s  %-10s %10s  %-10s  %s\n", "PID", "USER", "STATE",
                   "ENGINE", "HEAP", "SINCE", "PROGRAM");
        for (uint32_t i = 0; i < all->count; i++) {
                struct row *r = &all->at[i];
                struct str heap = { 0 };
                char user[64], since[32];

                find_user(r->pid, user, sizeof user);
                find_since(r, since, sizeof since);
                if (r->silent)
                        str_char(&heap, '-');
                else
                        text_size(&heap, (int64_t)r->status.live_bytes);
                plain_name(r->status.program);
                str_format(out, "%7" PRIu32 "  %-10s %-6s  %-10s %10s  %-10s  %s\n", r->pid, user,
                           state_of(r), r->silent ? "-" : r->status.engine, str_get(&heap), since,
                           r->status.program);
                str_free(&heap);
        }
}

static void add_json(const struct rows *all, struct str *out)
{
        str_text(out, "{\"seep\": 1, \"processes\": [");
        for (uint32_t i = 0; i < all->count; i++) {
                const struct row *r = &all->at[i];
                char user[64];

                find_user(r->pid, user, sizeof user);
                str_format(out, "%s\n  {\"pid\": %" PRIu32 ", \"user\": ", i ? "," : "", r->pid);
                json_text(out, user);
                str_format(out, ", \"state\": \"%s\", \"program\": ", state_of(r));
                json_text(out, r->status.program);
                if (r->silent) {
                        str_text(out,
                                 ", \"engine\": null, \"live_bytes\": null, \"live_blocks\": null, "
                                 "\"since_ms\": null}");
                        continue;
                }
                str_format(out,
                           ", \"engine\": \"%s\", \"live_bytes\": %" PRIu64 ", \"live_blocks\": %"
                           PRIu64 ", \"since_ms\": %" PRIu64 "}", r->status.engine,
                           r->status.live_bytes, r->status.live_blocks,
                           r->status.start_realtime_ns / 1000000u);
        }
        str_text(out, "]}\n");
}

static void tell_gone(const struct rows *all)
{
        for (uint32_t i = 0; i < all->count; i++) {
                const struct row *r = &all->at[i];

                if (r->gone && r->obstacle)
                        message("process %" PRIu32 ": its seep is gone, and its recording cannot "
                                "be continued (%s): 'seep attach %" PRIu32 "' begins a new one",
                                r->pid, r->obstacle, r->pid);
                else if (r->gone)
                        message("process %" PRIu32 ": its seep is gone: 'seep attach %" PRIu32
                                "' takes it over", r->pid, r->pid);
        }
}

static int list(bool json)
{
        struct rows all = { 0 };
        struct str out = { 0 };

        if (access("/proc/self", F_OK) != 0) {
                message("processes cannot be listed: /proc is not mounted (mount -t proc proc "
                        "/proc)");
                return ERR_EXIT_CANNOT_TRACE;
        }
        offer_endpoints(&all);
        offer_all(&all);
        if (all.count)
                qsort(all.at, all.count, sizeof *all.at, by_pid);
        for (uint32_t i = 0; i < all.count; i++)
                find_program(&all.at[i]);
        if (json)
                add_json(&all, &out);
        else if (all.count)
                add_text(&all, &out);
        else
                message("no process of yours is being recorded; start one with 'seep record "
                        "PROGRAM'");
        if (json)
                fputs(str_get(&out), stdout);
        else
                message_result(&out);
        if (!json)
                tell_gone(&all);
        str_free(&out);
        free(all.at);
        return 0;
}

int cmd_ps(int argc, char **argv)
{
        struct option_parser parser;
        bool json = false;
        int which;

        option_start(&parser, "ps", ps_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == PS_HELP)
                        return say_help();
                json |= which == PS_JSON;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (argc > parser.first_operand)
                return message_usage("ps", "it takes no operand: '%s'", argv[parser.first_operand]);
        return list(json);
}
