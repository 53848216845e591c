/* SPDX-License-Identifier: MIT */
/*
 * cfi.c -- what .eh_frame says about one address.
 *
 * Room:   inside; any context.
 * Cost:   paid once per address: every result is kept by rule.c.
 *
 * Keeps:  no byte is believed: every read is inside of the object's readable memory (object_area),
 *         every program ends after so many operations.  What lies or is not known gives no row.
 *
 * .eh_frame_hdr holds a table sorted by address that leads to an FDE; the FDE names its CIE; both
 * carry a small program whose run up to the address gives the row.
 */
#include "agent/cfi.h"

#include "agent/bytes.h"
#include "agent/cfi_bytes.h"
#include "agent/ehindex.h"
#include "agent/object.h"

#include "agent/guest.h"

/* Encodings of pointers in the tables (low nibble: format, 0x70: what it is relative to). */
enum {
        PE_ABSOLUTE = 0x00,
        PE_ULEB = 0x01,
        PE_U2 = 0x02,
        PE_U4 = 0x03,
        PE_U8 = 0x04,
        PE_SLEB = 0x09,
        PE_S2 = 0x0a,
        PE_S4 = 0x0b,
        PE_S8 = 0x0c,
        PE_PCREL = 0x10,
        PE_DATAREL = 0x30,
        PE_ALIGNED = 0x50,
        PE_OMIT = 0xff
};

/* More than any function needs; a table that lies must not hold the program up. */
#define OPERATIONS_MAX 65536u

/* A CIE with one FDE of it. */
struct entry {
        struct cfi_bytes cie_program, fde_program;
        uint64_t code_align, start, size;
        int64_t data_align;
        uint32_t return_register;
        uint8_t encoding;
        bool signal_frame, augmented;
};

/* A pointer in ENCODING; HDR is what PE_DATAREL counts from.  What is not known here (indirect ones
 * among them, which nobody needs for code) makes the bytes bad. */
static uint64_t read_pointer(struct cfi_bytes *b, uint8_t encoding, const uint8_t *hdr)
{
        uint64_t at = (uintptr_t)b->p, value;

        switch (encoding & 0x0f) {
        case PE_ABSOLUTE: value = cfi_fixed(b, sizeof(arch_word)); break;
        case PE_U8:
        case PE_S8: value = cfi_fixed(b, 8); break;
        case PE_ULEB: value = cfi_uleb(b); break;
        case PE_U2: value = cfi_fixed(b, 2); break;
        case PE_U4: value = cfi_fixed(b, 4); break;
        case PE_SLEB: value = (uint64_t)cfi_sleb(b); break;
        case PE_S2: value = (uint64_t)(int64_t)(int16_t)cfi_fixed(b, 2); break;
        case PE_S4: value = (uint64_t)(int64_t)(int32_t)cfi_fixed(b, 4); break;
        default: b->bad = true; return 0;
        }
        switch (encoding & 0xf0) {
        case PE_ABSOLUTE: return value;
        case PE_PCREL: return value + at;
        case PE_DATAREL: b->bad |= !hdr; return value + (uintptr_t)hdr;
        default: b->bad = true; return 0;
        }
}

/* Pass over a pointer whose value nobody asks for; it may be of kinds that
 * read_pointer does not know. */
static void skip_pointer(struct cfi_bytes *b, uint8_t encoding)
{
        if (encoding == PE_OMIT)
                return;
        if (encoding == PE_ALIGNED)
                cfi_skip(b, -(uintptr_t)b->p & (sizeof(arch_word) - 1));
        read_pointer(b, encoding & 0x0f, NULL);
}

/* What follows the length field at P: the CIE or FDE itself, if it lies in the
 * readable memory of O as a whole. */
static struct cfi_bytes read_length(const struct object *o, uint64_t p)
{
        const struct object_area *a = object_area(o, p, 4);
        struct cfi_bytes b = { 0 };
        uint64_t length;

        if (!a)
                return (struct cfi_bytes){ .bad = true };
        b = (struct cfi_bytes){ .p = (const uint8_t *)(uintptr_t)p,
                                .end = (const uint8_t *)(uintptr_t)a->high };
        length = cfi_fixed(&b, 4);
        if (length == 0xffffffff)
                length = cfi_fixed(&b, 8);
        return cfi_part(&b, length);
}

