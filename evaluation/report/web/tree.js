// The tree of themes, drawn and cut where the reader likes. Colours follow the cut.
"use strict";

// Reads the rows of #tree-data, in which each branch comes before its parts.
function readBranches(rows) {
  const branches = rows.map(([parent, most, fewest, topic, name, weight, words]) => (
    { parent, most, fewest, topic, name, weight, words, parts: [], ends: 0, heaviest: topic ?? Infinity }
  ));
  for (let place = branches.length - 1; place >= 0; place--) {
    const own = branches[place];
    own.parts.reverse();
    own.ends ||= 1;
    if (own.parent === null) continue;
    const parent = branches[own.parent];
    parent.parts.push(place);
    parent.ends += own.ends;
    parent.heaviest = Math.min(parent.heaviest, own.heaviest);
  }
  // What is finer than the topics of the page has the colour of one of them.
  for (const own of branches) if (own.heaviest === Infinity) own.heaviest = branches[own.parent].heaviest;
  return branches;
}

// Returns for each branch the place of the one at the cut that it is part of; null above the cut.
function branchesAt(branches, cut) {
  const found = [];
  branches.forEach((each, place) => {
    const isAtCut = each.fewest <= cut && cut <= each.most;
    found.push(isAtCut ? place : each.parent === null ? null : found[each.parent]);
  });
  return found;
}

// Returns the places of branches at the cut, and which of these each topic of the page belongs to.
function themesAt(branches, cut) {
  const at = branchesAt(branches, cut);
  const rows = [...branches.keys()].filter((place) => at[place] === place);
  const ofTopics = [];
  branches.forEach(({ topic }, place) => {
    if (topic !== null) ofTopics[topic] = rows.indexOf(at[place] ?? rows.find((row) => row > place));
  });
  return { at, rows, ofTopics };
}

function treeColours(ofTopics, nThemes) {
  const rules = ofTopics.map((place, topic) => `.of-${topic}{--place:${place};--step:${(place % 3) - 1}}`);
  return `${rules.join("")}:root{--n-themes:${nThemes}}`;
}

// Places of numbers from left to right. Lines meet between the numbers before and after they do.
function treeScale(numbers, width) {
  const [most, fewest] = [numbers[0], numbers[numbers.length - 1]];
  const [left, right] = [12, width - 22];
  const at = (n) => (most > fewest ? left + ((right - left) * Math.log(n / fewest)) / Math.log(most / fewest) : left);
  const before = new Map(numbers.map((n, place) => [n, numbers[place - 1] ?? n]));
  const nearest = (x) => numbers.reduce((a, b) => (Math.abs(at(b) - x) < Math.abs(at(a) - x) ? b : a));
  return { at, nearest, joint: (n) => (at(n) + at(before.get(n))) / 2, right: width };
}

// Returns how far down each branch lies; `bands` has the top and height of each row.
function branchHeights(branches, at, bands) {
  const heights = [];
  const passed = new Map();
  branches.forEach((each, place) => {
    const [top, height] = bands.get(at[place]) ?? [0, 0];
    if (at[place] === place) heights[place] = top + height / 2;
    else if (at[place] !== null && !each.parts.length) {
      const number = passed.get(at[place]) ?? 0;
      passed.set(at[place], number + 1);
      heights[place] = top + 3 + ((height - 6) * (number + 0.5)) / branches[at[place]].ends;
    }
  });
  for (let place = branches.length - 1; place >= 0; place--) {
    const parts = branches[place].parts.map((part) => heights[part]);
    heights[place] ??= (parts[0] + parts[parts.length - 1]) / 2;
  }
  return heights;
}

