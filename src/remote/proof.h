/* SPDX-License-Identifier: MIT */
/*
 * proof.h -- proof that a peer knows the token, without the token on the wire: HMAC-SHA-256 of
 * nonces from both sides (RFC 2104, FIPS 180-4).
 *
 * Room:   proof.c is for both sides, and needs nothing but copying: seep-target has it too.
 */
#ifndef SEEP_REMOTE_PROOF_H
#define SEEP_REMOTE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PROOF_BYTES 32
#define PROOF_TOKEN_LEAST 16
#define PROOF_TOKEN_MOST 1024

struct proof_token {
        uint8_t bytes[PROOF_TOKEN_MOST];
        size_t length; /* 0: there is none */
};

/* The first line of FILE, which nobody else may read or write. */
bool proof_read_token(const char *file, struct proof_token *t, struct err *e);

void proof_hash(const void *bytes, size_t count, uint8_t out[PROOF_BYTES]);
void proof_make(const struct proof_token *t, const void *bytes, size_t count,
                uint8_t out[PROOF_BYTES]);

/* In a time that does not depend on where they differ. */
bool proof_is_equal(const uint8_t a[PROOF_BYTES], const uint8_t b[PROOF_BYTES]);

#endif