static void read_augmentation(struct cfi_bytes *b, const char *letters, struct entry *e)
{
        struct cfi_bytes data;

        if (*letters != 'z') {
                b->bad |= *letters != 0;
                return;
        }
        e->augmented = true;
        data = cfi_part(b, cfi_uleb(b));
        for (letters++; *letters; letters++) {
                switch (*letters) {
                case 'R': e->encoding = (uint8_t)cfi_fixed(&data, 1); break;
                case 'L': cfi_skip(&data, 1); break;
                case 'S': e->signal_frame = true; break;
                case 'P': skip_pointer(&data, (uint8_t)cfi_fixed(&data, 1)); break;
                /* What it stands for is not known; the length says where it ends. */
                default: return;
                }
        }
        b->bad |= data.bad;
}

static bool read_cie(const struct object *o, uint64_t p, struct entry *e)
{
        struct cfi_bytes b = read_length(o, p);
        const char *letters;
        uint8_t version;

        if (cfi_fixed(&b, 4) != 0) /* it is none */
                return false;
        version = (uint8_t)cfi_fixed(&b, 1);
        if (version != 1 && version != 3 && version != 4)
                return false;
        letters = (const char *)b.p;
        while (cfi_fixed(&b, 1))
                ;
        if (version == 4)
                cfi_skip(&b, 2); /* address size, segment size */
        if (b.bad)
                return false;
        e->code_align = cfi_uleb(&b);
        e->data_align = cfi_sleb(&b);
        e->return_register = version == 1 ? (uint32_t)cfi_fixed(&b, 1) : (uint32_t)cfi_uleb(&b);
        read_augmentation(&b, letters, e);
        e->cie_program = b;
        return !b.bad;
}

static bool read_fde(const struct object *o, uint64_t p, struct entry *e)
{
        struct cfi_bytes b = read_length(o, p);
        uint64_t at = (uintptr_t)b.p, back = cfi_fixed(&b, 4);

        if (!back || b.bad || !read_cie(o, at - back, e))
                return false;
        e->start = read_pointer(&b, e->encoding, NULL);
        e->size = read_pointer(&b, e->encoding & 0x0f, NULL);
        if (e->augmented)
                cfi_skip(&b, cfi_uleb(&b));
        e->fde_program = b;
        return !b.bad;
}

static struct cfi_bytes header_bytes(const struct object *o)
{
        const struct object_area *a = object_area(o, (uintptr_t)o->eh_hdr, 4);

        if (!a)
                return (struct cfi_bytes){ .bad = true };
        return (struct cfi_bytes){ .p = o->eh_hdr, .end = (const uint8_t *)(uintptr_t)a->high };
}

/* Number I of a table of 32-bit numbers, relative to HDR. */
static uint64_t table_at(const uint8_t *hdr, const uint8_t *table, uint64_t i)
{
        int32_t value;

        __builtin_memcpy(&value, table + 4 * i, sizeof value);
        return (uintptr_t)hdr + (uint64_t)(int64_t)value;
}

/* Open the sorted table behind the header: the usual form only (signed 32-bit,
 * relative to the header). */
static const uint8_t *open_table(const struct object *o, uint64_t *count)
{
        struct cfi_bytes b = header_bytes(o);
        uint8_t version = (uint8_t)cfi_fixed(&b, 1), frame = (uint8_t)cfi_fixed(&b, 1);
        uint8_t counted = (uint8_t)cfi_fixed(&b, 1), table = (uint8_t)cfi_fixed(&b, 1);

        if (b.bad || version != 1 || counted == PE_OMIT || table != (PE_DATAREL | PE_S4))
                return NULL;
        skip_pointer(&b, frame);
        *count = read_pointer(&b, counted, o->eh_hdr);
        if (b.bad || *count > (uint64_t)(b.end - b.p) / 8)
                return NULL;
        return b.p;
}

bool cfi_has_table(const struct object *o)
{
        uint64_t count;

        return open_table(o, &count) != NULL;
}

