/* SPDX-License-Identifier: MIT */
/*
 * events_log.c -- the event log in a file.
 *
 * Keeps:  trusts no byte; what is damaged ends the log.
 */
#include "profile/events_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "profile/cursor.h"
#include "profile/section.h"

#define EVENTS_SUFFIX ".events"

struct events_log {
        int fd;
        uint64_t start, at; /* of the first section of the log, of the next */
        struct events_log_size size;
        uint64_t done; /* bytes of it */
        struct events_ids ids;
        char *named, *beside; /* the file beside the recording: its name as the recording has it,
                               * its path when that is open */
        struct events_decoder *decoder;
        struct str body;
        bool over, cut; /* no more batches; because of damage */
        bool hole;      /* the file begins with what was dropped */
};

/* ---- writing ---- */

void events_ids_free(struct events_ids *ids)
{
        free(ids->sites);
        free(ids->nodes);
        *ids = (struct events_ids){ 0 };
}

/* With a dot before it, and .events behind. */
char *events_log_name(const char *path, uint32_t try)
{
        const char *slash = strrchr(path, '/');
        struct str name = { 0 };

        str_format(&name, ".%s", slash ? slash + 1 : path);
        if (try > 1)
                str_format(&name, ".%" PRIu32, try);
        str_text(&name, EVENTS_SUFFIX);
        return name.data;
}

void events_log_head(struct str *out)
{
        struct format_header h = { .magic = FORMAT_MAGIC, .version = FORMAT_VERSION,
                                   .header_bytes = FORMAT_HEADER_BYTES };

        h.crc = format_crc(&h, offsetof(struct format_header, crc));
        h.back_crc = format_crc(h.back_count,
                                offsetof(struct format_header, back_crc) - FORMAT_HEADER_LEAST);
        str_bytes(out, &h, sizeof h);
}

void events_log_batch(const struct str *batch, struct str *out)
{
        section_put(out, FORMAT_EVENTS, batch, false);
}

static void put_ids(const uint32_t *ids, uint32_t count, struct str *out)
{
        uint64_t last = 0;

        str_varint(out, count);
        for (uint32_t i = 0; i < count; i++) {
                str_varint(out, format_zigzag(ids[i] - last));
                last = ids[i];
        }
}

void events_log_ids(const struct events_ids *ids, struct str *out)
{
        struct str body = { 0 };

        put_ids(ids->sites, ids->site_count, &body);
        put_ids(ids->nodes, ids->node_count, &body);
        str_varint(&body, ids->first);
        str_varint(&body, ids->dropped);
        if (ids->beside) {
                str_varint(&body, strlen(ids->beside) + 1);
                str_text(&body, ids->beside);
        }
        section_put(out, FORMAT_EVENT_SITES, &body, true);
        str_free(&body);
}

/* ---- finding it ---- */

static uint32_t *get_ids(struct cursor *c, uint32_t *count)
{
        uint64_t claimed = cursor_varint(c), last = 0;
        uint32_t *ids;

        if (claimed > cursor_left(c)) /* each takes a byte at least */
                c->bad = true;
        *count = c->bad ? 0 : (uint32_t)claimed;
        ids = heap_zero(*count, sizeof *ids);
        for (uint32_t i = 0; i < *count; i++)
                ids[i] = (uint32_t)(last += format_unzigzag(cursor_varint(c)));
        return ids;
}

/* The head at AT; false at the end of the file, and where it is damaged. */
static bool read_head(const struct events_log *l, uint64_t at, struct format_section *head)
{
        return io_read_at(l->fd, head, sizeof *head, at) && section_head_good(head) &&
               head->stored_bytes <= INT64_MAX - at - sizeof *head;
}

static bool read_body(struct events_log *l, uint64_t at, const struct format_section *head)
{
        if (head->stored_bytes > FORMAT_RAW_MAX)
                return false;
        str_clear(&l->body);
        return io_read_at(l->fd, str_room(&l->body, head->stored_bytes), head->stored_bytes,
                          at + sizeof *head) &&
               section_body_good(head, l->body.data);
}

/* It may come from a stranger: one word, and such a name as we give. */
static bool is_log_name(const char *name)
{
        size_t length = strlen(name), suffix = strlen(EVENTS_SUFFIX);

        return name[0] == '.' && length > suffix &&
               strcmp(name + length - suffix, EVENTS_SUFFIX) == 0 && !strchr(name, '/');
}