// Returns lines in the language of SVG paths: left of the cut, and right of it for each row.
function treeLines(branches, at, heights, scale, cut) {
  const rows = new Map();
  let coarse = "";
  branches.forEach((each, place) => {
    const y = heights[place].toFixed(1);
    const start = each.parent === null ? 0 : scale.joint(branches[each.parent].most);
    const end = each.parts.length ? scale.joint(each.most) : scale.right;
    const ys = [heights[place], ...each.parts.map((part) => heights[part])];
    const elbow = `H${end.toFixed(1)}M${end.toFixed(1)} ${Math.min(...ys).toFixed(1)}V${Math.max(...ys).toFixed(1)}`;
    if (at[place] === null) coarse += `M${start.toFixed(1)} ${y}${elbow}`;
    else if (at[place] !== place) rows.get(at[place]).finer += `M${start.toFixed(1)} ${y}${elbow}`;
    else {
      coarse += `M${start.toFixed(1)} ${y}H${scale.at(cut).toFixed(1)}`;
      rows.set(place, { own: `M${scale.at(cut).toFixed(1)} ${y}${elbow}`, finer: "" });
    }
  });
  return { coarse, rows };
}

function startTree(page) {
  const data = JSON.parse(page.getElementById("tree-data").textContent);
  const branches = readBranches(data.branches);
  const box = page.getElementById("forest");
  const [drawing, list, slider] = ["drawing", "rows", "cut"].map((id) => page.getElementById(id));
  const [pill, svg] = [page.getElementById("pill"), drawing.querySelector("svg")];
  const noun = (n) => `${n.toLocaleString("en")} ${n === 1 ? box.dataset.noun.slice(0, -1) : box.dataset.noun}`;
  const nearest = (number) => data.numbers.reduce((a, b) => (Math.abs(b - number) < Math.abs(a - number) ? b : a));
  const leafHeight = Math.min(4, 480 / branches.filter((each) => !each.parts.length).length);
  const first = nearest(data.cut);
  let cut = first;
  let themes;

  function element(name, className, text = "") {
    const made = page.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
  }

  function coloured(made, place) {
    made.style.setProperty("--place", place);
    made.style.setProperty("--step", (place % 3) - 1);
    return made;
  }

  function address(branch) {
    const isTheme = branch.topic === null && cut === first;
    return isTheme ? `#theme-${branch.heaviest}` : `#run-0-topic-${branch.heaviest}`;
  }

  function row(place, number) {
    const branch = branches[place];
    const made = coloured(element("li", "of-"), number);
    made.style.minHeight = `${Math.max(24, branch.ends * leafHeight)}px`;
    const link = element("a", "", branch.name);
    link.href = address(branch);
    const words = branch.words.filter((word) => !branch.name.includes(word)).slice(0, 4);
    made.append(link, element("span", "number", `${(100 * branch.weight).toFixed(branch.weight < 0.001 ? 2 : 1)}%`), element("span", "soft", words.join(" ")));
    return made;
  }

  function drawnPath(line, className, number) {
    const made = page.createElementNS(svg.namespaceURI, "path");
    made.setAttribute("d", line);
    made.setAttribute("class", className);
    return coloured(made, number);
  }

  function draw() {
    const scale = treeScale(data.numbers, drawing.clientWidth);
    const bands = new Map(themes.rows.map((place, n) => [place, [list.children[n].offsetTop, list.children[n].offsetHeight]]));
    const lines = treeLines(branches, themes.at, branchHeights(branches, themes.at, bands), scale, cut);
    const paths = themes.rows.flatMap((place, n) => [
      drawnPath(lines.rows.get(place).finer, "of- finer", n), drawnPath(lines.rows.get(place).own, "of- own", n),
    ]);
    svg.replaceChildren(drawnPath(lines.coarse, "coarse", 0), ...paths);
    const x = scale.at(cut);
    box.style.setProperty("--cut", `${x}px`);
    pill.style.translate = `${(-100 * x) / drawing.clientWidth}%`;
    drawTicks(scale);
  }

  function drawTicks(scale) {
    const round = [1, 10, 100].flatMap((ten) => [ten, 2 * ten, 5 * ten]).reverse();
    const [most, fewest] = [data.numbers[0], data.numbers[data.numbers.length - 1]];
    let last = Infinity;
    const ticks = [most, ...round.filter((n) => n > fewest && n < most), fewest].filter((n) => {
      const isFree = last - scale.at(n) >= 26;
      if (isFree) last = scale.at(n);
      return isFree;
    });
    page.getElementById("ticks").replaceChildren(...ticks.map((n) => {
      const made = element("span", "", n);
      made.style.left = `${scale.at(n)}px`;
      return made;
    }));
  }

  function show(number) {
    cut = number;
    themes = themesAt(branches, cut);
    const mark = Object.keys(data.marks).find((what) => nearest(data.marks[what]) === cut);
    slider.value = data.numbers.length - 1 - data.numbers.indexOf(cut);
    slider.setAttribute("aria-valuetext", noun(cut) + (mark ? `, ${mark}` : ""));
    for (const shown of page.querySelectorAll(".cut-shown")) shown.textContent = noun(cut);
    for (const button of page.querySelectorAll("#marks button")) button.setAttribute("aria-pressed", Number(button.value) === cut);
    list.replaceChildren(...themes.rows.map(row));
    page.getElementById("colours").textContent = treeColours(themes.ofTopics, themes.rows.length);
    draw();
    const detail = themes.rows.map((place, n) => {
      const topics = [...themes.ofTopics.keys()].filter((topic) => themes.ofTopics[topic] === n);
      return [branches[place].name, branches[place].weight, branches[place].words, topics];
    });
    page.dispatchEvent(new CustomEvent("themes", { detail }));
  }

  function cutAt(event) {
    const x = event.clientX - drawing.getBoundingClientRect().left;
    const number = treeScale(data.numbers, drawing.clientWidth).nearest(x);
    if (number !== cut) show(number);
  }

  function addMarks() {
    const marks = Object.entries(data.marks).map(([what, number]) => [nearest(number), what]);
    if (!marks.some(([number]) => number === first)) marks.unshift([first, "at first"]);
    page.getElementById("marks").append(...marks.map(([number, what]) => {
      const button = element("button", "", `${number.toLocaleString("en")} ${what}`);
      button.type = "button";
      button.value = number;
      button.addEventListener("click", () => show(number));
      return button;
    }));
  }

  for (const surface of [drawing, pill.parentElement]) {
    surface.addEventListener("click", cutAt);
    surface.addEventListener("pointerdown", (event) => surface.setPointerCapture(event.pointerId));
    surface.addEventListener("pointermove", (event) => {
      if (surface.hasPointerCapture(event.pointerId)) cutAt(event);
    });
  }
  slider.max = data.numbers.length - 1;
  slider.addEventListener("input", () => show(data.numbers[data.numbers.length - 1 - Number(slider.value)]));
  for (const hidden of page.querySelectorAll("#tree [hidden]")) hidden.hidden = false;
  addMarks();
  if (page.getElementById("heat")) startHeatMap(page, branches);
  show(first);
  new ResizeObserver(() => draw()).observe(drawing.parentElement);
}

