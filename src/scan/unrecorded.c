/* SPDX-License-Identifier: MIT */
#include "scan/unrecorded.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/core.h"
#include "attach/elf.h"
#include "attach/elf_words.h"
#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "base/str.h"
#include "scan/contents.h"

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
        m->machine = freeze_kind(f)->machine;
        m->word_bytes = search_width(f->narrow);
        m->byte_order = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != f->turned ? ELFDATA2MSB
                                                                              : ELFDATA2LSB;
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
        uint8_t notes[NOTES_BYTES], first[sizeof(Elf64_Ehdr)];
        uint8_t raw[HEADERS_MAX * sizeof(Elf64_Phdr)];
        size_t each = ELF_WORDS_BYTES(Phdr, f->narrow);
        Elf64_Phdr h[HEADERS_MAX];
        Elf64_Ehdr head;
        bool loaded = false;

        if (freeze_read(f, m->start, first, sizeof first) != sizeof first ||
            memcmp(first, ELFMAG, SELFMAG) != 0 ||
            first[EI_CLASS] != (f->narrow ? ELFCLASS32 : ELFCLASS64))
                return false;
        head = elf_words_any_header(first, f->narrow, f->turned);
        if (head.e_phentsize != each || head.e_phnum > HEADERS_MAX ||
            freeze_read(f, m->start + head.e_phoff, raw, head.e_phnum * each) !=
                    head.e_phnum * each)
                return false;
        for (uint32_t i = 0; i < head.e_phnum; i++)
                h[i] = elf_words_any_segment(raw + i * each, f->narrow, f->turned);
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
                                f->turned, m->build_id);
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

/* ---- blocks ---- */

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

/* The blocks of the walk W: those that P knows as they are, the others by their contents. */
static struct profile_block *look_at_blocks(const struct walk_blocks *w, const struct freeze *f,
                                            struct profile *p)
{
        struct known known = { p->blocks, p->blocks + p->block_count };
        struct profile_block *all = heap_zero(w->count, sizeof *all);
        struct search_range *others = heap_zero(w->count, sizeof *others);
        uint32_t *kinds = heap_zero(w->count, sizeof *kinds), first;
        uint64_t count = 0, next = 0;
        struct contents c;

        for (uint64_t i = 0; i < w->count; i++) {
                const struct profile_block *same = known_at(&known, &w->at[i]);

                if (same)
                        all[i] = *same;
                else
                        others[count++] = w->at[i];
        }
        contents_open(&c, f, p);
        contents_look(&c, others, count, kinds);
        first = contents_store(&c, p, LEDGER_KIND_MALLOC);
        for (uint64_t i = 0; i < w->count; i++)
                if (next < count && w->at[i].start == others[next].start)
                        all[i] = (struct profile_block){ .address = w->at[i].start,
                                                         .size = w->at[i].end - w->at[i].start,
                                                         .site = first + kinds[next++] };
        contents_free(&c);
        free(others);
        free(kinds);
        return all;
}

static void take_blocks(const struct walk_blocks *w, const struct freeze *f, struct profile *p)
{
        struct profile_block *all = look_at_blocks(w, f, p);

        free(p->blocks);
        p->blocks = all;
        p->block_count = w->count;
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
}

static void take_entries(struct unrecorded *u, const struct profile *p)
{
        u->entries = (struct scan_entries){ .at = heap_zero(p->block_count, sizeof *u->entries.at),
                                            .count = p->block_count };
        for (uint64_t i = 0; i < p->block_count; i++)
                u->entries.at[i] = (struct search_block){
                        .address = p->blocks[i].address,
                        .size = p->blocks[i].size,
                        .flags = walk_is_inner(&u->walk, p->blocks[i].address) ? SEARCH_BLOCK_INNER
                                                                               : 0,
                };
}

bool unrecorded_blocks(struct unrecorded *u, const struct freeze *f, struct profile *p,
                       struct err *e)
{
        *u = (struct unrecorded){ 0 };
        if (!heap_walk(&u->walk, f, p, e))
                return false;
        take_blocks(&u->walk, f, p);
        take_entries(u, p);
        return true;
}

void unrecorded_free(struct unrecorded *u)
{
        scan_entries_free(&u->entries);
        walk_blocks_free(&u->walk);
}
