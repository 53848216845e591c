// SPDX-License-Identifier: MIT
// place.js -- keeps the reader's place while something is drawn again: the focus, and how far boxes and the window are scrolled.

/** ELEMENT as child numbers below ROOT; null when it is not there. */
function pathTo(root, element) {
  const path = [];
  for (let e = element; e !== root; e = e.parentElement) {
    if (!e?.parentElement) return null;
    path.unshift([...e.parentElement.children].indexOf(e));
  }
  return path;
}

const at = (root, path) => path.reduce((element, i) => element?.children[i], root);

/** Runs DRAW(), then puts focus and scrolling below ROOT back where they were, as far as what was there still is. */
export function keepPlace(root, draw) {
  const focused = document.activeElement,
    focus = pathTo(root, focused),
    top = scrollY,
    scrolled = [...root.querySelectorAll('.table, .scroll')].filter((e) => e.scrollTop).map((e) => [pathTo(root, e), e.scrollTop]);
  draw();
  for (const [path, value] of scrolled) {
    const element = at(root, path);
    if (element && element.scrollTop !== value) element.scrollTop = value;
  }
  if (scrollY !== top) scrollTo(scrollX, top);
  const element = focus && !focused.isConnected && at(root, focus);
  if (element && element.tagName === focused.tagName) element.focus({ preventScroll: true });
}
