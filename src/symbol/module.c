/* SPDX-License-Identifier: MIT */
/*
 * module.c -- the file on disk that a module of the recording was loaded from, opened for names.
 *
 * Room:   outside.
 */
#include "symbol/module.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "ledger/ledger.h"

#define MODULE_DEBUG_DIR "/usr/lib/debug"

void module_build_id_path(const struct profile_module *recorded, struct str *out)
{
        if (recorded->build_id_bytes < 2 || recorded->build_id_bytes > sizeof recorded->build_id)
                return;
        str_format(out, ".build-id/%02x/", recorded->build_id[0]);
        for (uint32_t i = 1; i < recorded->build_id_bytes; i++)
                str_format(out, "%02x", recorded->build_id[i]);
}

static bool module_fits(Elf *elf, const struct profile_module *recorded)
{
        const void *id;
        ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);

        if (recorded->build_id_bytes == 0)
                return true;
        return bytes == (ssize_t)recorded->build_id_bytes && memcmp(id, recorded->build_id, (size_t)bytes) == 0;
}

static bool module_usable(const char *path, const struct profile_module *recorded)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;
        bool usable = false;

        if (fd < 0)
                return false;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
                Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

                usable = elf && elf_kind(elf) == ELF_K_ELF && module_fits(elf, recorded);
                elf_end(elf);
        }
        close(fd);
        return usable;
}

/* Whether "DIR" "SLASH" "NAME" can be used; then it is OUT. */
static bool module_try(const struct profile_module *recorded, struct str *out, const char *dir, const char *slash,
                       const char *name)
{
        str_clear(out);
        str_format(out, "%s%s%s", dir, slash, name);
        return module_usable(str_get(out), recorded);
}

static bool module_try_build_id(const struct profile_module *recorded, struct str *out, const char *dir,
                                const char *inner)
{
        struct str id = { 0 };
        bool found = false;

        module_build_id_path(recorded, &id);
        if (id.length) {
                str_clear(out);
                str_format(out, "%s%s/%s", dir, inner, str_get(&id));
                found = module_usable(str_get(out), recorded);
                if (!found) {
                        str_text(out, ".debug");
                        found = module_usable(str_get(out), recorded);
                }
        }
        str_free(&id);
        return found;
}

static bool module_try_directory(const struct profile_module *recorded, struct str *out, const char *dir)
{
        const char *base = strrchr(recorded->path, '/');

        return module_try(recorded, out, dir, recorded->path[0] == '/' ? "" : "/", recorded->path) ||
               module_try(recorded, out, dir, "/", base ? base + 1 : recorded->path) ||
               module_try_build_id(recorded, out, dir, "");
}

bool module_locate(const struct profile_module *recorded, const struct module_search *s, struct str *out)
{
        const char *sysroot = s->options.sysroot;

        if (!recorded->path || !recorded->path[0] || (recorded->flags & LEDGER_MODULE_ANONYMOUS))
                return false;
        for (uint32_t i = 0; i < s->options.debug_path_count; i++)
                if (module_try_directory(recorded, out, s->options.debug_paths[i]))
                        return true;
        if (sysroot && (module_try(recorded, out, sysroot, "", recorded->path) ||
                        module_try_build_id(recorded, out, sysroot, MODULE_DEBUG_DIR)))
                return true;
        /* Below a sysroot a file of this machine is trusted only by its build id. */
        if ((!sysroot || recorded->build_id_bytes) && module_try(recorded, out, "", "", recorded->path))
                return true;
        return module_try_build_id(recorded, out, "", MODULE_DEBUG_DIR);
}

/* libdwfl asks the debuginfod servers of the environment on its own whenever a debug file is missing; the only way to
 * forbid it is to take the variable away before it looks. */
static void module_search_network(const struct symbol_options *options)
{
        const char *urls = getenv("DEBUGINFOD_URLS");

        if (options->no_debuginfod || !urls || !urls[0])
                unsetenv("DEBUGINFOD_URLS");
}