static void read_ids(struct events_log *l, uint64_t at, const struct format_section *head)
{
        struct section s = { .type = head->type, .flags = head->flags,
                             .stored_bytes = head->stored_bytes, .raw_bytes = head->raw_bytes };
        struct str unpacked = { 0 };
        const uint8_t *raw;

        if (!read_body(l, at, head))
                return;
        s.body = (const uint8_t *)l->body.data;
        if (section_unpack(&s, &unpacked, &raw)) {
                struct cursor c = { raw, raw + head->raw_bytes, false };

                events_ids_free(&l->ids);
                l->ids.sites = get_ids(&c, &l->ids.site_count);
                l->ids.nodes = get_ids(&c, &l->ids.node_count);
                l->ids.first = cursor_varint(&c);
                /* Earlier files end before it. */
                l->ids.dropped = cursor_left(&c) ? cursor_varint(&c) : 0;
                free(l->named);
                /* Only where the log is not in this file. */
                l->named = cursor_left(&c) ? cursor_text(&c) : NULL;
                if (c.bad)
                        events_ids_free(&l->ids);
        }
        str_free(&unpacked);
}

/* Where the first section is, in a file whose first parts were dropped: behind the zeros in their
 * place.  AT: there is none. */
static uint64_t skip_hole(struct events_log *l, uint64_t at)
{
        off_t data = lseek(l->fd, (off_t)at, SEEK_DATA);
        uint64_t from = data > (off_t)at ? (uint64_t)data : at;
        uint8_t bytes[4096];
        ssize_t n;

        while ((n = pread(l->fd, bytes, sizeof bytes, (off_t)from)) > 0) {
                for (ssize_t i = 0; i < n; i++)
                        if (bytes[i]) {
                                l->hole = from + (uint64_t)i > at;
                                return from + (uint64_t)i;
                        }
                from += (uint64_t)n;
        }
        return at;
}

/* Look at all heads once.  Bodies are read when their turn comes.  False: there are none. */
static bool survey(struct events_log *l, uint64_t at)
{
        struct format_section head;
        uint64_t start = at = skip_hole(l, at);

        for (; read_head(l, at, &head) && head.type != FORMAT_END;
             at += sizeof head + head.stored_bytes) {
                if (head.type == FORMAT_EVENT_SITES)
                        read_ids(l, at, &head);
                if (head.type != FORMAT_EVENTS)
                        continue;
                if (!l->size.batches)
                        l->start = l->at = at;
                l->size.batches++;
                l->size.bytes += sizeof head + head.stored_bytes;
        }
        return at > start;
}

/* Open PATH and look through it.  false: E.  EMPTY: there is nothing yet, or what holds the name of
 * a recording that was not written yet. */
static bool look_into(struct events_log *l, const char *path, bool *empty, struct err *e)
{
        uint8_t bytes[FORMAT_HEADER_BYTES] = { 0 };
        struct format_header h;
        bool sound;
        ssize_t n;

        if (l->fd >= 0)
                close(l->fd);
        l->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        n = l->fd < 0 ? -1 : pread(l->fd, bytes, sizeof bytes, 0);
        *empty = n == 0 || (l->fd < 0 && errno == ENOENT);
        if (n < 0)
                return err_sys(e, ERR_EXIT_BAD_FILE, "cannot read %s", path);
        if (!section_header(bytes, (size_t)n, path, &h, &sound, e))
                return false;
        return survey(l, h.header_bytes) || err_set(e, ERR_EXIT_USAGE,
                                                    "%s is the event log of an unfinished "
                                                    "recording: no event has been written yet",
                                                    path);
}

