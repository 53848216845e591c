/* SPDX-License-Identifier: MIT */
/* figure.h -- numbers in few columns: 40.1M, +1.2M, 410k, 4m12. */
#ifndef SEEP_TOP_FIGURE_H
#define SEEP_TOP_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Append "512", "40.1K", "3.2G" bytes, units of 1024; with SIGNED "+40.1K". */
void figure_size(struct str *out, int64_t bytes, bool with_sign);

/* Append "8,211" in at most WIDTH columns, else "410k", "12.3M"; units of 1000. */
void figure_count(struct str *out, uint64_t count, int width);

/* Append a count per second: "0", "0.4", "12", "12.1k". */
void figure_rate(struct str *out, double per_s);

/* Append "850ms", "12s", "4m12", "2h05", "3d04". */
void figure_age(struct str *out, uint64_t ms);

/* Append "00:12:31", "3d 02:10:00". */
void figure_clock(struct str *out, uint64_t ms);

#endif
