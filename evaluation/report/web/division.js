// Compares two groups, and draws the lines of a chosen group. The page can be read without it.
"use strict";

function startDivision(page) {
  const island = page.getElementById("division-data");
  if (!island) return;
  const data = JSON.parse(island.textContent);
  const minus = (text) => text.replace("-", "\u2212").replace(/^[+\u2212](0\.0)$/, "$1");
  const points = (share) => (share === null ? "\u2013" : minus((100 * share).toFixed(1)));
  const signed = (share) => minus((share > 0 ? "+" : "") + (100 * share).toFixed(1));
  const interval = (low, high) => (low === null ? "not known" : `${points(low)} to ${points(high)}`);

  // A round percentage somewhat beyond the largest shares, as `scale_end` in division.py.
  function scaleEnd(...rows) {
    const largest = rows.map((row) => Math.max(0.0001, ...row.map(Math.abs))).sort((a, b) => a - b);
    const top = largest.at(-1);
    const usual = largest.filter((each) => each > top / 100);
    const middle = (usual[(usual.length - 1) >> 1] + usual[usual.length >> 1]) / 2;
    const most = 125 * Math.min(top, 2 * middle);
    const step = 10 ** Math.floor(Math.log10(most)) / 2;
    return Math.min(Number((Math.ceil(most / step) * step).toPrecision(3)), 100);
  }

  // --- two groups; −1 is all documents outside the other group
  function differences(one, other) {
    if (other < 0) return { from: data.rest, row: one, sign: 1 };
    const [a, b] = [Math.min(one, other), Math.max(one, other)];
    const row = a * data.groups.length - (a * (a + 1)) / 2 + b - a - 1;
    return { from: data.pairs, row, sign: one < other ? 1 : -1 };
  }

  function compare(panel, one, other) {
    const { from, row, sign } = differences(one, other);
    const gaps = from.difference[row].map((difference, theme) => {
      const ends = [from.low[row][theme], from.high[row][theme]].map((end) => end && sign * end);
      const [low, high] = sign < 0 ? ends.reverse() : ends;
      return { theme, difference: sign * difference, low, high };
    });
    const end = scaleEnd(gaps.map((gap) => gap.difference));
    const [left, right] = panel.querySelectorAll(".sides b");
    left.textContent = other < 0 ? "all other documents" : data.groups[other];
    right.textContent = data.groups[one];
    const [from0, , to0] = panel.querySelectorAll(".ruler:not(.sides) i");
    [from0.textContent, to0.textContent] = [minus(`-${end}`), `+${end}`];
    const list = panel.querySelector("ul");
    gaps.sort((a, b) => b.difference - a.difference);
    for (const gap of gaps) {
      const item = list.querySelector(`[data-theme="${gap.theme}"]`);
      const share = data.mean[one + 1][0][gap.theme];
      item.classList.toggle("sure", gap.low * gap.high > 0);
      item.classList.toggle("unknown", gap.low === null);
      for (const [name, value] of [["at", gap.difference], ["low", gap.low], ["high", gap.high]])
        item.style.setProperty(`--${name}`, (100 * value) / end);
      const [shares, ends] = item.querySelectorAll("small");
      shares.textContent = `${points(share)}% against ${points(share - gap.difference)}%`;
      ends.textContent = interval(gap.low, gap.high);
      item.querySelector(".number b").textContent = signed(gap.difference);
      list.append(item);
    }
  }

  // --- lines of a group; 0 is all documents
  function bandPath(low, high) {
    const corner = (place, share) => `${(100 * (place + 0.5)) / low.length} ${-100 * share}`;
    const piece = (n) =>
      `M${[corner(n, low[n]), corner(n, high[n]), corner(n + 1, high[n + 1]), corner(n + 1, low[n + 1])].join("L")}Z`;
    const isKnown = (n) => low[n] !== null && low[n + 1] !== null;
    return [...low.keys()].slice(0, -1).filter(isKnown).map(piece).join("");
  }

  function drawColumns(panel, values, end, titles, texts) {
    panel.style.setProperty("--own", end);
    panel.querySelectorAll(".frame > i").forEach((column, n) => {
      column.classList.toggle("none", values[n] === null);
      column.style.setProperty("--y", values[n] ?? 0);
      column.title = `${data.periods[n]}: ${titles[n]}`;
    });
    panel.querySelectorAll(".ends b").forEach((end, n) => (end.textContent = texts.at(-n)));
  }

  function drawGroup(section, group) {
    const of = (values, theme) => values[group].slice(1).map((own) => own[theme]);
    const common = scaleEnd(...data.mean[0][0].map((_, theme) => of(data.mean, theme)));
    section.style.setProperty("--common", common);
    for (const panel of section.querySelectorAll(".trend[data-theme]")) {
      const [mean, low, high] = [data.mean, data.low, data.high].map((each) => of(each, panel.dataset.theme));
      const end = scaleEnd(mean);
      const texts = mean.map((share) => (share === null ? "none" : `${points(share)}%`));
      const titles = texts.map((text, n) => `${text} (${interval(low[n], high[n])})`);
      drawColumns(panel, mean.map((share) => share && 100 * share), end, titles, texts);
      panel.querySelector(".own").textContent = `${end}%`;
      panel.querySelector(".common").textContent = `${common}%`;
      panel.querySelector(".band").setAttribute("d", bandPath(low, high));
      panel.querySelector(".line").setAttribute("d", bandPath(mean, mean));
      panel.querySelector(".change").hidden = group > 0; // it is known of all documents only
    }
    const counts = data.documents[group].slice(1);
    const texts = counts.map((count) => count.toLocaleString("en"));
    const most = Math.max(...counts);
    const panel = section.querySelector(".counts");
    drawColumns(panel, counts, most, texts, texts);
    panel.querySelector(".top").textContent = most.toLocaleString("en");
    section.querySelector("#time-of").textContent = group ? `Lines: only documents of ${data.groups[group - 1]}.` : "";
  }

  // --- what the reader chose above
  function showOnly(section, theme) {
    for (const each of section.querySelectorAll("[data-theme]"))
      each.hidden = theme >= 0 && Number(each.dataset.theme) !== theme;
    for (const each of section.querySelectorAll(".part, .panel .more, #time .more")) {
      each.open = theme >= 0;
      each.hidden = !each.querySelector("[data-theme]:not([hidden])");
    }
  }

  const [time, groups, panel] = ["time", "groups", "compare"].map((id) => page.getElementById(id));
  const selects = panel ? [...panel.querySelectorAll("select")] : [];
  function compareChosen() {
    if (selects[0].value === selects[1].value) selects[1].value = "-1";
    compare(panel, ...selects.map((each) => Number(each.value)));
  }

  page.addEventListener("choice", ({ detail }) => {
    if (time && data.periods.length > 1) drawGroup(time, detail.group);
    for (const section of [time, groups]) if (section) showOnly(section, detail.theme);
    if (!panel || !detail.group) return;
    selects[0].value = detail.group - 1;
    compareChosen();
  });
  if (panel) {
    panel.hidden = false;
    for (const each of selects) each.addEventListener("change", compareChosen);
    compareChosen();
  }
}
startDivision(document);
