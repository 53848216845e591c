/* SPDX-License-Identifier: MIT */
/*
 * codes.c -- the mapped code: its module in the ledger, its allocation functions, its unwind
 * tables.
 */
#include "breakpoint/parts.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/functions.h"
#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "base/page.h"
#include "breakpoint/arch/arch.h"
#include "breakpoint/entries.h"
#include "wire/regex.h"

/* ---- the ledger's list ---- */

static uint32_t module_of(struct target *t, const struct code *c, const uint8_t *id, size_t bytes)
{
        struct book *k = &t->book;
        struct ledger_module *all = book_part(k, LEDGER_MODULES), *m;
        uint32_t count = k->head->module_count, i;
        const char *texts = book_part(k, LEDGER_STRINGS);

        for (i = 0; i < count; i++)
                if (strcmp(texts + all[i].path, c->path) == 0 && all[i].build_id_bytes == bytes &&
                    memcmp(all[i].build_id, id, bytes) == 0 && all[i].ino == c->ino)
                        break;
        if (i >= LEDGER_MODULES_MAX || !book_commit(k, LEDGER_MODULES, (i + 1ull) * sizeof *m)) {
                k->head->modules_not_kept++;
                return LEDGER_NODE_NO_MODULE;
        }
        m = &all[i];
        if (i == count) {
                *m = (struct ledger_module){ .path = book_string(k, c->path),
                                             .load_ms = book_now_ms(k),
                                             .build_id_bytes = (uint32_t)bytes };
                memcpy(m->build_id, id, bytes);
        }
        m->start = c->first;
        m->end = c->end;
        m->bias = c->bias;
        m->dev = c->dev;
        m->ino = c->ino;
        m->code_start = c->start;
        m->code_end = c->end;
        m->code_offset = c->offset;
        m->gone_ms = 0;
        m->flags = LEDGER_MODULE_READ | (c->cfi ? 0 : LEDGER_MODULE_NO_CFI);
        if (i == count)
                __atomic_store_n(&k->head->module_count, i + 1, __ATOMIC_RELEASE);
        return i;
}

/* ---- its file ---- */

static int open_file(const struct target *t, const struct code *c)
{
        char path[4200];
        int fd;
        struct stat st;

        snprintf(path, sizeof path, "/proc/%d/root%s", (int)t->reader, c->path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == c->ino)
                return fd;
        if (fd >= 0)
                close(fd);
        snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)t->reader,
                 (unsigned long long)c->start, (unsigned long long)c->end);
        return open(path, O_RDONLY | O_CLOEXEC);
}

/* Where its addresses are in memory. */
static bool find_bias(struct code *c)
{
        uint64_t offset = c->offset, start;
        size_t count = 0;
        GElf_Phdr p;

        if (elf_getphdrnum(c->elf, &count) != 0)
                return false;
        for (size_t i = 0; i < count; i++) {
                if (!gelf_getphdr(c->elf, (int)i, &p) || p.p_type != PT_LOAD ||
                    !(p.p_flags & PF_X))
                        continue;
                start = p.p_offset & ~(page_bytes() - 1);
                if (start <= offset && offset < p.p_offset + p.p_filesz) {
                        c->bias = c->start - (p.p_vaddr - p.p_offset + offset);
                        return true;
                }
        }
        return false;
}

static size_t build_id(struct code *c, uint8_t id[ELF_ID_BYTES])
{
        const void *bits = NULL;
        ssize_t bytes = dwelf_elf_gnu_build_id(c->elf, &bits);

        if (bytes <= 0 || bytes > (ssize_t)ELF_ID_BYTES)
                return 0;
        memcpy(id, bits, (size_t)bytes);
        return (size_t)bytes;
}

/* ---- its functions ---- */

/* Where NAME is in memory; 0: it has no such function. */
static uint64_t address_of(const struct functions *f, const struct code *c, const char *name)
{
        uint32_t count = 0;
        const struct function *at = functions_find(f, name, &count);

        for (uint32_t i = 0; i < count; i++)
                if (!at[i].resolver && c->bias + at[i].address - c->start < c->end - c->start)
                        return c->bias + at[i].address;
        return 0;
}

