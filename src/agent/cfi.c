/* SPDX-License-Identifier: MIT */
/*
 * cfi.c -- what .eh_frame says about one address.
 *
 * Room:   inside; any context.
 * Cost:   paid once per address: every result is kept by rule.c.
 *
 * .eh_frame_hdr holds a table sorted by address that leads to an FDE; the FDE names its CIE; both carry a small program
 * whose run up to the address gives the row.
 */
#include "agent/cfi.h"

#include "agent/agent.h"
#include "agent/bytes.h"
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
        PE_OMIT = 0xff
};

/* A CIE with one FDE of it. */
struct entry {
        const uint8_t *cie_program, *cie_end, *fde_program, *fde_end;
        uint64_t code_align, start, size;
        int64_t data_align;
        uint32_t return_register;
        uint8_t encoding;
        bool signal_frame, augmented;
};

static uint64_t read_uleb(const uint8_t **p)
{
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;

        do {
                byte = *(*p)++;
                if (shift < 64)
                        value |= (uint64_t)(byte & 0x7f) << shift;
                shift += 7;
        } while (byte & 0x80);
        return value;
}

static int64_t read_sleb(const uint8_t **p)
{
        int64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;

        do {
                byte = *(*p)++;
                if (shift < 64)
                        value |= (int64_t)((uint64_t)(byte & 0x7f) << shift);
                shift += 7;
        } while (byte & 0x80);
        if (shift < 64 && (byte & 0x40))
                value |= -(int64_t)(1ull << shift);
        return value;
}

static uint64_t read_fixed(const uint8_t **p, unsigned bytes)
{
        uint64_t value = 0;

        __builtin_memcpy(&value, *p, bytes);
        *p += bytes;
        return value;
}

/* A pointer in ENCODING; HDR is what PE_DATAREL counts from. */
static uint64_t read_pointer(const uint8_t **p, uint8_t encoding, const uint8_t *hdr)
{
        uint64_t at = (uint64_t)*p, value;

        if (encoding == PE_OMIT)
                return 0;
        switch (encoding & 0x0f) {
        case PE_ABSOLUTE:
        case PE_U8:
        case PE_S8: value = read_fixed(p, 8); break;
        case PE_ULEB: value = read_uleb(p); break;
        case PE_U2: value = read_fixed(p, 2); break;
        case PE_U4: value = read_fixed(p, 4); break;
        case PE_SLEB: value = (uint64_t)read_sleb(p); break;
        case PE_S2: value = (uint64_t)(int64_t)(int16_t)read_fixed(p, 2); break;
        case PE_S4: value = (uint64_t)(int64_t)(int32_t)read_fixed(p, 4); break;
        default: return 0;
        }
        if ((encoding & 0x70) == PE_PCREL)
                value += at;
        if ((encoding & 0x70) == PE_DATAREL)
                value += (uint64_t)hdr;
        return value;
}

/* Length field of a CIE or FDE; *END is set behind the entry. */
static bool read_length(const uint8_t **p, const uint8_t **end)
{
        uint64_t length = read_fixed(p, 4);

        if (length == 0xffffffff)
                length = read_fixed(p, 8);
        *end = *p + length;
        return length != 0;
}

static bool read_augmentation(const uint8_t **p, const char *letters, struct entry *e)
{
        const uint8_t *end;
        uint64_t length;

        if (*letters != 'z')
                return *letters == 0;
        e->augmented = true;
        length = read_uleb(p);
        end = *p + length;
        for (letters++; *letters; letters++) {
                uint8_t encoding;

                switch (*letters) {
                case 'R': e->encoding = *(*p)++; break;
                case 'L': ++*p; break;
                case 'S': e->signal_frame = true; break;
                case 'P':
                        encoding = *(*p)++;
                        read_pointer(p, encoding, NULL);
                        break;
                default: break; /* the length says where it ends */
                }
        }
        *p = end;
        return true;
}

