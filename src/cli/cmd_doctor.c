/* SPDX-License-Identifier: MIT */
/*
 * cmd_doctor.c -- `seep doctor [PID|PROGRAM]`: what would work here, and what to do about the rest.
 *
 * Keeps:  reasons are those of the rooms that refuse: attach/program.h,
 *         attach/refusal.h, base/headroom.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "attach/core.h"
#include "attach/emulator.h"
#include "attach/engine.h"
#include "attach/freeze.h"
#include "attach/patch.h"
#include "attach/procfs.h"
#include "attach/program.h"
#include "attach/refusal.h"
#include "attach/spawn.h"
#include "base/headroom.h"
#include "base/io.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "session/ask.h"
#include "words/text.h"

#define DOCTOR_OPTIONS(X)                                                                          \
        X(DOCTOR_JSON, "json", 0, NULL, "machine-readable output")                                 \
        LAST_OPTIONS(X, DOCTOR)

enum { DOCTOR_OPTIONS(OPTION_ENUM) DOCTOR_COUNT };
const struct option_entry doctor_options[] = { DOCTOR_OPTIONS(OPTION_ENTRY) OPTION_END };

#define DOCTOR_DISK_BYTES (64ull << 20)
#define DOCTOR_ROOM_BYTES (256ull << 20)
#define DOCTOR_FILES 64u

struct doctor {
        bool json;
        bool works; /* what was asked about */
        uint32_t count;
        struct str out;
};

static int say_help(void)
{
        return command_help(
                COMMAND_doctor,
                "Check whether PROGRAM can be recorded, or the process PID inspected, and if not\n"
                "say what to do; without an operand, check this machine and this directory. PID\n"
                "is stopped for about a millisecond.\n\n",
                "\nExit status: 0 recording (for a PID: inspecting it) would work, 1 it would not,"
                "\n2 usage error.\n");
}

/* ---- lines ---- */

/* One check, and what it says.  NEEDED: without it nothing works. */
static void tell(struct doctor *d, const char *check, bool good, const char *says)
{
        if (d->json) {
                str_format(&d->out, "%s\n  {\"check\": \"%s\", \"good\": %s, \"says\": ",
                           d->count ? "," : "", check, good ? "true" : "false");
                json_text(&d->out, says);
                str_char(&d->out, '}');
        } else {
                str_format(&d->out, "%-4s %-12s %s\n", good ? "ok" : "NO", check, says);
        }
        d->count++;
}

static void tell_needed(struct doctor *d, const char *check, bool good, const char *says)
{
        d->works &= good;
        tell(d, check, good, says);
}

/* ---- this machine ---- */

static void check_disk(struct doctor *d)
{
        struct statvfs fs;
        struct str says = { 0 };
        uint64_t free_bytes = statvfs(".", &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
        bool writable = access(".", W_OK) == 0;

        text_size(&says, (int64_t)free_bytes);
        str_text(&says, " free in this directory");
        if (!writable)
                str_text(&says, ", which cannot be written to: choose another with -o FILE");
        else if (free_bytes < DOCTOR_DISK_BYTES)
                str_text(&says, ", too little for a large recording: choose another with -o FILE");
        tell_needed(d, "disk", writable && free_bytes >= DOCTOR_DISK_BYTES, str_get(&says));
        str_free(&says);
}

/* OTHER: a process whose cgroup counts, too; 0 none. */
static void check_memory(struct doctor *d, pid_t other)
{
        struct str says = { 0 };
        struct headroom room;

        headroom_find(&room, "", other);
        if (room.bytes == UINT64_MAX) {
                str_text(&says, "no limit is known");
        } else {
                text_size(&says, (int64_t)room.bytes);
                str_format(&says, " for searches and reports (%s)", room.limit);
        }
        if (room.bytes < DOCTOR_ROOM_BYTES)
                str_text(&says, ": leaks of a large heap are not searched for; raise it");
        tell(d, "memory", room.bytes >= DOCTOR_ROOM_BYTES, str_get(&says));
        str_free(&says);
}

static void check_limits(struct doctor *d)
{
        struct rlimit files, core, space;
        char says[256];

        getrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_CORE, &core);
        getrlimit(RLIMIT_AS, &space);
        snprintf(says, sizeof says, "%ju open files%s", (uintmax_t)files.rlim_cur,
                 files.rlim_cur < DOCTOR_FILES
                         ? ": too few to record several processes (ulimit -n 1024)"
                         : "");
        tell(d, "files", files.rlim_cur >= DOCTOR_FILES, says);
        if (space.rlim_cur != RLIM_INFINITY)
                tell(d, "space", true,
                     "address space is limited (ulimit -v): the ledger takes at most half of it");
        tell(d, "core files", core.rlim_cur != 0,
             core.rlim_cur ? "a program that crashes leaves one: 'seep leaks CORE' searches it"
                           : "none are written: ulimit -c unlimited");
}

static void check_proc(struct doctor *d)
{
        bool mounted = access("/proc/self/maps", R_OK) == 0;

        tell_needed(d, "proc", mounted,
                    mounted ? "/proc is mounted"
                            : "/proc is not mounted: mount -t proc proc /proc");
}

/* ---- a program ---- */

#define RECORD_COST                                                                              \
        "'seep record' works: some 30 ns for each malloc and free, and half of a heap of small " \
        "blocks"

static void check_core(struct doctor *d)
{
        tell(d, "leaks", true,
             "a core file: 'seep leaks', 'seep why' and 'seep report --retained' search it");
}

