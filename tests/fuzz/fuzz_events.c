/* SPDX-License-Identifier: MIT */
/*
 * fuzz_events.c -- any bytes as a file with an event log: read it to its end, add it up, write it
 * again, read it again.
 *
 * Built twice, as fuzz_file.c is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "profile/events_log.h"
#include "profile/replay.h"

#define EVENTS_MAX 20000u /* looked at, of one input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Events that could be decoded can be encoded, and are the same then. */
static void check_round_trip(const struct ledger_event *events, uint32_t count)
{
        struct events_encoder *c = events_encoder_new();
        struct events_decoder *d = events_decoder_new();
        struct str batch = { 0 };
        struct ledger_event e;

        events_encode(c, events, count);
        events_batch(c, &batch);
        if (!events_take(d, (const uint8_t *)batch.data, batch.length))
                abort();
        for (uint32_t i = 0; i < count; i++)
                if (!events_next(d, &e) || memcmp(&e, &events[i], sizeof e))
                        abort();
        events_encoder_free(c);
        events_decoder_free(d);
        str_free(&batch);
}

static void read_log(struct events_log *log)
{
        struct ledger_event *events = heap_zero(EVENTS_MAX, sizeof *events);
        struct replay *replay = replay_new();
        uint32_t count = 0;

        while (count < EVENTS_MAX && events_log_next(log, &events[count])) {
                replay_event(replay, &events[count]);
                count++;
        }
        if (replay_events(replay) != count)
                abort();
        check_round_trip(events, count);
        replay_free(replay);
        free(events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        struct events_log *log;
        struct err e = { 0 };
        char path[64];

        if (fd < 0 || !io_write(fd, data, size))
                abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        log = events_log_open(path, &e);
        if (log)
                read_log(log);
        else if (!e.text[0])
                abort();
        events_log_close(log);
        close(fd);
        return 0;
}
