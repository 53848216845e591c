// SPDX-License-Identifier: MIT
/*
 * rises.js -- the largest rises of a curve, and which places they are made of; src/report/rises.c does the same for the terminal.
 *
 * A rise goes from a minimum to the maximum behind it; falls of less than a share of the highest point do not end it, but a tenth of the run
 * in which it goes on by less than half that share does: what comes then is a rise of its own.
 */
import { LARGE, placesOfSites } from './stacked.js';
import { columnsAt, wantedSites } from './view.js';

const RISES = 3;
const STILL = 10; // this part of the run without a step ends a rise
const STILL_SLICES = 3; // if it was looked at often enough

/** [{ from, to (slices; -1: before the first), more }] of VALUES (by slice) at the times MS, largest first. */
export function risesOf(values, ms) {
  const least = Math.max(1, values.reduce((most, n) => Math.max(most, n), 0) / LARGE),
    long = ((ms.at(-1) ?? 0) - (ms[0] ?? 0)) / STILL,
    at = (i) => (i < 0 ? 0 : values[i]),
    out = [];
  let low = -1,
    high = -1,
    step = -1; // the last slice that was clearly higher than the step before
  const begin = (i) => {
    if (at(high) - at(low) >= least) out.push({ from: low, to: high, more: at(high) - at(low) });
    low = high = step = i;
  };
  for (let i = 0; i < values.length; i++) {
    if (values[i] > at(high)) high = i;
    if (values[i] >= at(step) + least / 2) step = i;
    const fell = at(high) - values[i] >= least || (values[i] < at(low) && at(high) - at(low) < least),
      still = i - step >= STILL_SLICES && ms[i] - (ms[step] ?? ms[0]) > long;
    if (fell || still) begin(i);
  }
  begin(-1);
  return out.sort((a, b) => b.more - a.more || a.from - b.from).slice(0, RISES);
}

/** The first slice from SLICE on that tells of stacks; some have only the totals. */
function toldAt({ changes, slices }, slice) {
  const next = changes.slice.find((one) => one >= slice);
  return next ?? slices.count - 1;
}

/** The slice that tells of stacks and is nearest to SLICE, where a rise to the slice TO begins. */
function toldNear(recording, slice, to) {
  const { changes, slices } = recording,
    last = changes.slice.findLast((one) => one <= slice) ?? -1,
    next = toldAt(recording, slice),
    ago = slices.ms[slice] - (last < 0 ? 0 : slices.ms[last]);
  return slice >= 0 && next < to && slices.ms[next] - slices.ms[slice] < ago ? next : slice;
}

/** The same with the place that grew the most in each: { from, to, more, name, part (bytes of it) }. */
export function namedRises(recording, values, mapped) {
  if (!recording.changes.count) return [];
  const { of, name } = placesOfSites(recording),
    wanted = wantedSites(recording, mapped);
  return risesOf(values, recording.slices.ms).map((rise) => {
    const before = columnsAt(recording, toldNear(recording, rise.from, rise.to)).live_bytes,
      after = columnsAt(recording, toldAt(recording, rise.to)).live_bytes,
      sums = new Map();
    for (let site = 0; site < after.length; site++) {
      if (wanted[site] && after[site] !== before[site]) sums.set(of(site), (sums.get(of(site)) ?? 0) + after[site] - before[site]);
    }
    // Where only totals were recorded around it, another place may have grown and shrunk unseen.
    const explained = [...sums.values()].reduce((sum, n) => sum + n, 0) >= rise.more / 2,
      [place, part] = explained ? [...sums].reduce((most, one) => (one[1] > most[1] ? one : most), [-1, 0]) : [-1, 0];
    return { ...rise, name: part > 0 ? name(place) : '', part };
  });
}
