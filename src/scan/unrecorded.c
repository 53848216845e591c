/* SPDX-License-Identifier: MIT */
#include "scan/unrecorded.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocator/glibc.h"
#include "attach/core.h"
#include "attach/elf.h"
#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "base/str.h"
#include "base/table.h"
#include "leak/gather.h"
#include "scan/tls.h"

#define HEADERS_MAX 64u
#define NOTES_BYTES 4096u

static size_t path_length(const struct mapping *m)
{
        return strcspn(m->path, "\n");
}

/* ---- the process ---- */

/* TEXT: arguments, divided by SEPARATOR. */
static void take_arguments(struct profile_meta *m, const char *text, size_t bytes, char separator)
{
        for (const char *at = text, *end = text + bytes; at < end;) {
                const char *next = memchr(at, separator, (size_t)(end - at));
                size_t length = next ? (size_t)(next - at) : (size_t)(end - at);

                m->args = heap_grow(m->args, m->arg_count + 1, sizeof *m->args);
                m->args[m->arg_count] = heap_zero(length + 1, 1);
                memcpy(m->args[m->arg_count++], at, length);
                at += length + 1;
        }
}

static void about_process(struct profile_meta *m, uint32_t pid)
{
        uint64_t age = process_age_ms(pid);
        struct str text = { 0 };
        char host[256] = "";
        struct timespec now;

        procfs_text((pid_t)pid, (pid_t)pid, "cmdline", &text);
        take_arguments(m, str_get(&text), text.length, 0);
        str_free(&text);
        gethostname(host, sizeof host - 1);
        clock_gettime(CLOCK_REALTIME, &now);
        m->exe = process_link(pid, "exe");
        m->cwd = process_link(pid, "cwd");
        m->host = heap_text(host);
        m->ppid = process_parent(pid);
        m->duration_ms = age == UINT64_MAX ? 0 : age;
        m->start_realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec -
                               m->duration_ms * 1000000;
}

static void about_core(struct profile_meta *m, const struct core_about *a)
{
        take_arguments(m, a->arguments, strlen(a->arguments), ' ');
        m->exe = heap_text(a->exe);
        m->cwd = heap_text("");
        m->host = heap_text("");
        m->ppid = a->ppid;
        if (a->signal) {
                m->end = PROFILE_END_SIGNAL;
                m->exit_signal = a->signal;
        }
}

void unrecorded_about(struct profile *p, const struct freeze *f)
{
        struct profile_meta *m = &p->meta;

        m->pid = (uint32_t)f->pid;
        if (f->core)
                about_core(m, core_about(f->core));
        else
                about_process(m, m->pid);
        m->program = heap_text(m->arg_count ? m->args[0] : m->exe);
        m->engine = heap_text(PROFILE_ENGINE_WALK);
        m->version = heap_text(SEEP_VERSION);
        m->complete = 1;
        m->word_bytes = sizeof(uint64_t);
}

/* ---- a recording of the same process ---- */

/* Whether the program is where it was: the kernel puts it elsewhere each time. */
static bool has_program(const struct profile *p, const struct mappings *maps)
{
        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *m = &p->modules[i];
                const struct mapping *l = mappings_find(maps, m->start);

                if (strcmp(m->path, p->meta.exe) == 0 && l && l->start == m->start &&
                    strlen(m->path) == path_length(l) &&
                    strncmp(m->path, l->path, path_length(l)) == 0)
                        return true;
        }
        return false;
}

static void drop_search(struct profile *p)
{
        for (uint32_t i = 0; i < p->scan_count; i++) {
                free(p->scans[i].trouble);
                free(p->scans[i].suppressions);
        }
        free(p->scans);
        free(p->verdicts);
        free(p->contents);
        free(p->roots);
        free(p->frames);
        free(p->holds);
        free(p->pointers);
        p->scans = NULL;
        p->verdicts = NULL;
        p->contents = NULL;
        p->roots = NULL;
        p->frames = NULL;
        p->holds = NULL;
        p->pointers = NULL;
        p->scan_count = p->content_count = p->root_count = p->frame_count = 0;
        p->verdict_count = p->hold_count = p->pointer_count = 0;
}

