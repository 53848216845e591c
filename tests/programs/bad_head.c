/* SPDX-License-Identifier: MIT */
/* bad_head.c FIELD VALUE -- writes over a word of what seep shares with the program, as a stray
 * pointer would, allocates and ends. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger.h"

#define FIELD(name) { #name, offsetof(struct ledger_head, name) }

static const struct {
        const char *name;
        size_t offset;
} fields[] = {
        FIELD(mark_count),       FIELD(scan_asked),      FIELD(scan_reason),    FIELD(scan_holder),
        FIELD(scan_sp),          FIELD(tick_ms),         FIELD(observer),       FIELD(served),
        FIELD(scan_done),        FIELD(working),         FIELD(journal_read),   FIELD(journal_wake),
        FIELD(journal_reserved), FIELD(journal_waiting), FIELD(journal_closed),
};

/* The ledger begins with its file. */
static char *find_ledger(void)
{
        FILE *f = fopen("/proc/self/maps", "r");
        char line[1000], *found = NULL;
        unsigned long start, offset;

        while (!found && fgets(line, sizeof line, f))
                if (strstr(line, "/memfd:seep") &&
                    sscanf(line, "%lx-%*x rw%*s %lx", &start, &offset) == 2 && offset == 0)
                        found = (char *)start;
        fclose(f);
        return found;
}

int main(int argc, char **argv)
{
        char *ledger = find_ledger();
        uint32_t value = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0;

        for (size_t i = 0; ledger && i < sizeof fields / sizeof *fields; i++)
                if (strcmp(fields[i].name, argv[1]) == 0) {
                        memcpy(ledger + fields[i].offset, &value, sizeof value);
                        puts("damaged");
                }
        for (int i = 0; i < 1000; i++)
                free(malloc(10));
        return 12;
}
