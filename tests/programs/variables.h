/* SPDX-License-Identifier: MIT */
/* variables.h -- a program that tells where its variables are and what they are called; see
 * test_variables.py. */
#ifndef VARIABLES_H
#define VARIABLES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the kernel and the loader say about a module; number 0 is the program, 1 the library. */
struct told_module {
        unsigned long bias, start, end;
        char *thread;
};

static struct told_module told_modules[2];

static int told_visit(struct dl_phdr_info *info, size_t size, void *data)
{
        int which = strstr(info->dlpi_name, "libvariables") != NULL;
        struct told_module *m = &told_modules[which];
        char path[PATH_MAX];

        (void)size, (void)data;
        if (!which && info->dlpi_name[0])
                return 0;
        m->bias = info->dlpi_addr;
        m->thread = (char *)info->dlpi_tls_data;
        m->start = ~0ul;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                unsigned long start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

                if (info->dlpi_phdr[i].p_type != PT_LOAD)
                        continue;
                m->start = start < m->start ? start : m->start;
                m->end = start + info->dlpi_phdr[i].p_memsz;
        }
        if (!realpath(which ? info->dlpi_name : "/proc/self/exe", path))
                exit(1);
        printf("module %s %lx %lx %lx\n", path, m->bias, m->start, m->end);
        return 0;
}

/* First the program, then its libraries: that is their order. */
#define TELL_MODULES() dl_iterate_phdr(told_visit, NULL)

/* Which of the modules ADDRESS is in. */
static int told_in(const void *address)
{
        return (unsigned long)address - told_modules[1].start <
               told_modules[1].end - told_modules[1].start;
}

static inline unsigned long told_first_word(const void *object)
{
        unsigned long word;

        memcpy(&word, object, sizeof word);
        return word;
}

/* The expected answer is FORMAT: name=NAME;key=value;... */
#define TELL_DATA(address, way, ...)                                                   \
        (printf("data %x %lx %s | ", told_in(address), (unsigned long)(address), way), \
         printf(__VA_ARGS__), puts(""))
#define TELL_THREAD(module, address, ...)                                        \
        (printf("thread %x %lx | ", module,                                      \
                (unsigned long)((char *)(address)-told_modules[module].thread)), \
         printf(__VA_ARGS__), puts(""))
#define TELL_CLASS(object, ...) \
        (printf("class %lx | ", told_first_word(object)), printf(__VA_ARGS__), puts(""))

#endif
