/* SPDX-License-Identifier: MIT */
/*
 * csv.c -- the table of call stacks that `report --csv` has.
 *
 * Room:   outside.
 */
#include "report/csv.h"

#include "export/export.h"

bool export_csv(const struct export_input *in, struct str *out, struct err *e)
{
        struct flat_options options = { .key = flat_key_of(in->sel->cost) };

        (void)e; /* nothing can fail */
        csv_write(in->sel, in->symbols, &options, out);
        return true;
}
