/* SPDX-License-Identifier: MIT */
/*
 * test_patch.c -- functions of many shapes, patched here and called; the first instructions of all
 * functions of the C libraries, moved and compared with what they were; and the decoder, compared
 * with Zydis.
 */
#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/arch/decode_x86_64.h"
#include "attach/inject_parts.h"
#include "attach/patch.h"
#include "tap.h"

typedef long function(long a, long b);
typedef long reader(long a, long b, long base); /* strtol; the others do not look */

/* ---- functions of every shape, each with its size ---- */

#define SHAPE(name, body)                                                     \
        __asm__(".text\n.balign 64, 0xcc\n.globl shape_" #name "\n"           \
                ".type shape_" #name ", @function\nshape_" #name ":\n" body    \
                "\nshape_" #name "_end:\n.globl shape_" #name "_end\n"         \
                ".size shape_" #name ", .-shape_" #name "\n.balign 64, 0xcc\n"); \
        long shape_##name(long a, long b);                                    \
        extern const char shape_##name##_end[];

__attribute__((used)) long shape_value = 4242;
__attribute__((used)) static long twice(long a, long b)
{
        return 2 * a + b;
}
__attribute__((used)) long (*shape_pointer)(long a, long b) = twice;

SHAPE(plain, "push %rbp\nmov %rsp, %rbp\nlea (%rdi,%rsi), %rax\npop %rbp\nret")
SHAPE(endbr, "endbr64\nsub $8, %rsp\nlea 3(%rdi,%rsi), %rax\nadd $8, %rsp\nret")
SHAPE(data_first, "mov shape_value(%rip), %rax\nadd %rdi, %rax\nret")
SHAPE(data_and_number,
      "cmpl $4242, shape_value(%rip)\nje 1f\nxor %eax, %eax\nret\n1: mov %rdi, %rax\nret")
SHAPE(data_second,
      "push %rbx\nlea shape_value(%rip), %rbx\nmov (%rbx), %rax\nadd %rsi, %rax\npop %rbx\nret")
SHAPE(condition, "test %rdi, %rdi\njs 1f\nlea 1(%rdi), %rax\nret\n1: mov %rsi, %rax\nret")
SHAPE(far_condition, "test %rdi, %rdi\n.byte 0x0f, 0x88\n.long 1f - . - 4\nlea 1(%rdi), %rax\nret\n"
                     ".fill 200, 1, 0x90\n1: mov %rsi, %rax\nret")
SHAPE(jump_inside, "cmp %rsi, %rdi\njle 1f\nnop\n1: lea (%rdi,%rsi,2), %rax\nret")
SHAPE(condition_over_one,
      "xor %eax, %eax\n.byte 0x74, 0x01\n.byte 0x90\nlea (%rdi,%rsi), %rax\nret")
SHAPE(jump, "jmp 1f\n.fill 40, 1, 0x90\n1: lea 9(%rdi,%rsi), %rax\nret")
SHAPE(tail_call, "jmp twice")
SHAPE(endbr_tail_call, "endbr64\njmp twice")
SHAPE(indirect_tail_call, "jmp *shape_pointer(%rip)")
SHAPE(stub_with_bnd, "endbr64\n.byte 0xf2\njmp *shape_pointer(%rip)")
SHAPE(call_first, "call twice\nret")
SHAPE(call_second, "push %rbx\ncall twice\npop %rbx\nadd $1, %rax\nret")
SHAPE(call_by_pointer, "call *shape_pointer(%rip)\nret")
SHAPE(call_by_register, "lea twice(%rip), %rax\npush %rbx\ncall *%rax\npop %rbx\nret")
SHAPE(where_am_i, "call 1f\n1: pop %rax\nlea 1b(%rip), %rcx\nsub %rcx, %rax\nadd %rdi, %rax\nret")
SHAPE(counted, "mov %rsi, %rcx\njrcxz 1f\nlea 5(%rdi), %rax\nret\n1: lea 6(%rdi), %rax\nret")
SHAPE(recursive, "test %rdi, %rdi\njg 1f\nmov %rsi, %rax\nret\n"
                 "1: sub $1, %rdi\npush %rbx\ncall shape_recursive\npop %rbx\nadd $1, %rax\nret")
SHAPE(long_first, "movabs $0x123456789abcdef, %rax\nadd %rdi, %rax\nret")
SHAPE(lands_behind, "push %rbx\n"
                    "xor %eax, %eax\nmov $3, %ecx\n1: add %rdi, %rax\nsub $1, %ecx\n"
                    "jnz 1b\npop %rbx\nret")
SHAPE(padded, "xor %eax, %eax\nret")
SHAPE(exactly_five, "lea 1(%rdi), %rax\nret")

/* These are refused. */
SHAPE(loop_to_start, "1: add $1, %rdi\nsub $1, %rsi\njg 1b\nmov %rdi, %rax\nret")
SHAPE(loop_into_start, "xor %eax, %eax\n1: add %rdi, %rax\nsub $1, %rsi\njg 1b\nret")
SHAPE(tight, "ret\nlea 1(%rdi), %rax\nret") /* given the size of the first instruction */
SHAPE(early_call, "call *%rdi\nlea 1(%rax), %rax\nret")
SHAPE(breakpoint, "int3\nlea 1(%rdi), %rax\nret")

static const struct {
        const char *name;
        function *is;
        const char *end;
} good[] = {
#define GOOD(name) { #name, shape_##name, shape_##name##_end }
        GOOD(plain), GOOD(endbr), GOOD(data_first), GOOD(data_and_number), GOOD(data_second),
        GOOD(condition), GOOD(far_condition), GOOD(jump_inside), GOOD(condition_over_one),
        GOOD(jump), GOOD(tail_call), GOOD(endbr_tail_call), GOOD(indirect_tail_call),
        GOOD(stub_with_bnd), GOOD(call_first), GOOD(call_second), GOOD(call_by_pointer),
        GOOD(call_by_register), GOOD(where_am_i), GOOD(counted), GOOD(recursive), GOOD(long_first),
        GOOD(lands_behind), GOOD(padded), GOOD(exactly_five)
};
#define SHAPES (sizeof good / sizeof *good)

/* ---- patching ourselves ---- */

/* A page for code within 2 GiB of ADDRESS. */
static uint8_t *code_near(const void *address)
{
        for (uintptr_t away = 1u << 20; away < 1u << 30; away += 1u << 20)
                for (int side = 0; side < 2; side++) {
                        uintptr_t want = ((uintptr_t)address & ~4095ul) + (side ? away : -away);
                        void *got = mmap((void *)want, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

                        if (got == (void *)want)
                                return got;
                        if (got != MAP_FAILED)
                                munmap(got, 4096);
                }
        return NULL;
}

static void write_code(uint64_t at, const uint8_t *bytes, size_t count)
{
        uintptr_t page = (uintptr_t)at & ~4095ul;

        is_equal(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
        memcpy((void *)(uintptr_t)at, bytes, count);
        is_equal(mprotect((void *)page, 8192, PROT_READ | PROT_EXEC), 0);
}

static function *real;
static int calls;

static long hook(long a, long b)
{
        calls++;
        return real(a, b);
}

static bool plan(struct patch *p, function *f, size_t size, struct err *e)
{
        struct patch_code c = { .at = (const uint8_t *)f, .bytes = 512, .size = size };

        e->text[0] = 0;
        p->entry = (uint64_t)(uintptr_t)f;
        return patch_plan(p, &c, e);
}

/* The results of F for some arguments, as one number. */
static uint64_t results(function *f)
{
        uint64_t sum = 0;

        for (long a = -3; a < 9; a++)
                for (long b = -2; b < 6; b++)
                        sum = sum * 31 + (uint64_t)f(a, b);
        return sum;
}

static void try_shape(size_t i, uint8_t *page, uint64_t target)
{
        struct patch p = { .hook = target, .trampoline = (uint64_t)(uintptr_t)page };
        size_t size = (size_t)(good[i].end - (const char *)good[i].is);
        uint64_t expected = results(good[i].is);
        struct err e;
        int least;

        /* Where all that is known is a short jump, the rest may be anything. */
        for (int known = 1; known >= (good[i].is == shape_jump); known--) {
                if (!tap_check(plan(&p, good[i].is, known ? size : 0, &e), __FILE__, __LINE__,
                               good[i].name)) {
                        printf("# %s: %s\n", good[i].name, e.text);
                        return;
                }
                memcpy(page, p.code, sizeof p.code);
                write_code(p.entry, p.after, p.length);
                real = (function *)(uintptr_t)p.trampoline;
                calls = 0;
                if (!tap_check(results(good[i].is) == expected, __FILE__, __LINE__, "same results"))
                        printf("# %s\n", good[i].name);
                least = good[i].is == shape_recursive ? 97 : 96;
                is_true(calls >= least);
                write_code(p.entry, p.before, p.length);
                is_true(results(good[i].is) == expected);
                is_true(results(real) == expected);
        }
}

TEST(functions_of_many_shapes_lead_to_the_hook_and_still_work)
{
        uint8_t *page = code_near((const void *)shape_plain);

        is_true(page);
        for (size_t i = 0; page && i < SHAPES; i++)
                try_shape(i, page, (uint64_t)(uintptr_t)hook);
}

/* movabs hook, rax; jmp *rax, where no jump of five bytes leads. */
static uint8_t *far_hook(void)
{
        uint8_t *far = mmap((void *)0x10000000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t to = (uint64_t)(uintptr_t)hook;

        memcpy(far, "\x48\xb8", 2);
        memcpy(far + 2, &to, 8);
        memcpy(far + 10, "\xff\xe0", 2);
        return far;
}

TEST(a_hook_may_be_anywhere)
{
        uint8_t *page = code_near((const void *)shape_plain), *far = far_hook();

        for (size_t i = 0; page && i < SHAPES; i++)
                try_shape(i, page, (uint64_t)(uintptr_t)far);
}

TEST(what_cannot_be_patched_is_told)
{
        struct patch p = { .hook = (uint64_t)(uintptr_t)hook };
        struct err e;

        p.trampoline = (uint64_t)(uintptr_t)shape_plain + 4096;
#define SIZE_OF(name) (size_t)(shape_##name##_end - (const char *)shape_##name)
        is_true(!plan(&p, shape_loop_to_start, SIZE_OF(loop_to_start), &e));
        is_text(e.text, "there is a jump into its first bytes at +0x8");
        is_true(!plan(&p, shape_loop_to_start, 0, &e));
        is_true(!plan(&p, shape_loop_into_start, SIZE_OF(loop_into_start), &e));
        is_text(e.text, "there is a jump into its first bytes at +0x9");
        is_true(!plan(&p, shape_loop_into_start, 0, &e));
        is_true(!plan(&p, shape_tight, 1, &e));
        is_text(e.text, "it is too short: 1 bytes, where a jump takes 5");
        is_true(!plan(&p, shape_early_call, SIZE_OF(early_call), &e));
        is_text(e.text, "a call returns into its first bytes at +0x2");
        is_true(!plan(&p, shape_breakpoint, SIZE_OF(breakpoint), &e));
        is_text(e.text, "it has a breakpoint at +0x0");
}

TEST(padding_is_used_when_it_is_certain)
{
        static const uint8_t nops[16] = { 0xc3, 0x66, 0x0f, 0x1f, 0x44, 0, 0, 0x90 };
        static const uint8_t stops[16] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc };
        struct patch p = { .entry = 0x1000, .hook = 0x9000, .trampoline = 0x5000 };
        struct patch_code c = { nops, sizeof nops, 1, 0, false };
        struct err e;

        is_true(!patch_plan(&p, &c, &e));
        c.room = 4;
        is_true(!patch_plan(&p, &c, &e));
        c.room = 16;
        is_true(patch_plan(&p, &c, &e));
        is_equal(p.used, 1);
        c = (struct patch_code){ stops, sizeof stops, 1, 0, false };
        is_true(patch_plan(&p, &c, &e));
        c.size = 0;
        is_true(patch_plan(&p, &c, &e));
}

/* What asks by a call where it is gets the answer that it would have got; and jumps lead round the
 * whole of the memory. */
TEST(code_with_words_of_4_bytes_is_moved)
{
        static const uint8_t code[] = { 0x55, 0x57, 0x56, 0x53, 0xe8, 0, 1, 0, 0, 0x90, 0xc3 };
        static const uint8_t moved[] = { 0x55, 0x57, 0x56, 0x53, /* push ... */
                                         0x68, 0x09, 0x00, 0x00, 0xf7, /* push 0xf7000009 */
                                         0xe9, 0xfb, 0x00, 0x00, 0xa1, /* jmp 0xf7000109 */
                                         0xe9, 0xf6, 0xff, 0xff, 0xa0 /* jmp 0xf7000009 */ };
        static const uint8_t entry[] = { 0xe9, 0xfb, 0xff, 0xff, 0x18 }; /* jmp 0x10000000 */
        static const uint8_t cut[] = { 0x66, 0xe9, 0, 1, 0x90, 0x90 };
        struct patch p = { .entry = 0xf7000000, .hook = 0x10000000, .trampoline = 0x56000000 };
        struct patch_code c = { code, sizeof code, 0, 0, true };
        struct err e;

        is_true(patch_plan(&p, &c, &e));
        is_equal(p.used, sizeof moved);
        is_equal(memcmp(p.code, moved, sizeof moved), 0);
        is_equal(p.length, sizeof entry);
        is_equal(memcmp(p.after, entry, sizeof entry), 0);
        is_true(!p.far);
        c = (struct patch_code){ cut, sizeof cut, 0, 0, true };
        is_true(!patch_plan(&p, &c, &e));
        is_text(e.text, "it has an instruction that cannot be moved at +0x0");
}

TEST(threads_inside_are_moved_there_and_back)
{
        struct patch p = { .hook = 0x123456789000 };
        uint64_t to = 0;
        struct err e;

        p.trampoline = (uint64_t)(uintptr_t)shape_plain + 65536;
        is_true(plan(&p, shape_plain, 0, &e)); /* push 1, mov 3, lea 4, pop, ret */
        is_equal(p.length, 5);
        is_equal(p.instructions, 3);
        is_true(!patch_enter(&p, p.entry, &to) && !patch_enter(&p, p.entry + 8, &to));
        is_true(!patch_enter(&p, p.entry + 5, &to));
        is_true(patch_enter(&p, p.entry + 1, &to) && to == p.trampoline + 1);
        is_true(patch_enter(&p, p.entry + 4, &to) && to == p.trampoline + 4);
        is_true(patch_leave(&p, p.trampoline, &to) && to == p.entry);
        is_true(patch_leave(&p, p.trampoline + 4, &to) && to == p.entry + 4);
        is_true(p.far && patch_leave(&p, p.trampoline + p.far, &to) && to == p.entry);
        is_true(!patch_leave(&p, p.entry + 1, &to));
        is_true(plan(&p, shape_endbr, 0, &e));
        is_equal(p.length, 9);
        is_equal(p.jump, 4);
        is_true(!memcmp(p.after, "\xf3\x0f\x1e\xfa\xe9", 5));
        is_true(!patch_enter(&p, p.entry + 4, &to));
        is_true(patch_enter(&p, p.entry + 8, &to) && to == p.trampoline + 4);
}

/* ---- libraries ---- */

static void *libc;
static const char digits[] = "  -1234567890abcdefXYZ  ";

/* As the C library has them: each is called as it is and through what was moved. */
static const char *const pure[] = { "abs", "labs", "llabs", "ffs", "ffsl", "toupper", "tolower",
                                    "isalpha", "isdigit", "isspace", "isxdigit", "ispunct",
                                    "toascii", "wctob", "btowc" };
static const char *const readers[] = { "atoi", "atol", "atoll", "a64l", "strtol", "strtoul",
                                       "gnu_dev_major", "htonl" };

static void compare_moved(const char *name, uint8_t *page, bool text)
{
        reader *f = (reader *)(uintptr_t)dlsym(libc, name), *moved = (reader *)(uintptr_t)page;
        struct patch p = { .hook = (uint64_t)(uintptr_t)hook };
        struct err e;

        p.trampoline = (uint64_t)(uintptr_t)page;
        if (!f)
                return; /* this one has it not */
        if (!tap_check(plan(&p, (function *)(uintptr_t)f, 0, &e), __FILE__, __LINE__, name)) {
                printf("# %s\n", e.text);
                return;
        }
        memcpy(page, p.code, sizeof p.code);
        for (long a = 0; a < 20; a++) {
                long with = text ? (long)(digits + a) : a * 7 - 10;

                is_equal((int)moved(with, 0, 10), (int)f(with, 0, 10));
        }
}

TEST(functions_of_the_c_library_work_when_moved)
{
        uint8_t *page;

        libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
        if (!libc) {
                tap_skip("another C library than glibc");
                return;
        }
        page = code_near(dlsym(libc, "abs"));
        is_true(page);
        for (size_t i = 0; page && i < sizeof pure / sizeof *pure; i++)
                compare_moved(pure[i], page, false);
        for (size_t i = 0; page && i < sizeof readers / sizeof *readers; i++)
                compare_moved(readers[i], page, true);
}

static bool is_distance(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
        return (i->attributes & ZYDIS_ATTRIB_IS_RELATIVE) &&
               (o->type == ZYDIS_OPERAND_TYPE_MEMORY ||
                (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative));
}

/* What instructions refer to by distance: a sum of all of it, which moving must not change. */
static uint64_t references(const uint8_t *code, size_t bytes, uint64_t at, unsigned *returns)
{
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        ZydisDecodedInstruction i;
        ZydisDecoder decoder;
        uint64_t sum = 0, to;

        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        for (size_t k = 0; k < bytes; k += i.length) {
                if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + k, bytes - k, &i,
                                                         operands)))
                        return 0;
                *returns += i.meta.category == ZYDIS_CATEGORY_RET;
                for (unsigned o = 0; o < i.operand_count_visible; o++)
                        if (is_distance(&i, &operands[o]) &&
                            ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i, &operands[o], at + k, &to)))
                                sum += to;
        }
        return sum;
}

