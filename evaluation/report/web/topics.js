// The topic browser: search, sort, and words by relevance. The page can be read without it.
"use strict";

function relevance(balance, log, lift) {
  return balance * log + (1 - balance) * lift; // Sievert & Shirley (2014)
}

// Returns the numbers of the `most` most relevant words, best first; `topic` has logs and lifts.
function mostRelevant(topic, balance, most) {
  const score = (n) => relevance(balance, topic.logs[n], topic.lifts[n]);
  return [...topic.words.keys()].sort((a, b) => score(b) - score(a) || a - b).slice(0, most);
}

// Three digits, with a minus sign in place of the hyphen of 1.00e-7.
function shown(number) {
  return number.toPrecision(3).replace("-", "\u2212");
}

function startBrowser(page) {
  const DETAIL_WORDS = 30;
  const ROW_WORDS = 10;
  const data = JSON.parse(page.getElementById("report-data").textContent);
  const control = (name) => page.getElementById(name);
  const lists = [...page.querySelectorAll(".topics")];
  const entries = lists.flatMap((list) =>
    [...list.querySelectorAll("details.topic")].map((element) => describe(list, element)),
  );

  function describe(list, element) {
    const run = data.runs[Number(list.dataset.run)];
    const topic = run.topics[Number(element.dataset.topic)];
    const words = topic.words.map((number) => run.words[number]);
    const npmi = element.dataset.npmi === "" ? -Infinity : Number(element.dataset.npmi);
    const isEmpty = element.closest("details.empty") !== null;
    const name = element.querySelector(".topic-name").textContent;
    const number = Number(element.dataset.topic);
    return { list, element, topic, name, words, npmi, isEmpty, number };
  }

  // What a reader looks for: a topic is found if each term is part of its name or of a word.
  let chosen = null; // topics of the theme that was selected

  function terms() {
    return control("search").value.toLowerCase().split(/\s+/).filter((term) => term);
  }

  function holds(word, term) {
    return word.toLowerCase().includes(term);
  }

  const balance = () => Number(control("balance").value);

  function firstWords(entry, most) {
    return mostRelevant(entry.topic, balance(), most).map((n) => entry.words[n]);
  }

  function fill(entry) {
    const best = mostRelevant(entry.topic, balance(), DETAIL_WORDS);
    const largest = Math.max(...best.map((n) => entry.topic.logs[n]));
    const bars = best.map((n) => bar(entry.words[n], entry.topic.logs[n], entry.topic.lifts[n], largest));
    entry.element.querySelector(".all-words").replaceChildren(...bars);
  }

  function bar(word, log, lift, largest) {
    const outer = page.createElement("span");
    outer.className = "bar";
    outer.style.setProperty("--share", `${(100 * Math.exp(log - largest)).toFixed(1)}%`);
    outer.title = `probability ${shown(Math.exp(log))}, ${shown(Math.exp(lift))} times that in all documents`;
    const inner = page.createElement("span");
    const number = page.createElement("span");
    number.className = "soft number";
    number.textContent = Math.exp(log).toFixed(4);
    inner.append(word, number);
    outer.append(inner);
    return outer;
  }

  function showWords() {
    control("balance-shown").textContent = balance().toFixed(2);
    for (const entry of entries) {
      showRow(entry);
      if (entry.element.open) fill(entry);
    }
    sort(); // the first words may have changed
  }

  // The first words of a topic, and after an ellipsis others that were searched for.
  function showRow(entry) {
    const wanted = entry.isEmpty ? [] : terms();
    const isFound = (word) => wanted.some((term) => holds(word, term));
    const first = firstWords(entry, ROW_WORDS);
    const others = entry.words.filter((word) => isFound(word) && !first.includes(word));
    const shownWords = others.length ? [...first, "\u2026", ...others.slice(0, ROW_WORDS)] : first;
    const pieces = shownWords.flatMap((word) => [isFound(word) ? marked(word) : word, " "]);
    entry.element.querySelector(".words").replaceChildren(...pieces.slice(0, -1));
  }

  function marked(word) {
    const mark = page.createElement("mark");
    mark.textContent = word;
    return mark;
  }

  function search() {
    const wanted = terms();
    const isChosen = (entry) => !chosen || chosen.includes(entry.number);
    const searched = entries.filter((entry) => !entry.isEmpty);
    let found = 0;
    for (const entry of searched) {
      const isFound = wanted.every((term) =>
        [entry.name, ...entry.words].some((text) => holds(text, term)),
      );
      entry.element.hidden = !(isFound && isChosen(entry));
      found += entry.element.hidden ? 0 : 1;
      showRow(entry);
    }
    for (const fold of page.querySelectorAll("details.empty")) fold.hidden = wanted.length > 0 || chosen !== null;
    control("found").textContent = wanted.length || chosen ? `${found} of ${searched.length}` : "";
  }

  const orders = {
    topic: (a, b) => a.number - b.number,
    npmi: (a, b) => b.npmi - a.npmi || a.number - b.number,
    word: (a, b) => firstWords(a, 1)[0].localeCompare(firstWords(b, 1)[0]) || a.number - b.number,
  };

  function sort() {
    const order = orders[control("sort").value];
    for (const list of lists) {
      const own = entries.filter((entry) => entry.list === list).sort(order);
      list.append(...own.map((entry) => entry.element));
    }
  }

  // An address leads to a topic that may be closed, hidden, or in a closed list.
  function openTarget() {
    const topic = page.getElementById(page.location.hash.slice(1))?.closest("details.topic");
    const entry = entries.find((each) => each.element === topic);
    if (!entry) return;
    if (entry.element.hidden || entry.isEmpty) {
      control("search").value = "";
      search();
    }
    for (let fold = entry.element; fold; fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
    entry.element.querySelector("summary").scrollIntoView({ block: "center" });
  }

  for (const entry of entries) entry.element.addEventListener("toggle", () => fill(entry));
  control("search").addEventListener("input", search);
  page.addEventListener("choice", (event) => {
    chosen = event.detail.topics;
    search();
  });
  control("sort").addEventListener("change", sort);
  control("balance").addEventListener("input", showWords);
  page.defaultView.addEventListener("hashchange", openTarget);
  control("search").closest(".tools").hidden = false;
  openTarget();
}

if (typeof document !== "undefined" && document.getElementById("search")) startBrowser(document);
