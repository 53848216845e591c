/* SPDX-License-Identifier: MIT */
#include "attach/recognize.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"

#define LEAST 24u     /* bytes of code that must be the same */
#define ANCHOR 32u    /* of them next to each other, to search for */
#define MEMBERS 1024u /* object files with wanted names */

static const char *const archives[] = {
        "/usr/lib/x86_64-linux-gnu/libc.a", "/usr/lib64/libc.a", "/usr/lib/libc.a",
        "/usr/lib/x86_64-linux-musl/libc.a", "/usr/lib/musl/lib/libc.a",
};

/* The code of the program. */
struct code {
        const uint8_t *at;
        size_t bytes;
        uint64_t address;
};

struct search {
        struct functions *out;
        Elf *program;
        const char *const *names;
        size_t count;
};

/* One section of an object file: what of it is the same in every program. */
struct pattern {
        const uint8_t *bytes;
        uint8_t *same; /* per byte */
        size_t count;
};

/* ---- what the linker changes ---- */

/* How far in front of a relocation, and how far behind its start, code may differ: the linker makes
 * shorter ways of some instructions. */
static void spare(uint32_t type, size_t *front, size_t *behind)
{
        *front = 0;
        *behind = 4;
        switch (type) {
        case R_X86_64_64:
        case R_X86_64_PC64:
                *behind = 8;
                break;
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
        case R_X86_64_GOTTPOFF:
        case R_X86_64_GOTPC32_TLSDESC:
                *front = 3;
                break;
        case R_X86_64_TLSDESC_CALL:
                *behind = 2;
                break;
        case R_X86_64_TLSGD:
        case R_X86_64_TLSLD:
                *front = 4;
                *behind = 12;
                break;
        default:
                break;
        }
}

static void mask(struct pattern *p, Elf *object, size_t section)
{
        Elf_Scn *scn = NULL;
        GElf_Shdr head;
        GElf_Rela r;

        while ((scn = elf_nextscn(object, scn))) {
                Elf_Data *data;

                if (!gelf_getshdr(scn, &head) || head.sh_type != SHT_RELA ||
                    head.sh_info != section)
                        continue;
                data = elf_getdata(scn, NULL);
                for (int i = 0; data && gelf_getrela(data, i, &r); i++) {
                        size_t front, behind;

                        spare((uint32_t)GELF_R_TYPE(r.r_info), &front, &behind);
                        for (size_t k = r.r_offset > front ? r.r_offset - front : 0;
                             k < r.r_offset + behind && k < p->count; k++)
                                p->same[k] = 0;
                }
        }
}

/* ---- where it is in the program ---- */

static bool matches(const struct pattern *p, const uint8_t *at)
{
        for (size_t i = 0; i < p->count; i++)
                if (p->same[i] && at[i] != p->bytes[i])
                        return false;
        return true;
}

/* The longest stretch without gaps, up to ANCHOR bytes. */
static size_t anchor(const struct pattern *p, size_t *length)
{
        size_t best = 0, run = 0;

        *length = 0;
        for (size_t i = 0; i < p->count && *length < ANCHOR; i++) {
                run = p->same[i] ? run + 1 : 0;
                if (run > *length) {
                        *length = run;
                        best = i + 1 - run;
                }
        }
        return best;
}

/* How often it is there, at most 2; *ADDRESS: the first. */
static unsigned find(const struct pattern *p, const struct code *c, uint64_t *address)
{
        size_t length, at = anchor(p, &length);
        const uint8_t *from = c->at, *end = c->at + c->bytes, *hit;
        unsigned found = 0;

        while (length && found < 2 &&
               (hit = memmem(from, (size_t)(end - from), p->bytes + at, length))) {
                size_t start = (size_t)(hit - c->at) - at;

                if ((size_t)(hit - c->at) >= at && c->bytes - start >= p->count &&
                    matches(p, c->at + start)) {
                        *address = found ? *address : c->address + start;
                        found++;
                }
                from = hit + 1;
        }
        return found;
}

static unsigned find_in_program(const struct search *s, const struct pattern *p, uint64_t *address)
{
        size_t size = 0, count = 0;
        const uint8_t *file = (const uint8_t *)elf_rawfile(s->program, &size);
        unsigned found = 0;

        elf_getphdrnum(s->program, &count);
        for (size_t i = 0; file && i < count && found < 2; i++) {
                struct code c;
                GElf_Phdr h;
                uint64_t where = 0;
                unsigned here;

                if (!gelf_getphdr(s->program, (int)i, &h) || h.p_type != PT_LOAD ||
                    !(h.p_flags & PF_X) || h.p_offset > size || h.p_filesz > size - h.p_offset)
                        continue;
                c = (struct code){ file + h.p_offset, h.p_filesz, h.p_vaddr };
                here = find(p, &c, &where);
                *address = here && !found ? where : *address;
                found += here;
        }
        return found;
}

/* ---- object files ---- */

