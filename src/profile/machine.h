/* SPDX-License-Identifier: MIT */
/*
 * machine.h -- the processors that recordings come from, by their number in ELF files: their names,
 * and those of their registers.
 */
#ifndef SEEP_PROFILE_MACHINE_H
#define SEEP_PROFILE_MACHINE_H

#include <stdint.h>

#define MACHINE_VECTOR_WORDS 256u
#define MACHINE_NAME_MAX 24

/* "x86-64", or "machine 300" where it is not known; in NAME then. */
const char *machine_name(uint32_t machine, char name[MACHINE_NAME_MAX]);

/* "rbx" for word I of a REGISTER root.  Its words are the general registers in the order of DWARF,
 * then 64-bit parts of vector registers, MACHINE_VECTOR_WORDS of them (whole registers first, then
 * whatever makes them wider), and last the stack pointer once more.  A part of a vector register
 * has the name of the whole one.  Never NULL; may be in NAME. */
const char *machine_register(uint32_t machine, uint32_t i, char name[MACHINE_NAME_MAX]);

#endif
