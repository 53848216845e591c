/* SPDX-License-Identifier: MIT */
/* call.h -- a system call to be made by a stopped thread, and the instruction for it. */
#ifndef SEEP_ATTACH_ARCH_CALL_H
#define SEEP_ATTACH_ARCH_CALL_H

#include <stdint.h>

struct arch_call {
        long number;
        uint64_t arguments[6];
};

struct arch_instruction {
        const char *bytes;
        uint32_t count, align;
};

#endif