static void set_entry(struct target *t, uint16_t entry, uint64_t at)
{
        const struct point *p;

        if (!at || !entry_wanted(entry, tracer.wishes->flags))
                return;
        p = point_find(t, at);
        if (p && p->what == POINT_ENTRY && entries[entry].does == DOES_FREE &&
            book_family(entries[p->entry].kind) != book_family(entries[entry].kind))
                t->nameless = true;
        point_set(t, at, entries[entry].does >= DOES_EXIT ? POINT_EXIT : POINT_ENTRY, entry);
        if (entry == ENTRY_MALLOC && !t->book.head->allocator)
                t->book.head->allocator = at;
}

/* The loader of glibc has functions of its own for the time before the C library is there. */
static void set_points(struct target *t, const struct code *c)
{
        struct functions f;
        struct err ignored;
        uint64_t loader;

        if (!c->elf || !t->recorded || !functions_read(&f, c->fd, &ignored))
                return;
        loader = address_of(&f, c, "_dl_debug_state");
        if (loader)
                point_set(t, loader, POINT_LOADER, 0);
        if (!loader || address_of(&f, c, "__libc_start_main"))
                for (uint16_t i = 0; i < ENTRY_COUNT; i++)
                        set_entry(t, i, address_of(&f, c, entries[i].symbol));
        functions_free(&f);
}

/* ---- names of calls ---- */

uint64_t codes_slot(const struct target *t, uint64_t back)
{
        uint8_t call[ARCH_CALL_MOST], stub[ARCH_STUB_MOST] = { 0 };
        uint64_t to, slot = 0;

        if (!target_read(t, back - sizeof call, call, sizeof call))
                return 0;
        to = arch_callee(call, back, &slot);
        return to && target_read(t, to, stub, sizeof stub) ? arch_stub_slot(stub, to) : slot;
}

/* The name in SECTION of the symbol that is put into the word at ADDRESS of the file; NULL none. */
static const char *name_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *h, uint64_t address)
{
        Elf_Data *data = elf_getdata(section, NULL);
        Elf_Scn *symbols = elf_getscn(elf, h->sh_link);
        size_t count = data && h->sh_entsize ? data->d_size / h->sh_entsize : 0;
        GElf_Shdr of;
        GElf_Rela r;
        GElf_Sym s;

        if (!symbols || !gelf_getshdr(symbols, &of))
                return NULL;
        for (size_t i = 0; i < count; i++)
                if (gelf_getrela(data, (int)i, &r) && r.r_offset == address &&
                    gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(r.r_info), &s))
                        return elf_strptr(elf, of.sh_link, s.st_name);
        return NULL;
}

int codes_called(const struct target *t, uint64_t back)
{
        const struct code *c = codes_find(t, back - 1);
        uint64_t slot = c && c->elf ? codes_slot(t, back) : 0;
        const char *name = NULL;
        Elf_Scn *section = NULL;
        GElf_Shdr h;

        while (slot && !name && (section = elf_nextscn(c->elf, section)))
                if (gelf_getshdr(section, &h) && h.sh_type == SHT_RELA)
                        name = name_in(c->elf, section, &h, slot - c->bias);
        return name ? entry_named(name) : -1;
}

/* ---- looking ---- */

static void code_close(struct code *c)
{
        if (c->cfi)
                dwarf_cfi_end((Dwarf_CFI *)c->cfi);
        if (c->elf)
                elf_end(c->elf);
        if (c->fd >= 0)
                close(c->fd);
        free(c->path);
}

static void code_open(struct target *t, struct code *c)
{
        uint8_t id[ELF_ID_BYTES] = { 0 };
        size_t id_bytes = 0;

        elf_version(EV_CURRENT);
        c->fd = open_file(t, c);
        c->elf = c->fd >= 0 ? elf_begin(c->fd, ELF_C_READ_MMAP, NULL) : NULL;
        if (c->elf && (elf_kind(c->elf) != ELF_K_ELF || !find_bias(c))) {
                elf_end(c->elf);
                c->elf = NULL;
        }
        if (c->elf) {
                id_bytes = build_id(c, id);
                c->cfi = (struct Dwarf_CFI_s *)dwarf_getcfi_elf(c->elf);
        }
        c->omitted = *tracer.wishes->omit && regex_find(tracer.wishes->omit, c->path);
        c->module = module_of(t, c, id, id_bytes);
}

