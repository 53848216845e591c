/* SPDX-License-Identifier: MIT */
/*
 * corpus_journal.c -- makes the journals that fuzzing starts from.
 *
 * usage: corpus_journal DIRECTORY     writes few.journal (one packet) and some.journal (three); the
 *        same bytes every time
 */
#include <stdio.h>

#include "packets.h"
#include "put.h"

static int put(const char *directory, const char *name, struct packets *p)
{
        struct str path = { 0 };
        int status;

        str_format(&path, "%s/%s", directory, name);
        status = !put_file(path.data, p->file.data, p->file.length);
        if (status)
                perror(path.data);
        str_free(&path);
        packets_free(p);
        return status;
}

int main(int argc, char **argv)
{
        struct packets few = { .number = 0 }, some = { .number = 0 };

        if (argc != 2)
                return 2;
        packets_begin(&few);
        packets_work(&few);
        packets_rest(&few);
        packets_end(&few, 1);
        packets_begin(&some);
        packets_end(&some, 1);
        packets_work(&some);
        packets_end(&some, 0);
        packets_record(&some, 0xc4, 6, PACKETS_U(0), PACKETS_U(1), PACKETS_U(3), PACKETS_U(1),
                       PACKETS_U(2 * 0x20000), PACKETS_U(48));
        packets_record(&some, 0xd7, 14, PACKETS_U(0), PACKETS_U(1), PACKETS_U(3), PACKETS_U(1),
                       PACKETS_U(4), PACKETS_U(0x10000), PACKETS_U(1), PACKETS_U(1), PACKETS_U(1),
                       PACKETS_U(100), PACKETS_U(0), PACKETS_U(0), PACKETS_U(0), PACKETS_U(0));
        packets_rest(&some);
        packets_end(&some, 0);
        return put(argv[1], "few.journal", &few) | put(argv[1], "some.journal", &some);
}
