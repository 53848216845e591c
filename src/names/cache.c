/* SPDX-License-Identifier: MIT */
/*
 * cache.c -- names found earlier, on disk, one file per build id.
 *
 * Keeps:  what a module with all its debug information says is final, its build id stands for it,
 *         as long as the files that had that id then are as they were: an id can be chosen
 *         (--build-id=0x...), and objcopy keeps it.  A file that is gone, or that is another build
 *         by now, says nothing against the names of the old one.  Without debug information, better
 *         names may turn up any day (a debug package installed): the file then also holds a
 *         fingerprint of the places where they would be, and is used only while nothing changed
 *         there.  Directories and servers that the user named are asked again each time.
 */
#include "names/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/lookup.h"
#include "base/order.h"
#include "base/str.h"
#include "names/binary.h"
#include "names/places.h"

enum { CACHE_FILES = 512 }; /* kept; some ten to some thousand kilobytes each */

/* In the byte order of the machine: a cache does not travel. */
struct cache_head {
        char magic[8];
        uint64_t checksum; /* of all that follows */
        uint64_t fingerprint;
        uint16_t has_lines, final;
        uint32_t entry_count, frame_count, text_bytes;
        uint32_t build_id_bytes;
        uint8_t build_id[20];
        uint64_t own_facts, source_facts; /* of the recorded path, and of the file that names
                                           * came from: cache_mix_file() */
        uint32_t source, unused;          /* path of that file: an offset of text; 0: none */
};

_Static_assert(sizeof(struct cache_head) % 8 == 0, "entries follow aligned");

/* To be counted up whenever names are written in another way (names/demangle.c, extent.c). */
static const char cache_magic[8] = "SEEPSYM8";

static uint64_t cache_mix(uint64_t hash, const void *bytes, size_t count)
{
        const unsigned char *b = bytes;
        uint64_t word;

        for (; count >= 8; count -= 8, b += 8) {
                memcpy(&word, b, 8);
                hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
                hash ^= hash >> 29;
        }
        while (count--)
                hash = (hash ^ *b++) * 0x100000001b3ull;
        return hash;
}

static uint64_t cache_mix_file(uint64_t hash, const char *path)
{
        struct stat st;
        uint64_t facts[5] = { 0 };

        if (stat(path, &st) == 0) {
                facts[0] = (uint64_t)st.st_mtim.tv_sec;
                facts[1] = (uint64_t)st.st_mtim.tv_nsec;
                facts[2] = (uint64_t)st.st_size;
                facts[3] = (uint64_t)st.st_ctim.tv_sec; /* nobody can set it back */
                facts[4] = (uint64_t)st.st_ctim.tv_nsec;
        }
        return cache_mix(hash, facts, sizeof facts);
}

static bool cache_mix_place(void *hash, const char *path)
{
        *(uint64_t *)hash = cache_mix_file(*(uint64_t *)hash, path);
        return false;
}

/* Whatever is new beside the module, under any name, may be its debug file. */
static uint64_t cache_mix_neighbours(uint64_t hash, const char *path)
{
        const char *slash = strrchr(path, '/');
        struct str dir = { 0 };

        str_bytes(&dir, path, slash ? (size_t)(slash - path) + 1 : 0);
        hash = cache_mix_file(hash, str_get(&dir));
        str_text(&dir, ".debug");
        hash = cache_mix_file(hash, str_get(&dir));
        str_free(&dir);
        return hash;
}

static uint64_t cache_fingerprint(const struct profile_module *recorded)
{
        static const struct symbol_options here = { 0 };
        uint64_t hash = cache_mix_neighbours(1, recorded->path);

        places_walk(recorded, &here, cache_mix_place, &hash);
        return hash;
}

static uint64_t cache_facts(const char *path)
{
        return cache_mix_file(1, path);
}

/* Whether PATH is the file that had these FACTS, or none that has to do with RECORDED any more. */
static bool cache_same_file(const char *path, uint64_t facts, const struct profile_module *recorded)
{
        return cache_facts(path) == facts || binary_examine(path, recorded) < BINARY_NAMES;
}

