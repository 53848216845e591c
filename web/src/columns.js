// SPDX-License-Identifier: MIT
// columns.js -- the columns of Table: the numbers of a row (of a tree or of groups.js) in order; and how rows are sorted by them.
import { meter } from './charts.js';
import { valueText } from './controls.js';
import { averageBytes, averageLife } from './explain.js';
import { h } from './dom.js';
import { bytes, middle, number, share, time } from './format.js';

const PLACE_COLUMNS = 22;

/** A file and its line, which is always seen: what is too long loses its middle. */
export const placeCell = (place) => h('span', { title: place }, middle(place ?? '', PLACE_COLUMNS));

const known = (value, form) => (Number.isNaN(value) ? '' : form(value));

/** FIRST: the column with the name.  TOTAL: what shares are of. */
export function costColumns({ cost }, total, first) {
  const numeric = true, text = (value) => valueText(cost, value);
  const blocks = ['total', 'allocs', 'temporary'].includes(cost.id) ? 'Calls' : 'Blocks';
  const shareOf = (row) => (total ? row.total / total : 0);
  return [
    first,
    { id: 'total', label: 'Total', title: 'With what it calls', numeric, value: (row) => row.total, cell: (row) => text(row.total) },
    { id: 'share', label: 'Share', numeric, value: shareOf, cell: (row) => meter(row.total, total, share(row.total, total)) },
    { id: 'self', label: 'Self', title: 'Without what it calls', numeric, value: (row) => row.self, cell: (row) => text(row.self) },
    { id: 'count', label: blocks, csv: blocks.toLowerCase(), numeric, value: (row) => row.count, cell: (row) => number(row.count) },
    { id: 'average_bytes', label: 'Average size', numeric, value: averageBytes, cell: (row) => known(averageBytes(row), bytes) },
    {
      id: 'average_lifetime_ms', label: 'Average lifetime', title: 'Of the blocks that were freed, over the whole run',
      numeric, value: averageLife, cell: (row) => known(averageLife(row), time),
    },
    { id: 'place', label: 'Place', class: 'place', value: (row) => row.place, cell: (row) => placeCell(row.place) },
  ];
}

/** The order that a text of the URL means; falling total where it means none. */
export function sortOf(text, columns) {
  const id = text.replace(/-up$/, '');
  return columns.some((column) => column.id === id) ? { id, descending: !text.endsWith('-up') } : { id: 'total', descending: true };
}

export const sortText = ({ id, descending }) => (descending ? id : `${id}-up`);

/** Compares rows as a column and a direction want it; what is not known comes last. */
export function comparing(columns, { id, descending }) {
  const { value, order = value } = columns.find((column) => column.id === id), sign = descending ? -1 : 1;
  const last = (one) => (Number.isNaN(one) ? 1 : 0);
  return (a, b) => {
    const x = order(a), y = order(b);
    if (last(x) || last(y)) return last(x) - last(y);
    return x === y ? 0 : (x < y ? -1 : 1) * sign;
  };
}
