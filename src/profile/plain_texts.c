/* SPDX-License-Identifier: MIT */
#include "profile/plain_texts.h"

#include "base/plain.h"

static void plain_meta(const struct profile_meta *m)
{
        plain_name(m->program);
        plain_name(m->exe);
        plain_name(m->cwd);
        plain_name(m->host);
        plain_name(m->engine);
        plain_name(m->version);
        for (uint32_t i = 0; i < m->arg_count; i++)
                plain_name(m->args[i]);
        for (uint32_t i = 0; i < m->warning_count; i++)
                plain_name(m->warnings[i]);
}

void profile_plain(const struct profile *p)
{
        plain_meta(&p->meta);
        for (uint32_t i = 0; i < p->module_count; i++)
                plain_name(p->modules[i].path);
        for (uint32_t i = 0; i < p->thread_count; i++)
                plain_name(p->threads[i].name);
        for (uint32_t i = 0; i < p->mark_count; i++)
                plain_name(p->marks[i].label);
        for (uint32_t i = 0; i < p->type_count; i++)
                plain_name(p->types[i]);
        for (uint32_t i = 0; i < p->mapping_count; i++)
                plain_name(p->mappings[i].name);
        for (uint32_t i = 0; i < p->scan_count; i++)
                plain_name(p->scans[i].trouble);
}
