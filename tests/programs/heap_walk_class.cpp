// SPDX-License-Identifier: MIT
// heap_walk_class.cpp -- loses objects of a class with virtual functions, and text; keeps others;
// then waits for the end of its input.
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace shop {
struct Basket {
        virtual ~Basket() = default;
        virtual int weight() { return 1; }
        char goods[28] = { 1 };
};
} // namespace shop

static shop::Basket *kept[2];

static void __attribute__((noinline)) lose()
{
        for (int i = 0; i < 3; i++)
                new shop::Basket;
        strcpy(static_cast<char *>(malloc(1000)), "a letter that nobody reads");
}

static void __attribute__((noinline)) wipe_stack()
{
        volatile char room[8192];

        for (char volatile &byte : room)
                byte = 0;
}

// An address that is left over in a register counts as in use.
static void wipe_registers()
{
#ifdef __x86_64__
        __asm__ volatile("xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor "
                         "%%r11d, %%r11d\n\t"
                         "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, "
                         "%%xmm2\n\tpxor %%xmm3, %%xmm3" ::
                                 : "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3");
#endif
}

int main()
{
        char byte;

        kept[0] = new shop::Basket;
        kept[1] = new shop::Basket;
        lose();
        wipe_stack();
        wipe_registers();
        if (write(3, "ready\n", 6) != 6)
                return 1;
        while (read(0, &byte, 1) > 0)
                ;
        return 0;
}
