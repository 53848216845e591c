/* SPDX-License-Identifier: MIT */
/*
 * real.c -- the functions that the program would have got without us.
 *
 * Keeps:  the list is read without the loader's lock: at start nobody else runs; later
 *         only for functions still missing, which no running code could have called before
 *         their object was loaded.
 */
#include "agent/real.h"

#include <elf.h>
#include <link.h>

#include "agent/agent.h"
#include "agent/bytes.h"
#include "agent/own.h"
#include "agent/sys.h"

#include "agent/guest.h"

#ifdef SEEP_INJECTED
/* Seep writes it with the image, of which what is zero is left out. */
struct real real __attribute__((section(".data")));
#else
struct real real;
#endif

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* What the loader knows of one object, as far as a look-up needs it. */
struct real_object {
        arch_word base;
        const ElfW(Sym) *symbols;
        const char *strings;
        const ARCH_HASH_WORD *hash;
        const uint32_t *gnu_hash;
        const uint16_t *versions;
};

static const struct {
        const char *symbol;
        size_t offset;
} real_names[] = {
#define X(name, symbol, result, parameters) { symbol, offsetof(struct real, name) },
#include "agent/hooks.def"
#if ARCH_TWO_TIMES
#include "agent/hooks_time64.def"
#endif
#ifdef SEEP_GPU
#include "agent/hooks_gpu.def"
#endif
#undef X
#define X(name, symbol) { symbol, offsetof(struct real, name) },
        REAL_READ(X)
#undef X
};

#define REAL_NAMES (sizeof real_names / sizeof *real_names)

/* glibc relocates the pointers of a dynamic section in place, musl does not, and the vdso's are
 * never. */
static arch_word real_pointer(const struct link_map *map, arch_word value)
{
        return value < map->l_addr ? value + map->l_addr : value;
}

static void real_object(const struct link_map *map, struct real_object *o)
{
        *o = (struct real_object){ .base = map->l_addr };
        for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
                arch_word p = real_pointer(map, d->d_un.d_ptr);

                switch (d->d_tag) {
                case DT_SYMTAB: o->symbols = (const void *)p; break;
                case DT_STRTAB: o->strings = (const void *)p; break;
                case DT_HASH: o->hash = (const void *)p; break;
                case DT_GNU_HASH: o->gnu_hash = (const void *)p; break;
                case DT_VERSYM: o->versions = (const void *)p; break;
                default: break;
                }
        }
}

static const ElfW(Sym) *real_match(const struct real_object *o, uint32_t i, const char *name)
{
        const ElfW(Sym) *s = &o->symbols[i];
        unsigned type = s->st_info & 15;

        if (s->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
                return NULL;
        if (o->versions && (o->versions[i] & 0x8000)) /* an old version, kept for old programs */
                return NULL;
        return bytes_same_text(o->strings + s->st_name, name) ? s : NULL;
}

static const ElfW(Sym) *real_by_gnu_hash(const struct real_object *o, const char *name)
{
        const uint32_t *h = o->gnu_hash;
        const uint32_t *buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = buckets + h[0];
        uint32_t hash = 5381, i;

        for (const char *c = name; *c; c++)
                hash = hash * 33 + (unsigned char)*c;
        i = buckets[hash % h[0]];
        if (i < h[1])
                return NULL;
        for (;; i++) {
                const ElfW(Sym) *s = NULL;

                if (((chain[i - h[1]] ^ hash) >> 1) == 0)
                        s = real_match(o, i, name);
                if (s || (chain[i - h[1]] & 1))
                        return s;
        }
}

static const ElfW(Sym) *real_by_hash(const struct real_object *o, const char *name)
{
        for (uint32_t i = 1; i < o->hash[1]; i++) {
                const ElfW(Sym) *s = real_match(o, i, name);

                if (s)
                        return s;
        }
        return NULL;
}

static void *real_in_object(const struct real_object *o, const char *name)
{
        const ElfW(Sym) *s = NULL;
        arch_word address;

        if (!o->symbols || !o->strings)
                return NULL;
        if (o->gnu_hash && o->gnu_hash[0])
                s = real_by_gnu_hash(o, name);
        else if (o->hash)
                s = real_by_hash(o, name);
        if (!s)
                return NULL;
        address = o->base + s->st_value;
        if ((s->st_info & 15) == STT_GNU_IFUNC)
                address = ((arch_word(*)(void))address)();
        return (void *)address;
}

/* The loader's own names for its list, in glibc and in musl; weak, for when the program's headers
 * do not lead to it (a loader started by hand, no /proc). */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));

static const struct link_map *real_list_by_name(void)
{
        if (&_r_debug && _r_debug.r_map)
                return _r_debug.r_map;
        return &_dl_debug_addr && _dl_debug_addr ? _dl_debug_addr->r_map : NULL;
}

/* The loader's list hangs on the DT_DEBUG entry of the program, found through the auxiliary
 * vector. */
static const struct link_map *real_list(void)
{
        static const struct r_debug *known;
        arch_word pairs[64][2], headers = 0, count = 0, bias = 0;
        const ElfW(Phdr) *h;
        const ElfW(Dyn) *d = NULL;
        bool placed = false;
        long fd, got;

        if (known)
                return known->r_map;
        fd = sys_open(SYS_OWN("auxv"));
        if (fd < 0)
                return real_list_by_name();
        got = sys_read(fd, pairs, sizeof pairs);
        sys_close(fd);
        for (long i = 0; i < got / (long)sizeof *pairs && pairs[i][0] != AT_NULL; i++) {
                if (pairs[i][0] == AT_PHDR)
                        headers = pairs[i][1];
                if (pairs[i][0] == AT_PHNUM)
                        count = pairs[i][1];
        }
        h = (const void *)headers;
        for (uint64_t i = 0; i < count; i++)
                if (h[i].p_type == PT_PHDR) {
                        bias = headers - h[i].p_vaddr;
                        placed = true;
                }
        for (uint64_t i = 0; placed && i < count; i++)
                if (h[i].p_type == PT_DYNAMIC)
                        d = (const void *)(bias + h[i].p_vaddr);
        for (; d && d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_DEBUG && d->d_un.d_ptr) {
                        known = (const struct r_debug *)d->d_un.d_ptr;
                        return known->r_map;
                }
        return real_list_by_name();
}

