/* SPDX-License-Identifier: MIT */
/*
 * sqlite_schema.c -- the tables, indices and views of the database, in SQL.
 *
 * Keeps:  the columns of a table are in the order in which sqlite.c fills them;
 *         docs/SQL.md says what they mean.
 */
#include "export/sqlite.h"

const char sqlite_tables[] =
        "CREATE TABLE meta(key TEXT, value);"
        "CREATE TABLE module(id INTEGER PRIMARY KEY, path TEXT, build_id TEXT, start INTEGER,"
        " stop INTEGER, load_ms INTEGER, gone_ms INTEGER);"
        "CREATE TABLE frame(id INTEGER PRIMARY KEY, name TEXT, function TEXT, file TEXT,"
        " line INTEGER, module INTEGER REFERENCES module, address INTEGER, inlined INTEGER);"
        "CREATE TABLE stack(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES stack,"
        " frame INTEGER REFERENCES frame);"
        "CREATE TABLE site(id INTEGER PRIMARY KEY, stack INTEGER REFERENCES stack,"
        " place INTEGER REFERENCES frame, kind TEXT, heap INTEGER, truncated INTEGER,"
        " allocations INTEGER, frees INTEGER, bytes_allocated INTEGER, live_blocks INTEGER,"
        " live_bytes INTEGER, peak_blocks INTEGER, peak_bytes INTEGER, temporary INTEGER,"
        " lifetime_ms INTEGER, leaked_blocks INTEGER, leaked_bytes INTEGER,"
        " definite_blocks INTEGER, definite_bytes INTEGER, indirect_blocks INTEGER,"
        " indirect_bytes INTEGER, possible_blocks INTEGER, possible_bytes INTEGER,"
        " reachable_blocks INTEGER, reachable_bytes INTEGER, growth TEXT, growth_bytes_per_s REAL);"
        "CREATE TABLE by_function(function TEXT, live_bytes INTEGER, self_live_bytes INTEGER,"
        " peak_bytes INTEGER, bytes_allocated INTEGER, allocations INTEGER,"
        " self_allocations INTEGER, temporary INTEGER, leaked_bytes INTEGER);"
        "CREATE TABLE thread(id INTEGER PRIMARY KEY, tid INTEGER, name TEXT, start_ms INTEGER,"
        " end_ms INTEGER, allocations INTEGER, bytes_allocated INTEGER, live_blocks INTEGER,"
        " live_bytes INTEGER);"
        "CREATE TABLE share(site INTEGER REFERENCES site, thread INTEGER REFERENCES thread,"
        " allocations INTEGER, bytes_allocated INTEGER, frees INTEGER, bytes_freed INTEGER,"
        " temporary INTEGER);"
        "CREATE TABLE timeline(slice INTEGER PRIMARY KEY, ms INTEGER, live_bytes INTEGER,"
        " live_blocks INTEGER, allocations INTEGER, bytes_allocated INTEGER, frees INTEGER,"
        " rss_bytes INTEGER, stacks INTEGER);"
        "CREATE TABLE change(slice INTEGER REFERENCES timeline, site INTEGER REFERENCES site,"
        " live_bytes INTEGER, live_blocks INTEGER, allocations INTEGER, bytes_allocated INTEGER);"
        "CREATE TABLE mark(id INTEGER PRIMARY KEY, type TEXT, seq INTEGER, label TEXT, ms INTEGER,"
        " slice INTEGER REFERENCES timeline, thread INTEGER REFERENCES thread);"
        "CREATE TABLE block(id INTEGER PRIMARY KEY, address INTEGER, size INTEGER,"
        " site INTEGER REFERENCES site, thread INTEGER REFERENCES thread, birth_ms INTEGER,"
        " class TEXT, head INTEGER REFERENCES block, is_new INTEGER, suppressed INTEGER,"
        " content BLOB);"
        "CREATE TABLE site_type(site INTEGER PRIMARY KEY REFERENCES site, type TEXT,"
        " known_by TEXT);"
        "CREATE TABLE block_type(block INTEGER PRIMARY KEY REFERENCES block, type TEXT,"
        " known_by TEXT);"
        "CREATE TABLE region(id INTEGER PRIMARY KEY, start INTEGER, stop INTEGER,"
        " site INTEGER REFERENCES site, thread INTEGER REFERENCES thread, birth_ms INTEGER,"
        " stack INTEGER);"
        "CREATE TABLE mapping(id INTEGER PRIMARY KEY, start INTEGER, stop INTEGER,"
        " rss_bytes INTEGER, anonymous_bytes INTEGER, permissions TEXT, name TEXT, kind TEXT,"
        " live_blocks INTEGER, live_bytes INTEGER, overhead_bytes INTEGER, free_bytes INTEGER,"
        " whole_page_bytes INTEGER);"
        "CREATE TABLE root(id INTEGER PRIMARY KEY, kind TEXT, start INTEGER, stop INTEGER,"
        " tid INTEGER, module INTEGER REFERENCES module);"
        "CREATE TABLE hold(root INTEGER REFERENCES root, address INTEGER,"
        " to_block INTEGER REFERENCES block, interior INTEGER, owner TEXT);"
        "CREATE TABLE ref(from_block INTEGER REFERENCES block, to_block INTEGER REFERENCES block,"
        " offset INTEGER, interior INTEGER);"
        "CREATE TABLE error(id INTEGER PRIMARY KEY, type TEXT, address INTEGER, size INTEGER,"
        " count INTEGER, first_ms INTEGER, thread INTEGER REFERENCES thread,"
        " stack INTEGER REFERENCES stack, alloc_stack INTEGER REFERENCES stack,"
        " first_free_stack INTEGER REFERENCES stack);"
        "CREATE TABLE resource(id INTEGER PRIMARY KEY, type TEXT, stack INTEGER REFERENCES stack,"
        " acquired INTEGER, released INTEGER, held INTEGER, amount_acquired INTEGER,"
        " amount_held INTEGER);"
        "CREATE TABLE handle(resource INTEGER REFERENCES resource, handle INTEGER, amount INTEGER,"
        " thread INTEGER REFERENCES thread, birth_ms INTEGER);"
        "CREATE TABLE histogram(of TEXT, low INTEGER, high INTEGER, count INTEGER);";

