/* SPDX-License-Identifier: MIT */
#include "names/module.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "ledger/ledger.h"

/* file_search.c found the best file by its build id already; without one, libdwfl compares
 * the link's checksum.  (Its own search by build id would ask servers, without an end and
 * without telling anybody.) */
static int module_find_debuginfo(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                                 const char *file, const char *link, GElf_Word crc, char **found)
{
        const unsigned char *id;
        GElf_Addr address;

        if (!file || dwfl_module_build_id(mod, &id, &address) > 0)
                return -1;
        return dwfl_standard_find_debuginfo(mod, user, name, base, file, link, crc, found);
}

static const Dwfl_Callbacks module_callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = module_find_debuginfo,
};

/* A copy of this process's own vdso, the same for all processes of a running
 * kernel; -1 when there is none. */
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
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return binary_examine(path, recorded) >= BINARY_NAMES;
}

/* Report the file behind FD, which libdwfl takes over when it likes it. */
static Dwfl_Module *module_report_file(Dwfl *dwfl, const char *name, const char *path, int fd)
{
        Dwfl_Module *found = fd >= 0 ? dwfl_report_elf(dwfl, name, path, fd, 0, true) : NULL;

        if (!found && fd >= 0)
                close(fd);
        return found;
}

static Dwfl_Module *module_report_vdso(Dwfl *dwfl, const struct profile_module *recorded)
{
        int fd = module_vdso_copy();

        if (fd >= 0 && !module_vdso_fits(fd, recorded)) {
                close(fd);
                return NULL;
        }
        return module_report_file(dwfl, "[vdso]", "[vdso]", fd);
}

static Dwfl_Module *module_report(struct module *m, const struct profile_module *recorded,
                                  struct file_search *s)
{
        Dwfl_Module *found = NULL;

        if (!recorded->path || !recorded->path[0] || (recorded->flags & LEDGER_MODULE_ANONYMOUS))
                return NULL;
        dwfl_report_begin(m->dwfl);
        if (strcmp(recorded->path, "[vdso]") == 0)
                found = module_report_vdso(m->dwfl, recorded);
        else if (file_search_find(s, recorded, &m->path) >= BINARY_NAMES)
                found = module_report_file(m->dwfl, recorded->path, m->path, binary_open(m->path));
        dwfl_report_end(m->dwfl, NULL, NULL);
        return found;
}

/* The file that the debug information is from. */
static const char *module_file(const struct module *m)
{
        const char *main_file, *debug_file;

        dwfl_module_info(m->dwfl_module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
        return debug_file ? debug_file : main_file;
}

/* What dwz moved to a file of its own, for several programs together: WANTED tells which one it
 * is. */
static bool module_supplement_wanted(Dwarf *dwarf, const char *file, struct profile_module *wanted,
                                     struct str *path)
{
        const char *name, *slash = file ? strrchr(file, '/') : NULL;
        const void *id;
        ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);

        if (bytes < 2 || bytes > (ssize_t)sizeof wanted->build_id)
                return false;
        memcpy(wanted->build_id, id, (size_t)bytes);
        wanted->build_id_bytes = (uint32_t)bytes;
        if (name[0] != '/' && slash)
                str_bytes(path, file, (size_t)(slash - file) + 1);
        str_text(path, name);
        wanted->path = path->data;
        return true;
}

static void module_add_supplement(struct module *m, Dwarf *dwarf, struct file_search *s)
{
        struct profile_module wanted = { 0 };
        struct str path = { 0 };
        char *found = NULL;

        if (module_supplement_wanted(dwarf, module_file(m), &wanted, &path)) {
                int fd = file_search_find(s, &wanted, &found) >= BINARY_NAMES ? binary_open(found)
                                                                              : -1;

                m->supplement = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
                m->supplement_fd = fd;
                if (m->supplement)
                        dwarf_setalt(dwarf, m->supplement);
                else if (fd >= 0)
                        close(fd);
                m->no_supplement = !m->supplement;
        }
        free(found);
        str_free(&path);
}

void module_open(struct module *m, const struct profile_module *recorded, struct file_search *s)
{
        Dwarf_Addr bias;
        Dwarf *dwarf;

        *m = (struct module){ 0 };
        elf_version(EV_CURRENT);
        m->dwfl = dwfl_begin(&module_callbacks);
        m->dwfl_module = m->dwfl ? module_report(m, recorded, s) : NULL;
        if (!m->dwfl_module) {
                module_close(m);
                return;
        }
        dwarf = dwfl_module_getdwarf(m->dwfl_module, &bias);
        if (dwarf)
                module_add_supplement(m, dwarf, s);
        m->splits = dwarf ? splits_new(dwarf, module_file(m), recorded->path, s) : NULL;
        m->debug = debug_open(dwarf, bias, m->splits);
        symtab_read(&m->table, m->dwfl_module, SYMTAB_CODE);
}

uint64_t module_extent(struct module *m, uint64_t address)
{
        if (!m->dwfl)
                return 0;
        if (!m->has_extents)
                extents_read(&m->extents, m->dwfl_module);
        m->has_extents = true;
        return extents_find(&m->extents, address);
}

bool module_lacking(const struct module *m)
{
        return m->no_supplement || (m->debug && debug_lacking(m->debug));
}

void module_close(struct module *m)
{
        debug_free(m->debug);
        splits_free(m->splits);
        free(m->path);
        symtab_free(&m->table);
        extents_free(&m->extents);
        if (m->dwfl)
                dwfl_end(m->dwfl);
        if (m->supplement) {
                dwarf_end(m->supplement);
                close(m->supplement_fd);
        }
        *m = (struct module){ 0 };
}
