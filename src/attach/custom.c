/* SPDX-License-Identifier: MIT */
#include "attach/custom.h"

#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/functions.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "wire/inject.h"

#define ARGUMENTS_MOST 12u

/* ---- what --hook says ---- */

struct word {
        const char *key;
        struct custom_act act;
};

/* The argument that may be given is the size, or of free the block. */
static const struct word words[] = {
        { "alloc", { WIRE_SLOT_ALLOC, 1, 0, 0, WIRE_SLOT_MALLOC, true } },
        { "calloc", { WIRE_SLOT_ALLOC, 2, 1, 0, WIRE_SLOT_MALLOC, true } },
        { "realloc", { WIRE_SLOT_REALLOC, 2, 0, 1, WIRE_SLOT_MALLOC, true } },
        { "free", { WIRE_SLOT_FREE, 0, 0, 1, WIRE_SLOT_MALLOC, true } },
};

static const struct word *word_of(const char *text, size_t length)
{
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strlen(words[i].key) == length && strncmp(words[i].key, text, length) == 0)
                        return &words[i];
        return NULL;
}

/* calloc's count and realloc's block come in front of the size. */
static void set_argument(struct custom_act *a, uint8_t number)
{
        if (a->does == WIRE_SLOT_FREE) {
                a->block = number;
                return;
        }
        a->size = number;
        if (a->count)
                a->count = (uint8_t)(number - 1);
        if (a->block)
                a->block = (uint8_t)(number - 1);
}

/* NAME, NAME:ARG; a C++ name has colons, too, but no number behind them. */
static bool take_argument(struct custom_rule *r, struct err *e)
{
        char *colon = strrchr(r->text, ':'), *end;
        bool two = r->act.count || r->act.does == WIRE_SLOT_REALLOC;
        unsigned long number, least = two ? 2 : r->act.does == WIRE_SLOT_FREE ? 1 : 0;

        if (!colon || (colon > r->text && colon[-1] == ':'))
                return true;
        number = strtoul(colon + 1, &end, 10);
        if (end == colon + 1 || *end || number < least || number > ARGUMENTS_MOST)
                return err_set(e, ERR_EXIT_USAGE,
                               "'%s': the argument is a number from %lu to %u, counted from 1",
                               r->text, least, ARGUMENTS_MOST);
        *colon = 0;
        set_argument(&r->act, (uint8_t)number);
        return true;
}

/* 0xADDRESS, MODULE+0xADDRESS, or a name. */
static bool take_place(struct custom_rule *r, struct err *e)
{
        char *plus = strrchr(r->text, '+'), *end;
        const char *number = plus ? plus + 1 : r->text;

        if (!*r->text)
                return err_set(e, ERR_EXIT_USAGE, "a name is missing");
        if (strncmp(number, "0x", 2) == 0) {
                r->address = strtoull(number, &end, 16);
                if (*end || !r->address)
                        return err_set(e, ERR_EXIT_USAGE, "'%s' is not an address", r->text);
                if (plus)
                        r->module = strndup(r->text, (size_t)(plus - r->text));
        }
        r->pattern = !r->address && strpbrk(r->text, "*?[");
        return true;
}

static bool take_rule(struct custom *c, const char *text, size_t length, struct err *e)
{
        const char *equals = memchr(text, '=', length);
        const struct word *w = equals ? word_of(text, (size_t)(equals - text)) : NULL;
        struct custom_rule *r;

        if (!w)
                return err_set(e, ERR_EXIT_USAGE,
                               "'%.*s': expected alloc=NAME[:ARG], free=NAME, calloc=NAME or "
                               "realloc=NAME",
                               (int)length, text);
        c->rules = heap_grow(c->rules, c->count + 1, sizeof *c->rules);
        r = &c->rules[c->count++];
        *r = (struct custom_rule){ .act = w->act };
        r->text = strndup(equals + 1, length - (size_t)(equals + 1 - text));
        return take_argument(r, e) && take_place(r, e);
}

bool custom_parse(struct custom *c, const char *text, struct err *e)
{
        for (;;) {
                size_t length = strcspn(text, ",");

                if (!take_rule(c, text, length, e))
                        return false;
                if (!text[length])
                        return true;
                text += length + 1;
        }
}

void custom_free(struct custom *c)
{
        for (uint32_t i = 0; i < c->count; i++) {
                free(c->rules[i].text);
                free(c->rules[i].module);
        }
        free(c->rules);
        *c = (struct custom){ 0 };
}