/* The path of the file that names came from; "" none. */
static const char *cache_source(const struct cache_head *h)
{
        const struct cache_entry *entries = (const void *)(h + 1);
        const struct cache_frame *frames = (const void *)(entries + h->entry_count);

        return (const char *)(frames + h->frame_count) + h->source;
}

/* Whether H, where it does not know everything, is as good as a new search. */
static bool cache_suffices(const struct cache_head *h, const struct profile_module *recorded,
                           const struct file_search *s)
{
        if (!cache_same_file(recorded->path, h->own_facts, recorded) ||
            (h->source && !cache_same_file(cache_source(h), h->source_facts, recorded)))
                return false;
        if (h->final)
                return true;
        return !s->options.sysroot && !s->options.debug_path_count && !s->fetch &&
               h->fingerprint == cache_fingerprint(recorded);
}

/* false: caching is not wanted or not possible. */
static bool cache_directory(const struct file_search *s, const struct profile_module *recorded,
                            struct str *out)
{
        const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

        if (s->options.no_cache || recorded->build_id_bytes < 2 || recorded->build_id_bytes > 20 ||
            !recorded->path)
                return false;
        if (base && base[0] == '/')
                str_format(out, "%s/seep", base);
        else if (home && home[0] == '/')
                str_format(out, "%s/.cache/seep", home);
        return out->length > 0;
}

static void cache_file_name(const struct profile_module *recorded, struct str *out)
{
        str_char(out, '/');
        for (uint32_t i = 0; i < recorded->build_id_bytes; i++)
                str_format(out, "%02x", recorded->build_id[i]);
        str_text(out, ".names");
}

/* Every offset is checked once here, so that readers need not. */
static bool cache_valid(const struct cache_head *h, size_t bytes,
                        const struct profile_module *recorded)
{
        const struct cache_entry *entries = (const void *)(h + 1);
        const struct cache_frame *frames;
        const char *text;

        if (bytes < sizeof *h || memcmp(h->magic, cache_magic, 8) != 0)
                return false;
        if (bytes != sizeof *h + h->entry_count * sizeof *entries +
                             h->frame_count * sizeof *frames + h->text_bytes)
                return false;
        frames = (const void *)(entries + h->entry_count);
        text = (const char *)(frames + h->frame_count);
        if (h->text_bytes == 0 || h->source >= h->text_bytes || text[h->text_bytes - 1] != 0 ||
            h->build_id_bytes != recorded->build_id_bytes)
                return false;
        if (memcmp(h->build_id, recorded->build_id, h->build_id_bytes) != 0)
                return false;
        if (h->checksum !=
            cache_mix(1, &h->fingerprint, bytes - offsetof(struct cache_head, fingerprint)))
                return false;
        for (uint32_t i = 0; i < h->entry_count; i++)
                if (entries[i].count == 0 || entries[i].first > h->frame_count ||
                    entries[i].count > h->frame_count - entries[i].first)
                        return false;
        for (uint32_t i = 0; i < h->frame_count; i++)
                if (frames[i].function >= h->text_bytes || frames[i].file >= h->text_bytes)
                        return false;
        return true;
}

static void *cache_map(const char *path, size_t *bytes)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        void *map = MAP_FAILED;
        struct stat st;

        if (fd < 0)
                return NULL;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            st.st_size >= (off_t)sizeof(struct cache_head)) {
                *bytes = (size_t)st.st_size;
                map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        }
        close(fd);
        return map == MAP_FAILED ? NULL : map;
}

bool cache_open(struct cache *c, const struct profile_module *recorded, const struct file_search *s)
{
        const struct cache_head *h;
        struct str path = { 0 };

        *c = (struct cache){ 0 };
        if (cache_directory(s, recorded, &path)) {
                cache_file_name(recorded, &path);
                c->map = cache_map(str_get(&path), &c->map_bytes);
        }
        str_free(&path);
        h = c->map;
        if (!h)
                return false;
        if (!cache_valid(h, c->map_bytes, recorded) || !cache_suffices(h, recorded, s)) {
                cache_close(c);
                return false;
        }
        c->entries = (const void *)(h + 1);
        c->frames = (const void *)(c->entries + h->entry_count);
        c->text = (const char *)(c->frames + h->frame_count);
        c->entry_count = h->entry_count;
        c->has_lines = h->has_lines;
        return true;
}

