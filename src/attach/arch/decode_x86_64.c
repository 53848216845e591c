/* SPDX-License-Identifier: MIT */
#include "attach/arch/decode_x86_64.h"

#include <string.h>

/*
 * What follows an opcode, by a letter for each:
 *      .  nothing                     m  modrm, and what memory it names
 *      i  a number of one byte        b  modrm and such a number
 *      I  a number as wide as it      z  modrm and such a number
 *         works on, at most 4 bytes   t  modrm, and as i or (T) as I if reg is 0 or 1
 *      v  the same, at most 8         w  a number of two bytes, e  and one of one byte
 *      j  a distance of one byte      J  one of four
 *      o  an address                  f  a far address (i386)
 *      n  nothing (i386)              N  a number of one byte (i386)
 *      x  it is none
 */
static const char one_byte[] =
        "mmmmiInnmmmmiInx" /* 0: 0f leads to the next table */
        "mmmmiInnmmmmiInn"
        "mmmmiIxnmmmmiIxn" /* 2, 3: segments are prefixes */
        "mmmmiIxnmmmmiIxn"
        "nnnnnnnnnnnnnnnn" /* 4: the prefix REX where words have 8 bytes */
        "................"
        "nnxmxxxxIzib...." /* 6: 62 is of vectors */
        "jjjjjjjjjjjjjjjj"
        "bzxbmmmmmmmmmmmm" /* 8 */
        "..........f....."
        "oooo....iI......" /* a */
        "iiiiiiiivvvvvvvv"
        "bbw.xxbze.w..in." /* c: c4 and c5 are of vectors */
        "mmmmNNx.mmmmmmmm"
        "jjjjiiiiJJfj...." /* e */
        "x.xx..tT......mm";

static const char behind_0f[] =
        "mmmmx.....x.xm.b" /* 0 */
        "mmmmmmmmmmmmmmmm"
        "xxxxxxxxmmmmmmmm" /* 2 */
        "......x.xxxxxxxx"
        "mmmmmmmmmmmmmmmm" /* 4 */
        "mmmmmmmmmmmmmmmm"
        "mmmmmmmmmmmmmmmm" /* 6 */
        "bbbbmmm.mmxxmmmm"
        "JJJJJJJJJJJJJJJJ" /* 8 */
        "mmmmmmmmmmmmmmmm"
        "...mbmxx...mbmmm" /* a */
        "mmmmmmmmmmbmmmmm"
        "mmbmbbbm........" /* c */
        "mmmmmmmmmmmmmmmm"
        "mmmmmmmmmmmmmmmm" /* e */
        "mmmmmmmmmmmmmmmm";

struct reader {
        const uint8_t *code;
        size_t bytes, at;
        bool narrow, over; /* over: it does not end before BYTES do, or is none */
};

static uint8_t next(struct reader *r)
{
        r->over = r->over || r->at >= r->bytes || r->at >= DECODE_MOST;
        return r->over ? 0 : r->code[r->at++];
}

static uint8_t peek(const struct reader *r)
{
        return r->at < r->bytes ? r->code[r->at] : 0;
}

static void skip(struct reader *r, size_t bytes)
{
        r->at += bytes;
        r->over = r->over || r->at > r->bytes || r->at > DECODE_MOST;
}

/* A number with its sign, of 1, 2 or 4 bytes. */
static int64_t number(struct reader *r, size_t bytes)
{
        size_t at = r->at;
        int32_t value = 0;

        skip(r, bytes);
        if (r->over)
                return 0;
        memcpy(&value, r->code + at, bytes);
        return bytes == 1 ? (int8_t)value : bytes == 2 ? (int16_t)value : value;
}

/* ---- in front of the opcode ---- */

static void read_prefixes(struct reader *r, struct decoded *d)
{
        for (;; r->at++) {
                uint8_t byte = peek(r);

                if (byte == 0x66)
                        d->short_operands = true;
                else if (byte == 0x67)
                        d->short_addresses = true;
                else if (byte == 0xf2 || byte == 0xf3)
                        d->repeat = byte;
                else if (!r->narrow && (byte & 0xf0) == 0x40)
                        d->rex = byte;
                else if (byte != 0x26 && byte != 0x2e && byte != 0x36 && byte != 0x3e &&
                         byte != 0x64 && byte != 0x65 && byte != 0xf0)
                        return;
                if (r->at >= DECODE_MOST)
                        return;
                if ((byte & 0xf0) != 0x40)
                        d->rex = 0; /* it counts right in front of the opcode only */
        }
}

/* C5, C4 or 62 begin a prefix of vectors, or (i386) an instruction that needs memory. */
static bool is_vector(const struct reader *r)
{
        uint8_t byte = peek(r);

        return (byte == 0xc5 || byte == 0xc4 || byte == 0x62) &&
               (!r->narrow || (r->at + 1 < r->bytes && r->code[r->at + 1] >= 0xc0));
}