/* ---- allocators that are known ---- */

enum { C = 1, X = 2, MI = 4, TC = 8, RP = 16, SN = 32, RUST = 64 };

#define ALLOC(size, count) { WIRE_SLOT_ALLOC, size, count, 0, WIRE_SLOT_MALLOC, false }
#define STORE { WIRE_SLOT_STORE, 3, 0, 1, WIRE_SLOT_STORED, false }
#define ALIGN { WIRE_SLOT_ALLOC, 2, 0, 0, WIRE_SLOT_ALIGNED, false }
#define RESIZE(size, count, block) \
        { WIRE_SLOT_REALLOC, size, count, block, WIRE_SLOT_RESIZED, false }
#define FREE { WIRE_SLOT_FREE, 0, 0, 1, WIRE_SLOT_MALLOC, false }

static const struct family {
        const char *prefix;
        unsigned sets;
        const char *alloc, *release; /* it must have both ... */
        const char *without;         /* ... and not this: what they call then is malloc.  NULL */
} families[] = {
        { "je_", C | X, "malloc", "free", NULL },
        { "_rjem_", C | X, "malloc", "free", NULL },
        { "jemalloc_", C | X, "malloc", "free", NULL },
        { "", X, "mallocx", "dallocx", NULL },
        { "mi_", C | MI, "malloc", "free", NULL },
        { "tc_", C | TC, "malloc", "free", NULL },
        { "rp", C | RP, "malloc", "free", NULL },
        { "sn_", C, "malloc", "free", NULL },
        { "sn_rust_", SN, "alloc", "dealloc", NULL },
        { "__rust_", RUST, "alloc", "dealloc", "__rdl_alloc" }, /* #[global_allocator] */
};

static const struct known {
        const char *suffix;
        unsigned sets;
        struct custom_act act;
} known[] = {
        { "malloc", C, ALLOC(1, 0) },
        { "free", C, FREE },
        { "calloc", C, { WIRE_SLOT_ALLOC, 2, 1, 0, WIRE_SLOT_CALLOC, false } },
        { "realloc", C, RESIZE(2, 0, 1) },
        { "reallocarray", C, RESIZE(3, 2, 1) },
        { "posix_memalign", C, STORE },
        { "aligned_alloc", C, ALIGN },
        { "memalign", C, ALIGN },
        { "valloc", C, ALLOC(1, 0) },
        { "pvalloc", C, ALLOC(1, 0) },
        { "cfree", C, FREE },
        { "free_sized", C, FREE },
        { "free_aligned_sized", C, FREE },
        { "mallocx", X, ALLOC(1, 0) },
        { "rallocx", X, RESIZE(2, 0, 1) },
        { "dallocx", X, FREE },
        { "sdallocx", X, FREE },
        { "zalloc", MI, ALLOC(1, 0) },
        { "mallocn", MI, ALLOC(2, 1) },
        { "malloc_small", MI, ALLOC(1, 0) },
        { "zalloc_small", MI, ALLOC(1, 0) },
        { "malloc_aligned", MI, ALLOC(1, 0) },
        { "zalloc_aligned", MI, ALLOC(1, 0) },
        { "calloc_aligned", MI, ALLOC(2, 1) },
        { "malloc_aligned_at", MI, ALLOC(1, 0) },
        { "zalloc_aligned_at", MI, ALLOC(1, 0) },
        { "reallocn", MI, RESIZE(3, 2, 1) },
        { "reallocf", MI, RESIZE(2, 0, 1) },
        { "rezalloc", MI, RESIZE(2, 0, 1) },
        { "recalloc", MI, RESIZE(3, 2, 1) },
        { "realloc_aligned", MI, RESIZE(2, 0, 1) },
        { "rezalloc_aligned", MI, RESIZE(2, 0, 1) },
        { "free_size", MI, FREE },
        { "free_size_aligned", MI, FREE },
        { "free_aligned", MI, FREE },
        { "new", MI | TC, ALLOC(1, 0) },
        { "new_n", MI, ALLOC(2, 1) },
        { "new_nothrow", MI | TC, ALLOC(1, 0) },
        { "new_aligned", MI | TC, ALLOC(1, 0) },
        { "new_aligned_nothrow", MI | TC, ALLOC(1, 0) },
        { "new_realloc", MI, RESIZE(2, 0, 1) },
        { "heap_malloc", MI, ALLOC(2, 0) },
        { "heap_zalloc", MI, ALLOC(2, 0) },
        { "heap_calloc", MI, ALLOC(3, 2) },
        { "heap_mallocn", MI, ALLOC(3, 2) },
        { "heap_malloc_small", MI, ALLOC(2, 0) },
        { "heap_malloc_aligned", MI, ALLOC(2, 0) },
        { "heap_zalloc_aligned", MI, ALLOC(2, 0) },
        { "heap_calloc_aligned", MI, ALLOC(3, 2) },
        { "heap_realloc", MI, RESIZE(3, 0, 2) },
        { "heap_reallocn", MI, RESIZE(4, 3, 2) },
        { "heap_rezalloc", MI, RESIZE(3, 0, 2) },
        { "heap_realloc_aligned", MI, RESIZE(3, 0, 2) },
        { "newarray", TC, ALLOC(1, 0) },
        { "newarray_nothrow", TC, ALLOC(1, 0) },
        { "newarray_aligned", TC, ALLOC(1, 0) },
        { "delete", TC, FREE },
        { "delete_sized", TC, FREE },
        { "delete_nothrow", TC, FREE },
        { "delete_aligned", TC, FREE },
        { "deletearray", TC, FREE },
        { "deletearray_sized", TC, FREE },
        { "deletearray_nothrow", TC, FREE },
        { "aligned_realloc", RP, RESIZE(3, 0, 1) },
        { "aligned_calloc", RP, ALLOC(3, 2) },
        { "alloc", SN, ALLOC(2, 0) },
        { "alloc_zeroed", SN, ALLOC(2, 0) },
        { "dealloc", SN | RUST, FREE },
        { "realloc", SN, RESIZE(4, 0, 1) },
        { "alloc", RUST, ALLOC(1, 0) },
        { "alloc_zeroed", RUST, ALLOC(1, 0) },
        { "realloc", RUST, RESIZE(4, 0, 1) },
};