bool unrecorded_is_of(struct profile *p, const struct freeze *f, const char *core, struct err *e)
{
        struct mappings maps;
        bool same;

        mappings_parse(&maps, f->maps);
        same = has_program(p, &maps);
        mappings_free(&maps);
        if (same)
                drop_search(p);
        return same ||
               err_set(e, ERR_EXIT_USAGE,
                       "%s is not a core of the process that was recorded: it is of process %d, "
                       "%s; the "
                       "recording is of process %u, %s, which lay at other addresses",
                       core, (int)f->pid, core_about(f->core)->exe, p->meta.pid, p->meta.exe);
}

/* ---- modules ---- */

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
        return path_length(a) == path_length(b) && strncmp(a->path, b->path, path_length(a)) == 0;
}

/* What the headers in memory say: bias, end, build id.  false: there are none. */
static bool read_headers(struct profile_module *m, const struct freeze *f)
{
        uint8_t notes[NOTES_BYTES];
        Elf64_Phdr h[HEADERS_MAX];
        Elf64_Ehdr head;
        bool loaded = false;

        if (freeze_read(f, m->start, &head, sizeof head) != sizeof head ||
            memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
            head.e_phentsize != sizeof *h || head.e_phnum > HEADERS_MAX ||
            freeze_read(f, m->start + head.e_phoff, h, head.e_phnum * sizeof *h) !=
                    head.e_phnum * sizeof *h)
                return false;
        for (uint32_t i = 0; i < head.e_phnum; i++) {
                if (h[i].p_type != PT_LOAD)
                        continue;
                if (!loaded)
                        m->bias = m->start - ((h[i].p_vaddr - h[i].p_offset) & ~UINT64_C(4095));
                loaded = true;
                if (m->bias + h[i].p_vaddr + h[i].p_memsz > m->end)
                        m->end = m->bias + h[i].p_vaddr + h[i].p_memsz;
        }
        for (uint32_t i = 0; i < head.e_phnum && !m->build_id_bytes; i++)
                if (h[i].p_type == PT_NOTE)
                        m->build_id_bytes = (uint32_t)elf_build_id(
                                notes,
                                freeze_read(f, m->bias + h[i].p_vaddr, notes,
                                            h[i].p_filesz < sizeof notes ? h[i].p_filesz
                                                                         : sizeof notes),
                                m->build_id);
        return loaded;
}

/* The file at mapping I of MAPS, which begins there, with all mappings of it that follow. */
static bool take_module(struct profile_module *m, const struct freeze *f,
                        const struct mappings *maps, uint32_t i)
{
        const struct mapping *first = &maps->at[i];

        *m = (struct profile_module){ .start = first->start, .end = first->end };
        for (uint32_t k = i; k < maps->count; k++) {
                const struct mapping *l = &maps->at[k];

                if (l->path[0] != '/' && !l->anonymous &&
                    !(l->path[0] == '[' && l->start == m->end))
                        break;
                if (l->path[0] != '/')
                        continue;
                if (!is_same_file(l, first) || (k > i && l->offset == 0 && l->start != m->end))
                        break;
                m->end = l->end;
                if (l->executable && !m->code_end) {
                        m->code_start = l->start;
                        m->code_end = l->end;
                        m->code_offset = l->offset;
                }
        }
        if (!m->code_end || !read_headers(m, f))
                return false;
        m->path = heap_zero(path_length(first) + 1, 1);
        memcpy(m->path, first->path, path_length(first));
        return true;
}

