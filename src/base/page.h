/* SPDX-License-Identifier: MIT */
/* page.h -- the size of a page of memory on this machine. */
#ifndef SEEP_BASE_PAGE_H
#define SEEP_BASE_PAGE_H

#include <stdint.h>
#include <unistd.h>

static inline uint64_t page_bytes(void)
{
        return (uint64_t)sysconf(_SC_PAGESIZE);
}

#endif