#define FAMILIES (sizeof families / sizeof *families)
#define FAMILY_NAME_BYTES 32

/* "_RNvCs1234_7___rustc12___rust_alloc": how Rust writes the names of its own functions. */
static const char *plain_name(const char *name)
{
        const char *own = strncmp(name, "_RNvC", 5) == 0 ? strstr(name, "7___rustc") : NULL;

        if (!own)
                return name;
        own += strlen("7___rustc");
        own += strspn(own, "0123456789");
        return *own == '_' ? own + 1 : own;
}

/* A bit for NAME being that which family F needs to allocate, or to release, or must not have. */
static uint32_t needed(const struct family *f, const char *name)
{
        size_t length = strlen(f->prefix);

        if (f->without && strcmp(name, f->without) == 0)
                return 4;
        if (strncmp(name, f->prefix, length) != 0)
                return 0;
        name += length;
        return (strcmp(name, f->alloc) == 0) | (strcmp(name, f->release) == 0) << 1;
}

static const struct known *known_act(const struct family *f, const char *name)
{
        size_t length = strlen(f->prefix);

        if (strncmp(name, f->prefix, length) != 0)
                return NULL;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if ((known[i].sets & f->sets) && strcmp(known[i].suffix, name + length) == 0)
                        return &known[i];
        return NULL;
}

/* ---- a first look at a file, without a table ---- */

struct glance {
        bool imports;           /* in: what other files must have counts as well */
        uint32_t has[FAMILIES]; /* needed() */
        bool any;               /* a rule by name fits */
        bool go;
};

static bool rule_fits(const struct custom_rule *r, const char *name)
{
        if (r->address)
                return false;
        return r->pattern ? fnmatch(r->text, name, 0) == 0 : strcmp(r->text, name) == 0;
}

static void glance_at(struct glance *g, const struct custom *rules, const char *name)
{
        for (size_t i = 0; i < FAMILIES; i++)
                g->has[i] |= needed(&families[i], plain_name(name));
        for (uint32_t i = 0; rules && !g->any && i < rules->count; i++)
                g->any = rule_fits(&rules->rules[i], name);
}