static void take_threads(struct profile *p, const struct freeze *f)
{
        p->thread_count = f->thread_count + 1;
        p->threads = heap_zero(p->thread_count, sizeof *p->threads);
        p->threads[0].name = heap_text("unknown");
        for (uint32_t i = 0; i < f->thread_count; i++) {
                char name[PROCESS_NAME_BYTES] = "";

                if (!f->core)
                        process_thread_name((uint32_t)f->pid, f->threads[i].tid, name);
                p->threads[i + 1].tid = f->threads[i].tid;
                p->threads[i + 1].name = heap_text(name);
        }
}

void unrecorded_modules(struct profile *p, const struct freeze *f)
{
        struct mappings maps;

        mappings_parse(&maps, f->maps);
        for (uint32_t i = 0; i < maps.count && p->module_count < PROFILE_NO_MODULE - 1; i++) {
                struct profile_module m;

                if (maps.at[i].path[0] != '/' || maps.at[i].offset || !take_module(&m, f, &maps, i))
                        continue;
                p->modules = heap_grow(p->modules, p->module_count + 1, sizeof *p->modules);
                p->modules[p->module_count++] = m;
        }
        mappings_free(&maps);
        take_threads(p, f);
}

/* ---- whose malloc ---- */

static bool is_libc(const struct profile *p, const struct profile_module *m)
{
        const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;

        return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
               strncmp(name, "libc_malloc_debug", 17) == 0 || strcmp(m->path, p->meta.exe) == 0;
}

/* Whose malloc the program at PATH has, as far as its file tells; NULL unknown. */
static const char *file_allocator(const struct freeze *f, const char *path)
{
        struct elf_facts facts = { 0 };
        char seen[4200];
        int fd = -1;

        if (snprintf(seen, sizeof seen, "%s%s", f->root, path) < (int)sizeof seen)
                fd = open(seen, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return NULL;
        if (!elf_look(fd, &facts))
                facts.allocator = NULL;
        close(fd);
        if (strstr(facts.interp, "ld-musl"))
                return "musl's malloc";
        return facts.sanitizer ? facts.sanitizer : facts.allocator;
}

/* The module with an allocator that has a name and is not glibc's; PROFILE_NO_MODULE. */
static uint32_t find_other(const struct freeze *f, const struct profile *p, const char **name)
{
        static const char *const files[] = { "jemalloc", "tcmalloc", "mimalloc", "snmalloc",
                                             "hoard",    "scudo",    "rpmalloc" };

        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *slash = strrchr(p->modules[i].path, '/');

                for (size_t k = 0; k < sizeof files / sizeof *files; k++)
                        if (slash && strstr(slash, files[k])) {
                                *name = files[k];
                                return i;
                        }
                *name = strcmp(p->modules[i].path, p->meta.exe) == 0
                                ? file_allocator(f, p->modules[i].path)
                                : NULL;
                if (*name && strcmp(*name, "glibc") != 0)
                        return i;
        }
        return PROFILE_NO_MODULE;
}

static bool has_libc(const struct profile *p)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (strcmp(p->modules[i].path, p->meta.exe) != 0 && is_libc(p, &p->modules[i]))
                        return true;
        return false;
}

/* ---- blocks ---- */

struct look {
        const struct freeze *f;
        struct search_memory memory;
        struct profile *p;
        struct mappings maps;
        struct tls tls;
        struct search_range *data, *tls_ranges;
        uint32_t data_count, tls_count;
};

static size_t read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
        return freeze_read(context, address, to, bytes);
}

static uint64_t next_used(void *context, uint64_t address, uint64_t end)
{
        return freeze_next_used(context, address, end);
}

static void add_range(struct search_range **list, uint32_t *count, uint64_t start, uint64_t end)
{
        *list = heap_grow(*list, *count + 1, sizeof **list);
        (*list)[(*count)++] = (struct search_range){ start, end };
}

/* Thread-local storage of libc in the thread at TP. */
static void add_tls(struct look *l, uint64_t tp)
{
        struct tls_block *blocks;
        uint32_t count = tls_blocks(&l->tls, tp, &blocks);

        for (uint32_t i = 0; i < count; i++)
                if (blocks[i].module < l->p->module_count &&
                    is_libc(l->p, &l->p->modules[blocks[i].module]))
                        add_range(&l->tls_ranges, &l->tls_count, blocks[i].start, blocks[i].end);
        free(blocks);
}

