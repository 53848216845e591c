// SPDX-License-Identifier: MIT
/*
 * wheel.js -- whether a turn of the wheel zooms the chart below the pointer or scrolls the page.
 *
 * Who scrolls the page goes on scrolling it, whatever comes below the pointer: only a pointer that was moved to a chart zooms it.  A wheel that
 * would show more than all scrolls the page, too, so that nobody is caught in a chart.  With Ctrl it always zooms.
 */

const RESTING = 24; // pixels that a hand at the wheel may move the pointer

let watched = false,
  scrolledAt = null; // the turn that last scrolled the page

/** Begin to remember it. */
export function watchWheel() {
  let turned = null;
  if (watched) return;
  watched = true;
  addEventListener('wheel', (event) => { turned = event.defaultPrevented ? null : event; }, { passive: true });
  addEventListener('scroll', () => { scrolledAt = turned; }, { passive: true });
}

/** What EVENT, above a chart, is for; WHOLE: the chart shows all. */
export function wheelScrolls({ ctrlKey, shiftKey, clientX, clientY, deltaX, deltaY }, whole) {
  const rests = scrolledAt && Math.abs(scrolledAt.clientX - clientX) + Math.abs(scrolledAt.clientY - clientY) <= RESTING;
  return !ctrlKey && (rests || shiftKey || Math.abs(deltaX) >= Math.abs(deltaY) || (whole && deltaY > 0));
}