struct library {
        const uint8_t *bytes;
        size_t count;
        const Elf64_Shdr *symbols;
        unsigned planned, refused;
};

static bool library_open(struct library *l, const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat s;

        memset(l, 0, sizeof *l);
        if (fd < 0)
                return false;
        is_true(fstat(fd, &s) == 0);
        l->count = (size_t)s.st_size;
        l->bytes = mmap(NULL, l->count, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        is_true(l->bytes != MAP_FAILED);
        const Elf64_Ehdr *head = (const void *)l->bytes;
        const Elf64_Shdr *sections = (const void *)(l->bytes + head->e_shoff);
        for (unsigned i = 0; i < head->e_shnum; i++)
                if (sections[i].sh_type == SHT_DYNSYM)
                        l->symbols = &sections[i];
        return l->symbols;
}

/* Bytes in the file of what is mapped at ADDRESS. */
static const uint8_t *library_at(const struct library *l, uint64_t address)
{
        const Elf64_Ehdr *head = (const void *)l->bytes;
        const Elf64_Phdr *p = (const void *)(l->bytes + head->e_phoff);

        for (unsigned i = 0; i < head->e_phnum; i++)
                if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X) &&
                    address - p[i].p_vaddr < p[i].p_filesz)
                        return l->bytes + p[i].p_offset + (address - p[i].p_vaddr);
        return NULL;
}