/* Binary search of the sorted table; 0: nothing. */
static uint64_t find_fde(const struct object *o, uint64_t pc)
{
        const uint8_t *hdr = o->eh_hdr, *table;
        uint64_t count, low = 0;

        table = open_table(o, &count);
        if (!table || !count || pc < table_at(hdr, table, 0))
                return 0;
        for (uint64_t high = count; high - low > 1;) {
                uint64_t middle = (low + high) / 2;

                if (pc < table_at(hdr, table, 2 * middle))
                        high = middle;
                else
                        low = middle;
        }
        return table_at(hdr, table, 2 * low + 1);
}

/* The register that a column of the tables is (or ARCH_REGS and more). */
static uint64_t read_column(struct cfi_bytes *b)
{
        uint64_t column = cfi_uleb(b);

        return ARCH_COLUMN(column);
}

static void set_register(struct cfi_row *row, uint64_t reg, uint8_t how, int64_t offset)
{
        reg = ARCH_COLUMN(reg);
        if (reg < ARCH_REGS)
                row->registers[reg] = (struct cfi_rule){ .how = how, .offset = offset };
}

static void set_initial(struct cfi_work *w, uint64_t reg)
{
        reg = ARCH_COLUMN(reg);
        if (reg < ARCH_REGS)
                w->row.registers[reg] = w->initial.registers[reg];
}

static void set_expression(struct cfi_rule *rule, uint8_t how, struct cfi_bytes *b)
{
        struct cfi_bytes e = cfi_part(b, cfi_uleb(b));
        uint64_t bytes = (uint64_t)(e.end - e.p);

        b->bad |= bytes > UINT16_MAX;
        *rule = (struct cfi_rule){ .how = how, .expression_bytes = (uint16_t)bytes,
                                   .expression = e.p };
}

/* A number of the table in units of ALIGN. */
static int64_t aligned(uint64_t number, int64_t align)
{
        return (int64_t)(number * (uint64_t)align);
}

static int64_t aligned_signed(struct cfi_bytes *b, int64_t align)
{
        return aligned((uint64_t)cfi_sleb(b), align);
}

/* State of a run: where in the code, and what was remembered. */
struct run {
        struct cfi_work *work;
        const struct entry *entry;
        uint64_t location;
        uint32_t depth, operations;
};

static bool run_set_location(struct run *r, struct cfi_bytes *b)
{
        r->location = read_pointer(b, r->entry->encoding, NULL);
        return true;
}

static bool run_advance(struct run *r, uint64_t units)
{
        r->location += units * r->entry->code_align;
        return true;
}

static bool run_remember(struct run *r, bool restore)
{
        struct cfi_work *w = r->work;

        if (!restore) {
                if (r->depth == CFI_REMEMBER)
                        return false;
                w->remembered[r->depth++] = w->row;
                return true;
        }
        if (!r->depth)
                return false;
        w->row = w->remembered[--r->depth];
        return true;
}

static void run_cfa_register(struct cfi_row *row, uint64_t reg)
{
        row->cfa.how = CFI_REGISTER;
        reg = ARCH_COLUMN(reg);
        row->cfa_register = reg < ARCH_REGS ? (uint32_t)reg : ARCH_REGS;
}

