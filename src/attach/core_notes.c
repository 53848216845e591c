/* SPDX-License-Identifier: MIT */
/* core_notes.c -- the notes of a core file, in the layouts of its processor. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "attach/arch/arch.h"
#include "attach/core_parts.h"
#include "attach/elf_words.h"
#include "base/heap.h"

static struct freeze_thread *add_thread(struct core *c)
{
        c->threads = heap_grow(c->threads, c->thread_count + 1, sizeof *c->threads);
        c->threads[c->thread_count] = (struct freeze_thread){ .stopped = true };
        return &c->threads[c->thread_count++];
}

#define SELECTOR_GS 10u /* of i386's registers */

/* Of this machine's own kind: registers by their numbers. */
static void take_own(struct freeze_thread *t, const char *words)
{
        struct arch_registers r = { 0 };

        _Static_assert(sizeof r.r == sizeof((struct elf_prstatus *)NULL)->pr_reg, "the same ones");
        memcpy(&r.r, words, sizeof r.r);
        arch_describe(t, &r); /* vector registers have a note of their own */
}

/* The program's number of BYTES at FROM. */
static uint64_t number(const struct core *c, const char *from, size_t bytes)
{
        uint64_t value = 0;

        memcpy((char *)&value + (c->high_host ? sizeof value - bytes : 0), from, bytes);
        return c->turned ? elf_words_turned(value, bytes) : value;
}

static size_t width_of(const struct core *c)
{
        return c->narrow ? 4 : 8;
}

/* Of another: the same, by what is known of that one. */
static void take_foreign(const struct core *c, struct freeze_thread *t, const char *words)
{
        const struct freeze_kind *k = c->kind;
        const struct freeze_status *s = &k->status;
        uint64_t all[FREEZE_STATUS_MOST];

        for (uint32_t i = 0; i < s->words; i++)
                all[i] = number(c, words + i * width_of(c), width_of(c));
        for (uint32_t i = 0; i < k->registers; i++) {
                uint32_t at = s->order ? s->order[i] : i;

                t->registers[i] = at == s->pc ? 0 : all[at]; /* riscv64 has it in x0's place */
        }
        t->pc = all[s->pc];
        t->sp = all[s->sp];
        t->base = all[s->base];
        t->tp = s->tp == FREEZE_IN_NOTE ? 0 : all[s->tp] - s->tp_above;
}

/* The head of struct elf_prstatus, on every processor: three numbers and the signal, two words,
 * four numbers (the thread's first), eight words, and registers. */
#define STATUS_SIGNAL 12u
#define STATUS_PID(width) (16 + 2 * (width))
#define STATUS_WORDS(width) (32 + 10 * (width))

static void take_status(struct core *c, const char *data, size_t bytes)
{
        const struct freeze_status *s = &c->kind->status;
        const char *registers = data + STATUS_WORDS(width_of(c));
        struct freeze_thread *t;

        if (bytes < STATUS_WORDS(width_of(c)) + s->words * width_of(c))
                return;
        t = add_thread(c);
        if (c->kind->machine == FREEZE_MACHINE)
                take_own(t, registers);
        else
                take_foreign(c, t, registers);
        t->tid = (uint32_t)number(c, data + STATUS_PID(width_of(c)), 4);
        if (c->kind->machine == EM_386)
                c->selector = number(c, registers + SELECTOR_GS * width_of(c), 4);
        if (c->thread_count == 1)
                c->about.signal = (uint32_t)number(c, data + STATUS_SIGNAL, 2);
}

/* i386: descriptors of 16 bytes, each with its number and then its base.  gs selects one. */
static void take_descriptors(struct core *c, const char *data, size_t bytes)
{
        for (size_t at = 0; at + 16 <= bytes; at += 16)
                if (number(c, data + at, 4) == c->selector >> 3)
                        c->threads[c->thread_count - 1].tp = number(c, data + at + 4, 4);
}

static void take_thread_pointer(struct core *c, const char *data, size_t bytes)
{
        if (c->thread_count && c->kind->machine == EM_386)
                take_descriptors(c, data, bytes);
        else if (c->thread_count && bytes >= width_of(c))
                c->threads[c->thread_count - 1].tp = number(c, data, width_of(c));
}

