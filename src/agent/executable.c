/* SPDX-License-Identifier: MIT */
/*
 * executable.c -- what the program is about to become: whether our library may be preloaded there.
 *
 * Room:   inside; see executable.h.
 */
#include "agent/executable.h"

#include <elf.h>
#include <link.h>

#include "agent/agent.h"
#include "agent/bytes.h"
#include "agent/environment.h"
#include "agent/hello.h"
#include "agent/real.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define HEADERS_MAX 16u
#define ENTRIES_AT_ONCE 64u
#define ENTRIES_MAX 1024u /* of a dynamic section: what comes later is not looked at */
#define NAME_BYTES 32u
#define USUAL_PATH "/bin:/usr/bin"
#define MAY_EXECUTE 1
#define MAY_READ 4
#define AT_EMPTY 0x1000 /* AT_EMPTY_PATH */
#define ASK_MODE 2 /* STATX_MODE */
#define SET_UID 04000u
#define SET_GID 02000u
#define GET_NO_NEW_PRIVS 39

static const char *const sanitizers[] = {
        "libasan.so",       "libtsan.so",       "liblsan.so",         "libhwasan.so",
        "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan",
};

/* What headers of both word sizes have. */
struct part {
        uint32_t type;
        uint64_t offset, address, bytes;
};

struct entry {
        int64_t tag;
        uint64_t value;
};

/* A program's file: its headers, and where the names of its libraries are. */
struct executable {
        long fd;
        bool wide; /* its words have 64 bits */
        struct part parts[HEADERS_MAX];
        uint32_t count;
        uint64_t names;
};

static bool read_at(const struct executable *t, uint64_t offset, void *to, size_t bytes)
{
        long got = sys_read_at(t->fd, to, bytes, offset);

        return got == (long)bytes;
}

/* Of our own library, by the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* As far as both word sizes have it at the same place, it is read in either form. */
union head {
        Elf64_Ehdr wide;
        Elf32_Ehdr narrow;
};

/* Its loader would complain on the program's stderr about a library of another kind, such as one
 * of 64 bits for a program of 32. */
static bool is_foreign(const union head *e)
{
        return e->wide.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
               e->wide.e_machine != __ehdr_start.e_machine;
}

static bool is_other(const union head *e)
{
        return ARCH_OTHER_MACHINE && e->wide.e_ident[EI_CLASS] == ARCH_OTHER_CLASS &&
               e->wide.e_machine == ARCH_OTHER_MACHINE;
}

static bool read_headers(struct executable *t, const union head *e)
{
        uint32_t all = t->wide ? e->wide.e_phnum : e->narrow.e_phnum,
                 bytes = t->wide ? e->wide.e_phentsize : e->narrow.e_phentsize;
        union {
                Elf64_Phdr wide[HEADERS_MAX];
                Elf32_Phdr narrow[HEADERS_MAX];
        } raw;

        t->count = all < HEADERS_MAX ? all : HEADERS_MAX;
        if (bytes != (t->wide ? sizeof *raw.wide : sizeof *raw.narrow) ||
            !read_at(t, t->wide ? e->wide.e_phoff : e->narrow.e_phoff, &raw, t->count * bytes))
                return false;
        for (uint32_t i = 0; i < t->count; i++)
                t->parts[i] = t->wide ? (struct part){ raw.wide[i].p_type, raw.wide[i].p_offset,
                                                       raw.wide[i].p_vaddr, raw.wide[i].p_filesz }
                                      : (struct part){ raw.narrow[i].p_type, raw.narrow[i].p_offset,
                                                       raw.narrow[i].p_vaddr,
                                                       raw.narrow[i].p_filesz };
        return true;
}

/* Where ADDRESS is in the file; 0 when it is not. */
static uint64_t offset_of(const struct executable *t, uint64_t address)
{
        for (uint32_t i = 0; i < t->count; i++) {
                const struct part *p = &t->parts[i];

                if (p->type == PT_LOAD && address >= p->address && address - p->address < p->bytes)
                        return p->offset + (address - p->address);
        }
        return 0;
}

static bool names_sanitizer(const struct executable *t, uint64_t name)
{
        char text[NAME_BYTES] = { 0 };
        long at = (long)(t->names + name);

        if (sys_read_at(t->fd, text, sizeof text - 1, (uint64_t)at) <= 0)
                return false;
        for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
                if (bytes_after(text, sanitizers[i]))
                        return true;
        return false;
}

