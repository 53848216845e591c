/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- what both sides must know of the processor that they are built for.
 *
 * The rest of a port is in agent/arch/ and attach/arch/.
 */
#ifndef SEEP_LEDGER_ARCH_ARCH_H
#define SEEP_LEDGER_ARCH_ARCH_H

/* LEDGER_MACHINE: e_machine of its programs.  LEDGER_NARROW_MACHINE: the same of those with words
 * of 4 bytes that its kernel may run, too.  LEDGER_ADDRESS_BITS: no block lies above; more bits,
 * and a larger table at the start of every process (book/shadow.h). */
#if defined(__x86_64__) && defined(__LP64__)
#define LEDGER_MACHINE 62u       /* EM_X86_64 */
#define LEDGER_NARROW_MACHINE 3u /* EM_386 */
#define LEDGER_ADDRESS_BITS 47
#elif defined(__i386__)
#define LEDGER_MACHINE 3u /* EM_386 */
#define LEDGER_ADDRESS_BITS 32
#elif defined(__aarch64__) && defined(__LP64__)
#define LEDGER_MACHINE 183u       /* EM_AARCH64 */
#define LEDGER_NARROW_MACHINE 40u /* EM_ARM */
#define LEDGER_ADDRESS_BITS 48    /* 52 only for who asks for it with a hint */
#elif defined(__arm__)
#define LEDGER_MACHINE 40u /* EM_ARM */
#define LEDGER_ADDRESS_BITS 32
#elif defined(__riscv) && __riscv_xlen == 64
#define LEDGER_MACHINE 243u    /* EM_RISCV */
#define LEDGER_ADDRESS_BITS 47 /* 56 only for who asks for it with a hint */
#elif defined(__s390x__)
#define LEDGER_MACHINE 22u     /* EM_S390 */
#define LEDGER_ADDRESS_BITS 47 /* 42, and more only for who asks for it with a hint */
#elif defined(__powerpc__) && !defined(__powerpc64__)
#define LEDGER_MACHINE 20u /* EM_PPC */
#define LEDGER_ADDRESS_BITS 32
#else
#error "no port for this processor yet: see docs/PORTING.md"
#endif

#ifndef LEDGER_NARROW_MACHINE
#define LEDGER_NARROW_MACHINE 0u /* there are none */
#endif

#define LEDGER_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

#endif
