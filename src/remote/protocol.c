/* SPDX-License-Identifier: MIT */
#include "remote/protocol.h"

#include <string.h>

enum kind { KIND_NUMBER, KIND_BYTES, KIND_TEXT };

struct field {
        enum kind kind;
        size_t at, bytes; /* in the structure; of a text: with its zero */
};

struct table {
        uint32_t type;
        const struct field *fields;
        size_t count, at; /* at: of the structure in struct protocol_message */
};

#define NUMBER_FIELD(type, name) { KIND_NUMBER, offsetof(CARD, name), sizeof(PROTOCOL_##type) },
#define BYTES_FIELD(name, count) { KIND_BYTES, offsetof(CARD, name), count },
#define TEXT_FIELD(name, room) { KIND_TEXT, offsetof(CARD, name), room },
#define FIELDS_OF(LIST) { LIST(NUMBER_FIELD, BYTES_FIELD, TEXT_FIELD) }

#define CARD struct protocol_greeting
static const struct field greeting_fields[] = FIELDS_OF(PROTOCOL_GREETING);
#undef CARD
#define CARD struct protocol_hello
static const struct field hello_fields[] = FIELDS_OF(PROTOCOL_HELLO);
#undef CARD
#define CARD struct protocol_welcome
static const struct field welcome_fields[] = FIELDS_OF(PROTOCOL_WELCOME);
#undef CARD
#define CARD struct protocol_request
static const struct field request_fields[] = FIELDS_OF(PROTOCOL_REQUEST);
#undef CARD
#define CARD struct protocol_answer
static const struct field answer_fields[] = FIELDS_OF(PROTOCOL_ANSWER);
#undef CARD
#define CARD struct protocol_status
static const struct field status_fields[] = FIELDS_OF(PROTOCOL_STATUS);
#undef CARD
#define CARD struct protocol_list
static const struct field list_fields[] = FIELDS_OF(PROTOCOL_LIST_HEAD);
#undef CARD
#define CARD struct protocol_process
static const struct field process_fields[] = FIELDS_OF(PROTOCOL_PROCESS);
#undef CARD
#define CARD struct protocol_fault
static const struct field fault_fields[] = FIELDS_OF(PROTOCOL_FAULT);
#undef CARD

#define CARD struct protocol_source
static const struct field source_fields[] = FIELDS_OF(PROTOCOL_SOURCE);
#undef CARD
#define CARD struct protocol_state
static const struct field state_fields[] = FIELDS_OF(PROTOCOL_STATE);
#undef CARD

#define CARD struct protocol_asks
static const struct field asks_fields[] = FIELDS_OF(PROTOCOL_ASKS);
#undef CARD
#define CARD struct protocol_moment
static const struct field moment_fields[] = FIELDS_OF(PROTOCOL_MOMENT);
#undef CARD

#define TABLE_ENTRY(name, number, member)                                       \
        { number, member##_fields, sizeof member##_fields / sizeof *member##_fields, \
          offsetof(struct protocol_message, member) },
static const struct table tables[] = { PROTOCOL_LIST(TABLE_ENTRY) };

static const struct table *table_of(uint32_t type)
{
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
                if (tables[i].type == type)
                        return &tables[i];
        return NULL;
}

/* ---- numbers ---- */

static void put_number(struct str *out, uint64_t value, size_t bytes)
{
        for (size_t i = 0; i < bytes; i++)
                str_char(out, (char)(value >> 8 * i));
}

static uint64_t get_number(const uint8_t *from, size_t bytes)
{
        uint64_t value = 0;

        for (size_t i = 0; i < bytes; i++)
                value |= (uint64_t)from[i] << 8 * i;
        return value;
}

/* As a number of the structure. */
static uint64_t load(const void *from, size_t bytes)
{
        uint64_t u64;
        uint32_t u32;
        uint16_t u16;

        switch (bytes) {
        case 8:
                memcpy(&u64, from, sizeof u64);
                return u64;
        case 4:
                memcpy(&u32, from, sizeof u32);
                return u32;
        case 2:
                memcpy(&u16, from, sizeof u16);
                return u16;
        }
        return *(const uint8_t *)from;
}

static void store(void *to, uint64_t value, size_t bytes)
{
        uint32_t u32 = (uint32_t)value;
        uint16_t u16 = (uint16_t)value;

        if (bytes == 8)
                memcpy(to, &value, 8);
        else if (bytes == 4)
                memcpy(to, &u32, 4);
        else if (bytes == 2)
                memcpy(to, &u16, 2);
        else
                *(uint8_t *)to = (uint8_t)value;
}

/* ---- writing ---- */

void protocol_write(const struct protocol_message *m, struct str *out)
{
        const struct table *t = table_of(m->type);
        size_t start = out->length;
        uint32_t length;

        put_number(out, 0, 4);
        put_number(out, m->type, 2);
        put_number(out, 0, 2);
        for (size_t i = 0; t && i < t->count; i++) {
                const struct field *f = &t->fields[i];
                const char *from = (const char *)m + t->at + f->at;
                size_t bytes = f->kind == KIND_TEXT ? strnlen(from, f->bytes - 1) : f->bytes;

                if (f->kind == KIND_NUMBER) {
                        put_number(out, load(from, bytes), bytes);
                        continue;
                }
                if (f->kind == KIND_TEXT)
                        put_number(out, bytes, 2);
                str_bytes(out, from, bytes);
        }
        length = (uint32_t)(out->length - start - PROTOCOL_HEAD_BYTES);
        for (int i = 0; i < 4; i++)
                out->data[start + (size_t)i] = (char)(length >> 8 * i);
}

/* ---- reading ---- */

bool protocol_read_head(const uint8_t *head, uint32_t *length, uint32_t *type)
{
        *length = (uint32_t)get_number(head, 4);
        *type = (uint32_t)get_number(head + 4, 2);
        return *length <= PROTOCOL_BODY_MAX && *type && !head[6] && !head[7];
}

static bool read_field(const struct field *f, char *to, const uint8_t **body, uint32_t *left)
{
        size_t bytes = f->bytes;

        if (f->kind == KIND_TEXT) {
                if (*left < 2)
                        return false;
                bytes = (size_t)get_number(*body, 2);
                *body += 2;
                *left -= 2;
                if (bytes >= f->bytes)
                        return false;
        }
        if (*left < bytes || (f->kind == KIND_TEXT && memchr(*body, 0, bytes)))
                return false;
        if (f->kind == KIND_NUMBER)
                store(to, get_number(*body, bytes), bytes);
        else
                memcpy(to, *body, bytes);
        if (f->kind == KIND_TEXT)
                to[bytes] = 0;
        *body += bytes;
        *left -= (uint32_t)bytes;
        return true;
}

bool protocol_read(struct protocol_message *m, uint32_t type, const uint8_t *body, uint32_t length)
{
        const struct table *t = table_of(type);
        bool good = t || type == PROTOCOL_ALIVE_TYPE;

        memset(m, 0, sizeof *m);
        m->type = (enum protocol_type)type;
        for (size_t i = 0; t && good && i < t->count; i++)
                good = read_field(&t->fields[i], (char *)m + t->at + t->fields[i].at, &body,
                                  &length);
        return good;
}

bool protocol_read_version(const uint8_t *body, uint32_t length, uint32_t *version)
{
        if (length < 12 || memcmp(body, PROTOCOL_MAGIC, 8) != 0)
                return false;
        *version = (uint32_t)get_number(body + 8, 4);
        return true;
}
