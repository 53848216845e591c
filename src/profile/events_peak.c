/* SPDX-License-Identifier: MIT */
#include "profile/events_peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "ledger/ledger.h"

static struct events_peak_site *site_of(struct events_peak *k, uint32_t site)
{
        uint32_t count = k->site_count ? k->site_count : 1024;

        if (site >= LEDGER_SITES_MAX) /* nobody makes such a number: one place for all of them */
                site = 0;
        if (site < k->site_count)
                return &k->sites[site];
        while (count <= site)
                count *= 2;
        k->sites = heap_grow(k->sites, count, sizeof *k->sites);
        memset(k->sites + k->site_count, 0, (count - k->site_count) * sizeof *k->sites);
        k->site_count = count;
        return &k->sites[site];
}

void events_peak_change(struct events_peak *k, uint32_t site, int64_t bytes, int64_t blocks)
{
        struct events_peak_site *s = site_of(k, site);

        if (k->at_peak && (bytes < 0 || blocks < 0)) {
                k->at_peak = false;
                k->epoch++;
        }
        if (!k->at_peak && s->epoch != k->epoch) {
                s->peak_bytes = s->bytes;
                s->peak_blocks = s->blocks;
                s->epoch = k->epoch;
        }
        s->bytes += bytes;
        s->blocks += blocks;
        k->bytes += bytes;
        k->blocks += blocks;
}

void events_peak_compare(struct events_peak *k, uint32_t ms)
{
        if (k->bytes <= k->most)
                return;
        k->most = k->bytes;
        k->ms = ms;
        k->at_peak = true;
}

struct events_peak_site events_peak_of(const struct events_peak *k, uint32_t site)
{
        struct events_peak_site s = site < k->site_count ? k->sites[site] : (struct events_peak_site){ 0 };

        if (k->at_peak || s.epoch != k->epoch) {
                s.peak_bytes = s.bytes;
                s.peak_blocks = s.blocks;
        }
        return s;
}

void events_peak_free(struct events_peak *k)
{
        free(k->sites);
        *k = (struct events_peak){ 0 };
}
