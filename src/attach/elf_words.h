/* SPDX-License-Identifier: MIT */
/*
 * elf_words.h -- structures of ELF files and loaders, of both word sizes and byte orders, converted
 * to native 64-bit ones.
 *
 * Room:   outside; pure computing on bytes.  FROM need not be aligned.
 */
#ifndef SEEP_ATTACH_ELF_WORDS_H
#define SEEP_ATTACH_ELF_WORDS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many bytes one of STRUCTURE (Sym, Dyn, ...) has. */
#define ELF_WORDS_BYTES(structure, narrow) \
        ((narrow) ? sizeof(Elf32_##structure) : sizeof(Elf64_##structure))

/* A number of 1, 2, 4 or 8 BYTES. */
static inline uint64_t elf_words_turned(uint64_t number, size_t bytes)
{
        return __builtin_bswap64(number) >> (64 - 8 * bytes);
}

/* All members have the same names.  elf_words_NAME: of our byte order; elf_words_any_NAME: TURNED
 * where it is the other one. */
#define ELF_WORDS_READ(name, structure, MEMBERS)                               \
        static inline Elf64_##structure elf_words_any_##name(const void *from, bool narrow, \
                                                             bool turned)      \
        {                                                                      \
                Elf64_##structure to = { 0 };                                  \
                Elf32_##structure half;                                        \
                                                                               \
                if (!narrow) {                                                 \
                        memcpy(&to, from, sizeof to);                          \
                        if (turned) {                                          \
                                MEMBERS(ELF_WORDS_TURN)                        \
                        }                                                      \
                        return to;                                             \
                }                                                              \
                memcpy(&half, from, sizeof half);                              \
                MEMBERS(ELF_WORDS_TAKE)                                        \
                return to;                                                     \
        }                                                                      \
        static inline Elf64_##structure elf_words_##name(const void *from, bool narrow) \
        {                                                                      \
                return elf_words_any_##name(from, narrow, false);              \
        }
#define ELF_WORDS_TURN(member) \
        to.member = (__typeof__(to.member))elf_words_turned((uint64_t)to.member, sizeof to.member);
#define ELF_WORDS_TAKE(member)                                                                     \
        to.member = (__typeof__(to.member))(turned ? elf_words_turned((uint64_t)half.member,       \
                                                                      sizeof half.member)          \
                                                   : (uint64_t)half.member);

#define ELF_WORDS_HEADER(X)                                                    \
        X(e_type) X(e_machine) X(e_phoff) X(e_shoff) X(e_phentsize) X(e_phnum) X(e_shentsize) \
        X(e_shnum)
#define ELF_WORDS_SEGMENT(X) \
        X(p_type) X(p_flags) X(p_offset) X(p_vaddr) X(p_paddr) X(p_filesz) X(p_memsz) X(p_align)
#define ELF_WORDS_SECTION(X)                                                                    \
        X(sh_name) X(sh_type) X(sh_flags) X(sh_addr) X(sh_offset) X(sh_size) X(sh_link) X(sh_info) \
        X(sh_addralign) X(sh_entsize)
#define ELF_WORDS_SYMBOL(X) X(st_name) X(st_value) X(st_size) X(st_info) X(st_other) X(st_shndx)
#define ELF_WORDS_DYNAMIC(X) X(d_tag) X(d_un.d_val)
#define ELF_WORDS_AUXILIARY(X) X(a_type) X(a_un.a_val)
#define ELF_WORDS_NOTE(X) X(n_namesz) X(n_descsz) X(n_type)

/* Not what it begins with: that has a class of its own. */
ELF_WORDS_READ(header, Ehdr, ELF_WORDS_HEADER)
ELF_WORDS_READ(segment, Phdr, ELF_WORDS_SEGMENT)
ELF_WORDS_READ(section, Shdr, ELF_WORDS_SECTION)
ELF_WORDS_READ(symbol, Sym, ELF_WORDS_SYMBOL)
ELF_WORDS_READ(dynamic, Dyn, ELF_WORDS_DYNAMIC)
ELF_WORDS_READ(auxiliary, auxv_t, ELF_WORDS_AUXILIARY)
ELF_WORDS_READ(note, Nhdr, ELF_WORDS_NOTE)

/* A word of the program's. */
static inline uint64_t elf_words_word(const void *from, bool narrow)
{
        uint64_t word = 0;
        uint32_t half;

        if (!narrow) {
                memcpy(&word, from, sizeof word);
                return word;
        }
        memcpy(&half, from, sizeof half);
        return half;
}

#endif