static void try_symbol(struct library *l, const Elf64_Sym *s, const char *name)
{
        struct patch p = { .entry = s->st_value, .hook = 0x700000000000,
                           .trampoline = s->st_value + (256u << 20) };
        struct patch_code c = { .at = library_at(l, s->st_value), .size = s->st_size };
        unsigned returns[2] = { 0, 0 };
        uint64_t was, is;
        struct err e;

        if (!c.at)
                return;
        c.bytes = (size_t)(l->bytes + l->count - c.at);
        if (!patch_plan(&p, &c, &e)) {
                l->refused++;
                return;
        }
        l->planned++;
        /* All but the last one, which may be a call and has become several. */
        unsigned last = p.instructions - 1u;

        was = references(c.at + p.jump, p.steps[last].at - p.jump, p.entry + p.jump, &returns[0]);
        is = references(p.code, p.steps[last].moved, p.trampoline, &returns[1]);
        if (was != is)
                printf("# %s: refers to other places\n", name);
        tap_failures += was != is;
        is_equal(returns[1], returns[0]);
}

static void try_library(const char *path)
{
        struct library l;

        if (!library_open(&l, path))
                return;
        const Elf64_Ehdr *head = (const void *)l.bytes;
        const Elf64_Shdr *sections = (const void *)(l.bytes + head->e_shoff);
        const char *names = (const char *)l.bytes + sections[l.symbols->sh_link].sh_offset;
        const Elf64_Sym *s = (const void *)(l.bytes + l.symbols->sh_offset);

        for (size_t i = 0; i < l.symbols->sh_size / sizeof *s; i++)
                if (ELF64_ST_TYPE(s[i].st_info) == STT_FUNC && s[i].st_shndx && s[i].st_size)
                        try_symbol(&l, &s[i], names + s[i].st_name);
        printf("# %s: %u functions can be patched, %u not\n", path, l.planned, l.refused);
        is_true(l.planned > 9 * l.refused);
        munmap((void *)(uintptr_t)l.bytes, l.count);
}