static void glance_section(struct glance *g, const struct custom *rules, Elf *elf, Elf_Scn *scn,
                           const GElf_Shdr *head)
{
        Elf_Data *data = elf_getdata(scn, NULL);
        size_t count = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;

        for (size_t i = 0; i < count; i++) {
                GElf_Sym s;
                const char *name;

                if (!gelf_getsym(data, (int)i, &s) || (s.st_shndx == SHN_UNDEF && !g->imports) ||
                    (s.st_shndx != SHN_UNDEF && GELF_ST_TYPE(s.st_info) != STT_FUNC))
                        continue;
                name = elf_strptr(elf, head->sh_link, s.st_name);
                if (name && *name)
                        glance_at(g, rules, name);
        }
}

static bool is_go_section(Elf *elf, const GElf_Shdr *head)
{
        size_t names;
        const char *name = elf_getshdrstrndx(elf, &names) == 0
                                   ? elf_strptr(elf, names, head->sh_name)
                                   : NULL;

        return name && (strcmp(name, ".gopclntab") == 0 ||
                        strcmp(name, ".data.rel.ro.gopclntab") == 0);
}

static struct glance glance(const struct custom *rules, int fd, bool imports)
{
        struct glance g = { .imports = imports };
        Elf_Scn *scn = NULL;
        GElf_Shdr head;
        Elf *elf;

        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        while (elf && (scn = elf_nextscn(elf, scn))) {
                if (!gelf_getshdr(scn, &head))
                        continue;
                if (head.sh_type == SHT_DYNSYM || head.sh_type == SHT_SYMTAB)
                        glance_section(&g, rules, elf, scn, &head);
                g.go = g.go || is_go_section(elf, &head);
        }
        if (elf)
                elf_end(elf);
        return g;
}

bool custom_is_go(int fd)
{
        static const char *const table = "gopclntab";
        Elf_Scn *scn = NULL;
        bool go = false;
        GElf_Shdr head;
        Elf *elf;

        if (!elf_may_mention(fd, &table, 1))
                return false;
        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        while (elf && !go && (scn = elf_nextscn(elf, scn)))
                go = gelf_getshdr(scn, &head) && is_go_section(elf, &head);
        if (elf)
                elf_end(elf);
        return go;
}

/* Which family the file has whole, from AT on; FAMILIES none. */
static size_t next_family(const struct glance *g, size_t at)
{
        while (at < FAMILIES && g->has[at] != 3)
                at++;
        return at;
}

bool custom_has_allocator(int fd)
{
        char names[FAMILIES][FAMILY_NAME_BYTES];
        const char *parts[FAMILIES];
        struct glance g;

        for (size_t i = 0; i < FAMILIES; i++) {
                snprintf(names[i], sizeof names[i], "%s%s", families[i].prefix, families[i].alloc);
                parts[i] = names[i];
        }
        if (!elf_may_mention(fd, parts, FAMILIES))
                return false;
        g = glance(NULL, fd, true);
        return next_family(&g, 0) < FAMILIES;
}

/* ---- finding ---- */

static void add(struct custom_functions *f, const struct custom_function *one)
{
        for (uint32_t i = 0; i < f->count; i++)
                if (f->at[i].address == one->address) { /* another name of it */
                        f->at[i].rules |= custom_bit(one->rule);
                        return;
                }
        f->at = heap_grow(f->at, f->count + 1, sizeof *f->at);
        f->at[f->count] = *one;
        f->at[f->count].rules = custom_bit(one->rule);
        f->at[f->count++].name = strdup(one->name);
}

/* The file FD, mapped at BIAS with [START, END) as code. */
struct custom_code {
        int fd;
        const char *path;
        uint64_t bias, start, end;
        bool program; /* not a library */
};

/* In a file with code of Go, its functions have names with a point. */
static void add_function(struct custom_functions *f, const struct custom_code *c,
                         const struct function *s, const struct custom_function *as)
{
        struct custom_function one = *as;

        one.name = (char *)s->name;
        one.address = c->bias + s->address;
        one.size = s->size;
        one.room = s->room;
        one.go = as->go && strchr(s->name, '.');
        if (!s->resolver && one.address >= c->start && one.address < c->end)
                add(f, &one);
}

