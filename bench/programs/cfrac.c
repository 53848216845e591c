/* SPDX-License-Identifier: MIT */
/*
 * cfrac.c -- large numbers that are made and thrown away: the continued fraction of a square root,
 * as programs that factor do it.
 *
 * Room:   a measured program of bench/run:  cfrac STEPS
 * Prints: a checksum of the convergents.
 *
 * Each result of an operation is a block of its own, 8 to 200 bytes, that lives for a few
 * operations: up to a thousand live blocks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct number {
        unsigned count; /* digits in use, at least one */
        uint32_t digit[];
};

static struct number *number_new(unsigned count)
{
        struct number *n = calloc(1, sizeof *n + count * sizeof *n->digit);

        if (!n)
                exit(1);
        n->count = count;
        return n;
}

static struct number *number_trim(struct number *n)
{
        while (n->count > 1 && !n->digit[n->count - 1])
                n->count--;
        return n;
}

static struct number *number_small(uint32_t value)
{
        struct number *n = number_new(1);

        n->digit[0] = value;
        return n;
}

static struct number *number_add(const struct number *a, const struct number *b)
{
        unsigned most = a->count > b->count ? a->count : b->count;
        struct number *sum = number_new(most + 1);
        uint64_t carry = 0;

        for (unsigned i = 0; i <= most; i++) {
                carry += (i < a->count ? a->digit[i] : 0) +
                         (uint64_t)(i < b->count ? b->digit[i] : 0);
                sum->digit[i] = (uint32_t)carry;
                carry >>= 32;
        }
        return number_trim(sum);
}

static struct number *number_multiply(const struct number *a, const struct number *b)
{
        struct number *product = number_new(a->count + b->count);

        for (unsigned i = 0; i < a->count; i++) {
                uint64_t carry = 0;

                for (unsigned k = 0; k < b->count; k++) {
                        carry += (uint64_t)a->digit[i] * b->digit[k] + product->digit[i + k];
                        product->digit[i + k] = (uint32_t)carry;
                        carry >>= 32;
                }
                product->digit[i + b->count] = (uint32_t)carry;
        }
        return number_trim(product);
}

/* What is left of A after division by a small number. */
static uint32_t number_rest(const struct number *a, uint32_t by)
{
        uint64_t rest = 0;

        for (unsigned i = a->count; i-- > 0;)
                rest = (rest << 32 | a->digit[i]) % by;
        return (uint32_t)rest;
}

/* next = term * now + before; BEFORE is freed. */
static struct number *step(struct number *before, const struct number *now, uint32_t term)
{
        struct number *factor = number_small(term), *product = number_multiply(factor, now),
                      *sum = number_add(product, before);

        free(factor);
        free(product);
        free(before);
        return sum;
}

/* Residues of the square by the factor base, which is what factoring looks at. */
static uint64_t residues(const struct number *n)
{
        static const uint32_t primes[] = { 3, 7, 11, 19, 31, 43, 61, 83, 101, 127 };
        struct number *square = number_multiply(n, n);
        uint64_t all = 0;

        for (unsigned i = 0; i < sizeof primes / sizeof *primes; i++) {
                struct number *rest = number_small(number_rest(square, primes[i])),
                              *more = number_add(rest, square);

                all = all * 131 + rest->digit[0] + more->count;
                free(rest);
                free(more);
        }
        free(square);
        return all;
}

int main(int argc, char **argv)
{
        long steps = argc > 1 ? atol(argv[1]) : 100000;
        uint64_t root = 1, n = 1000730021, m = 0, d = 1, a, check = 0;
        struct number *before = number_small(1), *now;

        while ((root + 1) * (root + 1) <= n)
                root++;
        a = root;
        now = number_small((uint32_t)a);
        for (long i = 0; i < steps; i++) {
                struct number *next;

                m = d * a - m;
                d = (n - m * m) / d;
                a = (root + m) / d;
                next = step(before, now, (uint32_t)a);
                before = now;
                now = next;
                check = check * 31 + residues(now);
                if (now->count > 24) { /* begin anew, or all time goes into arithmetic */
                        free(before);
                        free(now);
                        before = number_small(1);
                        now = number_small((uint32_t)a);
                }
        }
        free(before);
        free(now);
        printf("check %llu\n", (unsigned long long)check);
        return 0;
}