TEST(functions_of_libraries_are_moved_with_what_they_refer_to)
{
        try_library("/lib/x86_64-linux-gnu/libc.so.6");
        try_library("/usr/lib64/libc.so.6");
        try_library("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
        try_library("/usr/lib/x86_64-linux-musl/libc.so");
        try_library("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
        try_library("/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4");
        try_library("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0");
}

/* ---- the decoder ---- */

static const char *const code_of[] = {
        "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6",
        "/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/x86_64-linux-musl/libc.so", "/usr/lib32/libc.so.6", "/proc/self/exe"
};

struct judge {
        ZydisDecoder decoder;
        bool narrow;
        unsigned long compared, wrong, refused;
};

static void judge_open(struct judge *j, bool narrow)
{
        *j = (struct judge){ .narrow = narrow };
        ZydisDecoderInit(&j->decoder,
                         narrow ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32 : ZYDIS_MACHINE_MODE_LONG_64,
                         narrow ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
}

/* 3DNow!, which has its opcode at its end, and jumps that one kind of machine had (Xeon Phi). */
static bool is_of_old(const ZydisDecodedInstruction *i)
{
        return i->opcode_map == ZYDIS_OPCODE_MAP_0F0F || i->mnemonic == ZYDIS_MNEMONIC_JKZD ||
               i->mnemonic == ZYDIS_MNEMONIC_JKNZD;
}

static bool is_same(const struct judge *j, const ZydisDecodedInstruction *i,
                    const struct decoded *d)
{
        bool modrm = i->attributes & ZYDIS_ATTRIB_HAS_MODRM;
        bool data = modrm && !j->narrow && i->raw.modrm.mod == 0 && i->raw.modrm.rm == 5;
        bool branch = (i->attributes & ZYDIS_ATTRIB_IS_RELATIVE) && i->raw.imm[0].is_relative;

        return i->length == d->length && i->opcode == d->opcode && modrm == d->has_modrm &&
               (!modrm || i->raw.modrm.offset == d->modrm_at) && data == d->near_data &&
               (!data || (i->raw.disp.value == d->distance &&
                          i->raw.disp.offset == d->distance_at)) &&
               branch == d->branch && (!branch || i->raw.imm[0].value.s == d->distance);
}

/* The instruction at CODE, by both.  Returns its length; 0: Zydis knows none. */
static unsigned judge_one(struct judge *j, const uint8_t *code, size_t bytes)
{
        ZydisDecodedInstruction i;
        struct decoded d;
        bool ours = decode(code, bytes, j->narrow, &d);

        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&j->decoder, NULL, code, bytes, &i)))
                return 0;
        j->compared++;
        j->refused += !ours;
        if (ours && !is_same(j, &i, &d) && !is_of_old(&i) && ++j->wrong <= 10) {
                printf("# %s, %u bytes, not %u:", ZydisMnemonicGetString(i.mnemonic), i.length,
                       d.length);
                for (unsigned k = 0; k < i.length; k++)
                        printf(" %02x", code[k]);
                printf("\n");
        }
        return i.length;
}