void cache_close(struct cache *c)
{
        if (c->map)
                munmap(c->map, c->map_bytes);
        *c = (struct cache){ 0 };
}

const struct cache_entry *cache_find(const struct cache *c, uint64_t address)
{
        size_t at = FIND_FIRST(c->entry_count, i, c->entries[i].address < address);

        return at < c->entry_count && c->entries[at].address == address ? &c->entries[at] : NULL;
}

/* The parts of a file being made. */
struct cache_draft {
        struct str entries, frames, text;
        uint32_t entry_count, frame_count;
        struct lookup places; /* of texts, by pointer */
};

/* Equal texts of one source have equal pointers (names/string_pool.h, or offsets of the old
 * file). */
static uint32_t draft_text(struct cache_draft *d, const char *text)
{
        uint32_t *place = text ? lookup_pointer(&d->places, text) : NULL;

        if (!place)
                return 0;
        if (!*place) {
                *place = (uint32_t)d->text.length;
                str_bytes(&d->text, text, strlen(text) + 1);
        }
        return *place;
}

static void draft_entry(struct cache_draft *d, uint64_t address, uint32_t count)
{
        struct cache_entry entry = { address, d->frame_count, count };

        str_bytes(&d->entries, &entry, sizeof entry);
        d->entry_count++;
}

static void draft_frame(struct cache_draft *d, const struct symbol_frame *frame)
{
        struct cache_frame stored = { draft_text(d, frame->function), draft_text(d, frame->file),
                                      frame->line, frame->inlined };

        str_bytes(&d->frames, &stored, sizeof stored);
        d->frame_count++;
}

static void draft_answer(struct cache_draft *d, const struct cache_answer *answer)
{
        draft_entry(d, answer->address, answer->count);
        for (uint32_t i = 0; i < answer->count; i++)
                draft_frame(d, &answer->frames[i]);
}

static void draft_old(struct cache_draft *d, const struct cache *c, const struct cache_entry *entry)
{
        draft_entry(d, entry->address, entry->count);
        for (uint32_t i = 0; i < entry->count; i++) {
                const struct cache_frame *old = &c->frames[entry->first + i];
                struct symbol_frame frame = {
                        .function = old->function ? c->text + old->function : NULL,
                        .file = old->file ? c->text + old->file : NULL, .line = old->line,
                        .inlined = old->inlined };

                draft_frame(d, &frame);
        }
}

static void draft_free(struct cache_draft *d)
{
        str_free(&d->entries);
        str_free(&d->frames);
        str_free(&d->text);
        lookup_free(&d->places);
}

static void draft_assemble(const struct cache_draft *d, struct cache_head *h, struct str *out)
{
        memcpy(h->magic, cache_magic, sizeof h->magic);
        h->entry_count = d->entry_count;
        h->frame_count = d->frame_count;
        h->text_bytes = (uint32_t)d->text.length;
        str_bytes(out, h, sizeof *h);
        str_bytes(out, d->entries.data, d->entries.length);
        str_bytes(out, d->frames.data, d->frames.length);
        str_bytes(out, d->text.data, d->text.length);
        h->checksum = cache_mix(1, out->data + offsetof(struct cache_head, fingerprint),
                                out->length - offsetof(struct cache_head, fingerprint));
        memcpy(out->data, h, sizeof *h);
}

/* Fresh answers come from the file of Q; without one the old ones are all there is. */
static void draft_source(struct cache_draft *d, const struct cache *c, const char *file,
                         struct cache_head *h)
{
        const struct cache_head *old = c->map;