static void look_open(struct look *l)
{
        mappings_parse(&l->maps, l->f->maps);
        tls_open(&l->tls, l->f, l->p);
        for (uint32_t i = 0; i < l->p->module_count; i++) {
                struct tls_module m;

                if (is_libc(l->p, &l->p->modules[i]) && tls_module(&l->tls, i, &m))
                        for (uint32_t k = 0; k < m.data_count; k++)
                                add_range(&l->data, &l->data_count, (m.data[k].start + 7) & ~7ull,
                                          m.data[k].end);
        }
        for (uint32_t i = 0; i < l->f->thread_count; i++)
                if (l->f->threads[i].tp)
                        add_tls(l, l->f->threads[i].tp);
}

static void look_close(struct look *l)
{
        free(l->data);
        free(l->tls_ranges);
        tls_close(&l->tls);
        mappings_free(&l->maps);
}

/* Whether its first and last page are there. */
static bool is_readable(const struct freeze *f, const struct search_range *r)
{
        uint8_t byte;

        return freeze_read(f, r->start, &byte, 1) == 1 && freeze_read(f, r->end - 1, &byte, 1) == 1;
}

/* No arena was found. */
static bool refuse(const struct look *l, struct err *e)
{
        const struct profile *p = l->p;
        const char *name = NULL;
        uint32_t other = find_other(l->f, p, &name);

        if (other != PROFILE_NO_MODULE)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "its memory comes from %s (%s), whose blocks cannot be listed from "
                               "outside; only those "
                               "of glibc's malloc can. Start it with 'seep record', which sees "
                               "every allocation",
                               name, p->modules[other].path);
        if (!has_libc(p))
                return err_set(
                        e, ERR_EXIT_CANNOT_TRACE,
                        "there is no glibc malloc in %s: it is statically linked with another C "
                        "library, or has "
                        "an allocator of its own, whose blocks cannot be listed from outside",
                        p->meta.exe);
        for (uint32_t i = 0; i < l->data_count; i++)
                if (!is_readable(l->f, &l->data[i]))
                        return err_set(
                                e, ERR_EXIT_CANNOT_TRACE,
                                "the data of the C library cannot be read: the blocks of malloc "
                                "cannot be found without it");
        return true; /* malloc was never called */
}

/* ---- what blocks are by their contents ---- */

#define BATCH 256u
#define TEXT_LEAST 4u

enum content { CONTENT_OTHER, CONTENT_TEXT, CONTENT_OBJECT };

struct kind {
        uint64_t bytes, vtable;
        uint32_t content; /* enum content */
};

struct kinds {
        struct table table;
        struct kind *at;
        uint32_t count;
};

/* Printable up to a NUL, which is in WORDS or behind them. */
static bool is_text(const uint64_t words[2])
{
        const uint8_t *text = (const uint8_t *)words;
        uint32_t i = 0;

        while (i < 16 && ((text[i] >= ' ' && text[i] < 127) || text[i] == '\n' || text[i] == '\t' ||
                          text[i] >= 0xc2))
                i++;
        return i >= TEXT_LEAST && (i == 16 || !text[i]);
}

/* Tables of virtual functions are in memory of a module that the program cannot write. */
static bool is_vtable(const struct look *l, uint64_t word)
{
        const struct mapping *m = word % 8 == 0 && word ? mappings_find(&l->maps, word) : NULL;

        if (!m || m->writable || !m->readable)
                return false;
        for (uint32_t i = 0; i < l->p->module_count; i++)
                if (word >= l->p->modules[i].start && word < l->p->modules[i].end)
                        return true;
        return false;
}