static void judge_file(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct judge j;
        struct stat s;

        if (fd < 0)
                return;
        is_true(fstat(fd, &s) == 0);
        uint8_t *bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        const Elf64_Ehdr *head = (const void *)bytes;
        const Elf32_Ehdr *head32 = (const void *)bytes;
        bool narrow = bytes[EI_CLASS] == ELFCLASS32;

        close(fd);
        judge_open(&j, narrow);
        for (unsigned i = 0; i < (narrow ? head32->e_shnum : head->e_shnum); i++) {
                const Elf64_Shdr *wide = (const void *)(bytes + head->e_shoff);
                const Elf32_Shdr *half = (const void *)(bytes + head32->e_shoff);
                uint64_t flags = narrow ? half[i].sh_flags : wide[i].sh_flags;
                size_t at = narrow ? half[i].sh_offset : wide[i].sh_offset;
                size_t end = at + (narrow ? half[i].sh_size : wide[i].sh_size);
                unsigned length;

                for (; (flags & SHF_EXECINSTR) && at < end; at += length ? length : 1)
                        length = judge_one(&j, bytes + at, end - at);
        }
        printf("# %s: %lu instructions, %lu refused\n", path, j.compared, j.refused);
        is_true(j.compared > 1000);
        is_equal(j.wrong, 0);
        is_true(j.refused * 10000 <= j.compared);
        munmap(bytes, (size_t)s.st_size);
}