/* Called with one entry of the dynamic section after the other, until it has what it looks for. */
typedef bool see_entry(struct executable *t, const struct entry *entry);

static bool see_names(struct executable *t, const struct entry *entry)
{
        if (entry->tag == DT_STRTAB)
                t->names = offset_of(t, entry->value);
        return t->names != 0;
}

static bool see_library(struct executable *t, const struct entry *entry)
{
        return entry->tag == DT_NEEDED && names_sanitizer(t, entry->value);
}

static bool any_entry(struct executable *t, const struct part *part, see_entry *see)
{
        union {
                Elf64_Dyn wide[ENTRIES_AT_ONCE];
                Elf32_Dyn narrow[ENTRIES_AT_ONCE];
        } some;
        uint64_t bytes = t->wide ? sizeof *some.wide : sizeof *some.narrow,
                 count = t->wide ? part->bytes / sizeof *some.wide
                                 : part->bytes / sizeof *some.narrow;

        count = count < ENTRIES_MAX ? count : ENTRIES_MAX;
        for (uint64_t first = 0; first < count; first += ENTRIES_AT_ONCE) {
                uint64_t here = count - first < ENTRIES_AT_ONCE ? count - first : ENTRIES_AT_ONCE;

                if (!read_at(t, part->offset + first * bytes, &some, here * bytes))
                        return false;
                for (uint64_t i = 0; i < here; i++) {
                        struct entry e = t->wide ? (struct entry){ some.wide[i].d_tag,
                                                                   some.wide[i].d_un.d_val }
                                                 : (struct entry){ some.narrow[i].d_tag,
                                                                   some.narrow[i].d_un.d_val };

                        if (e.tag == DT_NULL)
                                break;
                        if (see(t, &e))
                                return true;
                }
        }
        return false;
}

static const struct part *part_of(const struct executable *t, uint32_t type)
{
        for (uint32_t i = 0; i < t->count; i++)
                if (t->parts[i].type == type)
                        return &t->parts[i];
        return NULL;
}

/* Nobody would map our library. */
static bool has_no_loader(const struct executable *t)
{
        return t->count && !part_of(t, PT_INTERP);
}

/* ---- the library for programs of the other word size ---- */

static char other[EXECUTABLE_PATH];

/* Under an emulator what is found from the agent is that of the machine, which may be another. */
static bool is_library(const char *path)
{
        long fd = sys_open(path);
        struct executable t = { .fd = fd };
        union head e;
        bool good;

        if (sys_failed(fd))
                return false;
        good = read_at(&t, 0, &e, sizeof e) && memcmp(e.wide.e_ident, ELFMAG, SELFMAG) == 0 &&
               is_other(&e);
        sys_close(fd);
        return good;
}

/* OTHER is set; false: there is none.  Two threads at once write the same. */
static bool find_other(void)
{
        const char *own = real_library();
        size_t length = strlen(own), folder = sizeof ARCH_OTHER_FOLDER - 1, name;

        for (name = length; name && own[name - 1] != '/'; name--)
                ;
        if (!ARCH_OTHER_MACHINE || !name || length + folder >= sizeof other)
                return false;
        if (ARCH_OTHER_BELOW) {
                memcpy(other, own, name);
                memcpy(other + name, ARCH_OTHER_FOLDER, folder);
                memcpy(other + name + folder, own + name, length - name + 1);
        } else {
                if (name <= folder || own[name - folder - 1] != '/' ||
                    memcmp(own + name - folder, ARCH_OTHER_FOLDER, folder) != 0)
                        return false;
                memcpy(other, own, name - folder);
                memcpy(other + name - folder, own + name, length - name + 1);
        }
        return is_library(other);
}

const char *executable_library(enum executable_fit fit)
{
        return fit == EXECUTABLE_REFUSES ? NULL : fit == EXECUTABLE_OTHER ? other : real_library();
}

/* ALONE: it has no loader. */
static enum executable_fit fit_of(long fd, bool *alone)
{
        struct executable t = { .fd = fd };
        enum executable_fit fit = EXECUTABLE_FITS;
        const struct part *part;
        union head e;

        if (!read_at(&t, 0, &e, sizeof e) || memcmp(e.wide.e_ident, ELFMAG, SELFMAG) != 0)
                return EXECUTABLE_FITS;
        if (is_foreign(&e))
                fit = is_other(&e) && find_other() ? EXECUTABLE_OTHER : EXECUTABLE_REFUSES;
        if (fit == EXECUTABLE_REFUSES)
                return fit;
        t.wide = e.wide.e_ident[EI_CLASS] == ELFCLASS64;
        part = read_headers(&t, &e) ? part_of(&t, PT_DYNAMIC) : NULL;
        *alone = has_no_loader(&t);
        if ((part && any_entry(&t, part, see_names) && any_entry(&t, part, see_library)) ||
            (*alone && fit == EXECUTABLE_OTHER))
                return EXECUTABLE_REFUSES;
        return fit;
}

