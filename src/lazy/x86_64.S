/* SPDX-License-Identifier: MIT */
/* x86_64.S -- what a stub does on x86-64, and the way into lazy_find() with all arguments kept */

        .macro STUB name, library, number
        .text
        .globl \name
        .hidden \name
        .type \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        jmp *(lazy_slots + 8 * \number)(%rip)
.Lfirst\number:
        endbr64
        push $\number
        .cfi_adjust_cfa_offset 8
        jmp lazy_enter
        .cfi_endproc
        .size \name, . - \name

        .section .rodata
.Lname\number:
        .asciz "\name"
.Llibrary\number:
        .asciz "\library"

        .section .data.rel.ro.local, "aw"
        .quad .Llibrary\number, .Lname\number
        .data
        .quad .Lfirst\number
        .endm

        .section .data.rel.ro.local, "aw"
        .p2align 3
        .globl lazy_functions
        .hidden lazy_functions
lazy_functions:
        .data
        .p2align 3
        .globl lazy_slots
        .hidden lazy_slots
lazy_slots:

        .text
        .type lazy_enter, @function
lazy_enter:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        push %rax
        push %rdi
        push %rsi
        push %rdx
        push %rcx
        push %r8
        push %r9
        sub $136, %rsp
        .cfi_adjust_cfa_offset 192
        movaps %xmm0, (%rsp)
        movaps %xmm1, 16(%rsp)
        movaps %xmm2, 32(%rsp)
        movaps %xmm3, 48(%rsp)
        movaps %xmm4, 64(%rsp)
        movaps %xmm5, 80(%rsp)
        movaps %xmm6, 96(%rsp)
        movaps %xmm7, 112(%rsp)
        mov 192(%rsp), %rdi
        call lazy_find
        mov %rax, %r11
        movaps (%rsp), %xmm0
        movaps 16(%rsp), %xmm1
        movaps 32(%rsp), %xmm2
        movaps 48(%rsp), %xmm3
        movaps 64(%rsp), %xmm4
        movaps 80(%rsp), %xmm5
        movaps 96(%rsp), %xmm6
        movaps 112(%rsp), %xmm7
        add $136, %rsp
        pop %r9
        pop %r8
        pop %rcx
        pop %rdx
        pop %rsi
        pop %rdi
        pop %rax
        add $8, %rsp
        .cfi_def_cfa_offset 8
        jmp *%r11
        .cfi_endproc
        .size lazy_enter, . - lazy_enter

        .section .note.GNU-stack, "", @progbits
        .section .note.gnu.property, "a"
        .p2align 3
        .long 4, 16, 5
        .asciz "GNU"
        .long 0xc0000002, 4, 3, 0 /* works with indirect branch tracking and shadow stacks */