TEST(instructions_of_libraries_are_those_that_another_decoder_finds)
{
        for (size_t i = 0; i < sizeof code_of / sizeof *code_of; i++)
                judge_file(code_of[i]);
}

/* What both take for an instruction is the same one, also where no compiler wrote it, and nothing
 * behind the end is looked at. */
TEST(of_random_bytes_what_is_decoded_is_the_same)
{
        uint64_t random = 88172645463325252ull;
        struct judge j[2];

        judge_open(&j[0], false);
        judge_open(&j[1], true);
        for (unsigned i = 0; i < 400000; i++) {
                uint8_t bytes[16];
                struct decoded d;

                for (unsigned k = 0; k < sizeof bytes; k++) {
                        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                        bytes[k] = (uint8_t)(random >> 20);
                }
                judge_one(&j[i % 2], bytes, sizeof bytes);
                if (decode(bytes, sizeof bytes, i % 2, &d)) {
                        uint8_t *tight = malloc(d.length - 1u);

                        memcpy(tight, bytes, d.length - 1u);
                        is_true(d.length <= DECODE_MOST);
                        is_true(!decode(tight, d.length - 1u, i % 2, &d));
                        free(tight);
                }
        }
        is_equal(j[0].wrong + j[1].wrong, 0);
        is_true(20 * (j[0].refused + j[1].refused) < j[0].compared + j[1].compared);
}