static void take_vectors(struct core *c, char *data, size_t bytes)
{
        struct iovec v = { data, bytes };

        if (c->thread_count && c->kind->machine == FREEZE_MACHINE)
                arch_take_note(&c->threads[c->thread_count - 1], &v);
}

/* struct elf_prpsinfo ends, on every processor, with four numbers (its own and its parent's are the
 * first), a name of 16 bytes and the arguments. */
#define PROCESS_ARGUMENTS 80u
#define PROCESS_NUMBERS (16 + 16 + PROCESS_ARGUMENTS)

static void take_process(struct core *c, const char *data, size_t bytes)
{
        char arguments[PROCESS_ARGUMENTS];
        const char *end = data + bytes, *numbers = end - PROCESS_NUMBERS;

        if (bytes < PROCESS_NUMBERS)
                return;
        memcpy(arguments, end - sizeof arguments, sizeof arguments);
        arguments[sizeof arguments - 1] = 0;
        free(c->about.arguments);
        c->about.arguments = heap_text(arguments);
        c->about.pid = (uint32_t)number(c, numbers, 4);
        c->about.ppid = (uint32_t)number(c, numbers + 4, 4);
}

static void take_auxiliary(struct core *c, const char *data, size_t bytes)
{
        size_t each = ELF_WORDS_BYTES(auxv_t, c->narrow);

        for (size_t at = 0; at + each <= bytes; at += each) {
                Elf64_auxv_t a = elf_words_any_auxiliary(data + at, c->narrow, c->turned);

                if (a.a_type == AT_RANDOM)
                        c->stack = a.a_un.a_val;
                if (a.a_type == AT_SYSINFO_EHDR)
                        c->vdso = a.a_un.a_val;
                if (a.a_type == AT_PHDR)
                        c->program = a.a_un.a_val;
        }
}

/* Count, page size, then start, end and page of each mapping, then as many names. */
static void take_files(struct core *c, const char *data, size_t bytes)
{
        size_t width = width_of(c);
        const char *name, *part = data + 2 * width, *end = data + bytes;
        uint64_t count, page;

        if (c->files || bytes < 2 * width)
                return;
        count = number(c, data, width);
        page = number(c, data + width, width);
        if (count > (bytes - 2 * width) / (3 * width) || page > (1u << 30))
                return;
        c->files = heap_zero(count, sizeof *c->files);
        name = part + count * 3 * width;
        for (uint64_t i = 0; i < count && name < end && memchr(name, 0, (size_t)(end - name));
             i++, part += 3 * width) {
                uint64_t from = number(c, part, width), to = number(c, part + width, width);

                if (to > from && !strchr(name, '\n'))
                        c->files[c->file_count++] = (struct core_file){
                                from, to, number(c, part + 2 * width, width) * page, name, -1, false
                        };
                name += strlen(name) + 1;
        }
}

void core_take_notes(struct core *c)
{
        Elf64_Nhdr h;

        for (size_t at = 0; at + sizeof h <= c->note_bytes;) {
                size_t name, room;
                char *data;

                h = elf_words_any_note(c->notes + at, false, c->turned);
                name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
                at += sizeof h;
                room = c->note_bytes - at;
                if (name > room || h.n_descsz > room - name)
                        return;
                data = c->notes + at + name;
                if (h.n_type == NT_PRSTATUS)
                        take_status(c, data, h.n_descsz);
                else if (c->kind->status.tp_note && h.n_type == c->kind->status.tp_note)
                        take_thread_pointer(c, data, h.n_descsz);
                else if (h.n_type == ARCH_VECTOR_NOTE)
                        take_vectors(c, data, h.n_descsz);
                else if (h.n_type == NT_PRPSINFO)
                        take_process(c, data, h.n_descsz);
                else if (h.n_type == NT_AUXV)
                        take_auxiliary(c, data, h.n_descsz);
                else if (h.n_type == NT_FILE)
                        take_files(c, data, h.n_descsz);
                name += ((size_t)h.n_descsz + 3) & ~(size_t)3;
                at += name < room ? name : room;
        }
}
