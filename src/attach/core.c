/* SPDX-License-Identifier: MIT */
#include "attach/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/core_parts.h"
#include "attach/elf.h"
#include "attach/elf_words.h"
#include "base/find.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"

#define CORE_SEGMENTS_MOST (1u << 20)
#define CORE_NOTES_MOST (256u << 20)
#define CORE_NOTE_MOST 4096u /* bytes of notes of a module */
#define CORE_HEADERS_MOST 64u

/* ---- the file ---- */

bool core_is(const char *file)
{
        int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        uint8_t head[18] = { 0 };
        bool good = fd >= 0 && io_read_at(fd, head, sizeof head, 0) &&
                    memcmp(head, ELFMAG, SELFMAG) == 0;
        unsigned type = head[EI_DATA] == ELFDATA2MSB ? (unsigned)head[16] << 8 | head[17]
                                                     : (unsigned)head[17] << 8 | head[16];

        if (fd >= 0)
                close(fd);
        return good && type == ET_CORE;
}

static const struct core_segment *segment_at(const struct core *c, uint64_t address)
{
        uint32_t i = (uint32_t)FIND_FIRST(c->segment_count, k, c->segments[k].end <= address);

        return i < c->segment_count && c->segments[i].start <= address ? &c->segments[i] : NULL;
}

/* ---- memory that files have ---- */

/* A place for reading headers: memory of the core OF, or a file of that machine. */
struct image {
        const struct core *of;
        uint64_t start; /* address of the image in the core; 0: FD */
        int fd;
};

static size_t read_stored(const struct core *c, uint64_t address, void *to, size_t bytes);

static bool read_image(const struct image *m, void *to, size_t bytes, uint64_t at)
{
        return m->start ? read_stored(m->of, m->start + at, to, bytes) == bytes
                        : io_read_at(m->fd, to, bytes, at);
}

/* The build id of the image, which has its headers in its first page; 0 bytes: not known. */
static size_t build_id(const struct image *m, uint8_t id[ELF_ID_BYTES])
{
        const struct core *c = m->of;
        uint8_t first[sizeof(Elf64_Ehdr)], raw[CORE_HEADERS_MOST * sizeof(Elf64_Phdr)];
        size_t each = ELF_WORDS_BYTES(Phdr, c->narrow), found = 0;
        Elf64_Ehdr head;

        if (!read_image(m, first, sizeof first, 0) || memcmp(first, ELFMAG, SELFMAG) != 0)
                return 0;
        head = elf_words_any_header(first, c->narrow, c->turned);
        if (head.e_phentsize != each || head.e_phnum > CORE_HEADERS_MOST ||
            !read_image(m, raw, head.e_phnum * each, head.e_phoff))
                return 0;
        for (uint32_t i = 0; i < head.e_phnum && !found; i++) {
                Elf64_Phdr h = elf_words_any_segment(raw + i * each, c->narrow, c->turned);
                uint8_t notes[CORE_NOTE_MOST];
                size_t bytes = h.p_filesz < sizeof notes ? h.p_filesz : sizeof notes;

                if (h.p_type == PT_NOTE && read_image(m, notes, bytes, h.p_offset))
                        found = elf_build_id(notes, bytes, c->turned, id);
        }
        return found;
}

/* The first mapping of the same file, below F: its headers are there. */
static uint64_t image_start(const struct core *c, const struct core_file *f)
{
        const struct core_file *first = f;

        while (first > c->files && strcmp(first[-1].path, f->path) == 0 && first->offset)
                first--;
        return first->offset ? 0 : first->start;
}

