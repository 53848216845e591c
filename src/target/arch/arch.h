/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- where a program without a C library begins: the stack that the kernel made goes to
 * main_start().  And where a thread of it does (thread.c), where processes can be attached to.
 */
#ifndef SEEP_TARGET_ARCH_ARCH_H
#define SEEP_TARGET_ARCH_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#define ARCH_START                                                             \
        ".globl _start\n_start:\n"                                             \
        "xorl %ebp, %ebp\n movq %rsp, %rdi\n andq $-16, %rsp\n call main_start\n hlt\n"
#define ARCH_THREAD                                                            \
        ".globl thread_clone\nthread_clone:\n"                                 \
        "movq %rdx, %r10\n movl $56, %eax\n syscall\n testq %rax, %rax\n jne 1f\n" \
        "xorl %ebp, %ebp\n movq %rsp, %rdi\n call thread_begin\n hlt\n 1: ret\n"
#elif defined(__i386__)
#define ARCH_START                                                             \
        ".globl _start\n_start:\n"                                             \
        "xorl %ebp, %ebp\n movl %esp, %eax\n andl $-16, %esp\n subl $12, %esp\n" \
        "pushl %eax\n call main_start\n hlt\n"
#elif defined(__aarch64__) && defined(__LP64__)
#define ARCH_START                                                             \
        ".globl _start\n_start:\n"                                             \
        "mov x29, #0\n mov x30, #0\n mov x0, sp\n bl main_start\n brk #0\n"
#define ARCH_THREAD                                                            \
        ".globl thread_clone\nthread_clone:\n"                                 \
        "mov x4, x2\n mov x8, #220\n svc #0\n cbnz x0, 1f\n"                  \
        "mov x29, #0\n mov x30, #0\n mov x0, sp\n bl thread_begin\n brk #0\n 1: ret\n"
#elif defined(__arm__) && defined(__ARM_EABI__)
#define ARCH_START                                                             \
        ".globl _start\n.type _start, %function\n_start:\n"                    \
        "mov r11, #0\n mov r0, sp\n bic r1, r0, #7\n mov sp, r1\n bl main_start\n udf #0\n"
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH_START                                                             \
        ".globl _start\n_start:\n"                                             \
        ".option push\n .option norelax\n lla gp, __global_pointer$\n .option pop\n" \
        "li s0, 0\n mv a0, sp\n andi sp, sp, -16\n call main_start\n ebreak\n"
#elif defined(__s390x__)
#define ARCH_START                                                             \
        ".globl _start\n_start:\n"                                             \
        "lgr %r2, %r15\n lay %r15, -160(%r15)\n brasl %r14, main_start\n j .+2\n"
#elif defined(__powerpc__) && !defined(__powerpc64__)
#define ARCH_START                                                             \
        ".globl _start\n_start:\n"                                             \
        "mr 3, 1\n clrrwi 1, 1, 4\n li 0, 0\n stwu 0, -16(1)\n bl main_start\n trap\n"
#else
#error "no port for this processor yet: see docs/PORTING.md"
#endif

#ifndef ARCH_THREAD
#define ARCH_THREAD "" /* attach_none.c is there instead */
#endif

#endif
