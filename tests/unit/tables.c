/* SPDX-License-Identifier: MIT */
#include "tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/arena.h"
#include "agent/reach.h"
#include "agent/sys.h"

#define PAGE 4096u
#define PLACE_BYTES (64u * PAGE)

struct agent agent;
struct object tables_object;
static struct cfi_work work;
struct thread tables_thread = { .work = &work };
static uint8_t *place;
static size_t placed;

void tables_byte(struct tables *t, uint8_t byte)
{
        if (t->size < sizeof t->data)
                t->data[t->size++] = byte;
}

void tables_bytes(struct tables *t, const void *bytes, size_t count)
{
        for (size_t i = 0; i < count; i++)
                tables_byte(t, ((const uint8_t *)bytes)[i]);
}

void tables_u32(struct tables *t, uint32_t value)
{
        tables_bytes(t, &value, sizeof value);
}

void tables_uleb(struct tables *t, uint64_t value)
{
        for (; value >= 0x80; value >>= 7)
                tables_byte(t, (uint8_t)(value | 0x80));
        tables_byte(t, (uint8_t)value);
}

void tables_set_u32(struct tables *t, size_t at, uint32_t value)
{
        memcpy(t->data + at, &value, sizeof value);
}

void tables_begin(struct tables *t, size_t count)
{
        static const uint8_t header[] = { 1, 0x1b, 0x03, 0x3b };

        *t = (struct tables){ .size = 0 };
        tables_bytes(t, header, sizeof header);
        for (size_t i = 0; i < 2 + 2 * count; i++)
                tables_u32(t, 0);
        t->frames = t->size;
}

/* Nops to the next word, and the length in front. */
static void end_entry(struct tables *t, size_t start)
{
        while ((t->size - start) % 4)
                tables_byte(t, 0);
        tables_set_u32(t, start, (uint32_t)(t->size - start - 4));
}

void tables_cie(struct tables *t, const struct tables_cie *c)
{
        static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };
        const char *letters = c->augmentation ? c->augmentation : "zR";

        t->cie = t->size;
        tables_u32(t, 0);
        tables_u32(t, 0);
        tables_byte(t, c->version ? c->version : 1);
        tables_bytes(t, letters, strlen(letters) + 1);
        if (c->version == 4)
                tables_bytes(t, "\x08", 2);
        tables_uleb(t, 1);
        tables_byte(t, 0x78); /* -8 */
        tables_byte(t, 16);
        if (!c->augmentation) {
                tables_uleb(t, 1);
                tables_byte(t, c->encoding ? c->encoding : 0x1b);
        }
        tables_bytes(t, c->program ? c->program : usual,
                     c->program ? c->program_bytes : sizeof usual);
        end_entry(t, t->cie);
}

void tables_fde(struct tables *t, uint32_t start, uint32_t size, const void *program, size_t bytes)
{
        size_t at = t->size;

        t->fdes[t->fde_count].start = start;
        t->fdes[t->fde_count++].at = at;
        tables_u32(t, 0);
        tables_u32(t, (uint32_t)(t->size - t->cie));
        tables_u32(t, TABLES_CODE + start - (uint32_t)t->size);
        tables_u32(t, size);
        tables_uleb(t, 0);
        tables_bytes(t, program, bytes);
        end_entry(t, at);
}

void tables_finish(struct tables *t)
{
        tables_u32(t, 0);
        tables_set_u32(t, 4, (uint32_t)t->frames - 4);
        tables_set_u32(t, 8, (uint32_t)t->fde_count);
        for (size_t i = 0; i < t->fde_count; i++) {
                tables_set_u32(t, 12 + 8 * i, TABLES_CODE + t->fdes[i].start);
                tables_set_u32(t, 16 + 8 * i, (uint32_t)t->fdes[i].at);
        }
}

void tables_sample(struct tables *t)
{
        /* push %rbp at 0, mov %rsp,%rbp at 1 */
        static const uint8_t based[] = { 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6 };
        /* as in a procedure linkage table: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl,
         * plus */
        static const uint8_t linkage[] = { 0x0e, 16, 0x46, 0x0e, 24,   0x4a, 0x0f, 11,   0x77, 8,
                                           0x80, 0,  0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };

        tables_begin(t, 2);
        tables_cie(t, &(struct tables_cie){ .version = 1 });
        tables_fde(t, 0x00, 0x40, based, sizeof based);
        tables_fde(t, 0x40, 0x40, linkage, sizeof linkage);
        tables_finish(t);
}

uint8_t *tables_place(const void *bytes, size_t count)
{
        if (!place) {
                place = mmap(NULL, PLACE_BYTES + PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (place == MAP_FAILED || mprotect(place + PLACE_BYTES, PAGE, PROT_NONE))
                        abort();
        }
        if (count > PLACE_BYTES)
                abort();
        placed = count;
        return memcpy(place + PLACE_BYTES - count, bytes, count);
}

void tables_open(const uint8_t *memory, size_t count, size_t header)
{
        uint64_t at = (uint64_t)memory;

        tables_object = (struct object){ .start = at,
                                         .code = at + TABLES_CODE,
                                         .end = at + TABLES_CODE + 0x10000,
                                         .ready = 1,
                                         .hidden = true,
                                         .areas = { { at, at + count } } };
        if (header < count)
                tables_object.eh_hdr = memory + header;
}

int tables_file(const void *bytes, size_t count)
{
        static int fd = -1;

        if (fd < 0)
                fd = memfd_create("tables", 0);
        if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, count, 0) != (ssize_t)count ||
            lseek(fd, 0, SEEK_SET))
                abort();
        return fd;
}

/* ---- the rest of the agent ---- */

/* What the agent never gives back. */
static struct piece {
        struct piece *next;
        uint64_t data[];
} *pieces;

void *arena_private(size_t bytes)
{
        struct piece *p = calloc(1, sizeof *p + bytes);

        if (!p)
                return NULL;
        p->next = pieces;
        pieces = p;
        return p->data;
}

void tables_release(void)
{
        while (pieces) {
                struct piece *p = pieces;

                pieces = p->next;
                free(p);
        }
}

bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS])
{
        (void)number;
        (void)arguments;
        return true;
}

uint32_t object_find(uint64_t pc)
{
        return pc >= tables_object.code && pc < tables_object.end ? 0 : OBJECT_NONE;
}

const struct object *object_get(uint32_t number)
{
        return number == 0 ? &tables_object : NULL;
}

const struct object *object_open(uint32_t number)
{
        return object_get(number);
}

bool reach_word(struct thread *t, uint64_t at, uint64_t *value)
{
        uint64_t end = (uint64_t)place + PLACE_BYTES, start = end - placed;

        if (t != &tables_thread)
                abort();
        if (at >= 0x1000 && at < 0x2000)
                *value = at;
        else if (place && at >= start && at <= end && end - at >= 8)
                memcpy(value, (const void *)at, 8);
        else
                return false;
        return true;
}
