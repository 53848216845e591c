// SPDX-License-Identifier: MIT
/*
 * flame.js -- the flame graph: scrolling, zoom, search, pointer, keyboard.
 *
 *   const graph = flameGraph({ label: 'Flame graph', zoomed(node), menu(node, x, y), found(result) });
 *   graph.show({ tree, label(node), key(node), describe(node), paint(node), palette }, { zoom, search, upwards });
 *
 * A model is what to show: a tree of flat arrays (tree.js) and the words and colours of its nodes.  describe() gives
 * { title, rows: [[name, value], ...] }, for the tooltip and for those who listen.  The canvas is as high as what can be
 * seen of it, however deep the tree is; outlines of the frame under the pointer and of the focused one are elements above it.
 */
import { color } from './charts.js';
import { announce, h, hideTip, showTip } from './dom.js';
import { matcher, neighbour, place, placeAt, search } from './flame-layout.js';
import { ROW, painter } from './flame-paint.js';

const ZOOM_MS = 160;
const AROUND = 2;                       // rows of callers that stay in sight above a zoomed frame
const PRINTED_ROWS = 200;
const ARROWS = { ArrowLeft: 'left', ArrowRight: 'right' };

export function flameGraph(options) {
  const graph = new FlameGraph(options);
  return {
    element: graph.element,
    show: (model, view) => graph.show(model, view),
    picture: () => graph.picture(),
    reset: () => graph.zoom(0, true),
    destroy: () => graph.destroy(),
  };
}

class FlameGraph {
  constructor(options) {
    this.options = options;
    this.places = place({ count: 0 });
    this.window = { left: 0, right: 0 };
    this.zoomed = this.focused = 0;
    this.hovered = -1;
    this.matches = null;
    this.build();
    this.listen();
  }

  build() {
    this.canvas = h('canvas', { class: 'flame-canvas', 'aria-hidden': 'true' });
    this.hover = h('div', { class: 'flame-hover', hidden: true });
    this.ring = h('div', { class: 'flame-focus', hidden: true });
    this.space = h('div', { class: 'flame-space' }, this.canvas, this.hover, this.ring);
    this.scroller = h('div', { class: 'flame-scroll', tabindex: '0', role: 'application', 'aria-label': this.options.label,
      'aria-roledescription': 'flame graph' }, this.space);
    this.element = h('div', { class: 'flame' }, this.scroller);
    this.painter = painter(this.canvas);
  }

