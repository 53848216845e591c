/* SPDX-License-Identifier: MIT */
/*
 * test_protocol.c -- messages of docs/PROTOCOL.md come back as they were written; anything else is
 * refused; proofs are those of the standards.
 */
#include <stdlib.h>

#include "remote/address.h"
#include "remote/proof.h"
#include "remote/protocol.h"
#include "tap.h"

static struct protocol_message example(void)
{
        struct protocol_message m = { .type = PROTOCOL_PROCESS_TYPE };

        m.process = (struct protocol_process){ .number = 1,
                                               .pid = 0x01020304,
                                               .flags = 3,
                                               .live_bytes = 1ull << 40,
                                               .start_realtime_ns = 7,
                                               .engine = "preload",
                                               .program = "./a b" };
        return m;
}

/* Read from a copy of exactly its length. */
static bool read_copy(struct protocol_message *m, uint32_t type, const void *body, uint32_t length)
{
        uint8_t *copy = malloc(length ? length : 1);
        bool good;

        memcpy(copy, body, length);
        good = protocol_read(m, type, copy, length);
        free(copy);
        return good;
}

TEST(a_message_comes_back_as_it_was)
{
        struct protocol_message m = example(), back;
        struct str out = { 0 };
        uint32_t length, type;

        protocol_write(&m, &out);
        is_true(protocol_read_head((const uint8_t *)out.data, &length, &type));
        is_equal(length, out.length - PROTOCOL_HEAD_BYTES);
        is_equal(type, 8);
        is_true(read_copy(&back, type, out.data + PROTOCOL_HEAD_BYTES, length));
        is_equal(back.process.pid, 0x01020304);
        is_equal(back.process.live_bytes, 1ll << 40);
        is_text(back.process.engine, "preload");
        is_text(back.process.program, "./a b");
        str_free(&out);
}

/* As the tables of docs/PROTOCOL.md have them. */
TEST(numbers_are_little_endian_and_texts_have_a_length)
{
        static const uint8_t wanted[] = { 11, 0, 0, 0, 9,   0,   0,   0,   3,  0,
                                          0,  0, 5, 0, 'w', 'r', 'o', 'n', 'g' };
        struct protocol_message m = { .type = PROTOCOL_FAULT_TYPE,
                                      .fault = { .code = 3, .text = "wrong" } };
        struct str out = { 0 };

        protocol_write(&m, &out);
        is_equal(out.length, sizeof wanted);
        is_true(memcmp(out.data, wanted, sizeof wanted) == 0);
        str_free(&out);
}

TEST(every_message_that_is_cut_is_refused)
{
        for (uint32_t type = 1; type <= 9; type++) {
                struct protocol_message m = { .type = (enum protocol_type)type }, back;
                struct str out = { 0 };

                protocol_write(&m, &out);
                out.length -= PROTOCOL_HEAD_BYTES;
                is_true(read_copy(&back, type, out.data + PROTOCOL_HEAD_BYTES,
                                  (uint32_t)out.length));
                for (uint32_t i = 0; i < out.length; i++)
                        is_true(!read_copy(&back, type, out.data + PROTOCOL_HEAD_BYTES, i));
                str_free(&out);
        }
}

TEST(fields_of_a_later_version_are_left_out)
{
        struct protocol_message m = example(), back;
        struct str out = { 0 };

        protocol_write(&m, &out);
        str_text(&out, "more");
        is_true(read_copy(&back, m.type, out.data + PROTOCOL_HEAD_BYTES,
                          (uint32_t)out.length - PROTOCOL_HEAD_BYTES));
        is_text(back.process.program, "./a b");
        str_free(&out);
}

TEST(texts_that_are_too_long_or_hold_a_zero_are_refused)
{
        static const uint8_t zero[] = { 0, 0, 0, 0, 3, 0, 'a', 0, 'b' };
        uint8_t large[6 + PROTOCOL_TEXT_MAX] = { 0 };
        struct protocol_message m;

        is_true(!read_copy(&m, PROTOCOL_FAULT_TYPE, zero, sizeof zero));
        memset(large + 6, 'x', sizeof large - 6);
        large[4] = (PROTOCOL_TEXT_MAX - 1) & 0xff;
        large[5] = (PROTOCOL_TEXT_MAX - 1) >> 8;
        is_true(read_copy(&m, PROTOCOL_FAULT_TYPE, large, sizeof large - 1));
        is_equal(strlen(m.fault.text), PROTOCOL_TEXT_MAX - 1);
        large[4] = PROTOCOL_TEXT_MAX & 0xff;
        large[5] = PROTOCOL_TEXT_MAX >> 8;
        is_true(!read_copy(&m, PROTOCOL_FAULT_TYPE, large, sizeof large));
}

