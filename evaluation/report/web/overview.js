// The areas of themes, and what the reader selects: documents of a group or period, and a theme.
"use strict";

// Returns [x, y, width, height] for each weight, in the given order: a box is cut in two where its
// weights have most equal sums, and so are its parts. Text needs boxes that are wider than high.
function divided(weights, [x, y, width, height]) {
  const WIDER = 1.6;
  if (weights.length < 2) return weights.map(() => [x, y, width, height]);
  const sums = weights.map((_, n) => weights.slice(0, n + 1).reduce((sum, weight) => sum + weight));
  const total = sums.at(-1) || 1;
  const away = sums.slice(0, -1).map((sum) => Math.abs(sum - total / 2));
  const last = away.indexOf(Math.min(...away)) + 1;
  const share = sums[last - 1] / total;
  const isWide = width > WIDER * height;
  const [across, down] = isWide ? [share * width, height] : [width, share * height];
  const rest = isWide ? [x + across, y, width - across, height] : [x, y + down, width, height - down];
  return [...divided(weights.slice(0, last), [x, y, across, down]), ...divided(weights.slice(last), rest)];
}

function startOverview(page) {
  const GAP = 2;
  const picture = page.getElementById("areas");
  const first = [...picture.children]; // the themes of the cards
  const island = page.getElementById("division-data");
  const division = island ? JSON.parse(island.textContent) : null;
  const control = (name) => page.getElementById(name);
  const selected = (name, none) => (control(name) ? Number(control(name).value) : none);
  const cards = [...page.querySelectorAll(".card")];
  const usual = first.map((area) => Number(area.style.flexGrow));
  let areas = first.map((element, n) => ({ element, weight: usual[n] }));

  function lay() {
    const [width, height] = [picture.clientWidth, picture.clientHeight];
    const place = (area) => Number(getComputedStyle(area.element).getPropertyValue("--place"));
    picture.replaceChildren(...areas.map((area) => area.element)); // styles need a parent
    const drawn = areas.filter((area) => area.weight > 0).sort((a, b) => place(a) - place(b));
    picture.replaceChildren(...drawn.map((area) => area.element));
    picture.classList.add("laid");
    const boxes = divided(drawn.map((area) => area.weight), [0, 0, width + GAP, height + GAP]);
    drawn.forEach((area, n) => fill(area.element, boxes[n]));
  }

  // An area shows as much as it has room for: its words, its share, its name or the start of it.
  function fill(element, [x, y, width, height]) {
    const [across, down] = [Math.max(0, width - GAP), Math.max(0, height - GAP)];
    Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${across}px`, height: `${down}px` });
    element.classList.toggle("large", across > 220 && down > 120);
    const [name, share, words] = element.children;
    const isFull = () => element.scrollHeight > element.clientHeight || element.scrollWidth > element.clientWidth;
    for (const part of [name, share, words]) part.hidden = false;
    element.classList.remove("small");
    for (const hide of [words, share]) if (isFull()) hide.hidden = true;
    if (isFull()) element.classList.add("small");
    const full = (element.dataset.name ??= name.textContent);
    const parts = full.split(", "); // of a name that is made of words
    name.textContent = full;
    while (isFull() && parts.pop() && parts.length) name.textContent = parts.join(", ");
    if (isFull()) name.hidden = true;
    element.title = full;
  }

  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  function select() {
    const [group, period, theme] = [selected("group", 0), selected("period", 0), selected("theme", -1)];
    const own = division ? division.mean[group][period] : [];
    const all = group === 0 && period === 0;
    areas.forEach((area, n) => {
      if (areas[0].element !== first[0]) return; // the tree is cut elsewhere: shares are not known
      area.weight = all ? usual[n] : own[n] || 0;
      const share = percent(area.weight);
      for (const part of [area.element, cards[n]]) {
        if (!all || part.dataset.changed) part.querySelector(".share").textContent = share;
        part.dataset.changed = "yes";
      }
      const largest = Math.max(...(all ? usual : own)) || 1;
      cards[n].querySelector("h3").style.setProperty("--share", percent(area.weight / largest));
    });
    const topics = theme < 0 ? null : first[theme].dataset.topics.split(" ").map(Number);
    areas.forEach((area, n) => area.element.classList.toggle("faint", theme >= 0 && n !== theme));
    cards.forEach((card, n) => (card.hidden = theme >= 0 && n !== theme));
    for (const more of page.querySelectorAll("details.more")) more.open ||= theme >= 0;
    control("selected").textContent = all ? "" : `${division.documents[group][period].toLocaleString("en")} documents`;
    page.dispatchEvent(new CustomEvent("choice", { detail: { group, period, theme, topics } }));
    lay();
  }

  // The tree was cut at other themes: [name, weight, words, topics] of each.
  function redraw(themes) {
    const isUsual = themes.length === first.length && first.every((area) => themes.some((theme) => theme[3].join(" ") === area.dataset.topics));
    areas = isUsual
      ? first.map((element, n) => ({ element, weight: usual[n] }))
      : themes.map(([name, weight, words, topics]) => ({ element: drawn(name, weight, words, topics), weight }));
    for (const name of ["group", "period", "theme"]) {
      const box = control(name);
      if (!box) continue;
      box.disabled = !isUsual;
      if (!isUsual) box.value = name === "theme" ? "-1" : "0";
    }
    select();
  }

  function drawn(name, weight, words, topics) {
    const element = page.createElement("a");
    element.className = `area of-${topics[0]}`;
    if (topics.length) element.href = `#run-0-topic-${topics[0]}`;
    for (const [tag, text, kind] of [["b", name, ""], ["span", percent(weight), "number share"], ["span", words.slice(3).join(" "), "words"]]) {
      const part = page.createElement(tag);
      part.textContent = text;
      part.className = kind;
      element.append(part, " ");
    }
    return element;
  }

  for (const name of ["group", "period", "theme"]) control(name)?.addEventListener("change", select);
  for (const button of page.querySelectorAll("[data-show]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      control("theme").value = button.dataset.show;
      select();
      page.querySelector("#topics details").open = true;
      control("topics").scrollIntoView();
    });
  }
  page.addEventListener("themes", (event) => redraw(event.detail));
  page.defaultView.addEventListener("resize", lay);
  page.querySelector(".filters").hidden = false;
  lay();
}

if (typeof document !== "undefined" && document.getElementById("areas")) startOverview(document);
