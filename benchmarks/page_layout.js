"use strict";
// Measures the page that is open. Each finding is [kind, whether on the first screen, words].
// page_layout.py runs this file in the page, then calls `pageLayout`.
const pageLayout = (() => {
  const SLACK = 1.5; // px that boxes may share, for rounded edges
  const width = () => document.documentElement.clientWidth, height = () => innerHeight;
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true, contentVisibilityAuto: true });
  const short = (words) => words.trim().replace(/\s+/g, " ").slice(0, 40);
  const inSvg = (element) => Boolean(element.ownerSVGElement);
  const hiddenForEyes = (element) => Boolean(element.closest(".visually-hidden, .sr-only")) || (element.clientWidth === 1 && element.clientHeight === 1);
  const stuck = (element) => {
    for (let each = element; each; each = each.parentElement)
      if (["sticky", "fixed"].includes(getComputedStyle(each).position)) return true;
    return false;
  };
  function name(element) {
    const own = element.id ? `#${element.id}` : element.classList.length ? `.${[...element.classList].join(".")}` : "";
    const above = element.closest("section[id], header, footer");
    return `${above && above !== element ? `${above.id || above.localName} ` : ""}${element.localName}${own} “${short(element.textContent)}”`;
  }
  // What boxes that scroll or hide leave of a rectangle, in coordinates of the page.
  function clipped(rect, element) {
    let { left, top, right, bottom } = rect;
    for (let each = element; each && each !== document.body && each !== document.documentElement; each = each.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(each);
      if (overflowX !== "visible" && each.localName !== "svg") {
        const box = each.getBoundingClientRect();
        left = Math.max(left, box.left); right = Math.min(right, box.right);
        if (overflowY !== "visible") { top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom); }
      }
      if (position === "fixed") break;
    }
    return { left, top: top + scrollY, right, bottom: bottom + scrollY };
  }
  const empty = (box) => box.right - box.left < 1 || box.bottom - box.top < 1;
  const isFirst = (box) => box.top < height() && box.bottom > 0;

  // Lines of text: {element, box, text}; a box is what letters cover, not the space between lines.
  function textLines() {
    const lines = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || ["SCRIPT", "STYLE", "TITLE", "OPTION"].includes(element.tagName.toUpperCase()) || !shown(element) || hiddenForEyes(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        const whole = { left: rect.left, right: rect.right, top: rect.top + .15 * rect.height, bottom: rect.bottom - .12 * rect.height };
        const box = clipped(whole, element);
        if (!empty(box)) lines.push({ element, box, whole, text: node.data, node });
      }
    }
    return lines;
  }
  // Boxes that readers see as such: with a border or background, and controls. Marks that data place
  // (dots of a map) may share room; `faint` still finds one that covers a text.
  function paintedBoxes() {
    return [...document.body.querySelectorAll("*")].filter((element) => {
      if (inSvg(element) || element.closest("[aria-hidden=true]") || !shown(element)) return false;
      const style = getComputedStyle(element);
      if (style.display === "inline" || style.pointerEvents === "none") return false;
      if (style.position === "absolute" && !element.textContent.trim()) return false;
      return element.matches("input, select, textarea, button, img, canvas, svg")
        || (parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderLeftWidth) > 0)
        || !/^(transparent|rgba\(0, 0, 0, 0\))$/.test(style.backgroundColor);
    }).map((element) => ({ element, box: clipped(element.getBoundingClientRect(), element), node: element })).filter(({ box }) => !empty(box));
  }
  function overlaps(lines) {
    const marks = [...lines, ...paintedBoxes()].sort((a, b) => a.box.top - b.box.top);
    const found = new Map();
    marks.forEach((a, i) => {
      for (let j = i + 1; j < marks.length && marks[j].box.top < a.box.bottom - SLACK; j++) {
        const b = marks[j];
        if (a.box.right - SLACK <= b.box.left || b.box.right - SLACK <= a.box.left) continue;
        if (a.node.contains(b.node) || b.node.contains(a.node) || stuck(a.element) !== stuck(b.element)) continue;
        const key = `${name(a.element)} and ${name(b.element)}`;
        const first = isFirst({ top: Math.max(a.box.top, b.box.top), bottom: Math.min(a.box.bottom, b.box.bottom) });
        found.set(key, found.get(key) || first);
      }
    });
    return [...found].map(([key, first]) => ["overlap", first, key]);
  }
  function cutOff(lines) {
    const found = new Map();
    const add = (element, why) => found.has(element) || found.set(element, why);
    for (const element of new Set(lines.map((line) => line.element))) {
      for (let each = element; each && each !== document.body; each = each.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(each);
        if (each.ownerSVGElement) continue;
        if (/hidden|clip/.test(overflowX) && each.scrollWidth > each.clientWidth + 1 && each.clientWidth) add(each, `${each.scrollWidth} px of text in ${each.clientWidth}`);
        if (/hidden|clip/.test(overflowY) && each.scrollHeight > each.clientHeight + 1 && each.clientHeight) add(each, `${each.scrollHeight} px high in ${each.clientHeight}`);
      }
    }
    for (const { element, box, whole } of lines) {
      if (box.right > width() + 1 || box.left < -1) add(element, "outside the window");
      const svg = element.ownerSVGElement?.getBoundingClientRect();
      if (svg && (whole.left < svg.left - 1 || whole.right > svg.right + 1 || whole.top < svg.top - 1 || whole.bottom > svg.bottom + 1)) add(element, "outside its figure");
    }
    return [...found].map(([element, why]) => ["cut", isFirst(clipped(element.getBoundingClientRect(), element)), `${name(element)}: ${why}`]);
  }
  function pixels(element) {
    const size = parseFloat(getComputedStyle(element).fontSize);
    const matrix = inSvg(element) && element.getScreenCTM?.();
    if (matrix) return size * Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));
    return element.offsetWidth ? size * element.getBoundingClientRect().width / element.offsetWidth : size;
  }
  function small(lines) {
    const found = new Map(lines.map(({ element, box }) => [element, box]));
    return [...found].filter(([element]) => pixels(element) < 10.95).map(([element, box]) => ["small", isFirst(box), `${name(element)}: ${pixels(element).toFixed(1)} px`]);
  }

  // Colours: a canvas turns every notation into numbers.
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  function rgba(colour) {
    if (!known.has(colour)) {
      pen.clearRect(0, 0, 1, 1); pen.fillStyle = "#0000"; pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  }
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const linear = (v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  function contrast(a, b) {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + .05) / (dark + .05);
  }
  const opacities = new Map();
  function opacity(element) {
    if (!element) return 1;
    if (!opacities.has(element)) opacities.set(element, Number(getComputedStyle(element).opacity) * opacity(element.parentElement));
    return opacities.get(element);
  }
  function paint(element) { // what an element lays under the text above it
    const style = getComputedStyle(element);
    const isShape = inSvg(element) && !["text", "tspan", "g", "a"].includes(element.localName);
    if (inSvg(element) && !isShape) return null;
    const colour = isShape ? style.fill : style.backgroundColor;
    if (colour === "none" || colour.startsWith("url")) return null;
    const [r, g, b, a] = rgba(colour);
    return [r, g, b, a * (isShape ? Number(style.fillOpacity) : 1) * opacity(element)];
  }
  const before = (element) => { // a bar that is drawn by ::before lies under the text, too
    const style = getComputedStyle(element, "::before");
    return style.content !== "none" && style.position === "absolute" ? rgba(style.backgroundColor) : null;
  };
  // What is wrong with the colours of a line at a place of the window.
  function faint(element, x, y) {
    const stack = document.elementsFromPoint(x, y);
    const place = stack.indexOf(element);
    if (place < 0) return null;
    const cover = stack.slice(0, place).find((each) => !element.contains(each) && !stuck(each) && (paint(each)?.[3] ?? 0) > .5);
    if (cover) return ["overlap", `${name(cover)} covers ${name(element)}`];
    let [base, other] = [rgba("white"), rgba("white")];
    if (matchMedia("(prefers-color-scheme: dark)").matches) base = other = rgba("black");
    for (const each of stack.slice(place).reverse()) {
      const colour = paint(each), bar = before(each);
      if (colour) [base, other] = [over(colour, base), over(colour, other)];
      if (bar) other = over(bar, other);
    }
    const style = getComputedStyle(element);
    const [r, g, b, a] = rgba(inSvg(element) ? style.fill : style.color);
    const ink = [r, g, b, a * opacity(element)];
    const least = Math.min(contrast(over(ink, base), base), contrast(over(ink, other), other));
    return least < 4.5 ? ["contrast", `${name(element)}: ${least.toFixed(2)}`] : null;
  }
  function colours(lines) {
    const style = document.createElement("style");
    style.textContent = "*{pointer-events:auto!important;scroll-behavior:auto!important}";
    document.head.append(style);
    const found = new Map();
    for (const line of [...lines].sort((a, b) => a.box.top - b.box.top)) {
      if (line.element.closest(":disabled")) continue;
      if (line.box.bottom > scrollY + height() || line.box.top < scrollY) scrollTo(0, line.box.top - 80);
      const { left, right, top, bottom } = line.box;
      for (const x of [left + 2, (left + right) / 2, right - 2]) {
        const fault = faint(line.element, x, (top + bottom) / 2 - scrollY);
        if (fault) found.set(fault.join(), [fault[0], isFirst(line.box), fault[1]]);
      }
    }
    scrollTo(0, 0);
    style.remove();
    return [...found.values()];
  }
  const whole = (selector) => [...document.querySelectorAll(selector)].filter((each) => {
    const box = each.getBoundingClientRect();
    return shown(each) && box.bottom <= height() && box.height > 0;
  }).length;
  function picture() {
    const all = [...document.querySelectorAll("#areas, figure, .panel svg, svg.curve")].filter((each) => each.id === "areas" || each.closest("section, header")?.textContent.includes("How many topics"));
    const seen = all.map((each) => each.getBoundingClientRect()).filter((box) => box.height > 60).map((box) => Math.max(0, Math.min(1, (height() - box.top) / box.height)));
    return Math.max(0, ...seen); // the share that is seen of the most visible picture
  }
  const reached = "a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]:not([tabindex^='-'])";
  const controls = () => [...document.querySelectorAll(reached)].filter((each) => shown(each) && !each.closest(":disabled, [inert]"));
  function scrollers() {
    return [...document.body.querySelectorAll("*")].filter((each) => {
      const { overflowX, overflowY } = getComputedStyle(each);
      const scrolls = (/auto|scroll/.test(overflowX) && each.scrollWidth > each.clientWidth + 1) || (/auto|scroll/.test(overflowY) && each.scrollHeight > each.clientHeight + 1);
      return scrolls && shown(each) && each.tabIndex < 0 && !each.querySelector(reached);
    }).map((each) => ["keyboard", false, `${name(each)} scrolls, but the keyboard cannot reach it`]);
  }
  // Focus order, from the elements that got the focus while Tab was pressed.
  const order = [];
  function watchFocus() {
    document.addEventListener("focusin", (event) => order.push(event.target), true);
    document.activeElement?.blur();
    return controls().length;
  }
  function focusFaults() {
    const seen = new Set(order), found = [];
    const spared = (each) => each.type === "radio" && order.some((other) => other.name === each.name);
    for (const each of controls()) if (!seen.has(each) && !spared(each)) found.push(["keyboard", false, `Tab does not reach ${name(each)}`]);
    const visits = [...seen];
    for (let i = 1; i < visits.length; i++)
      if (visits[i].compareDocumentPosition(visits[i - 1]) & Node.DOCUMENT_POSITION_FOLLOWING) found.push(["keyboard", false, `Tab goes back from ${name(visits[i - 1])} to ${name(visits[i])}`]);
    return found;
  }
  function measure() {
    scrollTo(0, 0);
    const lines = textLines();
    const wide = document.documentElement.scrollWidth - width();
    const sideways = wide > 0 ? [["sideways", true, `${wide} px wider than the window`]] : [];
    const findings = [...overlaps(lines), ...cutOff(lines), ...small(lines), ...colours(lines), ...sideways, ...scrollers()];
    const cards = document.querySelectorAll(".card, #rows > li").length;
    return { findings, height: document.documentElement.scrollHeight, headings: document.querySelectorAll("h1").length, h1: whole("h1"), cards: whole(".card, #rows > li"), hasCards: cards > 0, picture: picture() };
  }
  // Opens what is folded, of many siblings (such as topics) only the first three.
  function unfold() {
    const opened = new Map();
    for (const each of document.querySelectorAll("details:not(.help)")) {
      const n = opened.get(each.parentElement) ?? 0;
      each.open ||= n < 3;
      opened.set(each.parentElement, n + 1);
    }
  }
  return { measure, unfold, watchFocus, focusFaults };
})();
globalThis.pageLayout = pageLayout;