/* Costs of sites, for views that sum them up. */
#define SUMS                                                                           \
        " sum(s.live_bytes) AS live_bytes, sum(s.live_blocks) AS live_blocks,"         \
        " sum(s.peak_bytes) AS peak_bytes, sum(s.bytes_allocated) AS bytes_allocated," \
        " sum(s.allocations) AS allocations, sum(s.temporary) AS temporary,"           \
        " sum(s.leaked_bytes) AS leaked_bytes"

/* The frames of a stack as one text, made for each row alone: all of a large recording at once
 * would not fit into memory. */
#define FRAMES(stack)                                                                    \
        "(WITH RECURSIVE up(outer_stack, frames) AS ("                                   \
        "SELECT k.parent, replace(f.name, ';', ':') FROM stack k"                        \
        " JOIN frame f ON f.id = k.frame WHERE k.id = " stack                            \
        " UNION ALL SELECT k.parent, replace(f.name, ';', ':') || ';' || up.frames"      \
        " FROM up JOIN stack k ON k.id = up.outer_stack JOIN frame f ON f.id = k.frame)" \
        " SELECT frames FROM up WHERE outer_stack IS NULL)"

const char sqlite_views[] =
        "CREATE INDEX stack_parent ON stack(parent);"
        "CREATE INDEX site_stack ON site(stack);"
        "CREATE INDEX share_site ON share(site);"
        "CREATE INDEX change_site ON change(site, slice);"
        "CREATE INDEX block_site ON block(site);"
        "CREATE INDEX block_address ON block(address);"
        "CREATE INDEX hold_block ON hold(to_block);"
        "CREATE INDEX ref_from ON ref(from_block);"
        "CREATE INDEX ref_to ON ref(to_block);"

        "CREATE VIEW top AS SELECT s.id AS site, s.live_bytes, s.live_blocks, s.peak_bytes,"
        " s.bytes_allocated, s.allocations, s.temporary, s.leaked_bytes, s.growth,"
        " f.name AS function, f.line, f.file, m.path AS module, s.kind FROM site s"
        " LEFT JOIN frame f ON f.id = s.place LEFT JOIN module m ON m.id = f.module WHERE s.heap"
        " ORDER BY s.live_bytes DESC, s.peak_bytes DESC, s.id;"

        "CREATE VIEW path AS SELECT s.id AS stack, " FRAMES("s.id") " AS frames FROM stack s;"

        "CREATE VIEW folded AS WITH RECURSIVE down(id, level, frames) AS ("
        "SELECT k.id, 0, replace(f.name, ';', ':') FROM stack k JOIN frame f ON f.id = k.frame"
        " WHERE k.parent IS NULL UNION ALL SELECT k.id, down.level + 1,"
        " down.frames || ';' || replace(f.name, ';', ':') FROM down"
        " JOIN stack k ON k.parent = down.id JOIN frame f ON f.id = k.frame"
        " ORDER BY 2 DESC)" /* depth first: only few texts are there at once */
        " SELECT s.frames AS stack," SUMS
        " FROM (SELECT down.frames, site.* FROM down CROSS JOIN site ON site.stack = down.id"
        " UNION ALL SELECT '[unknown]', site.* FROM site WHERE stack IS NULL) s WHERE s.heap"
        " GROUP BY 1;"

        "CREATE VIEW call AS WITH RECURSIVE up(site, stack, depth) AS ("
        "SELECT id, stack, 0 FROM site WHERE stack IS NOT NULL"
        " UNION ALL SELECT up.site, k.parent, up.depth + 1 FROM up JOIN stack k ON k.id = up.stack"
        " WHERE k.parent IS NOT NULL) SELECT up.site, up.depth, f.id AS frame, f.name AS function,"
        " f.file, f.line, m.path AS module FROM up JOIN stack k ON k.id = up.stack"
        " JOIN frame f ON f.id = k.frame LEFT JOIN module m ON m.id = f.module;"

        "CREATE VIEW leaks AS SELECT l.class, l.blocks, l.bytes, s.id AS site, f.name AS function,"
        " f.file, f.line, s.growth FROM (SELECT id, 'definite' AS class, definite_blocks AS blocks,"
        " definite_bytes AS bytes, 1 AS rank FROM site UNION ALL SELECT id, 'indirect',"
        " indirect_blocks, indirect_bytes, 2 FROM site UNION ALL SELECT id, 'possible',"
        " possible_blocks, possible_bytes, 3 FROM site) l JOIN site s ON s.id = l.id"
        " LEFT JOIN frame f ON f.id = s.place WHERE l.blocks > 0 ORDER BY l.rank, l.bytes DESC,"
        " s.id;"

        "CREATE VIEW by_module AS SELECT m.path AS module," SUMS
        " FROM site s LEFT JOIN frame f ON f.id = s.place LEFT JOIN module m ON m.id = f.module"
        " WHERE s.heap GROUP BY m.path ORDER BY live_bytes DESC, allocations DESC;"

        "CREATE VIEW by_file AS SELECT f.file," SUMS
        " FROM site s LEFT JOIN frame f ON f.id = s.place WHERE s.heap GROUP BY f.file"
        " ORDER BY live_bytes DESC, allocations DESC;"

        "CREATE VIEW by_thread AS SELECT t.id AS thread, t.tid, t.name,"
        " sum(h.allocations) AS allocations, sum(h.bytes_allocated) AS bytes_allocated,"
        " sum(h.temporary) AS temporary, count(DISTINCT h.site) AS sites FROM share h"
        " JOIN thread t ON t.id = h.thread JOIN site s ON s.id = h.site WHERE s.heap GROUP BY t.id"
        " ORDER BY allocations DESC;"

        "CREATE VIEW growth AS SELECT s.id AS site, f.name AS function, f.file, f.line,"
        " s.growth_bytes_per_s AS bytes_per_s, s.live_bytes, s.live_blocks FROM site s"
        " LEFT JOIN frame f ON f.id = s.place WHERE s.growth = 'grows'"
        " ORDER BY s.growth_bytes_per_s DESC;"

        "CREATE VIEW snapshot AS SELECT m.seq, m.label, m.ms, t.live_bytes, t.live_blocks,"
        " t.allocations, t.rss_bytes, m.slice FROM mark m LEFT JOIN timeline t ON t.slice = m.slice"
        " WHERE m.seq IS NOT NULL ORDER BY m.seq;"

        "CREATE VIEW types AS SELECT t.type, count(*) AS blocks, sum(b.size) AS bytes,"
        " count(DISTINCT b.site) AS sites FROM block b LEFT JOIN block_type t ON t.block = b.id"
        " GROUP BY t.type ORDER BY bytes DESC, t.type;"

        "CREATE VIEW types_peak AS SELECT t.type, sum(s.peak_blocks) AS blocks,"
        " sum(s.peak_bytes) AS bytes, count(*) AS sites FROM site s"
        " LEFT JOIN site_type t ON t.site = s.id WHERE s.heap AND s.peak_blocks > 0"
        " GROUP BY t.type ORDER BY bytes DESC, t.type;"

        "CREATE VIEW holders AS SELECT h.owner, h.kind, count(*) AS blocks, sum(b.size) AS bytes"
        " FROM (SELECT DISTINCT hold.owner, root.kind, hold.to_block FROM hold"
        " JOIN root ON root.id = hold.root) h JOIN block b ON b.id = h.to_block GROUP BY h.owner,"
        " h.kind ORDER BY bytes DESC;";
