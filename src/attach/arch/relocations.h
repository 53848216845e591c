/* SPDX-License-Identifier: MIT */
/*
 * relocations.h -- relocation of an image that was not linked for its address.
 *
 * ARCH_RELOCATION_RELATIVE(narrow)   base and addend
 * ARCH_RELOCATION_SYMBOL(narrow)     the address of a symbol
 */
#ifndef SEEP_ATTACH_ARCH_RELOCATIONS_H
#define SEEP_ATTACH_ARCH_RELOCATIONS_H

#include <elf.h>

/* Of programs with words of 4 bytes (NARROW): those of i386. */
#if defined(__aarch64__)
#define ARCH_RELOCATION_RELATIVE(narrow) ((void)(narrow), (uint32_t)R_AARCH64_RELATIVE)
#define ARCH_RELOCATION_SYMBOL(narrow) ((void)(narrow), (uint32_t)R_AARCH64_GLOB_DAT)
#else
#define ARCH_RELOCATION_RELATIVE(narrow) \
        ((narrow) ? (uint32_t)R_386_RELATIVE : (uint32_t)R_X86_64_RELATIVE)
#define ARCH_RELOCATION_SYMBOL(narrow) \
        ((narrow) ? (uint32_t)R_386_GLOB_DAT : (uint32_t)R_X86_64_GLOB_DAT)
#endif

#endif
