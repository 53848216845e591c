// SPDX-License-Identifier: MIT
// format.js -- numbers as people read them; the same forms as in the terminal's reports (src/words/text.c).

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** 1536 -> "1.5 KiB" */
export function bytes(value) {
  const size = Math.abs(value);
  let unit = 0,
    scaled = size;
  while (unit + 1 < UNITS.length && (unit ? Math.round(scaled * 10) >= 10240 : scaled >= 1024)) {
    scaled /= 1024;
    unit++;
  }
  const text = unit ? (Math.round(scaled * 10) / 10).toFixed(1) : String(Math.round(scaled));
  return `${value < 0 ? '-' : ''}${text} ${UNITS[unit]}`;
}

/** 9812330 -> "9,812,330" */
export function number(value) {
  const digits = String(Math.round(Math.abs(value))).replace(/\B(?=(\d{3})+$)/g, ',');
  return (value <= -0.5 ? '-' : '') + digits;
}

/** (1, "block") -> "1 block" */
export function count(value, noun) {
  const whole = Math.round(value);
  return `${number(whole)} ${noun}${Math.abs(whole) === 1 ? '' : 's'}`;
}

/** 9812330 -> "9.8 M", for axes and narrow columns */
export function short(value) {
  const size = Math.abs(value),
    sign = value < 0 ? '-' : '';
  for (const [limit, letter] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ]) {
    if (size >= limit) return `${sign}${(size / limit).toFixed(size / limit < 99.95 ? 1 : 0).replace(/\.0$/, '')} ${letter}`;
  }
  return sign + (Number.isInteger(size) ? size : size.toFixed(1));
}

/** Milliseconds: "830 ms", "8.1 s", "2 min 5 s", "3 h 12 min" */
export function time(ms) {
  const s = Math.floor(ms / 1000);
  if (ms < 1) return ms > 0 ? '< 1 ms' : '0 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (s < 60) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

/** A moment of the run: like time(), but fine enough to tell neighbours apart. */
export function moment(ms) {
  return ms >= 1000 && ms < 60000 ? `${(ms / 1000).toFixed(2)} s` : time(ms);
}

/** (23, 100) -> "23 %" */
export function share(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  if (percent > 0 && percent < 0.05) return '< 0.1 %';
  return `${percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** "+1.5 KiB", "-3", "0": differences carry their sign. */
export function signed(value, form = bytes) {
  return (value > 0 ? '+' : '') + form(value);
}

/** Bytes per hour: "1.2 KiB/s", in the unit of time in which it is at least some bytes. */
export function rate(bytesPerHour) {
  for (const [unit, per] of [
    ['s', 3600],
    ['min', 60],
    ['h', 1],
  ]) {
    if (Math.abs(bytesPerHour / per) >= 10 || unit === 'h') return `${bytes(bytesPerHour / per)}/${unit}`;
  }
  return '';
}

/** The date and the hour where the recording began, as the reader's own clock has it. */
export function date(unixMs) {
  const d = new Date(unixMs),
    two = (n) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

const FACTORS = {
  '': 1,
  b: 1,
  k: 1024,
  kib: 1024,
  m: 1048576,
  mib: 1048576,
  g: 1073741824,
  gib: 1073741824,
  t: 1099511627776,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
};

/** "1.5M" -> 1572864; NaN when it is no size */
export function parseBytes(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  const factor = found && FACTORS[found[2].toLowerCase()];
  return factor ? Number(found[1]) * factor : NaN;
}

/** "1.5s", "200ms", "2m" -> ms; NaN when it is no time; without a unit seconds, as in the terminal */
export function parseTime(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|)\s*$/i.exec(text);
  return found ? Number(found[1]) * { ms: 1, s: 1000, '': 1000, m: 60000, min: 60000, h: 3600000 }[found[2].toLowerCase()] : NaN;
}

/** The last part of a path. */
export function base(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** TEXT in at most COLUMNS letters, without its middle: what a file is called and its line stand at the end. */
export function middle(text, columns) {
  if (text.length <= columns) return text;
  const end = Math.ceil(((columns - 1) * 2) / 3);
  return `${text.slice(0, columns - 1 - end)}…${text.slice(-end)}`;
}

/** A name of more than COLUMNS letters without what stands between < and >: "Cache<…>::put"; of Rust's "<app::Tree as Clone>::clone" the type stays. */
export function folded(name, columns) {
  if (name.length <= columns || /operator\s*[<>-]/.test(name)) return name;
  const [, type, method] = /^<(\w[\w:]*) as [^>]*>(::.*)$/.exec(name) ?? [];
  if (type) return folded(type + method, columns);
  let out = '',
    depth = 0;
  for (const letter of name) {
    if (letter === '>' && --depth < 0) return name;
    if (!depth) out += letter === '>' ? '…>' : letter;
    if (letter === '<' && depth++ === 0 && out.at(-1) !== '<') out += '<';
  }
  return depth ? name : out;
}
