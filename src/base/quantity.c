/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool quantity_number(const char *text, uint64_t *out)
{
        char *end;

        errno = 0;
        *out = strtoull(text, &end, 10);
        return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

struct quantity_unit {
        const char *name;
        double factor;
};

static bool quantity_scaled(const char *text, const struct quantity_unit *units, uint64_t *out)
{
        char *end;
        double value;

        if (text[0] < '0' || text[0] > '9')
                return false;
        value = strtod(text, &end);
        for (; units->name; units++)
                if (strcmp(end, units->name) == 0) {
                        value *= units->factor;
                        if (value > 18e18)
                                return false;
                        *out = (uint64_t)(value + 0.5);
                        return true;
                }
        return false;
}

bool quantity_size(const char *text, uint64_t *bytes)
{
        static const struct quantity_unit units[] = {
                { "", 1 },
                { "B", 1 },
                { "k", 1024 },
                { "K", 1024 },
                { "KiB", 1024 },
                { "M", 1048576 },
                { "MiB", 1048576 },
                { "G", 1073741824 },
                { "GiB", 1073741824 },
                { "T", 1099511627776.0 },
                { "kB", 1000 },
                { "KB", 1000 },
                { "MB", 1000000 },
                { "GB", 1000000000 },
                { NULL, 0 },
        };

        return quantity_scaled(text, units, bytes);
}

bool quantity_time(const char *text, uint64_t *ms)
{
        static const struct quantity_unit units[] = {
                { "", 1000 },     { "ms", 1 },      { "s", 1000 }, { "m", 60000 },
                { "min", 60000 }, { "h", 3600000 }, { NULL, 0 },
        };

        return quantity_scaled(text, units, ms);
}
