/* SPDX-License-Identifier: MIT */
/*
 * target.c -- what the program is about to become: whether our library may be preloaded there.
 *
 * Room:   inside; see target.h.
 */
#include "agent/target.h"

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

static const char *const sanitizers[] = {
        "libasan.so",       "libtsan.so",       "liblsan.so",         "libhwasan.so",
        "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan",
};

/* A program's file: its headers, and where the names of its libraries are. */
struct target {
        long fd;
        ElfW(Phdr) headers[HEADERS_MAX];
        uint32_t count;
        uint64_t names;
};

static bool read_at(const struct target *t, uint64_t offset, void *to, size_t bytes)
{
        long got = sys_read_at(t->fd, to, bytes, offset);

        return got == (long)bytes;
}

/* Of our own library, by the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Its loader would complain on the program's stderr about a library of another kind, such as one
 * of 64 bits for a program of 32. */
static bool is_foreign(const ElfW(Ehdr) *e)
{
        return e->e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
               e->e_machine != __ehdr_start.e_machine;
}

static bool read_headers(struct target *t, const ElfW(Ehdr) *e)
{
        t->count = e->e_phnum < HEADERS_MAX ? e->e_phnum : HEADERS_MAX;
        return e->e_phentsize == sizeof *t->headers &&
               read_at(t, e->e_phoff, t->headers, t->count * sizeof *t->headers);
}

/* Where ADDRESS is in the file; 0 when it is not. */
static uint64_t offset_of(const struct target *t, uint64_t address)
{
        for (uint32_t i = 0; i < t->count; i++) {
                const ElfW(Phdr) *h = &t->headers[i];

                if (h->p_type == PT_LOAD && address >= h->p_vaddr &&
                    address - h->p_vaddr < h->p_filesz)
                        return h->p_offset + (address - h->p_vaddr);
        }
        return 0;
}

static bool names_sanitizer(const struct target *t, uint64_t name)
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
typedef bool see_entry(struct target *t, const ElfW(Dyn) *entry);

static bool see_names(struct target *t, const ElfW(Dyn) *entry)
{
        if (entry->d_tag == DT_STRTAB)
                t->names = offset_of(t, entry->d_un.d_ptr);
        return t->names != 0;
}

static bool see_library(struct target *t, const ElfW(Dyn) *entry)
{
        return entry->d_tag == DT_NEEDED && names_sanitizer(t, entry->d_un.d_val);
}

static bool any_entry(struct target *t, const ElfW(Phdr) *part, see_entry *see)
{
        ElfW(Dyn) some[ENTRIES_AT_ONCE];
        uint64_t count = part->p_filesz / sizeof *some;

        count = count < ENTRIES_MAX ? count : ENTRIES_MAX;
        for (uint64_t first = 0; first < count; first += ENTRIES_AT_ONCE) {
                uint64_t here = count - first < ENTRIES_AT_ONCE ? count - first : ENTRIES_AT_ONCE;

                if (!read_at(t, part->p_offset + first * sizeof *some, some, here * sizeof *some))
                        return false;
                for (uint64_t i = 0; i < here && some[i].d_tag != DT_NULL; i++)
                        if (see(t, &some[i]))
                                return true;
        }
        return false;
}

static const ElfW(Phdr) *part_of(const struct target *t, uint32_t type)
{
        for (uint32_t i = 0; i < t->count; i++)
                if (t->headers[i].p_type == type)
                        return &t->headers[i];
        return NULL;
}

/* Nobody would map our library. */
static bool has_no_loader(const struct target *t)
{
        return t->count && !part_of(t, PT_INTERP);
}

/* ALONE: it has no loader. */
static bool refuses(long fd, bool *alone)
{
        struct target t = { .fd = fd };
        const ElfW(Phdr) *part;
        ElfW(Ehdr) e;

        if (!read_at(&t, 0, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
                return false;
        if (is_foreign(&e))
                return true;
        part = read_headers(&t, &e) ? part_of(&t, PT_DYNAMIC) : NULL;
        *alone = has_no_loader(&t);
        return part && any_entry(&t, part, see_names) && any_entry(&t, part, see_library);
}

static bool can_tell(void)
{
        return agent.socket && agent.socket[0] && !agent.sandboxed;
}

/* The program of FD is not to have our library. */
static bool is_apart(long fd, enum target_how how)
{
        bool alone = false, refused = refuses(fd, &alone);

        if ((refused || alone) && how != TARGET_ALONE && can_tell())
                return hello_launch(agent.socket, fd, how == TARGET_SPAWN) || refused;
        return refused;
}

/* What may not be executed is not opened either: to open a device may mean something.  A pipe with
 * a name may be executed by its rights, and would make us wait for somebody who writes to it. */
long target_open(long directory, const char *path)
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

bool target_refuses_at(long fd, const char *path, enum target_how how)
{
        bool refused;
        long file;

        if (is_library_gone())
                return true;
        file = target_open(fd, path);
        if (sys_failed(file))
                return fd >= 0 && is_apart(fd, how);
        refused = is_apart(file, how);
        sys_close(file);
        return refused;
}

bool target_refuses(const char *path, enum target_how how)
{
        return target_refuses_at(SYS_AT_HERE, path, how);
}

void target_stays(void)
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

bool target_find(const char *file, char path[TARGET_PATH])
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
                if (before + length + 2 > TARGET_PATH)
                        continue;
                memcpy(path, start, before);
                path[before] = '/';
                memcpy(path + before + !!before, file, length + 1);
                if (length && !sys_failed(sys_access(path, MAY_EXECUTE)))
                        return true;
        }
        return false;
}

bool target_refuses_name(const char *file, enum target_how how)
{
        char path[TARGET_PATH];

        if (bytes_find(file, '/'))
                return target_refuses(file, how);
        return target_find(file, path) && target_refuses(path, how);
}
