// SPDX-License-Identifier: MIT
// csv.js -- tables as comma-separated values (RFC 4180).

const field = (value) => {
  const text = String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** COLUMNS: those of a Table; numbers are plain, without units. */
export function toCsv(columns, rows) {
  const lines = [columns.map((column) => field(column.csv ?? column.id)), ...rows.map((row) => columns.map((column) => {
    const value = column.value(row);
    return Number.isNaN(value) ? '' : field(value);
  }))];
  return `${lines.map((line) => line.join(',')).join('\r\n')}\r\n`;
}
