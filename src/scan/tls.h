/* SPDX-License-Identifier: MIT */
/*
 * tls.h -- the writable data and thread-local storage of modules, read from the memory of a stopped
 * process.
 *
 * Keeps:  the process is not trusted: what makes no sense is left out.
 *
 * Thread-local storage of a module has a number, in the order in which the modules that have some
 * were loaded; the thread's dtv leads from it to the memory.  glibc and musl tell the number
 * nowhere that is public: the order is that of the loader's list, which is right unless modules
 * were unloaded in between.  The size must fit, else the block has no module.
 */
#ifndef SEEP_SCAN_TLS_H
#define SEEP_SCAN_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "leak/search.h"
#include "profile/model.h"

#define TLS_DATA_MAX 4u

struct tls_module {
        struct search_range data[TLS_DATA_MAX]; /* writable segments */
        uint32_t data_count;
        struct search_range relro; /* of these: what the loader protects before any code of the
                                    * module runs */
        uint64_t tls_bytes; /* 0: has none */
        uint64_t tls_alignment;
        uint64_t dynamic;   /* its dynamic section; 0 none */
        bool interp;        /* it asks for a loader, which starts it */
        bool readable;      /* the headers are there */
};

struct tls {
        const struct freeze *freeze;
        const struct profile *p;
        struct tls_module *modules; /* by module of the profile */
        uint32_t *order; /* modules with thread-local storage, by number less one;
                          * PROFILE_NO_MODULE: not one of the profile's */
        uint32_t order_count;
        bool musl;
        bool loaded; /* by a loader, which is no part of the program */
};

/* Thread-local storage of one module in one thread. */
struct tls_block {
        uint64_t start, end;
        uint32_t module; /* PROFILE_NO_MODULE: unknown */
};

void tls_open(struct tls *t, const struct freeze *f, const struct profile *p);
void tls_close(struct tls *t);

/* What the headers of module INDEX say; false: they cannot be read. */
bool tls_module(const struct tls *t, uint32_t index, struct tls_module *out);

/* All blocks of the thread with thread pointer TP; of a static program, whose loader keeps no list,
 * the one below TP.  *BLOCKS is to be freed. */
uint32_t tls_blocks(const struct tls *t, uint64_t tp, struct tls_block **blocks);

#endif
