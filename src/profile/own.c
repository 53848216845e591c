/* SPDX-License-Identifier: MIT */
#include "profile/own.h"

#include <string.h>

static bool own_agent(const char *path)
{
        const char *slash = strrchr(path, '/');

        return strcmp(slash ? slash + 1 : path, "libseep.so") == 0;
}

bool own_mapping(const struct profile *p, const struct profile_mapping *m)
{
        return strncmp(m->name, "/memfd:seep", 11) == 0 || own_agent(m->name) ||
               (m > p->mappings && !m->name[0] && m[-1].end == m->start && own_agent(m[-1].name));
}

uint64_t own_resident_beside(const struct profile *p)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < p->mapping_count; i++)
                if (!own_mapping(p, &p->mappings[i]))
                        bytes += p->mappings[i].rss_bytes;
        return bytes;
}