static const struct link_map *real_self(void)
{
        static const struct link_map *self;

        if (!self)
                for (self = real_list(); self && self->l_ld != _DYNAMIC; self = self->l_next)
                        ;
        return self;
}

/* The first object behind ours. */
static const struct link_map *real_behind(void)
{
        const struct link_map *self = real_self();

        return self ? self->l_next : NULL;
}

const char *real_library(void)
{
        if (INJECTED)
                return own_library();
        return real_self() ? real_self()->l_name : NULL;
}

static void *real_search(const char *name)
{
        for (const struct link_map *map = real_behind(); map; map = map->l_next) {
                struct real_object o;
                void *found;

                real_object(map, &o);
                found = real_in_object(&o, name);
                if (found)
                        return found;
        }
        return NULL;
}

/* Into a process that runs, seep has written what it found. */
void real_find(void)
{
        if (INJECTED)
                return;
        for (size_t i = 0; i < REAL_NAMES; i++) {
                void **place = (void **)((char *)&real + real_names[i].offset);

                if (!*place)
                        *place = real_search(real_names[i].symbol);
        }
}

bool real_is_bypassed(void)
{
        if (INJECTED)
                return false;
        for (const struct link_map *map = real_list(); map && map->l_ld != _DYNAMIC;
             map = map->l_next) {
                struct real_object o;

                real_object(map, &o);
                if (real_in_object(&o, "malloc"))
                        return true;
        }
        return false;
}

/* Whose operators hand out what malloc gave: an allocator's, and the run-time library's (libstdc++;
 * libc++, which may have them apart). */
static bool has_plain_operators(const struct real_object *o)
{
        return real_in_object(o, "malloc") || real_in_object(o, "__cxa_throw") ||
               real_in_object(o, "_ZSt17__throw_bad_allocv");
}

static bool is_own_operator(const char *name)
{
        bool behind = false;

        for (const struct link_map *map = real_list(); map; map = map->l_next) {
                struct real_object o;

                if (map->l_ld == _DYNAMIC) {
                        behind = true;
                        continue;
                }
                real_object(map, &o);
                if (real_in_object(&o, name))
                        return !behind || !has_plain_operators(&o);
        }
        return false;
}

bool real_has_own_operators(void)
{
        if (INJECTED) /* they were left alone */
                return false;
        for (size_t i = 0; i < REAL_NAMES; i++)
                if (bytes_after(real_names[i].symbol, "_Z") &&
                    is_own_operator(real_names[i].symbol))
                        return true;
        return false;
}

bool real_is_glibc(void)
{
        if (INJECTED)
                return own_is_glibc();
        for (const struct link_map *map = real_behind(); map; map = map->l_next) {
                struct real_object o;

                real_object(map, &o);
                if (real_in_object(&o, "malloc"))
                        return real_in_object(&o, "gnu_get_libc_version") != NULL;
        }
        return false;
}

#ifdef SEEP_INJECTED

static bool is_gpu_library(const char *path)
{
        static const char *const names[] = { "libcuda.so", "libcudart.so", "libamdhip64.so" };
        const char *name = path;

        for (const char *c = path; *c; c++)
                name = *c == '/' ? c + 1 : name;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (bytes_after(name, names[i]))
                        return true;
        return false;
}

/* The loader appends: what is new stands behind as many as there were. */
bool real_gpu_came(void)
{
        static uint32_t known;
        uint32_t count = 0;
        bool came = false;

        for (const struct link_map *map = real_list(); map; map = map->l_next, count++)
                came = came || (count >= known && map->l_name && is_gpu_library(map->l_name));
        known = count;
        return came;
}
#endif

void real_find_loader(void)
{
        const ElfW(Ehdr) *file = &_r_debug ? (const void *)_r_debug.r_ldbase : NULL;
        const ElfW(Phdr) *h;

        if (INJECTED || !real.gnu_get_libc_version || !file)
                return;
        h = (const void *)((const char *)file + file->e_phoff);
        for (uint32_t i = 0; i < file->e_phnum; i++)
                if (h[i].p_type == PT_LOAD && h[i].p_flags & PF_X) {
                        agent.loader = (uintptr_t)file + h[i].p_vaddr;
                        agent.loader_bytes = h[i].p_memsz;
                }
}

void real_forget_cxx(void)
{
        if (INJECTED)
                return;
        for (size_t i = 0; i < REAL_NAMES; i++)
                if (bytes_after(real_names[i].symbol, "_Z"))
                        __atomic_store_n((void **)((char *)&real + real_names[i].offset), NULL,
                                         __ATOMIC_RELAXED);
}

/* Programs that look for newer functions before they call them find ours: those must then fail as
 * an old kernel would let them. */
static long real_missing(void)
{
        if (real.errno_location)
                *real.errno_location() = SYS_ENOSYS;
        return -1;
}

void *real_need(void *member)
{
        size_t offset = (size_t)((char *)member - (char *)&real);
        void **place = member;

        for (size_t i = 0; i < REAL_NAMES && !*place; i++)
                if (real_names[i].offset == offset)
                        *place = real_search(real_names[i].symbol);
        return *place ? *place : (void *)real_missing;
}