/* The log of a recording PATH that was cut short; in FOLDER, unless that is NULL. */
static bool look_beside(struct events_log *l, const char *path, const char *folder, struct err *e)
{
        const char *slash = strrchr(path, '/');
        char *name = l->named ? heap_text(l->named) : events_log_name(path, 1);
        struct str beside = { 0 };
        bool empty, good;

        if (folder)
                str_format(&beside, "%s/%s", folder, name);
        else
                str_format(&beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
        good = is_log_name(name) && look_into(l, beside.data, &empty, e) && l->size.batches;
        free(name);
        if (!good && l->named)
                err_set(e, ERR_EXIT_USAGE,
                        "%s was written before its program ended, and its event log is not in %s%s",
                        path, beside.data,
                        access(beside.data, F_OK) == 0 ? ": no event has been written yet"
                                                       : ", where it was then");
        l->beside = beside.data;
        return good;
}

struct events_log *events_log_open(const char *path, struct err *e)
{
        return events_log_open_in(path, NULL, e);
}

struct events_log *events_log_open_in(const char *path, const char *folder, struct err *e)
{
        struct events_log *l = heap_zero(1, sizeof *l);
        struct err unused;
        bool empty, good;

        l->fd = -1;
        good = look_into(l, path, &empty, e);
        if (empty && look_beside(l, path, folder, &unused))
                good = true;
        else if (good && !l->size.batches && l->named)
                good = look_beside(l, path, folder, e);
        else if (good && !l->size.batches)
                good = err_set(e, ERR_EXIT_USAGE,
                               "%s has no event log: record with `seep record --events PROGRAM` to "
                               "get one", path);
        if (good) {
                l->decoder = events_decoder_new();
                return l;
        }
        events_log_close(l);
        return NULL;
}

const char *events_log_beside(const struct events_log *l)
{
        return l->beside;
}

void events_log_close(struct events_log *l)
{
        if (!l)
                return;
        if (l->fd >= 0)
                close(l->fd);
        events_ids_free(&l->ids);
        events_decoder_free(l->decoder);
        str_free(&l->body);
        free(l->named);
        free(l->beside);
        free(l);
}

struct events_log_size events_log_size(const struct events_log *l)
{
        return l->size;
}

uint64_t events_log_first(const struct events_log *l)
{
        return l->ids.first;
}

bool events_log_headless(const struct events_log *l)
{
        return l->hole || l->ids.dropped;
}

uint64_t events_log_dropped(const struct events_log *l)
{
        return l->ids.dropped;
}

uint64_t events_log_done(const struct events_log *l)
{
        return l->done;
}

/* ---- reading ---- */

/* A batch that has none before it begins a part: what was before means nothing to it. */
static void begin_part(struct events_log *l, uint64_t bytes)
{
        struct cursor c = { (const uint8_t *)l->body.data, (const uint8_t *)l->body.data + bytes,
                            false };

        if (!events_count(l->decoder) || events_damaged(l->decoder) || cursor_varint(&c) != 0 ||
            c.bad)
                return;
        events_decoder_free(l->decoder);
        l->decoder = events_decoder_new();
}

static bool next_batch(struct events_log *l)
{
        struct format_section head;

        while (!l->over && read_head(l, l->at, &head) && head.type != FORMAT_END) {
                uint64_t at = l->at;

                l->at += sizeof head + head.stored_bytes;
                if (head.type != FORMAT_EVENTS)
                        continue;
                l->done += sizeof head + head.stored_bytes;
                if (!read_body(l, at, &head)) {
                        l->cut = true;
                        break;
                }
                begin_part(l, head.stored_bytes);
                if (events_take(l->decoder, (const uint8_t *)l->body.data, head.stored_bytes))
                        return true;
                l->cut = true;
                break;
        }
        l->over = true;
        return false;
}

static uint32_t map_id(const uint32_t *ids, uint32_t count, uint32_t id)
{
        if (!ids) /* a file that was left behind: numbers as the ledger has them */
                return id;
        return id < count ? ids[id] : 0;
}

bool events_log_next(struct events_log *l, struct ledger_event *e)
{
        while (!events_next(l->decoder, e)) {
                l->cut |= events_damaged(l->decoder);
                if (l->cut || !next_batch(l))
                        return false;
        }
        switch (e->type) {
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
        case LEDGER_EVENT_BAD_FREE:
                e->site = map_id(l->ids.nodes, l->ids.node_count, e->site);
                break;
        default:
                e->site = map_id(l->ids.sites, l->ids.site_count, e->site);
        }
        return true;
}

const char *events_log_why(const struct events_log *l)
{
        enum events_end end = events_ended(l->decoder);

        if (l->cut)
                return "the file is damaged after this point";
        return end == EVENTS_END_DONE ? NULL : events_end_text(end);
}