/* The bytes of an address may all be printable. */
static struct kind kind_of(const struct look *l, uint64_t bytes, const uint64_t words[2])
{
        if (is_vtable(l, words[0]))
                return (struct kind){ bytes, words[0], CONTENT_OBJECT };
        if (is_text(words) && !mappings_find(&l->maps, words[0]))
                return (struct kind){ bytes, 0, CONTENT_TEXT };
        return (struct kind){ bytes, 0, CONTENT_OTHER };
}

static uint32_t number_of(struct kinds *k, struct kind one)
{
        uint32_t n = TABLE_NUMBER(&k->table, table_hash(one.bytes << 2 | one.content, one.vtable),
                                  i,
                                  k->at[i].bytes == one.bytes && k->at[i].vtable == one.vtable &&
                                          k->at[i].content == one.content);

        if (n == k->count) {
                k->at = heap_next(k->at, k->count, sizeof *k->at);
                k->at[k->count++] = one;
        }
        return n;
}

static void name_kind(const struct kind *k, struct str *out)
{
        static const char *const words[] = {
                [CONTENT_OTHER] = "", [CONTENT_TEXT] = ", text", [CONTENT_OBJECT] = ", object"
        };

        str_format(out, "[%llu bytes%s]", (unsigned long long)k->bytes, words[k->content]);
}

/* A made-up frame for each kind of blocks, whose name is in the map of code that has no file. */
static void add_sites(struct profile *p, const struct kinds *k)
{
        uint32_t site = p->site_count ? p->site_count : 1, node = p->node_count ? p->node_count : 2;

        p->site_count = site + k->count;
        p->node_count = node + k->count;
        p->sites = heap_grow(p->sites, p->site_count, sizeof *p->sites);
        p->nodes = heap_grow(p->nodes, p->node_count, sizeof *p->nodes);
        p->jit = heap_grow(p->jit, p->jit_count + k->count + 1, sizeof *p->jit);
        memmove(p->jit + k->count, p->jit, p->jit_count * sizeof *p->jit); /* theirs come first */
        p->jit_count += k->count;
        if (site == 1)
                p->sites[0] = (struct profile_site){ 0 };
        if (node == 2)
                p->nodes[0] = p->nodes[1] = (struct profile_node){ .module = PROFILE_NO_MODULE };
        for (uint32_t i = 0; i < k->count; i++) {
                uint64_t pc = 16 * ((uint64_t)i + 1);
                struct str name = { 0 };

                name_kind(&k->at[i], &name);
                p->jit[i] = (struct profile_jit){ pc, 16, heap_text(str_get(&name)) };
                p->nodes[node + i] = (struct profile_node){ .pc = pc,
                                                            .module = PROFILE_NO_MODULE,
                                                            .exact = 1 };
                p->sites[site + i] = (struct profile_site){ .node = node + i,
                                                            .kind = LEDGER_KIND_MALLOC };
                str_free(&name);
        }
}

/* What the recording has at addresses, in order. */
struct known {
        const struct profile_block *at, *end;
};

#define SLACK_SMALL 48u /* bytes that malloc gives more than it was asked for */
#define SLACK_MAPPED 8192u
#define MAPPED_LEAST 65536u

/* The recorded block that is still the one in RANGE; NULL: none. */
static const struct profile_block *known_at(struct known *k, const struct search_range *range)
{
        uint64_t more;

        while (k->at < k->end && k->at->address < range->start)
                k->at++;
        if (k->at == k->end || k->at->address != range->start ||
            k->at->size > range->end - range->start)
                return NULL;
        more = range->end - range->start - k->at->size;
        return more < (k->at->size < MAPPED_LEAST ? SLACK_SMALL : SLACK_MAPPED) ? k->at : NULL;
}

/* The blocks B, and what each is by its contents: a kind, in SITE until all kinds are known. */
static struct profile_block *look_at_blocks(const struct look *l, const struct glibc_blocks *b,
                                            struct kinds *k)
{
        struct known known = { l->p->blocks, l->p->blocks + l->p->block_count };
        struct profile_block *all = heap_zero(b->count, sizeof *all);
        uint32_t first = l->p->site_count ? l->p->site_count : 1;