// The grid of similarities: which two topics the pointer compares.
function startHeatMap(page, branches) {
  const heat = page.getElementById("heat");
  const topics = heat.dataset.topics.split(" ").map(Number);
  const [least, greatest] = [Number(heat.dataset.least), Number(heat.dataset.greatest)];
  const names = new Map(branches.map((branch) => [branch.topic, `${branch.topic} ${branch.name}`]));
  const canvas = page.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const image = new Image();
  image.addEventListener("load", () => {
    canvas.canvas.width = canvas.canvas.height = topics.length;
    canvas.drawImage(image, 0, 0);
  });
  image.src = heat.style.maskImage.slice(5, -2); // without url("")

  heat.addEventListener("pointermove", (event) => {
    const place = heat.getBoundingClientRect();
    const within = (share) => Math.max(0, Math.min(topics.length - 1, Math.floor(share * topics.length)));
    const down = within((event.clientY - place.top) / place.height);
    const across = within((event.clientX - place.left) / place.width);
    const [grey] = canvas.getImageData(across, down, 1, 1).data;
    const similar = down === across ? 1 : least + ((greatest - least) * grey) / 255;
    page.getElementById("pair").textContent = down === across
      ? names.get(topics[down])
      : `${names.get(topics[down])} – ${names.get(topics[across])}: ${Math.round(100 * similar)}% similar`;
  });
}

if (typeof document !== "undefined" && document.getElementById("tree-data")) startTree(document);
