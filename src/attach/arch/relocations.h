/* SPDX-License-Identifier: MIT */
/*
 * relocations.h -- what is to be done to the words of an image that was not linked for its address.
 *
 * ARCH_RELOCATION_RELATIVE   base and addend
 * ARCH_RELOCATION_SYMBOL     the address of a symbol
 */
#ifndef SEEP_ATTACH_ARCH_RELOCATIONS_H
#define SEEP_ATTACH_ARCH_RELOCATIONS_H

#include <elf.h>

#if defined(__aarch64__)
#define ARCH_RELOCATION_RELATIVE R_AARCH64_RELATIVE
#define ARCH_RELOCATION_SYMBOL R_AARCH64_GLOB_DAT
#else
#define ARCH_RELOCATION_RELATIVE R_X86_64_RELATIVE
#define ARCH_RELOCATION_SYMBOL R_X86_64_GLOB_DAT
#endif

#endif
