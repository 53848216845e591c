/* SPDX-License-Identifier: MIT */
/* variable_frame.c -- variables and parameters in a stack frame that have an address. */
#include <dwarf.h>
#include <stdlib.h>

#include "names/die.h"
#include "names/resolver.h"
#include "types/type.h"
#include "types/variables.h"

struct variable_frame {
        struct module *file;
        uint64_t pc;   /* in the module's file */
        uint64_t cfa;  /* in memory */
        uint64_t base; /* DW_AT_frame_base */
        bool has_base;
};

/* "register + offset"; false: it is something else. */
static bool op_register(const Dwarf_Op *op, uint64_t *number, int64_t *offset)
{
        *offset = 0;
        if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
                *number = op->atom - DW_OP_breg0;
                *offset = (int64_t)op->number;
        } else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
                *number = op->atom - DW_OP_reg0;
        } else if (op->atom == DW_OP_bregx) {
                *number = op->number;
                *offset = (int64_t)op->number2;
        } else {
                return false;
        }
        return true;
}

/* The unwind tables say how the end of the frame follows from a register; here that is turned
 * round. */
static bool frame_register_by(Dwarf_CFI *cfi, const struct variable_frame *f, Dwarf_Addr bias,
                              uint64_t wanted, uint64_t *value)
{
        Dwarf_Frame *frame = NULL;
        Dwarf_Op *ops;
        uint64_t number;
        int64_t offset;
        size_t count;
        bool known;

        if (!cfi || dwarf_cfi_addrframe(cfi, f->pc - bias, &frame) != 0)
                return false;
        known = dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1 &&
                op_register(&ops[0], &number, &offset) && number == wanted;
        if (known)
                *value = f->cfa - (uint64_t)offset;
        free(frame);
        return known;
}

static bool frame_register(const struct variable_frame *f, uint64_t wanted, uint64_t *value)
{
        Dwarf_Addr bias = 0;
        Dwarf_CFI *cfi;

        cfi = dwfl_module_eh_cfi(f->file->dwfl_module, &bias);
        if (frame_register_by(cfi, f, bias, wanted, value))
                return true;
        cfi = dwfl_module_dwarf_cfi(f->file->dwfl_module, &bias);
        return frame_register_by(cfi, f, bias, wanted, value);
}

/* The one operation that ATTR has at the place where the frame is. */
static bool frame_op(const struct variable_frame *f, Dwarf_Die *die, unsigned name, Dwarf_Op *op)
{
        Dwarf_Attribute attr;
        Dwarf_Op *ops;
        size_t count;

        if (!dwarf_attr_integrate(die, name, &attr) ||
            dwarf_getlocation_addr(&attr, f->pc - debug_bias(f->file->debug), &ops, &count, 1) !=
                    1 ||
            count != 1)
                return false;
        *op = ops[0];
        return true;
}

static void frame_find_base(struct variable_frame *f, Dwarf_Die *function)
{
        uint64_t number;
        int64_t offset;
        Dwarf_Op op;

        f->has_base = false;
        if (!frame_op(f, function, DW_AT_frame_base, &op))
                return;
        if (op.atom == DW_OP_call_frame_cfa) {
                f->base = f->cfa;
                f->has_base = true;
        } else if (op_register(&op, &number, &offset)) {
                f->has_base = frame_register(f, number, &f->base);
                f->base += (uint64_t)offset;
        }
}

static bool frame_place(const struct variable_frame *f, Dwarf_Die *variable, uint64_t *start)
{
        uint64_t number;
        int64_t offset;
        Dwarf_Op op;

        if (!frame_op(f, variable, DW_AT_location, &op))
                return false;
        if (op.atom == DW_OP_fbreg) {
                *start = f->base + op.number;
                return f->has_base;
        }
        if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31)
                return false; /* it is the register itself */
        if (!op_register(&op, &number, &offset) || !frame_register(f, number, start))
                return false;
        *start += (uint64_t)offset;
        return true;
}

static bool frame_variable(const struct variable_frame *f, Dwarf_Die *scope, uint64_t address,
                           struct variable *out, Dwarf_Die *found)
{
        Dwarf_Die die, type;

        if (dwarf_child(scope, &die) != 0)
                return false;
        do {
                int tag = dwarf_tag(&die);

                *out = (struct variable){ 0 };
                if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) ||
                    !frame_place(f, &die, &out->start))
                        continue;
                out->size = die_type(&die, &type) ? type_bytes(&type) : 0;
                if (address - out->start < (out->size ? out->size : 1)) {
                        *found = die;
                        return true;
                }
        } while (dwarf_siblingof(&die, &die) == 0);
        return false;
}

bool variable_in_frame(struct symbols *s, uint32_t module, uint64_t pc, bool exact, uint64_t cfa,
                       uint64_t address, struct variable *out)
{
        struct variable_frame f = { .cfa = cfa };
        struct variable_module *m = variables_module(s, module);
        Dwarf_Die scopes[DEBUG_SCOPES], skeleton, found;
        uint32_t count;

        if (!m || !m->file->debug)
                return false;
        f.file = m->file;
        f.pc = pc - (exact ? 0 : 1) - symbols_profile(s)->modules[module].bias;
        count = debug_scopes(f.file->debug, f.pc, scopes, &skeleton);
        if (count)
                frame_find_base(&f, &scopes[0]);
        while (count-- > 0)
                if (frame_variable(&f, &scopes[count], address, out, &found)) {
                        variables_name(s, &found, true, out);
                        variables_describe(s, module, &found, &skeleton, out);
                        return true;
                }
        return false;
}
