/* SPDX-License-Identifier: MIT */
/*
 * elf.h -- what the file of a program says before it is started.
 *
 * Keeps:  no byte of the file is trusted.
 */
#ifndef SEEP_ATTACH_ELF_H
#define SEEP_ATTACH_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_facts {
        bool is_elf;
        bool foreign; /* other class, byte order or machine than ours: of what is below, its loader
                       * is known */
        bool has_interp;   /* dynamically linked: a loader starts it */
        bool is_loader;    /* it is such a loader itself */
        char interp[256]; /* "" not known */
        const char *sanitizer; /* "AddressSanitizer", ...; NULL none */
        const char *allocator; /* whose malloc it may have: "glibc", "jemalloc", ...; NULL not
                                * known */
        uint8_t class_, order; /* EI_CLASS, EI_DATA */
        uint16_t machine;
};

/* Facts about the open file FD; false when it cannot be read (errno). */
bool elf_look(int fd, struct elf_facts *out);

/* Which of the COUNT NAMES other objects can call in the file FD, which is of our kind: a bit for
 * each. */
uint32_t elf_exports(int fd, const char *const *names, uint32_t count);

/* Whether one of the COUNT WORDS may be part of the name of a symbol or section of the file FD;
 * false is certain.  A file that is not of our kind, or has many names, may have any. */
bool elf_may_mention(int fd, const char *const *words, uint32_t count);

/* The build id in BYTES of notes; how many bytes it has, 0: there is none.  TURNED: they have the
 * other byte order. */
#define ELF_ID_BYTES 20u
size_t elf_build_id(const uint8_t *notes, size_t bytes, bool turned, uint8_t id[ELF_ID_BYTES]);

/* "32-bit ARM", for messages; valid until the next call. */
const char *elf_kind_name(const struct elf_facts *f);

/* The same for this process. */
const char *elf_own_kind_name(void);

/* e_machine of ours; 0 unknown. */
uint16_t elf_own_machine(void);

#endif