static bool can_tell(void)
{
        return agent.socket && agent.socket[0] && !agent.sandboxed;
}

/* The first part of struct statx. */
struct told {
        uint32_t mask, block;
        uint64_t attributes;
        uint32_t links, uid, gid;
        uint16_t mode;
        uint8_t rest[256 - 30];
};

/* The program of FD may get more rights than we have: then its loader passes our library over.
 * Whether it does is the observer's to find out, who tells the user. */
static bool may_raise_rights(long fd)
{
        struct told told = { 0 };

        if (sys_failed(sys_call6(SYS_statx, fd, (long)"", AT_EMPTY, ASK_MODE, (long)&told,
                               0)))
                return false;
        if (!(told.mode & (SET_UID | SET_GID)) &&
            sys_call6(SYS_fgetxattr, fd, (long)"security.capability", 0, 0, 0, 0) <= 0)
                return false;
        return sys_call6(SYS_prctl, GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 0;
}

/* ... of the program of FD. */
static enum executable_fit fit_told(long fd, enum executable_how how)
{
        bool alone = false;
        enum executable_fit fit = fit_of(fd, &alone);

        if (how == EXECUTABLE_ALONE || !can_tell())
                return fit;
        if ((fit == EXECUTABLE_REFUSES || alone || may_raise_rights(fd)) &&
            hello_launch(agent.socket, fd, how == EXECUTABLE_SPAWN))
                return EXECUTABLE_REFUSES;
        return fit;
}

/* What may not be executed is not opened either: to open a device may mean something.  A pipe with
 * a name may be executed by its rights, and would make us wait for somebody who writes to it. */
long executable_open(long directory, const char *path)
{
        if (sys_failed(sys_call3(SYS_faccessat, directory, (long)path, MAY_EXECUTE)))
                return -SYS_EPERM;
        return sys_call6(SYS_openat, directory, (long)path, SYS_O_CLOEXEC | SYS_O_NONBLOCK, 0, 0,
                         0);
}

/* Behind chroot the loader would complain on the program's stderr. */
static bool is_library_gone(void)
{
        long there = sys_access(real_library(), MAY_READ);

        return there == -SYS_ENOENT || there == -SYS_EACCES;
}

enum executable_fit executable_refuses_at(long fd, const char *path, enum executable_how how)
{
        enum executable_fit fit;
        long file;

        if (is_library_gone())
                return EXECUTABLE_REFUSES;
        file = executable_open(fd, path);
        if (sys_failed(file))
                return fd >= 0 ? fit_told(fd, how) : EXECUTABLE_FITS;
        fit = fit_told(file, how);
        sys_close(file);
        return fit;
}

enum executable_fit executable_refuses(const char *path, enum executable_how how)
{
        return executable_refuses_at(SYS_AT_HERE, path, how);
}

void executable_stays(void)
{
        if (can_tell())
                hello_stay(agent.socket);
}

/* ---- names ---- */

static const char *search_path(void)
{
        for (char **env = environment_now(); env && *env; env++)
                if (bytes_after(*env, "PATH="))
                        return bytes_after(*env, "PATH=");
        return USUAL_PATH;
}

bool executable_find(const char *file, char path[EXECUTABLE_PATH])
{
        const char *at = search_path();
        size_t length = strlen(file);

        while (*at) {
                const char *start = at;
                size_t before;

                while (*at && *at != ':')
                        at++;
                before = (size_t)(at - start);
                at += *at == ':';
                if (before + length + 2 > EXECUTABLE_PATH)
                        continue;
                memcpy(path, start, before);
                path[before] = '/';
                memcpy(path + before + !!before, file, length + 1);
                if (length && !sys_failed(sys_access(path, MAY_EXECUTE)))
                        return true;
        }
        return false;
}

enum executable_fit executable_refuses_name(const char *file, enum executable_how how)
{
        char path[EXECUTABLE_PATH];

        if (bytes_find(file, '/'))
                return executable_refuses(file, how);
        return executable_find(file, path) ? executable_refuses(path, how) : EXECUTABLE_FITS;
}
