// Names on the map of topics, where there is room. The discs can be read without them.
"use strict";

const MAP_GAP = 2; // dots around a label
const MOST_NAMED = 40; // topics; the heaviest tell what a corner of the map is about

// Returns where a label of some width and height may stand: on its disc, or, if it has a name, beside it.
function labelPlaces({ x, y, radius }, width, height, hasName) {
  const [left, top] = [x - width / 2, y - height / 2];
  const on = Math.hypot(width, height) <= 2 * radius ? [[left, top]] : [];
  if (!hasName) return on; // many numbers beside small discs would be noise
  const beside = [[x + radius + MAP_GAP, top], [x - radius - MAP_GAP - width, top]];
  return [...on, ...beside, [left, y - radius - MAP_GAP - height], [left, y + radius + MAP_GAP]];
}

// Whether a label covers nothing but its own disc.
function isFreePlace([left, top], [width, height], own, discs, taken, frame) {
  if (left < 1 || top < 1 || left + width > frame.width - 1 || top + height > frame.height - 1) return false;
  const isNear = (disc) => {
    const across = disc.x - Math.max(left, Math.min(disc.x, left + width));
    const down = disc.y - Math.max(top, Math.min(disc.y, top + height));
    return disc !== own && Math.hypot(across, down) < disc.radius + 1;
  };
  const meets = ([x, y, w, h]) =>
    left < x + w + MAP_GAP && x < left + width + MAP_GAP && top < y + h && y < top + height;
  return !taken.some(meets) && !discs.some(isNear);
}

// Returns for each disc, the largest first, which of its texts stands where; none if there is no room.
// `sizes` has the widths and heights of the texts of each disc: its name, and last its number alone.
function placedLabels(discs, sizes, frame) {
  const taken = [];
  return discs.map((own, number) => {
    for (const [text, size] of sizes[number].entries()) {
      const hasName = text < sizes[number].length - 1;
      if (hasName && number >= MOST_NAMED) continue;
      const place = labelPlaces(own, ...size, hasName).find((each) => isFreePlace(each, size, own, discs, taken, frame));
      if (!place) continue;
      taken.push([...place, ...size]);
      return { text, place };
    }
    return null;
  });
}

function labelMap(page, map) {
  for (const old of map.querySelectorAll(".map-label")) old.remove();
  const frame = map.getBoundingClientRect();
  const discs = [...map.querySelectorAll("a")].map((link) => {
    const { left, top, width, height } = link.getBoundingClientRect();
    const [x, y] = [left + width / 2 - frame.left - map.clientLeft, top + height / 2 - frame.top - map.clientTop];
    return { x, y, radius: width / 2, label: link.dataset.label };
  });
  discs.sort((a, b) => b.radius - a.radius);
  const labels = discs.map(({ label }) => [label, label, label.split(" ")[0]].map((text, form) => {
    const made = page.createElement("span");
    made.className = form === 1 ? "map-label narrow" : "map-label";
    made.setAttribute("aria-hidden", "true");
    made.textContent = text;
    return made;
  }));
  map.append(...labels.flat());
  const sizes = labels.map((own) => own.map((each) => [each.offsetWidth, each.offsetHeight]));
  const inside = { width: map.clientWidth, height: map.clientHeight };
  placedLabels(discs, sizes, inside).forEach((found, number) => {
    labels[number].forEach((label, text) => {
      if (!found || found.text !== text) label.remove();
      else label.style.transform = `translate(${found.place[0]}px, ${found.place[1]}px)`;
    });
  });
}

function startMaps(page) {
  for (const map of page.querySelectorAll(".map")) new ResizeObserver(() => labelMap(page, map)).observe(map);
}

if (typeof document !== "undefined") startMaps(document);