/* Operations 0x00-0x3f.  The table of them is the DWARF standard's. */
static bool run_extended(struct run *r, uint8_t op, struct cfi_bytes *b)
{
        struct cfi_row *row = &r->work->row;
        int64_t align = r->entry->data_align;
        uint64_t reg;

        switch (op) {
        case 0x00: return true;                                             /* nop */
        case 0x01: return run_set_location(r, b);                           /* set_loc */
        case 0x02: return run_advance(r, cfi_fixed(b, 1));                  /* advance_loc1 */
        case 0x03: return run_advance(r, cfi_fixed(b, 2));                  /* advance_loc2 */
        case 0x04: return run_advance(r, cfi_fixed(b, 4));                  /* advance_loc4 */
        case 0x05: reg = cfi_uleb(b);                                       /* offset_extended */
                   set_register(row, reg, CFI_AT_CFA, aligned(cfi_uleb(b), align)); return true;
        case 0x06: set_initial(r->work, cfi_uleb(b)); return true;          /* restore_extended */
        case 0x07: set_register(row, cfi_uleb(b), CFI_UNDEFINED, 0); return true; /* undefined */
        case 0x08: set_register(row, cfi_uleb(b), CFI_SAME, 0); return true; /* same_value */
        case 0x09: reg = cfi_uleb(b);                                       /* register */
                   set_register(row, reg, CFI_REGISTER, (int64_t)read_column(b)); return true;
        case 0x0a: return run_remember(r, false);
        case 0x0b: return run_remember(r, true);
        case 0x0c: run_cfa_register(row, cfi_uleb(b));                      /* def_cfa */
                   row->cfa.offset = (int64_t)cfi_uleb(b); return true;
        case 0x0d: run_cfa_register(row, cfi_uleb(b)); return true;         /* def_cfa_register */
        case 0x0e: row->cfa.offset = (int64_t)cfi_uleb(b); return true;     /* def_cfa_offset */
        case 0x0f: set_expression(&row->cfa, CFI_VALUE, b); return true;    /* def_cfa_expression */
        case 0x10: reg = read_column(b);                                    /* expression */
                   if (reg >= ARCH_REGS) return false;
                   set_expression(&row->registers[reg], CFI_EXPRESSION, b); return true;
        case 0x11: reg = cfi_uleb(b);                                       /* offset_extended_sf */
                   set_register(row, reg, CFI_AT_CFA, aligned_signed(b, align)); return true;
        case 0x12: run_cfa_register(row, cfi_uleb(b));                      /* def_cfa_sf */
                   row->cfa.offset = aligned_signed(b, align); return true;
        case 0x13: row->cfa.offset = aligned_signed(b, align); return true; /* def_cfa_offset_sf */
        case 0x14: reg = cfi_uleb(b);                                       /* val_offset */
                   set_register(row, reg, CFI_IS_CFA, aligned(cfi_uleb(b), align)); return true;
        case 0x15: reg = cfi_uleb(b);                                       /* val_offset_sf */
                   set_register(row, reg, CFI_IS_CFA, aligned_signed(b, align)); return true;
        case 0x16: reg = read_column(b);                                    /* val_expression */
                   if (reg >= ARCH_REGS) return false;
                   set_expression(&row->registers[reg], CFI_VALUE, b); return true;
        case 0x2e: cfi_uleb(b); return true;                                /* GNU_args_size */
        default: return arch_cfi_known(op);
        }
}

static bool run_program(struct run *r, struct cfi_bytes b, uint64_t pc)
{
        while (b.p < b.end && r->location <= pc) {
                uint8_t op = (uint8_t)cfi_fixed(&b, 1);

                if (++r->operations > OPERATIONS_MAX)
                        return false;
                switch (op & 0xc0) {
                case 0x40: r->location += (op & 0x3f) * r->entry->code_align; break;
                case 0x80:
                        set_register(&r->work->row, op & 0x3f, CFI_AT_CFA,
                                     aligned(cfi_uleb(&b), r->entry->data_align));
                        break;
                case 0xc0:
                        set_initial(r->work, op & 0x3f);
                        break;
                default:
                        if (!run_extended(r, op, &b))
                                return false;
                }
                if (b.bad)
                        return false;
        }
        return true;
}

bool cfi_fde_start(const struct object *o, const uint8_t *p, uint64_t *start)
{
        struct entry e = { 0 };

        if (!read_fde(o, (uintptr_t)p, &e))
                return false;
        *start = e.start;
        return e.size != 0;
}

bool cfi_find(const struct object *o, uint64_t pc, struct cfi_work *w)
{
        struct entry e = { 0 };
        struct run r = { .work = w, .entry = &e };
        uint64_t fde = 0;

        if (o->eh_hdr)
                fde = find_fde(o, pc);
        else if (o->index)
                fde = (uintptr_t)ehindex_find(o->index, pc);

        if (!fde || !read_fde(o, fde, &e) || pc - e.start >= e.size ||
            ARCH_COLUMN(e.return_register) != ARCH_REG_RETURN)
                return false;
        memset(&w->row, 0, sizeof w->row);
        w->row.signal_frame = e.signal_frame;
        if (!run_program(&r, e.cie_program, ~0ull))
                return false;
        w->initial = w->row;
        r.location = e.start;
        /* Else nothing leads back, unless it is in a register. */
        return run_program(&r, e.fde_program, pc) &&
               (!ARCH_RETURN_AT || w->row.registers[ARCH_REG_RETURN].how != CFI_SAME);
}