static char read_vector(struct reader *r, struct decoded *d)
{
        uint8_t first = next(r), second = next(r);
        bool is_long = first == 0x62;

        d->vector = true;
        d->map = first == 0xc5 ? 1 : second & (is_long ? 7 : 31);
        if (d->rex || d->short_operands || d->repeat)
                return 'x';
        skip(r, is_long ? 2 : first == 0xc4 ? 1 : 0);
        d->opcode = next(r);
        if (d->map == 1 && d->opcode == 0x77 && !is_long)
                return '.';
        if (d->map == 1 && behind_0f[d->opcode] != 'J')
                return memchr("\x70\x71\x72\x73\xc2\xc4\xc5\xc6", d->opcode, 8) ? 'b' : 'm';
        if (d->map == 3)
                return 'b';
        return d->map == 2 || (is_long && (d->map == 5 || d->map == 6)) ? 'm' : 'x';
}

static char read_opcode(struct reader *r, struct decoded *d)
{
        if (is_vector(r))
                return read_vector(r, d);
        d->opcode = next(r);
        if (d->opcode != 0x0f) {
                if (r->narrow && (d->opcode == 0x62 || d->opcode == 0xc4 || d->opcode == 0xc5))
                        return 'm';
                return one_byte[d->opcode];
        }
        d->map = 1;
        d->opcode = next(r);
        if (d->opcode != 0x38 && d->opcode != 0x3a)
                return behind_0f[d->opcode];
        d->map = d->opcode == 0x38 ? 2 : 3;
        d->opcode = next(r);
        return d->map == 2 ? 'm' : 'b';
}

/* ---- behind it ---- */

static void read_modrm(struct reader *r, struct decoded *d)
{
        bool by_16 = r->narrow && d->short_addresses;
        unsigned mod, rm;
        uint8_t sib = 0;

        d->has_modrm = true;
        d->modrm_at = (uint8_t)r->at;
        d->modrm = next(r);
        mod = decoded_mod(d);
        rm = decoded_rm(d);
        if (mod == 3)
                return;
        if (by_16) {
                skip(r, mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0);
                return;
        }
        if (rm == 4)
                sib = next(r);
        if (mod == 0 && rm == 5 && !r->narrow) {
                d->near_data = true;
                d->distance_at = (uint8_t)r->at;
                d->distance = number(r, 4);
        } else {
                skip(r, mod == 1 ? 1 : mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5) ? 4 : 0);
        }
}

/* Bytes of a number as wide as what the instruction works on. */
static size_t width(const struct decoded *d)
{
        return d->short_operands && !(d->rex & 8) ? 2 : 4;
}

static void read_branch(struct reader *r, struct decoded *d, bool is_long)
{
        d->branch = true;
        d->distance_at = (uint8_t)r->at;
        d->distance = number(r, !is_long ? 1 : r->narrow ? width(d) : 4);
}

/* xbegin, with a distance behind modrm, and xabort. */
static bool is_transaction(const struct decoded *d)
{
        return !d->vector && d->map == 0 && (d->opcode & 0xfe) == 0xc6 && d->modrm == 0xf8;
}

/* false: it is none. */
static bool read_rest(struct reader *r, struct decoded *d, char what)
{
        if (strchr("mbztT", what))
                read_modrm(r, d);
        if (is_transaction(d) && d->opcode == 0xc7)
                what = 'J';
        switch (what) {
        case '.': case 'm': return true;
        case 'i': case 'b': skip(r, 1); return true;
        case 'I': case 'z': skip(r, width(d)); return true;
        case 't': skip(r, decoded_reg(d) < 2 ? 1 : 0); return true;
        case 'T': skip(r, decoded_reg(d) < 2 ? width(d) : 0); return true;
        case 'v': skip(r, d->rex & 8 ? 8 : width(d)); return true;
        case 'w': skip(r, 2); return true;
        case 'e': skip(r, 3); return true;
        case 'j': case 'J': read_branch(r, d, what == 'J'); return true;
        case 'o': skip(r, (r->narrow ? 4u : 8u) >> d->short_addresses); return true;
        case 'f': skip(r, 2 + width(d)); return r->narrow;
        case 'N': skip(r, 1); return r->narrow;
        case 'n': return r->narrow;
        default: return false;
        }
}

/* Those whose table entry is one of several: groups that end early, and prefixes that choose. */
static bool is_known(const struct decoded *d)
{
        if (d->vector)
                return true;
        if (d->map == 0 && d->opcode == 0x8f)
                return decoded_reg(d) == 0; /* else XOP */
        if (d->map == 0 && (d->opcode == 0xc6 || d->opcode == 0xc7))
                return decoded_reg(d) == 0 || is_transaction(d);
        if (d->map == 0 && d->opcode == 0xfe)
                return decoded_reg(d) < 2;
        if (d->map == 0 && d->opcode == 0xff)
                return decoded_reg(d) < 7;
        return !(d->map == 1 && (d->opcode & 0xfe) == 0x78 && (d->short_operands || d->repeat));
}

bool decode(const uint8_t *code, size_t bytes, bool narrow, struct decoded *out)
{
        struct reader r = { .code = code, .bytes = bytes, .narrow = narrow };
        char what;

        *out = (struct decoded){ 0 };
        read_prefixes(&r, out);
        what = read_opcode(&r, out);
        if (r.over || !read_rest(&r, out, what) || r.over || !is_known(out))
                return false;
        out->length = (uint8_t)r.at;
        return true;
}
