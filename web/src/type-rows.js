// SPDX-License-Identifier: MIT
// type-rows.js -- what Types works out: the types of a moment, and how two moments differ.

/** The moments whose types are known: at -1 the end, -2 the peak, else a mark. */
export function typeMoments({ type_moments: m }) {
  return Array.from({ length: m.count }, (_, i) => ({
    at: m.at[i],
    bytes: m.bytes[i],
    blocks: m.blocks[i],
    known_bytes: m.known_bytes[i],
    exact: Boolean(m.exact[i]),
  }));
}

/** The rows of one moment, largest first; a row without a name is what is not known. */
export function typeRows(recording, at) {
  const { types: t, type_sites: s } = recording,
    parts = new Map();
  for (let i = 0; i < s.count; i++) {
    if (!parts.has(s.type[i])) parts.set(s.type[i], []);
    parts.get(s.type[i]).push({ site: s.site[i], bytes: s.bytes[i], blocks: s.blocks[i] });
  }
  const known = [],
    unknown = { key: 'unknown', name: '', by: '', site: -1, sites: 0, size: 0, bytes: 0, blocks: 0, parts: [] };
  for (let i = 0; i < t.count; i++) {
    if (t.at[i] !== at) continue;
    const row = {
      key: i,
      name: recording.text(t.name[i]),
      by: recording.text(t.by[i]),
      site: t.site[i],
      sites: t.sites[i],
      size: t.size[i],
      bytes: t.bytes[i],
      blocks: t.blocks[i],
      parts: parts.get(i) ?? [],
    };
    if (row.name) known.push(row);
    else addUnknown(unknown, row);
  }
  const rows = unknown.blocks || unknown.bytes ? [...known, unknown] : known;
  return rows.sort((a, b) => b.bytes - a.bytes);
}

/** Each place whose type nobody knows is a row of the data: here they are one. */
function addUnknown(sum, row) {
  if (sum.site < 0) sum.site = row.site;
  sum.sites += row.sites;
  sum.bytes += row.bytes;
  sum.blocks += row.blocks;
  sum.parts.push(...row.parts);
}

/** What each type has more at TO than at FROM, the largest change first. */
export function typeDifference(recording, from, to) {
  const before = new Map(typeRows(recording, from).map((row) => [row.name, row])),
    none = { bytes: 0, blocks: 0 };
  const rows = typeRows(recording, to).map((row) => {
    const old = before.get(row.name) ?? none;
    before.delete(row.name);
    return { ...row, before: old.bytes, change: row.bytes - old.bytes, changeBlocks: row.blocks - old.blocks };
  });
  for (const old of before.values())
    rows.push({ ...old, bytes: 0, blocks: 0, before: old.bytes, change: -old.bytes, changeBlocks: -old.blocks });
  return rows.filter((row) => row.change || row.changeBlocks).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}