static bool read_cie(const uint8_t *p, struct entry *e)
{
        const char *letters;
        uint8_t version;

        if (!read_length(&p, &e->cie_end))
                return false;
        p += 4;
        version = *p++;
        letters = (const char *)p;
        p += strlen(letters) + 1;
        if (version == 4)
                p += 2; /* address size, segment size */
        e->code_align = read_uleb(&p);
        e->data_align = read_sleb(&p);
        e->return_register = version == 1 ? *p++ : (uint32_t)read_uleb(&p);
        if (!read_augmentation(&p, letters, e))
                return false;
        e->cie_program = p;
        return true;
}

static bool read_fde(const uint8_t *p, struct entry *e)
{
        const uint8_t *at;
        uint32_t back;

        if (!read_length(&p, &e->fde_end))
                return false;
        at = p;
        back = (uint32_t)read_fixed(&p, 4);
        if (!back || !read_cie(at - back, e))
                return false;
        e->start = read_pointer(&p, e->encoding, NULL);
        e->size = read_pointer(&p, e->encoding & 0x0f, NULL);
        if (e->augmented) {
                uint64_t length = read_uleb(&p);

                p += length;
        }
        e->fde_program = p;
        return true;
}

/* Binary search of the sorted table; the usual form only (signed 32-bit, relative to the header). */
static const uint8_t *find_fde(const uint8_t *hdr, uint64_t pc)
{
        const uint8_t *p = hdr + 4;
        const int32_t *table;
        uint64_t count, low = 0;

        if (hdr[0] != 1 || hdr[3] != (PE_DATAREL | PE_S4))
                return NULL;
        read_pointer(&p, hdr[1], hdr);
        count = read_pointer(&p, hdr[2], hdr);
        table = (const int32_t *)p;
        if (!count || pc < (uint64_t)(hdr + table[0]))
                return NULL;
        for (uint64_t high = count; high - low > 1;) {
                uint64_t middle = (low + high) / 2;

                if (pc < (uint64_t)(hdr + table[2 * middle]))
                        high = middle;
                else
                        low = middle;
        }
        return hdr + table[2 * low + 1];
}

static void set_register(struct cfi_row *row, uint64_t reg, uint8_t how, int64_t offset)
{
        if (reg < ARCH_REGS)
                row->registers[reg] = (struct cfi_rule){ .how = how, .offset = offset };
}

static void set_expression(struct cfi_rule *rule, uint8_t how, const uint8_t **p)
{
        uint64_t bytes = read_uleb(p);

        *rule = (struct cfi_rule){ .how = how, .expression_bytes = (uint16_t)bytes, .expression = *p };
        *p += bytes;
}

/* State of a run: where in the code, and what was remembered. */
struct run {
        struct cfi_work *work;
        const struct entry *entry;
        uint64_t location;
        uint32_t depth;
};

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
        row->cfa_register = (uint32_t)reg;
}