TEST(heads_of_others_are_refused)
{
        uint32_t length, type;

        is_true(!protocol_read_head((const uint8_t *)"HTTP/1.1", &length, &type));
        is_true(!protocol_read_head((const uint8_t *)"SSH-2.0-", &length, &type));
        /* 65537 bytes */
        is_true(!protocol_read_head((const uint8_t *)"\1\0\1\0\1\0\0\0", &length, &type));
        is_true(protocol_read_head((const uint8_t *)"\0\0\1\0\1\0\0\0", &length, &type));
        is_true(!protocol_read_head((const uint8_t *)"\0\0\0\0\0\0\0\0", &length, &type));
        is_true(!protocol_read_head((const uint8_t *)"\0\0\0\0\1\0\0\1", &length, &type));
}

TEST(the_version_of_any_greeting_is_found)
{
        uint32_t version = 0;

        is_true(protocol_read_version((const uint8_t *)"SEEPWIRE\7\1\0\0whatever", 20, &version));
        is_equal(version, 263);
        is_true(!protocol_read_version((const uint8_t *)"SEEPWIRE\7\1\0", 11, &version));
        is_true(!protocol_read_version((const uint8_t *)"SEEPWIRF\7\1\0\0", 12, &version));
}

/* ---- proofs ---- */

static const char *hex(const uint8_t *bytes)
{
        static char out[2 * PROOF_BYTES + 1];

        for (int i = 0; i < PROOF_BYTES; i++)
                sprintf(out + 2 * i, "%02x", bytes[i]);
        return out;
}

/* FIPS 180-4's examples, as every implementation has them. */
TEST(hashes_are_those_of_the_standard)
{
        uint8_t out[PROOF_BYTES];
        char many[1000];

        proof_hash("abc", 3, out);
        is_text(hex(out), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        proof_hash("", 0, out);
        is_text(hex(out), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        proof_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
        is_text(hex(out), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        memset(many, 'a', sizeof many);
        proof_hash(many, sizeof many, out);
        is_text(hex(out), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

/* RFC 4231, cases 1, 2 and 6. */
TEST(proofs_are_those_of_the_standard)
{
        struct proof_token t = { .length = 20 };
        uint8_t out[PROOF_BYTES];

        memset(t.bytes, 0x0b, 20);
        proof_make(&t, "Hi There", 8, out);
        is_text(hex(out), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        t = (struct proof_token){ .bytes = "Jefe", .length = 4 };
        proof_make(&t, "what do ya want for nothing?", 28, out);
        is_text(hex(out), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        t.length = 131;
        memset(t.bytes, 0xaa, 131);
        proof_make(&t, "Test Using Larger Than Block-Size Key - Hash Key First", 54, out);
        is_text(hex(out), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(proofs_differ_wherever_one_byte_does)
{
        uint8_t a[PROOF_BYTES] = { 0 }, b[PROOF_BYTES] = { 0 };

        is_true(proof_is_equal(a, b));
        for (int i = 0; i < PROOF_BYTES; i++) {
                b[i] = 1;
                is_true(!proof_is_equal(a, b));
                b[i] = 0;
        }
}

/* ---- addresses ---- */

static const char *parsed(const char *text)
{
        static char out[600];
        struct address a;
        struct err e = { 0 };

        if (!address_parse(text, &a, &e))
                return "wrong";
        snprintf(out, sizeof out, "%d %s %s %s%s", a.kind, a.kind == ADDRESS_NET ? "" : a.text,
                 a.host, a.port, a.near ? " near" : "");
        return out;
}

TEST(addresses_are_taken_apart)
{
        is_text(parsed("./s"), "0 ./s  ");
        is_text(parsed("/run/x:1"), "0 /run/x:1  ");
        is_text(parsed("host"), "1  host 4576");
        is_text(parsed("host:1"), "1  host 1");
        is_text(parsed(":0"), "1  127.0.0.1 0 near");
        is_text(parsed("127.0.0.1:99"), "1  127.0.0.1 99 near");
        is_text(parsed("localhost"), "1  localhost 4576 near");
        is_text(parsed("0.0.0.0:7"), "1  0.0.0.0 7");
        is_text(parsed("::1"), "1  ::1 4576 near");
        is_text(parsed("[::1]:7"), "1  ::1 7 near");
        is_text(parsed("[fe80::1%eth0]"), "1  fe80::1%eth0 4576");
        is_text(parsed("ssh:me@there"), "2 me@there  ");
        is_text(parsed(""), "wrong");
        is_text(parsed("host:"), "wrong");
        is_text(parsed("host:x"), "wrong");
        is_text(parsed("host:65536"), "wrong");
        is_text(parsed("[::1"), "wrong");
        is_text(parsed("[::1]7"), "wrong");
        is_text(parsed("ssh:"), "wrong");
        is_text(parsed("ssh:-oProxyCommand=x"), "wrong");
}

TAP_MAIN(a_message_comes_back_as_it_was, numbers_are_little_endian_and_texts_have_a_length,
         every_message_that_is_cut_is_refused, fields_of_a_later_version_are_left_out,
         texts_that_are_too_long_or_hold_a_zero_are_refused, heads_of_others_are_refused,
         the_version_of_any_greeting_is_found, hashes_are_those_of_the_standard,
         proofs_are_those_of_the_standard, proofs_differ_wherever_one_byte_does,
         addresses_are_taken_apart)
