// The tree of topics, cut at any rung. Without this script, it can be read as it was cut first.
"use strict";

// The rung of a branch that is nearest to the cut. Rungs are numbered from the largest.
function rungShown(branch, cut) {
  return Math.min(Math.max(cut, branch.first), branch.first + branch.topics.length - 1);
}

function startTree(page) {
  const data = JSON.parse(page.getElementById("tree-data").textContent);
  const slider = page.getElementById("cut");
  const branches = [...page.querySelectorAll(".branch")].map((element) => ({
    element,
    cells: element.firstElementChild.children,
    first: Number(element.dataset.first),
    topics: element.dataset.topics.split(" ").map(Number),
  }));

  function text(numbers) {
    return numbers.map((number) => data.words[number]).join(" ");
  }

  function show(branch, cut, heaviest) {
    const rung = rungShown(branch, cut);
    const topic = branch.topics[rung - branch.first];
    const [topicName, weight, telling, others] = data.rungs[rung][topic];
    const [number, bar, name, words] = branch.cells;
    number.textContent = rung === cut ? topic : `${topic} of ${data.sizes[rung]}`;
    bar.style.setProperty("--share", `${Math.min(100, (100 * weight) / heaviest).toFixed(1)}%`);
    bar.firstElementChild.textContent = `${(100 * weight).toFixed(2)}%`;
    name.textContent = topicName;
    words.firstElementChild.textContent = text(telling);
    words.lastElementChild.textContent = text(others);
    const isAbove = branch.first > cut;
    branch.element.classList.toggle("above", isAbove);
    if (branch.element.localName === "details") branch.element.open = isAbove;
  }

  function showCut() {
    const cut = data.sizes.length - 1 - Number(slider.value);
    const size = data.sizes[cut];
    const heaviest = Math.max(...data.rungs[cut].map(([, weight]) => weight)) || 1;
    const note = size === data.recommended ? ", recommended" : "";
    page.getElementById("cut-shown").textContent = `${size.toLocaleString("en")} topics${note}`;
    page.getElementById("cut-topics").textContent = size.toLocaleString("en");
    slider.setAttribute("aria-valuetext", `${size} topics${note}`);
    for (const branch of branches) show(branch, cut, heaviest);
  }

  slider.addEventListener("input", showCut);
  page.querySelector(".cutter").hidden = false;
  showCut();
}

if (typeof document !== "undefined") startTree(document);
