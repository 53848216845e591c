/* SPDX-License-Identifier: MIT */
/*
 * corpus_events.c -- makes the event logs that fuzzing starts from.
 *
 * usage: corpus_events DIRECTORY     writes few.events (batches so small that nothing is packed)
 *        and many.events; the same bytes
 *                                    every time
 */
#include <stdio.h>

#include "profile/events_log.h"
#include "put.h"
#include "sample.h"

/* All types, few addresses, so that many events are about one block. */
static struct ledger_event any_event(uint64_t *r, uint32_t number)
{
        uint64_t x = sample_random(r);

        return (struct ledger_event){
                .stamp = number,
                .type = (uint8_t)(x % 3 ? 1 + (x >> 8) % 4 : (x >> 8) % LEDGER_EVENT_TYPES),
                .kind = (uint8_t)(x >> 16 & 1 ? LEDGER_KIND_MALLOC : (x >> 17) % LEDGER_KIND_COUNT),
                .thread = (uint16_t)(1 + (x >> 24) % 3),
                .site = (uint32_t)(x >> 32) % 16,
                .ms = number / 50,
                .address = 0x10000 + (x >> 40) % 64 * 16,
                .size = (x >> 48) % 256,
        };
}

static int put_log(const char *directory, const char *name, uint32_t batches, uint32_t events)
{
        struct events_encoder *c = events_encoder_new();
        struct str file = { 0 }, batch = { 0 }, path = { 0 };
        uint32_t number = 0;
        uint64_t r = 17;
        int status;

        events_log_head(&file);
        for (uint32_t i = 0; i < batches; i++) {
                for (uint32_t k = 0; k < events; k++) {
                        struct ledger_event one = any_event(&r, ++number);

                        events_encode(c, &one, 1);
                }
                str_clear(&batch);
                events_batch(c, &batch);
                events_log_batch(&batch, &file);
        }
        str_clear(&batch);
        events_last_batch(number, EVENTS_END_DONE, &batch);
        events_log_batch(&batch, &file);
        str_format(&path, "%s/%s", directory, name);
        status = !put_file(path.data, file.data, file.length);
        if (status)
                perror(path.data);
        str_free(&path);
        str_free(&batch);
        str_free(&file);
        events_encoder_free(c);
        return status;
}

int main(int argc, char **argv)
{
        if (argc != 2) {
                fputs("usage: corpus_events DIRECTORY\n", stderr);
                return 2;
        }
        return put_log(argv[1], "few.events", 4, 12) || put_log(argv[1], "many.events", 3, 2000);
}