/* Operations 0x00-0x3f.  The table of them is the DWARF standard's. */
static bool run_extended(struct run *r, uint8_t op, const uint8_t **p)
{
        struct cfi_row *row = &r->work->row;
        int64_t align = r->entry->data_align;
        uint64_t reg;

        switch (op) {
        case 0x00: return true;                                                            /* nop */
        case 0x01: r->location = read_pointer(p, r->entry->encoding, NULL); return true;   /* set_loc */
        case 0x02: r->location += read_fixed(p, 1) * r->entry->code_align; return true;    /* advance_loc1 */
        case 0x03: r->location += read_fixed(p, 2) * r->entry->code_align; return true;    /* advance_loc2 */
        case 0x04: r->location += read_fixed(p, 4) * r->entry->code_align; return true;    /* advance_loc4 */
        case 0x05: reg = read_uleb(p);                                                     /* offset_extended */
                   set_register(row, reg, CFI_AT_CFA, (int64_t)read_uleb(p) * align); return true;
        case 0x06: reg = read_uleb(p);                                                     /* restore_extended */
                   if (reg < ARCH_REGS) row->registers[reg] = r->work->initial.registers[reg];
                   return true;
        case 0x07: set_register(row, read_uleb(p), CFI_UNDEFINED, 0); return true;         /* undefined */
        case 0x08: set_register(row, read_uleb(p), CFI_SAME, 0); return true;              /* same_value */
        case 0x09: reg = read_uleb(p);                                                     /* register */
                   set_register(row, reg, CFI_REGISTER, (int64_t)read_uleb(p)); return true;
        case 0x0a: return run_remember(r, false);
        case 0x0b: return run_remember(r, true);
        case 0x0c: run_cfa_register(row, read_uleb(p));                                    /* def_cfa */
                   row->cfa.offset = (int64_t)read_uleb(p); return true;
        case 0x0d: run_cfa_register(row, read_uleb(p)); return true;                       /* def_cfa_register */
        case 0x0e: row->cfa.offset = (int64_t)read_uleb(p); return true;                   /* def_cfa_offset */
        case 0x0f: set_expression(&row->cfa, CFI_VALUE, p); return true;                   /* def_cfa_expression */
        case 0x10: reg = read_uleb(p);                                                     /* expression */
                   if (reg >= ARCH_REGS) return false;
                   set_expression(&row->registers[reg], CFI_EXPRESSION, p); return true;
        case 0x11: reg = read_uleb(p);                                                     /* offset_extended_sf */
                   set_register(row, reg, CFI_AT_CFA, read_sleb(p) * align); return true;
        case 0x12: run_cfa_register(row, read_uleb(p));                                    /* def_cfa_sf */
                   row->cfa.offset = read_sleb(p) * align; return true;
        case 0x13: row->cfa.offset = read_sleb(p) * align; return true;                    /* def_cfa_offset_sf */
        case 0x14: reg = read_uleb(p);                                                     /* val_offset */
                   set_register(row, reg, CFI_IS_CFA, (int64_t)read_uleb(p) * align); return true;
        case 0x15: reg = read_uleb(p);                                                     /* val_offset_sf */
                   set_register(row, reg, CFI_IS_CFA, read_sleb(p) * align); return true;
        case 0x16: reg = read_uleb(p);                                                     /* val_expression */
                   if (reg >= ARCH_REGS) return false;
                   set_expression(&row->registers[reg], CFI_VALUE, p); return true;
        case 0x2e: read_uleb(p); return true;                                              /* GNU_args_size */
        default: return false;
        }
}

static bool run_program(struct run *r, const uint8_t *p, const uint8_t *end, uint64_t pc)
{
        while (p < end && r->location <= pc) {
                uint8_t op = *p++;

                switch (op & 0xc0) {
                case 0x40: r->location += (op & 0x3f) * r->entry->code_align; break;
                case 0x80:
                        set_register(&r->work->row, op & 0x3f, CFI_AT_CFA, (int64_t)read_uleb(&p) * r->entry->data_align);
                        break;
                case 0xc0:
                        if ((op & 0x3f) < ARCH_REGS)
                                r->work->row.registers[op & 0x3f] = r->work->initial.registers[op & 0x3f];
                        break;
                default:
                        if (!run_extended(r, op, &p))
                                return false;
                }
        }
        return true;
}

bool cfi_fde_start(const uint8_t *p, uint64_t *start)
{
        struct entry e = { 0 };

        if (!read_fde(p, &e))
                return false;
        *start = e.start;
        return e.size != 0;
}

bool cfi_find(const struct object *o, uint64_t pc, struct cfi_work *w)
{
        struct entry e = { 0 };
        struct run r = { .work = w, .entry = &e };
        const uint8_t *fde = NULL;

        if (o->eh_hdr)
                fde = find_fde(o->eh_hdr, pc);
        else if (o->index)
                fde = ehindex_find(o->index, pc);

        if (!fde || !read_fde(fde, &e) || pc - e.start >= e.size || e.return_register != ARCH_REG_RETURN)
                return false;
        memset(&w->row, 0, sizeof w->row);
        w->row.signal_frame = e.signal_frame;
        if (!run_program(&r, e.cie_program, e.cie_end, ~0ull))
                return false;
        w->initial = w->row;
        r.location = e.start;
        return run_program(&r, e.fde_program, e.fde_end, pc);
}
