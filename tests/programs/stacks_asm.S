/* SPDX-License-Identifier: MIT */
/*
 * stacks_asm.S -- hand-written frames for stacks.c: with CFI but without rbp, with rbp but without
 * CFI, with neither.
 *
 * Room:   tests only, x86-64.  Each calls the function in %rdi and hands its result through.
 */
        .text

        .globl  asm_with_cfi
        .type   asm_with_cfi, @function
asm_with_cfi:
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        subq    $136, %rsp
        .cfi_adjust_cfa_offset 136
        call    *%rdi
        addq    $136, %rsp
        .cfi_adjust_cfa_offset -136
        popq    %r12
        .cfi_adjust_cfa_offset -8
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   asm_with_cfi, . - asm_with_cfi

        /* Uses rbp for something else; the CFI says where it was saved. */
        .globl  asm_with_other_rbp
        .type   asm_with_other_rbp, @function
asm_with_other_rbp:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        subq    $32, %rsp
        .cfi_adjust_cfa_offset 32
        movq    $0x1234, %rbp
        call    *%rdi
        addq    $32, %rsp
        .cfi_adjust_cfa_offset -32
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   asm_with_other_rbp, . - asm_with_other_rbp

        .globl  asm_with_rbp_only
        .type   asm_with_rbp_only, @function
asm_with_rbp_only:
        pushq   %rbp
        movq    %rsp, %rbp
        subq    $48, %rsp
        call    *%rdi
        leave
        ret
        .size   asm_with_rbp_only, . - asm_with_rbp_only

        /* No CFI, no frame: rbp holds a number that is no address. */
        .globl  asm_with_nothing
        .type   asm_with_nothing, @function
asm_with_nothing:
        pushq   %rbp
        movq    $0x77, %rbp
        subq    $64, %rsp
        call    *%rdi
        addq    $64, %rsp
        popq    %rbp
        ret
        .size   asm_with_nothing, . - asm_with_nothing

        /* A signal at the very first byte: the address before belongs to another function. */
        .globl  asm_trap_first
        .type   asm_trap_first, @function
asm_trap_first:
        .cfi_startproc
        ud2
        ret
        .cfi_endproc
        .size   asm_trap_first, . - asm_trap_first

        .section .note.GNU-stack, "", @progbits