/* Open the file that .gnu_debuglink names, from the places where debuggers look for it. */
static int module_open_link(const struct module_search *s, const struct profile_module *wanted, const char *file,
                            const char *link, char **found)
{
        struct str dir = { 0 }, inner = { 0 }, path = { 0 };
        const char *slash = strrchr(file, '/');
        bool good;
        int fd = -1;

        str_bytes(&dir, file, slash ? (size_t)(slash - file) : 0);
        str_format(&inner, "%s/%s", str_get(&dir), link);
        good = module_try(wanted, &path, str_get(&dir), "/", link) ||
               module_try(wanted, &path, str_get(&dir), "/.debug/", link);
        for (uint32_t i = 0; !good && i < s->options.debug_path_count; i++)
                good = module_try(wanted, &path, s->options.debug_paths[i], "", str_get(&inner)) ||
                       module_try(wanted, &path, s->options.debug_paths[i], "/", link);
        if (good || module_try(wanted, &path, MODULE_DEBUG_DIR, "", str_get(&inner)))
                fd = open(str_get(&path), O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                *found = heap_text(str_get(&path));
        str_free(&dir);
        str_free(&inner);
        str_free(&path);
        return fd;
}

/* libdwfl's own search loads the debuginfod client with its thirty libraries before it sees that no server is named
 * (30 ms).  Without a server, and where a build id tells the right file, we search ourselves. */
static int module_find_debuginfo(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, const char *file,
                                 const char *link, GElf_Word crc, char **found)
{
        struct profile_module wanted = { 0 };
        const unsigned char *id;
        GElf_Addr address;
        int bytes = dwfl_module_build_id(mod, &id, &address), fd;

        if (getenv("DEBUGINFOD_URLS") || bytes < 2 || bytes > (int)sizeof wanted.build_id || !*user)
                return dwfl_standard_find_debuginfo(mod, user, name, base, file, link, crc, found);
        fd = dwfl_build_id_find_debuginfo(mod, user, name, base, file, link, crc, found);
        if (fd >= 0 || !file || !link)
                return fd;
        memcpy(wanted.build_id, id, (size_t)bytes);
        wanted.build_id_bytes = (uint32_t)bytes;
        return module_open_link(*user, &wanted, file, link, found);
}

void module_search_init(struct module_search *s, const struct symbol_options *options)
{
        struct str path = { 0 };

        *s = (struct module_search){ 0 };
        if (options)
                s->options = *options;
        module_search_network(&s->options);
        str_text(&path, "-:.debug");
        for (uint32_t i = 0; i < s->options.debug_path_count; i++)
                str_format(&path, ":%s", s->options.debug_paths[i]);
        if (s->options.sysroot)
                str_format(&path, ":%s" MODULE_DEBUG_DIR, s->options.sysroot);
        str_text(&path, ":" MODULE_DEBUG_DIR);
        s->debuginfo_path = path.data;
        s->callbacks.find_elf = dwfl_build_id_find_elf;
        s->callbacks.find_debuginfo = module_find_debuginfo;
        s->callbacks.debuginfo_path = &s->debuginfo_path;
}

void module_search_free(struct module_search *s)
{
        free(s->debuginfo_path);
        *s = (struct module_search){ 0 };
}

/* A copy of this process's own vdso, the same for all processes of a running kernel; -1 when there is none. */
static int module_vdso_copy(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        unsigned long start, end;
        char line[512];
        int fd = -1;

        while (maps && fd < 0 && fgets(line, sizeof line, maps)) {
                if (!strstr(line, "[vdso]") || sscanf(line, "%lx-%lx", &start, &end) != 2)
                        continue;
                fd = memfd_create("vdso", MFD_CLOEXEC);
                if (fd < 0 || !io_write(fd, (const void *)start, end - start))
                        break;
        }
        if (maps)
                fclose(maps);
        return fd;
}

static bool module_vdso_fits(int fd, const struct profile_module *recorded)
{
        Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
        bool fits = elf && module_fits(elf, recorded);

        elf_end(elf);
        return fits;
}

static Dwfl_Module *module_report_vdso(Dwfl *dwfl, const struct profile_module *recorded)
{
        int fd = module_vdso_copy();
        Dwfl_Module *found = NULL;

        if (fd < 0)
                return NULL;
        if (module_vdso_fits(fd, recorded))
                found = dwfl_report_elf(dwfl, "[vdso]", "[vdso]", fd, 0, true);
        if (!found)
                close(fd);
        return found;
}

static Dwfl_Module *module_report(Dwfl *dwfl, const struct profile_module *recorded, const struct module_search *s)
{
        struct str path = { 0 };
        Dwfl_Module *found = NULL;

        dwfl_report_begin(dwfl);
        if (recorded->path && strcmp(recorded->path, "[vdso]") == 0)
                found = module_report_vdso(dwfl, recorded);
        else if (module_locate(recorded, s, &path))
                found = dwfl_report_elf(dwfl, recorded->path, str_get(&path), -1, 0, true);
        dwfl_report_end(dwfl, NULL, NULL);
        if (found) {
                void **user;

                dwfl_module_info(found, &user, NULL, NULL, NULL, NULL, NULL, NULL);
                *user = (void *)(uintptr_t)s; /* for module_find_debuginfo */
        }
        str_free(&path);
        return found;
}

void module_open(struct module *m, const struct profile_module *recorded, const struct module_search *s)
{
        *m = (struct module){ 0 };
        elf_version(EV_CURRENT);
        m->dwfl = dwfl_begin(&s->callbacks);
        if (!m->dwfl)
                return;
        m->dwfl_module = module_report(m->dwfl, recorded, s);
        if (!m->dwfl_module) {
                module_close(m);
                return;
        }
        m->debug = debug_open(m->dwfl_module);
        table_read(&m->table, m->dwfl_module);
}

void module_close(struct module *m)
{
        debug_free(m->debug);
        table_free(&m->table);
        if (m->dwfl)
                dwfl_end(m->dwfl);
        *m = (struct module){ 0 };
}
