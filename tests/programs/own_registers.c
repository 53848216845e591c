/* SPDX-License-Identifier: MIT */
/*
 * own_registers.c -- a program with an allocator of which its compiler knows that it changes hardly
 * any register: what main() computes lies in the others meanwhile.
 *
 * Room:   tests only.  Built with -O2 and -rdynamic.
 */
#include <stddef.h>
#include <stdio.h>

static _Alignas(16) unsigned char pool[1 << 20];
static size_t used;

__attribute__((noinline)) void *malloc(size_t size)
{
        void *p = pool + used;

        used += (size + 31) & ~(size_t)31;
        return used <= sizeof pool ? p : NULL;
}

__attribute__((noinline)) void free(void *p)
{
        __asm__ volatile("" ::"r"(p));
}

void *calloc(size_t count, size_t size)
{
        return malloc(count * size); /* never handed out twice: it is zero */
}

void *realloc(void *p, size_t size)
{
        char *made = malloc(size);

        for (size_t i = 0; p && made && i < size; i++)
                made[i] = ((char *)p)[i];
        return made;
}

int main(int argc, char **argv)
{
        unsigned long a = (unsigned long)argc, b = a * 3, c = a * 5, d = a * 7, e = a * 11,
                      f = a * 13, g = a * 17;
        unsigned long h = a * 19, i = a * 23, j = a * 29;

        (void)argv;
        for (int n = 0; n < 1000; n++) {
                char *p = malloc(16 + (size_t)n % 7);

                a += b ^ (unsigned)n, b += c * 3, c += d ^ a, d += e + (unsigned)n, e += f * 5;
                f += g ^ b, g += h + c, h += i * 7, i += j ^ d, j += a;
                free(p);
        }
        printf("%lu\n", a + b + c + d + e + f + g + h + i + j);
        return 0;
}