static char *path_of(const struct mapping *m)
{
        const char *deleted = " (deleted)";
        size_t bytes = strcspn(m->path, "\n");
        size_t tail = strlen(deleted);
        char *path = heap_zero(1, bytes + 1);

        memcpy(path, m->path, bytes);
        if (bytes > tail && strcmp(path + bytes - tail, deleted) == 0)
                path[bytes - tail] = 0;
        return path;
}

/* Code that runs from a file. */
static bool is_code(const struct mapping *m)
{
        return m->executable && m->path[0] == '/';
}

static struct code *known(const struct target *t, const struct mapping *m)
{
        char *path = path_of(m);
        struct code *found = NULL;

        for (uint32_t i = 0; i < t->code_count && !found; i++)
                if (t->codes[i].start == m->start && t->codes[i].end == m->end &&
                    strcmp(t->codes[i].path, path) == 0)
                        found = &t->codes[i];
        free(path);
        return found;
}

/* "START-END PERMISSIONS OFFSET DEVICE INODE": what mappings.h leaves out, of the line of M. */
static void read_file_number(const char *text, const struct mapping *m, struct code *c)
{
        char key[64];
        const char *line;
        unsigned major_, minor_;
        unsigned long long ino;

        snprintf(key, sizeof key, "%llx-%llx ", (unsigned long long)m->start,
                 (unsigned long long)m->end);
        line = strstr(text, key);
        if (line && sscanf(line + strlen(key), "%*s %*x %x:%x %llu", &major_, &minor_, &ino) == 3) {
                c->dev = (uint64_t)major_ << 32 | minor_;
                c->ino = ino;
        }
}

static uint64_t first_of(const struct mappings *maps, uint32_t i, const char *path)
{
        size_t bytes = strlen(path);

        while (i > 0 && strncmp(maps->at[i - 1].path, path, bytes) == 0)
                i--;
        return maps->at[i].start;
}

static void look_at(struct target *t, const struct mappings *maps, uint32_t i, const char *text)
{
        const struct mapping *m = &maps->at[i];
        struct code *c;

        if (known(t, m))
                return;
        t->codes = heap_grow(t->codes, t->code_count + 1, sizeof *t->codes);
        c = &t->codes[t->code_count++];
        *c = (struct code){ .start = m->start, .end = m->end, .path = path_of(m), .fd = -1,
                            .offset = m->offset };
        c->first = first_of(maps, i, c->path);
        read_file_number(text, m, c);
        code_open(t, c);
        set_points(t, c);
}

static void forget_gone(struct target *t)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < t->code_count; i++) {
                struct code *c = &t->codes[i];

                if (c->seen) {
                        t->codes[kept++] = *c;
                        continue;
                }
                points_forget(t, c->start, c->end);
                if (c->module != LEDGER_NODE_NO_MODULE)
                        ((struct ledger_module *)book_part(&t->book, LEDGER_MODULES))[c->module]
                                .gone_ms = book_now_ms(&t->book) | 1;
                code_close(c);
        }
        t->code_count = kept;
}

void codes_look(struct target *t)
{
        struct mappings maps;
        struct str text = { 0 };

        if (!procfs_text(t->reader, t->reader, "maps", &text))
                return;
        mappings_parse(&maps, str_get(&text));
        for (uint32_t i = 0; i < t->code_count; i++)
                t->codes[i].seen = false;
        for (uint32_t i = 0; i < maps.count; i++) {
                struct code *c = is_code(&maps.at[i]) ? known(t, &maps.at[i]) : NULL;

                if (c)
                        c->seen = true;
        }
        forget_gone(t);
        for (uint32_t i = 0; i < maps.count; i++)
                if (is_code(&maps.at[i]))
                        look_at(t, &maps, i, str_get(&text));
        walk_forget(t);
        mappings_free(&maps);
        str_free(&text);
}

void codes_free(struct target *t)
{
        for (uint32_t i = 0; i < t->code_count; i++)
                code_close(&t->codes[i]);
        free(t->codes);
        t->codes = NULL;
        t->code_count = 0;
}

struct code *codes_find(const struct target *t, uint64_t pc)
{
        for (uint32_t i = 0; i < t->code_count; i++)
                if (pc >= t->codes[i].start && pc < t->codes[i].end)
                        return &t->codes[i];
        return NULL;
}
