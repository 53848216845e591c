/* SPDX-License-Identifier: MIT */
#include "remote/proof.h"

#include <string.h>

#define HASH_BLOCK 64u

struct hash {
        uint32_t state[8];
        uint64_t bytes;
        uint8_t block[HASH_BLOCK];
};

static uint32_t turn(uint32_t x, int by)
{
        return x >> by | x << (32 - by);
}

/* ---- SHA-256 ---- */

static void hash_start(struct hash *h)
{
        static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

        *h = (struct hash){ 0 };
        memcpy(h->state, first, sizeof first);
}

static void hash_block(struct hash *h)
{
        static const uint32_t k[64] = {
                0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
                0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
                0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
                0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
                0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
                0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
                0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
                0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
                0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
                0xc67178f2
        };
        uint32_t w[64], v[8];

        for (int i = 0; i < 16; i++)
                w[i] = (uint32_t)h->block[4 * i] << 24 | (uint32_t)h->block[4 * i + 1] << 16 |
                       (uint32_t)h->block[4 * i + 2] << 8 | h->block[4 * i + 3];
        for (int i = 16; i < 64; i++) {
                uint32_t a = w[i - 15], b = w[i - 2];

                w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
                       (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
        }
        memcpy(v, h->state, sizeof v);
        for (int i = 0; i < 64; i++) {
                uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                               ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
                uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                               ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

                memmove(v + 1, v, 7 * sizeof *v);
                v[4] += one;
                v[0] = one + two;
        }
        for (int i = 0; i < 8; i++)
                h->state[i] += v[i];
}

static void hash_add(struct hash *h, const void *bytes, size_t count)
{
        const uint8_t *at = bytes;

        while (count--) {
                h->block[h->bytes++ % HASH_BLOCK] = *at++;
                if (h->bytes % HASH_BLOCK == 0)
                        hash_block(h);
        }
}

static void hash_end(struct hash *h, uint8_t out[PROOF_BYTES])
{
        static const uint8_t one = 0x80, zero = 0;
        uint64_t bits = h->bytes * 8;
        uint8_t length[8];

        for (int i = 0; i < 8; i++)
                length[i] = (uint8_t)(bits >> (56 - 8 * i));
        hash_add(h, &one, 1);
        while (h->bytes % HASH_BLOCK != HASH_BLOCK - sizeof length)
                hash_add(h, &zero, 1);
        hash_add(h, length, sizeof length);
        for (int i = 0; i < PROOF_BYTES; i++)
                out[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void proof_hash(const void *bytes, size_t count, uint8_t out[PROOF_BYTES])
{
        struct hash h;

        hash_start(&h);
        hash_add(&h, bytes, count);
        hash_end(&h, out);
}

/* ---- HMAC ---- */

static void hash_pad(struct hash *h, const uint8_t key[HASH_BLOCK], uint8_t with)
{
        uint8_t pad[HASH_BLOCK];

        for (size_t i = 0; i < sizeof pad; i++)
                pad[i] = key[i] ^ with;
        hash_start(h);
        hash_add(h, pad, sizeof pad);
}

void proof_make(const struct proof_token *t, const void *bytes, size_t count,
                uint8_t out[PROOF_BYTES])
{
        uint8_t key[HASH_BLOCK] = { 0 }, inner[PROOF_BYTES];
        struct hash h;

        if (t->length > HASH_BLOCK)
                proof_hash(t->bytes, t->length, key);
        else
                memcpy(key, t->bytes, t->length);
        hash_pad(&h, key, 0x36);
        hash_add(&h, bytes, count);
        hash_end(&h, inner);
        hash_pad(&h, key, 0x5c);
        hash_add(&h, inner, sizeof inner);
        hash_end(&h, out);
}

bool proof_is_equal(const uint8_t a[PROOF_BYTES], const uint8_t b[PROOF_BYTES])
{
        volatile uint8_t differ = 0;

        for (int i = 0; i < PROOF_BYTES; i++)
                differ |= a[i] ^ b[i];
        return !differ;
}