        if (file) {
                h->source = draft_text(d, file);
                h->source_facts = cache_facts(file);
        } else if (old && old->source) {
                h->source = draft_text(d, cache_source(old));
                h->source_facts = old->source_facts;
        }
}

/* Whether PATH, BASE/seep, is there or could be made.  BASE itself may be made, as the rules of XDG
 * have it, but nothing that it is in: a home that is not there is none of ours to make. */
static bool cache_make_directory(const struct file_search *s, const char *path)
{
        struct str base = { 0 };
        struct stat st;

        str_bytes(&base, path, (size_t)(strrchr(path, '/') - path));
        if (!s->options.no_new_cache) {
                mkdir(str_get(&base), 0700);
                mkdir(path, 0700);
        }
        str_free(&base);
        return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void cache_replace(const char *path, const struct str *contents)
{
        struct str temporary = { 0 };
        int fd;

        str_format(&temporary, "%s.XXXXXX", path);
        fd = mkostemp(temporary.data, O_CLOEXEC);
        if (fd >= 0) {
                bool good = io_write(fd, contents->data, contents->length);

                if (close(fd) != 0 || !good || rename(temporary.data, path) != 0)
                        unlink(temporary.data);
        }
        str_free(&temporary);
}

struct cache_file {
        char *name;
        struct timespec written;
};

static int file_compare(const void *a, const void *b)
{
        const struct cache_file *x = a, *y = b;

        return ORDER(x->written.tv_sec, y->written.tv_sec) ?:
               ORDER(x->written.tv_nsec, y->written.tv_nsec);
}

/* Each build of a program leaves a file here: the oldest ones go. */
static void cache_prune(const char *directory)
{
        struct cache_file *files = NULL;
        size_t count = 0;
        DIR *dir = opendir(directory);
        struct dirent *entry;
        struct stat st;

        while (dir && (entry = readdir(dir))) {
                if (!strstr(entry->d_name, ".names") ||
                    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
                        continue;
                files = heap_grow(files, count + 1, sizeof *files);
                files[count++] = (struct cache_file){ heap_text(entry->d_name), st.st_mtim };
        }
        if (count)
                qsort(files, count, sizeof *files, file_compare);
        for (size_t i = 0; i < count; i++) {
                if (count - i > CACHE_FILES)
                        unlinkat(dirfd(dir), files[i].name, 0);
                free(files[i].name);
        }
        free(files);
        if (dir)
                closedir(dir);
}

void cache_save(const struct cache *c, const struct profile_module *recorded,
                const struct file_search *s, const struct cache_quality *q,
                const struct cache_answer *answers, size_t count)
{
        struct cache_head head = { .has_lines = q->has_lines,
                                   .final = q->has_lines && !q->lacking,
                                   .build_id_bytes = recorded->build_id_bytes };
        struct str path = { 0 }, whole = { 0 };
        struct cache_draft d = { 0 };
        size_t i = 0, directory;

        if (!cache_directory(s, recorded, &path) || !cache_make_directory(s, str_get(&path))) {
                str_free(&path);
                return;
        }
        str_char(&d.text, 0); /* offset 0 means unknown */
        memcpy(head.build_id, recorded->build_id, recorded->build_id_bytes);
        head.fingerprint = cache_fingerprint(recorded);
        head.own_facts = cache_facts(recorded->path);
        draft_source(&d, c, q->file, &head);
        for (uint32_t j = 0; j < c->entry_count; j++) {
                for (; i < count && answers[i].address < c->entries[j].address; i++)
                        draft_answer(&d, &answers[i]);
                draft_old(&d, c, &c->entries[j]);
        }
        for (; i < count; i++)
                draft_answer(&d, &answers[i]);
        draft_assemble(&d, &head, &whole);
        directory = path.length;
        cache_file_name(recorded, &path);
        if (d.text.length < UINT32_MAX)
                cache_replace(str_get(&path), &whole);
        path.data[directory] = 0;
        if (!c->map)
                cache_prune(path.data);
        str_free(&path);
        str_free(&whole);
        draft_free(&d);
}