  listen() {
    const on = (type, handler) => this.scroller.addEventListener(type, handler);
    on('scroll', () => this.redraw());
    on('keydown', (event) => this.key(event));
    on('focus', () => { this.ring.hidden = false; this.outline(); this.speak(); });
    on('blur', () => { this.ring.hidden = true; });
    on('pointermove', (event) => this.point(event));
    on('pointerleave', () => this.leave());
    on('click', (event) => this.click(event));
    on('contextmenu', (event) => this.contextMenu(event));
    this.scroller.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.onPrint = (event) => this.resize(event.type === 'beforeprint');
    for (const type of ['beforeprint', 'afterprint']) addEventListener(type, this.onPrint);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.scroller);
    this.theme = new MutationObserver(() => this.redraw());
    this.theme.observe(document.documentElement, { attributes: true });
    this.scheme = matchMedia('(prefers-color-scheme: dark)');
    this.onScheme = () => this.redraw();
    this.scheme.addEventListener('change', this.onScheme);
  }

  destroy() {
    for (const type of ['beforeprint', 'afterprint']) removeEventListener(type, this.onPrint);
    this.observer.disconnect();
    this.theme.disconnect();
    this.scheme.removeEventListener('change', this.onScheme);
    cancelAnimationFrame(this.frame);
    this.frame = -1;
    hideTip();
  }

  show(model, { zoom = 0, search: text = '', upwards = false }) {
    const other = this.model?.tree !== model.tree || this.upwards !== upwards;
    if (this.model?.tree !== model.tree) this.places = place(model.tree);
    this.model = model;
    this.upwards = upwards;
    this.leave();
    const at = Math.max(0, this.places.placeOf[zoom] ?? 0);
    if (other || at !== this.zoomed) this.zoom(at, false);
    this.search(text);
  }

  search(text) {
    if (this.searched?.text === text && this.searched.places === this.places) return this.redraw();
    this.searched = { text, places: this.places };
    const test = matcher(text);
    const found = test && search(this.places, test, this.model.key, this.model.label);
    this.matches = found?.matches ?? null;
    this.options.found?.(found && { ...found, share: this.places.width[0] ? found.total / this.places.width[0] : 0 });
    return this.redraw();
  }

  /* ---- zoom */

  zoom(at, tell) {
    if (!this.places.count || at < 0) return this.resize();
    const { begin, width } = this.places;
    this.zoomed = at;
    this.focused = at;
    this.aim = { left: begin[at], right: begin[at] + width[at] };
    this.resize();
    this.scrollTo(this.places.depth[at] - AROUND);
    if (tell && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.moving = { from: this.window, since: performance.now() };
    } else {
      this.window = this.aim;
      this.moving = null;
    }
    this.redraw();
    this.options.moved?.(at > 0);
    if (tell) this.options.zoomed?.(this.places.node[at]);
    return undefined;
  }

  /** With Ctrl (and two fingers that pinch): zooms around the pointer; with Shift: moves; else the rows scroll. */
  wheel(event) {
    if (!(event.ctrlKey || event.shiftKey) || !this.places.count) return;
    event.preventDefault();
    const whole = this.places.width[0], span = this.window.right - this.window.left;
    const at = (event.clientX - this.space.getBoundingClientRect().left) / this.scroller.clientWidth;
    const wide = event.ctrlKey ? Math.min(whole, Math.max(whole / 1e6, span * Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004))))) : span;
    const moved = event.ctrlKey ? (span - wide) * at : (event.deltaY || event.deltaX) / this.scroller.clientWidth * span;
    const left = Math.max(0, Math.min(whole - wide, this.window.left + moved));
    this.window = this.aim = { left, right: left + wide };
    this.moving = null;
    this.leave();
    this.redraw();
    this.options.moved?.(wide < whole);
  }

  /** The next step of a zoom that is under way. */
  move() {
    if (!this.moving) return;
    const done = Math.min(1, (performance.now() - this.moving.since) / ZOOM_MS);
    const eased = 1 - (1 - done) ** 3;
    const between = (side) => this.moving.from[side] + (this.aim[side] - this.moving.from[side]) * eased;
    this.window = done < 1 ? { left: between('left'), right: between('right') } : this.aim;
    if (done === 1) this.moving = null;
    else this.redraw();
  }

  /* ---- rows and pixels */

  /** As many as the whole tree has, so nothing jumps when it is zoomed. */
  rows() {
    return this.places.count ? this.places.height[0] + 1 : 0;
  }

  /** y of a row in the space that is scrolled. */
  top(depth) {
    return (this.upwards ? this.rows() - 1 - depth : depth) * ROW;
  }

  /** PRINTING: all rows, not only those in sight. */
  resize(printing = false) {
    const rows = this.rows();
    this.space.style.height = `${rows * ROW}px`;
    if (printing) this.scroller.scrollTop = 0;
    this.painter.resize(this.scroller.clientWidth, printing ? Math.min(rows, PRINTED_ROWS) * ROW : Math.min(this.scroller.clientHeight, rows * ROW));
    this.paint();
  }

  /** All rows on a canvas of their own, with the ground of the page. */
  picture() {
    const { scrollTop } = this.scroller;
    this.resize(true);
    const copy = h('canvas', { width: this.canvas.width, height: this.canvas.height }), context = copy.getContext('2d');
    context.fillStyle = color('back');
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(this.canvas, 0, 0);
    this.resize();
    this.scroller.scrollTop = scrollTop;
    return copy;
  }

  scrollTo(depth) {
    const y = this.upwards ? this.top(Math.max(0, depth)) + ROW - this.scroller.clientHeight : this.top(Math.max(0, depth));
    this.scroller.scrollTop = Math.max(0, y);
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.move();
      this.paint();
    });
  }

  paint() {
    if (!this.model) return;
    const top = this.scroller.scrollTop;
    const from = Math.floor(top / ROW);
    const to = Math.ceil((top + this.canvas.clientHeight) / ROW);
    const rows = this.upwards ? { from: this.rows() - to, to: this.rows() - from } : { from, to };
    this.drawn = this.painter.draw({ places: this.places, model: this.model, window: this.window, rows,
      top: (depth) => this.top(depth) - top, matches: this.matches });
    this.outline();
  }

  /** Where a place is in the space: { x, y, width }, cut to the window. */
  box(at) {
    const scale = this.scroller.clientWidth / (this.window.right - this.window.left);
    const left = Math.max(0, (this.places.begin[at] - this.window.left) * scale);
    const right = Math.min(this.scroller.clientWidth, (this.places.begin[at] + this.places.width[at] - this.window.left) * scale);
    return { x: left, y: this.top(this.places.depth[at]), width: Math.max(0, right - left) };
  }

  outline() {
    for (const [element, at] of [[this.hover, this.hovered], [this.ring, this.focused]]) {
      if (at < 0 || at >= this.places.count) continue;
      const { x, y, width } = this.box(at);
      element.style.transform = `translate(${x}px, ${y}px)`;
      element.style.width = `${Math.max(2, width - 1)}px`;
      element.style.height = `${ROW - 1}px`;
    }
    this.hover.hidden = this.hovered < 0;
  }

  /* ---- pointer */

  under(event) {
    const area = this.space.getBoundingClientRect();
    const row = Math.floor((event.clientY - area.top) / ROW);
    const depth = this.upwards ? this.rows() - 1 - row : row;
    const x = this.window.left + (event.clientX - area.left) / this.scroller.clientWidth * (this.window.right - this.window.left);
    return placeAt(this.places, x, depth);
  }

  point(event) {
    this.hovered = this.under(event);
    this.outline();
    if (this.hovered < 0) this.leave();
    else this.showTip(event.clientX, event.clientY);
  }

  leave() {
    this.hovered = -1;
    this.hover.hidden = true;
    hideTip();
  }

  showTip(x, y) {
    const { title, rows } = this.model.describe(this.places.node[this.hovered]);
    const facts = rows.map(([name, value]) => [h('dt', null, name), h('dd', null, value)]);
    showTip([h('strong', null, title), h('dl', { class: 'flame-facts' }, facts)], x, y);
  }

  click(event) {
    const at = this.under(event);
    if (at >= 0) this.zoom(at, true);
  }

  contextMenu(event) {
    const at = event.button === 2 ? this.under(event) : this.focused;
    if (at < 0 || !this.options.menu) return;
    event.preventDefault();
    this.leave();
    this.focused = at;
    this.outline();
    const { left, top } = this.scroller.getBoundingClientRect();
    const box = this.box(at);
    const byKey = event.button !== 2;
    this.options.menu(this.places.node[at], byKey ? left + box.x + 8 : event.clientX,
      byKey ? top + box.y - this.scroller.scrollTop + ROW : event.clientY);
  }

  /* ---- keyboard */

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.places.count) return;
    const inwards = this.upwards ? 'ArrowUp' : 'ArrowDown';
    const outwards = this.upwards ? 'ArrowDown' : 'ArrowUp';
    const direction = { ...ARROWS, [inwards]: 'child', [outwards]: 'parent' }[event.key];
    if (direction) this.moveFocus(neighbour(this.places, this.focused, direction, this.aim));
    else if (event.key === 'Home') this.moveFocus(0);
    else if (event.key === 'Enter') this.zoom(this.focused, true);
    else if (event.key === '0') this.zoom(0, true);
    else if ((event.key === 'Escape' || event.key === 'Backspace') && this.zoomed > 0) this.zoom(this.places.parent[this.zoomed], true);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.speak();
  }

  moveFocus(at) {
    this.focused = at;
    const y = this.top(this.places.depth[at]);
    const { scrollTop, clientHeight } = this.scroller;
    if (y < scrollTop) this.scroller.scrollTop = y;
    else if (y + ROW > scrollTop + clientHeight) this.scroller.scrollTop = y + ROW - clientHeight;
    this.outline();
  }

  speak() {
    if (!this.places.count) return;
    const { title, rows } = this.model.describe(this.places.node[this.focused]);
    const found = this.matches?.[this.focused] ? ', found by the search' : '';
    announce(`${title}${found}, ${rows.map(([name, value]) => `${name} ${value}`).join(', ')}`);
  }
}