/* Of what grows, heap and stack, some room stays free; beyond that, gaps are used. */
TEST(gaps_are_found_on_both_sides_but_not_where_something_grows)
{
        const char *text = "400000000000-500000001000 r-xp 00000000 00:00 0\n"
                           "500000010000-500000020000 rw-p 00000000 00:00 0    [heap]\n"
                           "5000a0000000-5000b0000000 r-xp 00000000 00:00 0    /a/library\n"
                           "600000000000-6ffffffff000 ---s 00000000 00:00 0    /memfd:seep-ledger\n"
                           "6ffffffff000-700000001000 r-xp 00000000 00:00 0    /another/library\n"
                           "700100000000-700100021000 rw-p 00000000 00:00 0    [stack]\n";
        struct inject j = { 0 };
        uint64_t at;

        mappings_parse(&j.maps, text);
        at = inject_gap(&j, 0x500000000000, 1 << 20);
        is_true(at > 0x500000020000 + (1ull << 30) && at < 0x5000a0000000);
        at = inject_gap(&j, 0x700000000000, 1 << 20);
        is_true(at >= 0x700000001000 && at + (1 << 20) < 0x700100000000 - (1ull << 30));
        mappings_free(&j.maps);
}

/* The kernel may have put the libraries just so far from the stack that it can grow to its limit,
 * and threads have taken all that is below them. */