        for (uint64_t i = 0; i < b->count;) {
                uint64_t addresses[2 * BATCH], words[2 * BATCH];
                uint64_t n = b->count - i < BATCH ? b->count - i : BATCH;

                for (uint64_t j = 0; j < n; j++) {
                        addresses[2 * j] = b->at[i + j].start;
                        addresses[2 * j + 1] = b->at[i + j].start + 8;
                }
                gather_words(&l->memory, addresses, words, 2 * n);
                for (uint64_t j = 0; j < n; j++, i++) {
                        uint64_t bytes = b->at[i].end - b->at[i].start;
                        const struct profile_block *same = known_at(&known, &b->at[i]);

                        all[i] = same ? *same
                                      : (struct profile_block){
                                                .address = b->at[i].start,
                                                .size = bytes,
                                                .site = first + number_of(k, kind_of(l, bytes,
                                                                                     words + 2 * j))
                                        };
                }
        }
        return all;
}

static void take_blocks(const struct look *l, const struct glibc_blocks *b)
{
        struct profile *p = l->p;
        struct kinds k = { 0 };
        struct profile_block *all = look_at_blocks(l, b, &k);

        free(p->blocks);
        p->blocks = all;
        p->block_count = b->count;
        add_sites(p, &k);
        p->totals.live_blocks = p->totals.live_bytes = 0;
        for (uint32_t i = 0; i < p->site_count; i++)
                if (!LEDGER_KIND_IS_MAPPED(p->sites[i].kind) &&
                    p->sites[i].kind < LEDGER_KIND_TYPE_FIRST)
                        p->sites[i].live_blocks = p->sites[i].live_bytes = 0;
        for (uint64_t i = 0; i < p->block_count; i++) {
                p->sites[all[i].site].live_blocks++;
                p->sites[all[i].site].live_bytes += all[i].size;
                p->totals.live_bytes += all[i].size;
        }
        p->totals.live_blocks = p->block_count;
        table_free(&k.table);
        free(k.at);
}

static void take_entries(struct unrecorded *u, const struct profile *p)
{
        u->entries = (struct scan_entries){ .at = heap_zero(p->block_count, sizeof *u->entries.at),
                                            .count = p->block_count };
        for (uint64_t i = 0; i < p->block_count; i++)
                u->entries.at[i] = (struct scan_entry){ .address = p->blocks[i].address,
                                                        .size = p->blocks[i].size,
                                                        .flags = SCAN_ENTRY_LIVE |
                                                                 SCAN_ENTRY_RECORDED };
}

bool unrecorded_blocks(struct unrecorded *u, const struct freeze *f, struct profile *p,
                       struct err *e)
{
        struct look l = { .f = f,
                          .p = p,
                          .memory = { (void *)(uintptr_t)f, read_memory, next_used } };
        struct glibc_blocks b = { 0 };
        bool good;

        *u = (struct unrecorded){ 0 };
        look_open(&l);
        glibc_find(&b, &(struct glibc_input){ .memory = l.memory,
                                              .maps = &l.maps,
                                              .data = l.data,
                                              .data_count = l.data_count,
                                              .tls = l.tls_ranges,
                                              .tls_count = l.tls_count });
        good = b.arenas || refuse(&l, e);
        if (good) {
                take_blocks(&l, &b);
                take_entries(u, p);
                u->own = b.own;
                u->own_count = b.own_count;
                b.own = NULL;
                u->malloc_at = b.arena;
                memcpy(u->trouble, b.trouble, sizeof u->trouble);
        }
        look_close(&l);
        glibc_blocks_free(&b);
        return good;
}

void unrecorded_free(struct unrecorded *u)
{
        scan_entries_free(&u->entries);
        free(u->own);
        *u = (struct unrecorded){ 0 };
}