static void check_program(struct doctor *d, const char *name)
{
        struct program_user user = { geteuid(), getegid() };
        struct err e = { 0 };
        char *path = program_find(name, &e);
        struct engine_choice choice = { .engine = ENGINE_AUTO };
        bool good = path && engine_choose(&choice, path, &user, &e);
        struct str says = { 0 };

        if (good && choice.emulation.by && !choice.emulation.runner)
                str_format(&says, "'seep record' works: it is a program of %s, which this machine "
                           "runs", choice.emulation.by->name);
        else if (good && choice.emulation.by)
                str_format(&says, "'seep record' works: it is a program of %s, which %s runs",
                           choice.emulation.by->name, choice.emulation.runner);
        else
                str_text(&says, good ? RECORD_COST : e.text);
        if (good && choice.why)
                str_format(&says, "; by injection, because %s", choice.why);
        tell_needed(d, "record", good, str_get(&says));
        str_free(&says);
        if (good)
                tell(d, "search", true,
                     "leaks are searched for at its end; while it runs by 'seep leaks PID'");
        emulator_free(&choice.emulation);
        free(path);
}

/* ---- other processors ---- */

static void check_agents(struct doctor *d)
{
        struct str says = { 0 };
        struct err e = { 0 };
        uint32_t count = 0;

        for (uint32_t i = 0; i < emulator_count; i++) {
                char *agent = spawn_find_foreign(emulators[i].name, &e);
                char *runner = agent ? program_find(emulators[i].runner, &e) : NULL;
                bool runs = runner || emulator_is_kernel(&emulators[i]);

                if (agent)
                        str_format(&says, "%s%s%s", count++ ? ", " : "", emulators[i].name,
                                   runs ? "" : " (without qemu-user, which would run them)");
                free(runner);
                free(agent);
        }
        if (count)
                str_text(&says, ": programs of other processors that can be recorded");
        else
                str_text(&says, "none for programs of other processors ('make agents' "
                                "builds them)");
        tell(d, "agents", true, str_get(&says));
        str_free(&says);
}

/* ---- a process ---- */

static void check_recorded(struct doctor *d, uint32_t pid)
{
        struct wire_status s;
        enum ask_answered answered = ask_glance(pid, &s);
        char says[128];

        if (answered == ASK_ANSWERED)
                snprintf(says, sizeof says,
                         "it is being recorded (%s): report, leaks, top, control take its number",
                         s.engine);
        else
                snprintf(says, sizeof says, "it is %s",
                         answered == ASK_SILENT    ? "recorded, but the seep that does so is silent"
                         : answered == ASK_REFUSED ? "recorded by another user"
                                                   : "not being recorded");
        tell(d, "recorded", answered == ASK_ANSWERED, says);
}

/* By doing it. */
static void check_stop(struct doctor *d, uint32_t pid)
{
        struct freeze f;
        struct err e = { 0 };
        bool good = freeze_stop(&f, (pid_t)pid, &e);
        char says[160];

        if (good) {
                freeze_release(&f);
                snprintf(says, sizeof says,
                         "'seep leaks %" PRIu32
                         "' and 'seep why' work: they stop it for about %" PRIu64
                         " us and read a copy",
                         pid, f.pause_ns / 1000);
                freeze_close(&f);
        }
        tell_needed(d, "leaks", good, good ? says : e.text);
        good = good && patch_is_possible(&e) && refusal_is_own_kind((pid_t)pid, &e) &&
               refusal_sees_itself((pid_t)pid, &e);
        snprintf(says, sizeof says, "'seep attach %" PRIu32 "' records it from now on", pid);
        tell(d, "attach", good, good ? says : e.text);
}

static void check_again(struct doctor *d, uint32_t pid)
{
        struct program_user user = { geteuid(), getegid() };
        struct engine_choice choice = { .engine = ENGINE_AUTO };
        struct err e = { 0 };
        char *exe = process_link(pid, "exe");
        bool good = *exe && engine_choose(&choice, exe, &user, &e);

        if (!*exe)
                err_set(&e, ERR_EXIT_CANNOT_TRACE,
                        "its program cannot be seen: it belongs to another user; use sudo");
        tell(d, "record", good, good ? "its program can be started with 'seep record'" : e.text);
        emulator_free(&choice.emulation);
        free(exe);
}

static void check_process(struct doctor *d, uint32_t pid)
{
        struct err e = { 0 };

        if (!refusal_possible((pid_t)pid, &e)) {
                tell_needed(d, "process", false, e.text);
                return;
        }
        check_recorded(d, pid);
        check_stop(d, pid);
        check_again(d, pid);
        check_memory(d, (pid_t)pid);
}

/* ---- the command ---- */

static int examine(struct doctor *d, const char *operand)
{
        uint32_t pid;

        check_proc(d);
        if (operand && newest_is_process(operand, &pid)) {
                check_process(d, pid);
        } else {
                if (operand)
                        core_is(operand) ? check_core(d) : check_program(d, operand);
                else
                        check_agents(d);
                check_disk(d);
                check_memory(d, 0);
                check_limits(d);
        }
        if (d->json)
                printf("{\"seep\": 1, \"works\": %s, \"checks\": [%s]}\n",
                       d->works ? "true" : "false", str_get(&d->out));
        else
                message_result(&d->out);
        str_free(&d->out);
        return d->works ? 0 : ERR_EXIT_FINDINGS;
}

int cmd_doctor(int argc, char **argv)
{
        struct doctor d = { .works = true };
        struct option_parser parser;
        int which;

        option_start(&parser, "doctor", doctor_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == DOCTOR_HELP)
                        return say_help();
                d.json |= which == DOCTOR_JSON;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (argc - parser.first_operand > 1)
                return message_usage("doctor", "one process or program at a time, not also '%s'",
                                     argv[parser.first_operand + 1]);
        return examine(&d, argv[parser.first_operand]);
}