static void open_file(struct core *c, struct core_file *f)
{
        bool program = c->where.exe && c->about.exe && strcmp(f->path, c->about.exe) == 0;
        struct image memory = { .of = c, .start = image_start(c, f) }, file = { .of = c };
        uint8_t ids[2][ELF_ID_BYTES];
        struct str path = { 0 };
        size_t bytes;

        f->tried = true;
        str_format(&path, "%s%s", program || !c->where.sysroot ? "" : c->where.sysroot,
                   program ? c->where.exe : f->path);
        f->fd = open(str_get(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (f->fd < 0 || !memory.start) {
                str_free(&path);
                return;
        }
        file.fd = f->fd;
        bytes = build_id(&memory, ids[0]);
        if (bytes && (build_id(&file, ids[1]) != bytes || memcmp(ids[0], ids[1], bytes) != 0)) {
                close(f->fd);
                f->fd = -1;
                if (!c->about.other_file)
                        c->about.other_file = heap_text(str_get(&path));
        }
        str_free(&path);
}

/* ---- reading ---- */

/* What is in the core itself. */
static size_t read_stored(const struct core *c, uint64_t address, void *to, size_t bytes)
{
        size_t done = 0;

        while (done < bytes) {
                const struct core_segment *s = segment_at(c, address + done);
                uint64_t into = s ? address + done - s->start : 0, part;
                ssize_t n;

                if (!s || into >= s->stored)
                        break;
                part = s->stored - into < bytes - done ? s->stored - into : bytes - done;
                n = pread(c->fd, (char *)to + done, part, (off_t)(s->offset + into));
                if (n <= 0)
                        break;
                done += (size_t)n;
        }
        return done;
}

/* What is not, at ADDRESS. */
static size_t read_file(const struct core *c, uint64_t address, void *to, size_t bytes)
{
        const struct core_segment *s = segment_at(c, address);
        struct core_file *f = s && s->file ? &c->files[s->file - 1] : NULL;
        uint64_t part;
        ssize_t n;

        if (!f || ((s->flags & PF_W) && s->stored)) /* the rest of what was written is lost */
                return 0;
        if (!f->tried)
                open_file((struct core *)(uintptr_t)c, f);
        if (f->fd < 0)
                return 0;
        part = f->end - address < bytes ? f->end - address : bytes;
        n = pread(f->fd, to, part, (off_t)(f->offset + (address - f->start)));
        return n > 0 ? (size_t)n : 0;
}

size_t core_read(const struct core *c, uint64_t address, void *to, size_t bytes)
{
        size_t done = 0, got;

        while (done < bytes) {
                got = read_stored(c, address + done, (char *)to + done, bytes - done);
                if (!got)
                        got = read_file(c, address + done, (char *)to + done, bytes - done);
                if (!got)
                        break;
                done += got;
        }
        return done;
}

uint64_t core_next_used(const struct core *c, uint64_t address, uint64_t end)
{
        uint32_t i = (uint32_t)FIND_FIRST(c->segment_count, k, c->segments[k].end <= address);

        for (; i < c->segment_count && c->segments[i].start < end; i++) {
                const struct core_segment *s = &c->segments[i];
                uint64_t from = address > s->start ? address : s->start, into = from - s->start;
                off_t found;

                if (into >= s->stored)
                        continue;
                found = lseek(c->fd, (off_t)(s->offset + into), SEEK_DATA);
                if (found < 0)
                        found = errno == ENXIO ? INT64_MAX : (off_t)(s->offset + into);
                if ((uint64_t)found < s->offset + s->stored) {
                        from = s->start + ((uint64_t)found - s->offset);
                        return from < end ? from : end;
                }
        }
        return end;
}

/* ---- headers ---- */

static bool read_notes(struct core *c, const Elf64_Phdr *h)
{
        if (h->p_filesz > CORE_NOTES_MOST)
                return false;
        c->notes = heap_grow(c->notes, c->note_bytes + h->p_filesz + 1, 1);
        if (!io_read_at(c->fd, c->notes + c->note_bytes, h->p_filesz, h->p_offset))
                return false;
        c->note_bytes += h->p_filesz;
        c->notes[c->note_bytes] = 0;
        return true;
}

static int by_start(const void *a, const void *b)
{
        const struct core_segment *x = a, *y = b;

        return (x->start > y->start) - (x->start < y->start);
}

static void add_segment(struct core *c, const Elf64_Phdr *h, uint64_t file_bytes)
{
        uint64_t stored = h->p_filesz < h->p_memsz ? h->p_filesz : h->p_memsz;
        uint64_t there = h->p_offset < file_bytes ? file_bytes - h->p_offset : 0;

        if (!h->p_memsz || h->p_vaddr + h->p_memsz < h->p_vaddr)
                return;
        if (stored > there) {
                c->about.cut_bytes += stored - there;
                stored = there;
        }
        c->segments[c->segment_count++] = (struct core_segment){
                h->p_vaddr, h->p_vaddr + h->p_memsz, h->p_offset, stored, h->p_flags, 0
        };
}

/* More than 65534 of them: the first section says how many. */
static uint32_t header_count(const struct core *c, const Elf64_Ehdr *head)
{
        uint8_t raw[sizeof(Elf64_Shdr)];
        Elf64_Shdr first;

        if (head->e_phnum != PN_XNUM || !head->e_shoff ||
            !io_read_at(c->fd, raw, ELF_WORDS_BYTES(Shdr, c->narrow), head->e_shoff))
                return head->e_phnum;
        first = elf_words_any_section(raw, c->narrow, c->turned);
        return first.sh_info < CORE_SEGMENTS_MOST ? first.sh_info : CORE_SEGMENTS_MOST;
}

static bool read_headers(struct core *c, const Elf64_Ehdr *head, const char *file, struct err *e)
{
        uint32_t count = header_count(c, head);
        size_t each = ELF_WORDS_BYTES(Phdr, c->narrow);
        uint8_t *raw = heap_zero(count, each);
        struct stat st;
        bool good;

        good = fstat(c->fd, &st) == 0 && head->e_phentsize == each &&
               io_read_at(c->fd, raw, count * each, head->e_phoff);
        c->segments = heap_zero(count, sizeof *c->segments);
        for (uint32_t i = 0; i < count && good; i++) {
                Elf64_Phdr h = elf_words_any_segment(raw + i * each, c->narrow, c->turned);

                if (h.p_type == PT_LOAD)
                        add_segment(c, &h, (uint64_t)st.st_size);
                else if (h.p_type == PT_NOTE)
                        good = read_notes(c, &h);
        }
        free(raw);
        if (c->segment_count)
                qsort(c->segments, c->segment_count, sizeof *c->segments, by_start);
        return good || err_set(e, ERR_EXIT_BAD_FILE,
                               "%s: the core file is cut off before its memory begins", file);
}

static bool check_kind(struct core *c, const char *file, struct err *e)
{
        const struct freeze_status *s;
        struct elf_facts facts;

        if (!elf_look(c->fd, &facts))
                return err_sys(e, ERR_EXIT_BAD_FILE, "cannot read %s", file);
        if (!facts.is_elf)
                return err_set(e, ERR_EXIT_BAD_FILE, "%s is not a core file", file);
        c->kind = freeze_kind_of(facts.machine);
        s = &c->kind->status;
        c->narrow = s->narrow;
        c->high_host = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        c->turned = s->high_first != c->high_host;
        if (s->words && facts.class_ == (s->narrow ? ELFCLASS32 : ELFCLASS64) &&
            facts.order == (s->high_first ? ELFDATA2MSB : ELFDATA2LSB))
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "%s is a core file of a %s program; seep reads those of x86-64, i386, "
                       "aarch64, arm, powerpc (32-bit), riscv64 and s390x programs",
                       file, elf_kind_name(&facts));
}

/* ---- as a process that stands still ---- */

/* Whether F is the start of a program or library, and no loader.  KNOWN: of one of these. */
static bool may_be_exe(const struct core *c, const struct core_file *f, bool known)
{
        const char *name = strrchr(f->path, '/');
        char magic[SELFMAG];

        return !f->offset && name && strncmp(name, "/ld-", 4) != 0 &&
               (known || (core_read(c, f->start, magic, sizeof magic) == sizeof magic &&
                          memcmp(magic, ELFMAG, SELFMAG) == 0));
}

/* The user names the program's file: what was read from another one is forgotten, and whether it is
 * the right one is asked at once, because nothing may be read from it later. */
static void use_named_exe(struct core *c, struct core_file *first)
{
        for (uint32_t i = 0; i < c->file_count; i++) {
                struct core_file *f = &c->files[i];

                if (strcmp(f->path, c->about.exe) != 0)
                        continue;
                if (f->fd >= 0)
                        close(f->fd);
                f->fd = -1;
                f->tried = false;
        }
        open_file(c, first);
}

/* The kernel told the program where its headers are.  Started by a loader as a command it has those
 * of the loader: then it is the first thing mapped. */
static void find_exe(struct core *c)
{
        uint32_t best = c->file_count;

        for (uint32_t i = 0; i < c->file_count; i++) {
                const struct core_file *f = &c->files[i];
                bool has = c->program >= f->start && c->program < f->end;

                if ((best == c->file_count || has) && may_be_exe(c, f, has && c->where.exe))
                        best = i;
        }
        c->about.exe = heap_text(best < c->file_count ? c->files[best].path : "");
        if (c->where.exe && best < c->file_count)
                use_named_exe(c, &c->files[best]);
}

static int by_file_start(const void *a, const void *b)
{
        const struct core_file *x = a, *y = b;

        return (x->start > y->start) - (x->start < y->start);
}

/* gcore leaves out the headers of mappings whose memory is in their files. */
static void add_left_out(struct core *c)
{
        uint32_t count = c->segment_count;

        if (c->file_count)
                qsort(c->files, c->file_count, sizeof *c->files, by_file_start);
        c->segments = heap_grow(c->segments, (size_t)count + c->file_count + 1,
                                sizeof *c->segments);
        for (uint32_t i = 0; i < c->file_count; i++) {
                const struct core_file *f = &c->files[i];
                uint32_t k = (uint32_t)FIND_FIRST(count, n, c->segments[n].end <= f->start);

                if (k == count || c->segments[k].start >= f->end)
                        c->segments[c->segment_count++] = (struct core_segment){ .start = f->start,
                                                                            .end = f->end,
                                                                            .flags = PF_R | PF_X };
        }
        if (c->segment_count)
                qsort(c->segments, c->segment_count, sizeof *c->segments, by_start);
}

/* The kernel leaves out memory that was never written, so what is missing means something only
 * where all memory of this kind is: coredump_filter said so. */
static void count_missing(struct core *c)
{
        uint64_t missing = 0, stored = 0;

        for (uint32_t i = 0; i < c->segment_count; i++) {
                const struct core_segment *s = &c->segments[i];

                if ((s->flags & PF_W) && !s->file) {
                        missing += s->end - s->start - s->stored;
                        stored += s->stored;
                }
        }
        c->about.missing_bytes = stored ? 0 : missing;
}

static void join_files(struct core *c)
{
        uint32_t k = 0;

        add_left_out(c);
        for (uint32_t i = 0; i < c->segment_count; i++) {
                struct core_segment *s = &c->segments[i];

                while (k < c->file_count && c->files[k].end <= s->start)
                        k++;
                if (k < c->file_count && c->files[k].start <= s->start)
                        s->file = k + 1;
        }
        count_missing(c);
}

/* Memory of no file that may be read and nothing else is a guard: gcore calls it readable. */
static bool is_guard(const struct core_segment *s)
{
        return !s->file && !(s->flags & (PF_W | PF_X));
}

static char *make_maps(const struct core *c)
{
        struct str out = { 0 };

        str_text(&out, "");
        for (uint32_t i = 0; i < c->segment_count; i++) {
                const struct core_segment *s = &c->segments[i];
                const struct core_file *f = s->file ? &c->files[s->file - 1] : NULL;
                const char *path = f                                           ? f->path
                                   : c->stack >= s->start && c->stack < s->end ? "[stack]"
                                   : c->vdso >= s->start && c->vdso < s->end   ? "[vdso]"
                                                                               : "";

                str_format(&out, "%llx-%llx %c%c%cp %llx 00:00 0 %s\n",
                           (unsigned long long)s->start, (unsigned long long)s->end,
                           s->flags & PF_R && !is_guard(s) ? 'r' : '-', s->flags & PF_W ? 'w' : '-',
                           s->flags & PF_X ? 'x' : '-',
                           (unsigned long long)(f ? f->offset + (s->start - f->start) : 0), path);
        }
        return out.data ? out.data : heap_text("");
}

/* The first thread in the file is the one that a signal ended; the first of a process is named like
 * it. */
static void hand_over(struct core *c, struct freeze *f)
{
        *f = (struct freeze){ .pid = (pid_t)c->about.pid,
                              .machine = c->kind->machine,
                              .narrow = c->narrow,
                              .turned = c->turned,
                              .core = c,
                              .threads = c->threads,
                              .thread_count = c->thread_count };
        for (uint32_t i = 1; i < f->thread_count; i++)
                if (f->threads[i].tid == c->about.pid) {
                        struct freeze_thread first = f->threads[i];

                        f->threads[i] = f->threads[0];
                        f->threads[0] = first;
                }
        c->threads = NULL;
        snprintf(f->root, sizeof f->root, "%s", c->where.sysroot ? c->where.sysroot : "");
        f->maps = make_maps(c);
}

bool core_open(struct freeze *f, const char *file, const struct core_files *files, struct err *e)
{
        struct core *c = heap_zero(1, sizeof *c);
        uint8_t raw[sizeof(Elf64_Ehdr)] = { 0 };
        Elf64_Ehdr head = { 0 };

        *f = (struct freeze){ 0 };
        c->where = *files;
        c->about.arguments = heap_text("");
        c->fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (c->fd < 0)
                err_sys(e, ERR_EXIT_BAD_FILE, "cannot open %s", file);
        else if (check_kind(c, file, e) &&
                 !io_read_at(c->fd, raw, ELF_WORDS_BYTES(Ehdr, c->narrow), 0))
                err_set(e, ERR_EXIT_BAD_FILE, "%s is not a core file", file);
        if (!e->exit_code)
                head = elf_words_any_header(raw, c->narrow, c->turned);
        if (!e->exit_code && head.e_type != ET_CORE)
                err_set(e, ERR_EXIT_BAD_FILE, "%s is not a core file, but a program or library",
                        file);
        else if (!e->exit_code && read_headers(c, &head, file, e)) {
                core_take_notes(c);
                join_files(c);
                find_exe(c);
                hand_over(c, f);
                return true;
        }
        core_close(c);
        return false;
}

void core_close(struct core *c)
{
        if (!c)
                return;
        for (uint32_t i = 0; i < c->file_count; i++)
                if (c->files[i].fd >= 0)
                        close(c->files[i].fd);
        if (c->fd >= 0)
                close(c->fd);
        free(c->segments);
        free(c->files);
        free(c->notes);
        free(c->threads);
        free(c->about.exe);
        free(c->about.arguments);
        free(c->about.other_file);
        free(c);
}

const struct core_about *core_about(const struct core *c)
{
        return &c->about;
}
