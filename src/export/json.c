/* SPDX-License-Identifier: MIT */
/*
 * json.c -- the report for programs, as `report --json` has it.
 *
 * Room:   outside.
 */
#include "report/json.h"

#include "export/export.h"

bool export_json(const struct export_input *in, struct str *out, struct err *e)
{
        (void)e; /* nothing can fail */
        json_write(in->sel, in->resources, in->symbols, out);
        return true;
}