TEST(where_there_is_no_other_gap_a_stack_keeps_what_its_limit_lets_it_have)
{
        const char *text = "600000000000-6ffffffff000 rw-p 00000000 00:00 0\n"
                           "6ffffffff000-700000001000 r-xp 00000000 00:00 0    /a/library\n"
                           "700018000000-700018021000 rw-p 00000000 00:00 0    [stack]\n"
                           "700018022000-7ffffffff000 rw-p 00000000 00:00 0\n";
        struct rlimit limit, mine = { 0 };
        struct inject j = { .pid = getpid() };
        uint64_t at;

        getrlimit(RLIMIT_STACK, &limit);
        mine = limit;
        mine.rlim_cur = 64 << 20;
        mappings_parse(&j.maps, text);
        is_true(setrlimit(RLIMIT_STACK, &mine) == 0);
        at = inject_gap(&j, 0x700000000000, 1 << 20);
        is_true(at >= 0x700000001000 && at + (65 << 20) < 0x700018000000);
        mine.rlim_cur = 384 << 20;
        is_true(setrlimit(RLIMIT_STACK, &mine) == 0);
        is_equal(inject_gap(&j, 0x700000000000, 1 << 20), 0);
        setrlimit(RLIMIT_STACK, &limit);
        mappings_free(&j.maps);
}

TAP_MAIN(gaps_are_found_on_both_sides_but_not_where_something_grows,
         where_there_is_no_other_gap_a_stack_keeps_what_its_limit_lets_it_have,
         functions_of_many_shapes_lead_to_the_hook_and_still_work, a_hook_may_be_anywhere,
         what_cannot_be_patched_is_told, padding_is_used_when_it_is_certain,
         code_with_words_of_4_bytes_is_moved, threads_inside_are_moved_there_and_back,
         functions_of_the_c_library_work_when_moved,
         functions_of_libraries_are_moved_with_what_they_refer_to,
         instructions_of_libraries_are_those_that_another_decoder_finds,
         of_random_bytes_what_is_decoded_is_the_same)
