// SPDX-License-Identifier: MIT
// costs.js -- the costs that pages can show, and of which moment each can be told.

/** Of when, or of whom, numbers are. */
export const OF = { RUN: 'run', THREADS: 'threads', PEAK: 'peak', TIME: 'time', RANGE: 'range' };

/**
 * bytes, count: columns of a view; unit: what shares go by; known: of which moments it is known.
 * short: for buttons; label: completes "N bytes ..."; help: a sentence for tooltips.
 */
export const COSTS = [
  {
    id: 'peak',
    short: 'Peak',
    label: 'at the peak',
    unit: 'bytes',
    bytes: 'peak_bytes',
    count: 'peak_blocks',
    known: ['run', 'peak'],
    help: 'What was live when the whole program held the most. It adds up to the peak of the program; a stack may have held more at another time.',
  },
  {
    id: 'live',
    short: 'Not freed',
    label: 'not freed',
    unit: 'bytes',
    bytes: 'live_bytes',
    count: 'live_blocks',
    known: ['run', 'threads', 'peak', 'time', 'range'],
    help: 'Live at the end of the run, or at the chosen moment; for a range: how much more was live at its end than at its start.',
  },
  {
    id: 'total',
    short: 'Allocated',
    label: 'allocated in total',
    unit: 'bytes',
    bytes: 'alloc_bytes',
    count: 'allocs',
    known: ['run', 'threads', 'time', 'range'],
    help: 'All bytes ever allocated, mostly freed again. Much more than the peak means churn, not use.',
  },
  {
    id: 'allocs',
    short: 'Calls',
    label: 'calls',
    unit: 'count',
    bytes: 'alloc_bytes',
    count: 'allocs',
    known: ['run', 'threads', 'time', 'range'],
    help: 'How often memory was asked for, whatever the size.',
  },
  {
    id: 'temporary',
    short: 'Temporary',
    label: 'temporary',
    unit: 'count',
    bytes: null,
    count: 'temporary',
    known: ['run', 'threads'],
    help: 'Allocations that their thread freed again as its very next event: strings and vectors made to be thrown away.',
  },
  {
    id: 'leaked',
    short: 'Lost',
    label: 'lost',
    unit: 'bytes',
    bytes: 'lost_bytes',
    count: 'lost_blocks',
    known: ['run'],
    help: 'Definitely lost and what is reachable only through it: no pointer leads there any more, it can never be freed.',
  },
  {
    id: 'possible',
    short: 'Possibly lost',
    label: 'possibly lost',
    unit: 'bytes',
    bytes: 'possible_bytes',
    count: 'possible_blocks',
    known: ['run'],
    help: 'Reached only by pointers to the inside of blocks.',
  },
  {
    id: 'reachable',
    short: 'Reachable',
    label: 'still reachable',
    unit: 'bytes',
    bytes: 'reachable_bytes',
    count: 'reachable_blocks',
    known: ['run'],
    help: 'Not freed, but a chain of pointers leads to it: caches, tables. No error.',
  },
];

export const costNamed = (id) => COSTS.find((cost) => cost.id === id);

/** The costs that a recording has numbers for at a moment (OF). */
export function costsOf(recording, of) {
  return COSTS.filter((cost) => cost.known.includes(of) && (recording.leaks.scanned || !/^(leaked|possible|reachable)$/.test(cost.id)));
}

/** The wanted cost, or the nearest one that is known at the moment. */
export function costAt(recording, id, of) {
  const known = costsOf(recording, of);
  return known.find((cost) => cost.id === id) ?? known.find((cost) => cost.id === (of === OF.PEAK ? 'peak' : 'live')) ?? COSTS[1];
}