/* What the user asks for comes before what we know. */
static void find_by_name(struct custom_functions *f, const struct custom *rules,
                         const struct custom_code *c, const struct glance *g)
{
        struct functions all;
        struct err e;

        if (!functions_read(&all, c->fd, &e))
                return;
        for (uint32_t r = 0; rules && r < rules->count; r++)
                for (uint32_t i = 0; i < all.count; i++)
                        if (rule_fits(&rules->rules[r], all.at[i].name))
                                add_function(f, c, &all.at[i],
                                             &(struct custom_function){
                                                     .act = rules->rules[r].act, .rule = r + 1,
                                                     .go = g->go });
        for (size_t n = next_family(g, 0); n < FAMILIES; n = next_family(g, n + 1)) {
                f->allocator = f->allocator || c->program;
                for (uint32_t i = 0; i < all.count; i++) {
                        const struct known *k = known_act(&families[n], plain_name(all.at[i].name));

                        if (k)
                                add_function(f, c, &all.at[i],
                                             &(struct custom_function){ .act = k->act });
                }
        }
        functions_free(&all);
}

/* The name of the file, or all of its path. */
static bool is_module(const char *module, const char *path)
{
        const char *base = strrchr(path, '/');

        return strcmp(module, path) == 0 || strcmp(module, base ? base + 1 : path) == 0;
}

/* Addresses are those of the file, as nm and objdump print them; without a module, of the program,
 * or of the process. */
static void find_by_address(struct custom_functions *f, const struct custom *rules,
                            const struct custom_code *c, bool go)
{
        for (uint32_t i = 0; rules && i < rules->count; i++) {
                const struct custom_rule *r = &rules->rules[i];
                uint64_t at = c->bias + r->address;

                if (!r->address || (r->module && !is_module(r->module, c->path)))
                        continue;
                if (!r->module && (!c->program || at < c->start || at >= c->end))
                        at = r->address;
                if (at >= c->start && at < c->end)
                        add(f, &(struct custom_function){ r->text, at, 0, 0, r->act, i + 1,
                                                          go, false, 0, 0 });
        }
}

static void custom_find_in(struct custom_functions *f, const struct custom *rules,
                           const struct custom_code *code)
{
        struct glance g = glance(rules, code->fd, false);

        find_by_address(f, rules, code, g.go);
        if (g.any || next_family(&g, 0) < FAMILIES)
                find_by_name(f, rules, code, &g);
}

/* Where the addresses of the file FD are, of which [m->offset ...) is mapped at m->start. */
static bool find_bias(int fd, const struct mapping *m, uint64_t *bias)
{
        size_t count = 0;
        bool found = false;
        GElf_Phdr p;
        Elf *elf;

        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (!elf || elf_getphdrnum(elf, &count) != 0)
                count = 0;
        for (size_t i = 0; i < count && !found; i++)
                if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X) &&
                    (p.p_offset & ~0xfffull) <= m->offset && m->offset < p.p_offset + p.p_filesz) {
                        *bias = m->start - (p.p_vaddr - p.p_offset + m->offset);
                        found = true;
                }
        if (elf)
                elf_end(elf);
        return found;
}

void custom_find(struct custom_functions *f, const struct custom *rules, int pid,
                 const struct mappings *m)
{
        char exe[4096] = "", path[4200], name[64];
        ssize_t length;

        pid = (int)procfs_living(pid);
        snprintf(name, sizeof name, "/proc/%d/exe", pid);
        length = readlink(name, exe, sizeof exe - 1);
        exe[length > 0 ? length : 0] = 0;
        for (uint32_t i = 0; i < m->count; i++) {
                const struct mapping *at = &m->at[i];
                int bytes = (int)strcspn(at->path, "\n");
                struct custom_code c = { .start = at->start, .end = at->end };

                if (!at->executable || at->path[0] != '/')
                        continue;
                snprintf(path, sizeof path, "/proc/%d/root%.*s", pid, bytes, at->path);
                c.path = path + strlen(path) - bytes;
                c.program = strcmp(c.path, exe) == 0;
                c.fd = open(c.program ? name : path, O_RDONLY | O_CLOEXEC);
                if (c.fd < 0)
                        continue;
                if (find_bias(c.fd, at, &c.bias))
                        custom_find_in(f, rules, &c);
                close(c.fd);
        }
}

void custom_leave_known(struct custom_functions *f)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < f->count; i++) {
                if (f->at[i].rule)
                        f->at[kept++] = f->at[i];
                else
                        free(f->at[i].name);
        }
        f->count = kept;
        f->allocator = false;
}

void custom_functions_free(struct custom_functions *f)
{
        for (uint32_t i = 0; i < f->count; i++)
                free(f->at[i].name);
        free(f->at);
        *f = (struct custom_functions){ 0 };
}