static bool is_wanted(const struct search *s, const char *name)
{
        for (size_t i = 0; i < s->count; i++)
                if (strcmp(s->names[i], name) == 0)
                        return true;
        return false;
}

static void add(struct functions *f, const char *name, uint64_t address, uint64_t size)
{
        f->at = heap_next(f->at, f->count, sizeof *f->at);
        f->at[f->count++] = (struct function){ .name = heap_text(name), .address = address,
                                               .size = size, .exported = true };
}

/* Whether a function of SECTION is wanted; take them all, when it lies at ADDRESS. */
static bool take_symbols(const struct search *s, Elf *object, size_t section,
                         const uint64_t *address)
{
        Elf_Scn *scn = NULL;
        GElf_Shdr head;
        GElf_Sym y;
        bool wanted = false;

        while ((scn = elf_nextscn(object, scn))) {
                Elf_Data *data;

                if (!gelf_getshdr(scn, &head) || head.sh_type != SHT_SYMTAB)
                        continue;
                data = elf_getdata(scn, NULL);
                for (int i = 0; data && gelf_getsym(data, i, &y); i++) {
                        const char *name = elf_strptr(object, head.sh_link, y.st_name);

                        if (y.st_shndx != section || GELF_ST_TYPE(y.st_info) != STT_FUNC || !name ||
                            GELF_ST_BIND(y.st_info) == STB_LOCAL)
                                continue;
                        wanted = wanted || is_wanted(s, name);
                        if (address)
                                add(s->out, name, *address + y.st_value, y.st_size);
                }
        }
        return wanted;
}

static void look_at_section(const struct search *s, Elf *object, Elf_Scn *scn)
{
        Elf_Data *data = elf_getdata(scn, NULL);
        struct pattern p;
        uint64_t address = 0;
        size_t same = 0;

        if (!data || !data->d_buf || data->d_size < LEAST ||
            !take_symbols(s, object, elf_ndxscn(scn), NULL))
                return;
        p = (struct pattern){ data->d_buf, heap_dense(data->d_size, 1), data->d_size };
        memset(p.same, 1, p.count);
        mask(&p, object, elf_ndxscn(scn));
        for (size_t i = 0; i < p.count; i++)
                same += p.same[i];
        if (same >= LEAST && find_in_program(s, &p, &address) == 1)
                take_symbols(s, object, elf_ndxscn(scn), &address);
        free(p.same);
}

static void look_at_object(const struct search *s, Elf *object)
{
        Elf_Scn *scn = NULL;
        GElf_Ehdr file;
        GElf_Shdr head;

        if (elf_kind(object) != ELF_K_ELF || !gelf_getehdr(object, &file) ||
            file.e_machine != EM_X86_64)
                return;
        while ((scn = elf_nextscn(object, scn)))
                if (gelf_getshdr(scn, &head) && head.sh_type == SHT_PROGBITS &&
                    (head.sh_flags & SHF_EXECINSTR))
                        look_at_section(s, object, scn);
}

/* The object files with wanted names, each once. */
static size_t list_members(const struct search *s, Elf *archive, size_t out[MEMBERS])
{
        size_t count = 0, members = 0;
        Elf_Arsym *names = elf_getarsym(archive, &count);

        for (size_t i = 0; names && i < count && names[i].as_name && members < MEMBERS; i++) {
                bool known = !is_wanted(s, names[i].as_name);

                for (size_t k = 0; k < members && !known; k++)
                        known = out[k] == names[i].as_off;
                if (!known)
                        out[members++] = names[i].as_off;
        }
        return members;
}

static void look_at_archive(const struct search *s, const char *path)
{
        size_t members[MEMBERS], count;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        Elf *archive = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL, *object;

        count = archive && elf_kind(archive) == ELF_K_AR ? list_members(s, archive, members) : 0;
        for (size_t i = 0; i < count; i++)
                if (elf_rand(archive, members[i]) == members[i] &&
                    (object = elf_begin(fd, ELF_C_READ_MMAP, archive))) {
                        look_at_object(s, object);
                        elf_end(object);
                }
        if (archive)
                elf_end(archive);
        if (fd >= 0)
                close(fd);
}

static void forget(struct functions *f)
{
        functions_free(f);
        f->recognized = true;
}

bool recognize_functions(struct functions *f, int fd, const char *const *names, size_t count)
{
        struct search s = { f, NULL, names, count };
        uint32_t found;

        *f = (struct functions){ .recognized = true };
        elf_version(EV_CURRENT);
        s.program = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        for (size_t i = 0; s.program && i < sizeof archives / sizeof *archives && !f->count; i++) {
                look_at_archive(&s, archives[i]);
                functions_sort(f);
                if (!functions_find(f, "malloc", &found))
                        forget(f); /* something that many libraries have */
        }
        if (s.program)
                elf_end(s.program);
        return f->count;
}

const char *recognize_needs(void)
{
        return "the libc.a that it was linked with (Debian: libc6-dev, musl-dev)";
}
