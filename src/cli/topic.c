/* SPDX-License-Identifier: MIT */
/*
 * topic.c -- short texts that explain what the numbers mean.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/topic.h"

#include <stddef.h>
#include <string.h>

static const char peak_text[] =
        "PEAK\n"
        "\n"
        "The peak is the moment at which the program held the most heap memory, counted\n"
        "in the bytes it asked for. 'peak' numbers of a function or stack are its share\n"
        "at that one moment, so they add up to the program's peak. A function that held\n"
        "much at another time has a small peak share: look at that time with 'seep\n"
        "report --at TIME'.\n"
        "\n"
        "  seep report --cost=peak     who held the memory at the peak\n"
        "  seep report --cost=live     who holds it at the end (or at --at TIME)\n"
        "  seep report --cost=total    all that was ever allocated, mostly freed again\n"
        "\n"
        "With one thread the peak is exact to the byte. With several, threads compare\n"
        "their sums in batches; the summary then says by how much the real peak may be\n"
        "higher.\n";

static const char rss_text[] =
        "RSS\n"
        "\n"
        "The resident set (RSS) is what the kernel counts: pages of the process in\n"
        "memory. The heap numbers of seep are the bytes the program asked for. RSS is\n"
        "larger because of\n"
        "\n"
        "  - the allocator's own headers and rounding (16 bytes and more per block),\n"
        "  - freed memory that the allocator keeps, and holes it cannot give back,\n"
        "  - code and data of the program and its libraries, thread stacks,\n"
        "  - memory from mmap (the summary and the report name it apart from the heap),\n"
        "  - seep's own ledger, shared memory of the recorded process: in ps and top,\n"
        "    but not in the numbers here.\n"
        "\n"
        "RSS is smaller when memory was allocated and never written to. The peak is that\n"
        "of the process without its children; it is left out where it is not known, as\n"
        "when the heap of a process with children grew just before the end.\n";

static const char symbols_text[] =
        "SYMBOLS\n"
        "\n"
        "Names are looked up when a report is made, not while recording, in the files\n"
        "that were mapped (checked by build id). From best to worst a frame is shown as\n"
        "\n"
        "  function  file:line        debug information found (compile with -g)\n"
        "  function                   a symbol table only\n"
        "  module+0x1234              stripped: only the place in the file is known\n"
        "\n"
        "Separate debug files are found by build id below /usr/lib/debug, through the\n"
        "debuginfod servers in DEBUGINFOD_URLS, and in each --debug-path DIR. 'seep\n"
        "info --symbols' names the modules without debug information. A recording stays\n"
        "valid: install the debug package later, then report again. Inlined functions\n"
        "are shown as frames of their own. C++ and Rust names are demangled.\n"
        "\n"
        "The program was recorded on another machine, stripped? Copy the recording to\n"
        "where its unstripped files are:\n"
        "\n"
        "  seep report --debug-path DIR FILE      DIR holds them in any layout\n"
        "  seep report --sysroot DIR FILE         DIR is a copy of that machine's /\n"
        "  seep symbolize --debug-path DIR FILE   the same, once: the names are stored\n"
        "                                         in the recording, which can then be\n"
        "                                         read anywhere\n"
        "\n"
        "Code that a JIT compiler made has names when the compiler writes a perf map\n"
        "(/tmp/perf-PID.map): it is saved with the recording.\n";

static const char leaks_text[] =
        "LEAKS\n"
        "\n"
        "'Not freed' is what was allocated and not released when the program ended.\n"
        "That is not the same as a leak: a table that is used until the end and given\n"
        "back by the kernel is fine. This version does not tell the two apart; it shows\n"
        "what was not freed:\n"
        "\n"
        "  seep report --cost=live     not freed, by call stack\n"
        "  seep report --blocks        each block with address, size, age and stack\n"
        "\n"
        "A leak shows as a stack whose live bytes grow with time:\n"
        "\n"
        "  seep report --growth          stacks that grow, with their rate\n"
        "  seep diff run.seep@10s @60s   what changed between two moments\n";

static const char formats_text[] =
        "FORMATS\n"
        "\n"
        "  PROGRAM.PID.seep     a recording: the state at the end, the peak, time slices.\n"
        "                       It is small (bounded by heap and code, not by run\n"
        "                       time), checksummed, compressed, and can be read as far\n"
        "                       as it is whole when cut off. docs/FORMAT.md describes\n"
        "                       each byte.\n"
        "  seep report          text; colour and pager on a terminal only\n"
        "  seep report --json   for scripts; fields may be added, never renamed\n"
        "\n"
        "Sizes are in bytes and multiples of 1024 (KiB, MiB). Options take k M G (1024)\n"
        "and kB MB GB (1000); times take ms s m h.\n";

static const char filters_text[] =
        "FILTERS\n"
        "\n"
        "Each view of 'seep report' takes the same filters; together they must all\n"
        "hold.\n"
        "\n"
        "  -i, --include RE     stacks with such a function; may be repeated\n"
        "  -x, --exclude RE     not those; from the inside, the first frame that matches\n"
        "                       -i or -x decides\n"
        "  --module RE          stacks that pass through a matching program or library\n"
        "  --exclude-module RE  not those; again the first frame that matches decides,\n"
        "                       without the C library's code that calls main\n"
        "  --thread RE          allocations of threads whose name or id matches\n"
        "  --at TIME            the state at that moment: peak, end, 1500ms, 12s, 3m\n"
        "  --range A..B         what happened between two moments\n"
        "  --threshold PCT      lines below that share are summed up\n"
        "  -n, --limit N        the N largest only\n"
        "\n"
        "RE is an extended regular expression, found anywhere in the name:\n"
        "-i '^parse_' -x test\n";

static const char growth_text[] =
        "GROWTH\n"
        "\n"
        "'seep report --growth' lists first the call stacks that hold more and more\n"
        "memory, with the rate; --flat marks each stack too, the summary those that grow.\n"
        "The judgement comes from the time slices of the recording:\n"
        "\n"
        "  - The first quarter of the run is warm-up and not looked at. The rest is cut\n"
        "    into eight windows of equal time. Of each window the least that was live\n"
        "    counts: what falls back to its old level does not grow, however high it\n"
        "    went.\n"
        "\n"
        "  grows    the least of a window is higher than that of the window before, at\n"
        "           least three times, once of them in the last two windows; of what was\n"
        "           gained at most a quarter was lost in between. The rate is the gain\n"
        "           over the time between the first and the last window.\n"
        "  once     all its allocations were within an eighth of the run\n"
        "  bounded  it goes on allocating, and gives back\n"
        "\n"
        "What is given back at the very end of the program does not hide growth before.\n"
        "A stack that grows is a leak, a cache without a limit, or a program that has not\n"
        "yet seen all of its data: let it run longer, or compare two moments with\n"
        "--range. With fewer than 16 slices (runs of less than a third of a second)\n"
        "nothing is said.\n";

static const char snapshots_text[] =
        "SNAPSHOTS\n"
        "\n"
        "A snapshot is a named moment of a run whose state is kept. It is taken by\n"
        "\n"
        "  seep snapshot PID [LABEL]          from another terminal\n"
        "  kill -USR1 PID                     by a signal (seep help signal)\n"
        "  SEEP_SNAPSHOT(\"label\")             by the program itself (seep help tags)\n"
        "  seep --snapshot-every 10s PROGRAM  by the clock\n"
        "  seep --snapshot-at-rss 2G PROGRAM  when so much is resident (once), or\n"
        "       --snapshot-at-heap 500M       allocated (once)\n"
        "\n"
        "Snapshots are numbered from 1 and are part of the recording:\n"
        "\n"
        "  seep diff FILE@1 FILE@2            what changed between the first two\n"
        "  seep diff FILE@startup FILE        since a tag or label, until the end\n"
        "  seep report --at SNAPSHOT          the state at a number or a label\n"
        "  seep report --range A..B           allocated after A and still live at B\n"
        "\n"
        "Those that the user or the program asked for also write a report at once,\n"
        "PROGRAM-PID-N.memlog: the first is the whole state, each further one what\n"
        "changed since the one before. All of them together are the state at the last.\n"
        "To find a leak: take one, use the program until it is in the same state again,\n"
        "take another. What is on top of the second has leaked.\n";

static const char signal_text[] =
        "SIGNAL\n"
        "\n"
        "SIGUSR1 asks a recorded program for a snapshot and a report of it,\n"
        "PROGRAM-PID-N.memlog, in the directory where it was started (in $TMPDIR when\n"
        "that is not writable). The program need not do anything for it, and a system\n"
        "call that it waits in goes on. It works without the command too:\n"
        "\n"
        "  LD_PRELOAD=/usr/local/lib/seep/libseep.so ./program &\n"
        "  kill -USR1 $!\n"
        "\n"
        "A last report is written when the program ends, whatever ends it. Options come\n"
        "from SEEP_OPTIONS then:\n"
        "\n"
        "  SEEP_OPTIONS=\"--signal=RTMIN+3\"   another signal\n"
        "  SEEP_OPTIONS=\"--signal=none\"      none\n"
        "  SEEP_OPTIONS=\"--follow=all\"       forked children too, such as a daemon\n"
        "\n"
        "A daemon that forks and lets its parent end is such a child: without\n"
        "--follow=all only the parent is recorded, and the signal means to the daemon\n"
        "what it means without seep.\n"
        "\n"
        "A program that installs a handler of its own for that signal keeps it; seep\n"
        "says so, and reports by that signal are off: choose another one, or use\n"
        "'seep snapshot PID'.\n";

static const char tags_text[] =
        "TAGS\n"
        "\n"
        "A program can tell seep about itself with the macros of seep.h. Nothing has to\n"
        "be linked, and without seep they do nothing. 'man seep.h' explains each.\n"
        "\n"
        "  SEEP_TAG(\"loaded\")            a named moment\n"
        "  SEEP_SNAPSHOT(\"request\")      the same, and a report before it returns\n"
        "  SEEP_DISABLE() SEEP_ENABLE()  do not record new blocks; counted\n"
        "  SEEP_ALLOC(p, n) SEEP_FREE(p) blocks of an own allocator\n"
        "  SEEP_RESOURCE_ACQUIRE(\"texture\", id, bytes)\n"
        "  SEEP_RESOURCE_RELEASE(\"texture\", id)\n"
        "\n"
        "  seep report --range loaded..request   allocated after the first and still\n"
        "                                        live at the second\n"
        "  seep diff FILE@loaded FILE@request    the same as a difference\n"
        "\n"
        "Resources are listed by type and call stack; their amounts are never added to\n"
        "bytes of memory. 'seep record --track-fds' records file descriptors in that\n"
        "way, without any change to the program.\n";

static const char log_text[] =
        "LOG\n"
        "\n"
        "A recording is the state of the heap and its course, not a log. With --events\n"
        "the log is kept too: every allocation and release of every thread, in order,\n"
        "with tags, threads and libraries as they come and go.\n"
        "\n"
        "  seep --events ./program       record; --max-file 1G bounds the log\n"
        "  seep events                   print it\n"
        "  seep events --open            only what was never freed\n"
        "  seep events --from loaded --to request\n"
        "  seep events --csv             a table, for other programs\n"
        "  seep events --totals          what it adds up to, beside what was counted\n"
        "\n"
        "The log takes a few bytes per event, and the program runs slower while it is\n"
        "written. When the bound is reached the log ends with a note, and the rest of\n"
        "the recording goes on.\n";

static const char config_text[] =
        "CONFIG\n"
        "\n"
        "Options that are always wanted stand in ~/.config/seep/config (or in\n"
        "$XDG_CONFIG_HOME/seep/config) and in ./.seeprc. A line is a command and its\n"
        "options, split into words as in the shell; # begins a comment:\n"
        "\n"
        "  record --follow=all\n"
        "  report --no-pager -x '^test_'    # everywhere but in tests\n"
        "\n"
        "The user's file comes first, then .seeprc, then SEEP_OPTIONS (for record), then\n"
        "the command line; what comes later wins. A .seeprc that belongs to another user\n"
        "or that others can write to is left out, with a note.\n";

#define TOPIC_ENTRY(name, purpose) { #name, purpose, name##_text },

const struct topic topic_list[TOPIC_COUNT] = { TOPIC_LIST(TOPIC_ENTRY) };

const char *topic_find(const char *name)
{
        for (size_t i = 0; i < TOPIC_COUNT; i++)
                if (strcmp(topic_list[i].name, name) == 0)
                        return topic_list[i].text;
        return NULL;
}
