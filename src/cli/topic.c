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
        "  - seep's own ledger, which is shared memory of the recorded process.\n"
        "\n"
        "RSS is smaller when memory was allocated and never written to.\n";

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
        "are shown as frames of their own. C++ and Rust names are demangled.\n";

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
        "A leak shows as a stack whose live bytes grow with time. Compare two moments:\n"
        "\n"
        "  seep report --cost=live --at 10s\n"
        "  seep report --cost=live --at 60s\n";

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
        "  --thread RE          allocations of threads whose name or id matches\n"
        "  --at TIME            the state at that moment: peak, end, 1500ms, 12s, 3m\n"
        "  --range A..B         what happened between two moments\n"
        "  --threshold PCT      lines below that share are summed up\n"
        "  -n, --limit N        the N largest only\n"
        "\n"
        "RE is an extended regular expression, found anywhere in the name:\n"
        "-i '^parse_' -x test\n";

const struct topic topic_list[TOPIC_COUNT] = {
        { "peak", "what the peak is, and why a function's peak is something else", peak_text },
        { "rss", "why the process is bigger than its heap", rss_text },
        { "symbols", "where names and lines come from, what to do without", symbols_text },
        { "leaks", "what 'not freed' means", leaks_text },
        { "formats", "the files and what reads them", formats_text },
        { "filters", "how to look at a part of a recording", filters_text },
};

const char *topic_find(const char *name)
{
        for (size_t i = 0; i < TOPIC_COUNT; i++)
                if (strcmp(topic_list[i].name, name) == 0)
                        return topic_list[i].text;
        return NULL;
}
