/* SPDX-License-Identifier: MIT */
/*
 * binary.h -- ELF files on disk: whether one is the right one, and opening it in a form that libdw
 * can read.
 */
#ifndef SEEP_NAMES_BINARY_H
#define SEEP_NAMES_BINARY_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

enum binary_fit {
        BINARY_NONE,  /* not there, or no ELF file */
        BINARY_OTHER, /* it has another build id, or none: its names would be lies */
        BINARY_NAMES, /* the one, without debug information */
        BINARY_LINES  /* the one, with debug information */
};

/* A WANTED without build id is taken by its path alone. */
enum binary_fit binary_examine(const char *path, const struct profile_module *wanted);

/* Bytes of the build id of the ELF file at PATH, which is put into ID; 0: none, or no ELF file. */
uint32_t binary_build_id(const char *path, uint8_t id[20]);

/* What .gnu_debuglink of the ELF file at PATH names, the caller's to free; NULL none. */
char *binary_link(const char *path);

/* A descriptor of PATH to read from, or of a copy in memory where PATH has sections packed in a way
 * that libelf may not know (zstd came with version 0.189).  -1: errno tells why. */
int binary_open(const char *path);

/* The section of ELF called NAME, unpacked; NULL when there is none.  The data belongs to ELF. */
Elf_Data *binary_section(Elf *elf, const char *name);

/* The same with its HEAD. */
Elf_Data *binary_section_head(Elf *elf, const char *name, GElf_Shdr *head);

#endif
