"""Shares of themes in groups and over time, by brute force and as a page shows them."""

import json
import re
from datetime import date
from itertools import combinations

import numpy as np
import pytest
from click.testing import CliRunner

from browser import told_by
from sparsetopics import LDA
from sparsetopics.answers.prevalence import GroupedDocuments, grouped_documents
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping, GroupKey
from sparsetopics.evaluation.report.division import MOST_GROUPS, division, scale_end
from sparsetopics.evaluation.report.figures import band_path
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.measures.prevalence import (
    GroupTotal,
    group_differences,
    group_means,
    sum_groups,
    unbiased_projection,
)
from sparsetopics.runs.run import load_run

WORDS = {"sport": "ball goal team match", "law": "court judge appeal crime"}
HOSTILE = "</td><img src=x onerror=document.title='{}'>\"'>"
N_TOPICS, N_WORDS = 3, 20
TOPICS = np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.4), N_TOPICS) + 1e-3
TOPICS /= TOPICS.sum(axis=1, keepdims=True)


def drawn(keys, seed=0):
    """Documents of 30 tokens with these keys, as a function of new keys: those sum them up."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(N_TOPICS), len(keys)) @ TOPICS
    counts = np.stack([rng.multinomial(30, own) for own in shares])
    rows, words = np.nonzero(counts)
    indptr = np.searchsorted(rows, np.arange(len(counts) + 1))
    found = counts[rows, words].astype(np.uint32)
    batch = DocumentBatch(indptr.astype(np.int64), words.astype(np.int32), found)
    projection = unbiased_projection(TOPICS, np.full(N_TOPICS, 1 / N_TOPICS))

    def total(chosen):
        groups = np.where([chosen(key) for key in keys], 0, -1)
        sums, own = sum_groups(batch, groups, 1, projection), GroupTotal(3, N_WORDS)
        own.add(sums, 0)
        return own

    return total


def grouped(keys, by=None, over=None, n_left_out=0, total=None):
    total = total or drawn(keys)
    names = [f"word{n}" for n in range(N_WORDS)]
    order = sorted(set(keys), key=lambda key: (key.name or "", key.start or 0.0))
    totals = {key: total(lambda own, key=key: own == key) for key in order}
    grouping = Grouping.parse(by, over)
    return GroupedDocuments(grouping, np.arange(N_TOPICS), TOPICS, names, totals, n_left_out)


KEYS = [GroupKey(name, start) for start, sizes in [(2000.0, (30, 30, 1)), (2001.0, (0, 40, 0)),
        (2002.0, (50, 5, 0)), (2003.0, (60, 70, 0))]
        for name, n in zip("BAC", sizes, strict=True) for _ in range(n)]  # fmt: skip


def differences_of(one, other):
    return group_differences(group_means([one, other], TOPICS), np.array([[0, 1]])).tested()


def test_all_shares_are_those_of_documents_that_were_divided_so_from_the_start():
    total = drawn(KEYS)

    found = division(grouped(KEYS, "section", "year", total=total))

    assert list(found.groups) == ["A", "B", "C"]
    assert list(found.periods) == ["2000", "2001", "2002", "2003"]
    for row, name in enumerate([None, *found.groups]):
        for column, period in enumerate([None, *found.periods]):

            def chosen(key, name=name, period=period):
                return name in (None, key.name) and period in (None, f"{key.start:g}")

            n_documents = sum(map(chosen, KEYS))
            assert found.n_documents[row, column] == n_documents
            if n_documents == 0:
                assert np.isnan(found.mean[row, column]).all()
                continue
            own = group_means([total(chosen)], TOPICS)
            cells = (each[row, column] for each in (found.mean, found.low, found.high))
            for cell, wanted in zip(cells, (own.value, *own.interval(0.0, 1.0)), strict=True):
                np.testing.assert_allclose(cell, wanted[0], atol=1e-4)
    assert found.n_documents[3].tolist() == [1, 1, 0, 0, 0]
    assert np.isfinite(found.mean[3, 1]).all()
    assert np.isnan(found.low[3, 1]).all()


def test_groups_are_compared_with_all_other_documents_and_with_each_other():
    total = drawn(KEYS)
    found = division(grouped(KEYS, "section", "year", total=total))

    comparisons = [(found.against_rest, [(name, None) for name in "ABC"])]
    comparisons += [(found.pairs, list(combinations("ABC", 2)))]
    for differences, pairs in comparisons:
        for row, (name, other) in enumerate(pairs):

            def is_other(key, name=name, other=other):
                return key.name == other if other else key.name != name

            wanted = differences_of(total(lambda key, name=name: key.name == name), total(is_other))
            for field in ("difference", "low", "high"):
                own, exact = getattr(differences, field)[row], getattr(wanted, field)[0]
                np.testing.assert_allclose(own, exact, atol=1e-4)
    assert np.isnan(found.against_rest.low[2]).all()  # C has one document
    order = found.by_difference(0)
    assert np.all(np.diff(found.against_rest.difference[0][order]) <= 0)
    assert found.by_size == [0, 1, 2]


def test_change_is_from_the_first_third_of_the_documents_to_the_last_in_whole_periods():
    total = drawn(KEYS)

    found = division(grouped(KEYS, "section", "year", total=total))

    # Of 286 documents, the first period has 61 and the first two 101; the last one has 130.
    assert list(found.change.pairs) == [("2003", "2000")]
    first, last = (total(lambda key, year=year: key.start == year) for year in (2000.0, 2003.0))
    wanted = differences_of(last, first)
    np.testing.assert_allclose(found.change.difference, wanted.difference, atol=1e-4)
    np.testing.assert_allclose(found.change.low, wanted.low, atol=1e-4)
    (order,) = found.trends.values()
    assert np.all(np.diff(found.change.difference[0][order]) <= 0)


def periods_of(sizes, over="year"):
    keys = [GroupKey(None, start) for start, n in sizes.items() for _ in range(n)]
    return division(grouped(keys, over=over))


@pytest.mark.parametrize(
    ("sizes", "periods", "pooled"),
    [
        ({1963.0: 10, 1970.0: 10, 1994.0: 10, 1995.0: 40}, ["1963–1994", "1995"], ["1963–1994"]),
        ({1990.0: 40, 1991.0: 30, 1992.0: 5}, ["1990", "1991–1992"], ["1991–1992"]),
        ({1990.0: 5, 1991.0: 5}, ["1990–1991"], ["1990–1991"]),
        ({1990.0: 30, 1991.0: 30}, ["1990", "1991"], []),
    ],
)
def test_thin_periods_are_joined_and_named(sizes, periods, pooled):
    found = periods_of(sizes)

    assert (list(found.periods), list(found.pooled)) == (periods, pooled)
    assert found.n_documents[0].sum() == 2 * sum(sizes.values())
    assert (found.change is None) == (len(periods) == 1)


def test_periods_follow_each_other_though_groups_have_them_in_another_order():
    keys = [GroupKey(name, year) for name, years in {"A": (2, 3), "B": (1, 3), "C": (2,)}.items()
            for year in map(float, years) for _ in range(40)]  # fmt: skip

    found = division(grouped(keys, "section", "year"))

    assert list(found.periods) == ["1", "2", "3"]
    assert found.n_documents[0].tolist() == [200, 40, 80, 80]


def test_months_and_bins_have_names_of_spans():
    months = {date(2024, month, 1): 20 for month in (1, 2, 4, 5)}
    assert list(periods_of(months, "date:month").periods) == [
        "2024-01 to 2024-02",
        "2024-04 to 2024-05",
    ]
    assert list(periods_of({10.0: 20, 20.0: 20, 30.0: 35}, "age:10").periods) == ["10–30", "30–40"]


def test_smaller_groups_are_not_shown_but_count_among_all_others():
    names = [f"group {n:02}" for n in range(MOST_GROUPS + 5)]
    keys = [GroupKey(name, None) for place, name in enumerate(names) for _ in range(place + 1)]
    total = drawn(keys)

    found = division(grouped(keys, "section", n_left_out=7, total=total))

    assert list(found.groups) == names[5:]
    assert found.n_documents[:2, 0].tolist() == [len(keys), 6]
    assert found.by_size[0] == MOST_GROUPS - 1
    rest = total(lambda key: key.name != names[-1])
    wanted = differences_of(total(lambda key: key.name == names[-1]), rest)
    np.testing.assert_allclose(found.against_rest.high[-1], wanted.high[0], atol=1e-4)
    assert found.left_out == (
        "7 documents without section left out. "
        "5 smaller groups not shown; their documents count among all others."
    )
    assert [len(found.words), len(found.words[0])] == [MOST_GROUPS, N_TOPICS]


def test_a_group_may_have_the_name_of_a_rest():
    keys = [GroupKey(name, None) for name in ("A", "others", "all but A") for _ in range(9)]
    total = drawn(keys)

    found = division(grouped(keys, "section", total=total))

    rest = total(lambda key: key.name != "A")
    wanted = differences_of(total(lambda key: key.name == "A"), rest)
    np.testing.assert_allclose(found.against_rest.difference[0], wanted.difference[0], atol=1e-4)


def test_one_group_is_compared_with_nothing():
    found = division(grouped([GroupKey("A", None)] * 5, "section"))

    assert (found.against_rest, found.pairs, found.change) == (None, None, None)
    assert found.n_documents.tolist() == [[5], [5]]


def test_joined_groups_have_the_estimates_of_groups_made_so():
    total = drawn(KEYS)
    found = grouped(KEYS, "section", "year", total=total)

    joined = found.joined(lambda key: [GroupKey(None, None)])

    wanted = group_means([total(lambda key: True)], TOPICS)
    own = group_means(list(joined.totals.values()), TOPICS)
    assert (own.freedom == len(KEYS) - 1).all()
    for each, exact in zip(own, wanted, strict=True):
        np.testing.assert_allclose(each, exact, atol=1e-4)


@pytest.mark.parametrize(
    ("shares", "end"),
    [([0.1], 15.0), ([0.04, 0.02], 5.0), ([0.9], 100.0), ([0.0], 0.015),
     ([[0.05], [0.06], [0.05], [0.9]], 15.0), ([[0.1], [0.0], [0.0]], 15.0)],
)  # fmt: skip
def test_scales_are_round_and_not_made_for_outliers(shares, end):
    assert scale_end(np.array(shares)) == pytest.approx(end)


def test_a_band_has_gaps_where_ends_are_not_known():
    high = np.array([0.2, 0.4, np.nan, 0.1])

    assert band_path(high / 2, high) == ("M12.50 -10.00L12.50 -20.00L37.50 -40.00L37.50 -20.00Z")


# --- pages ----------------------------------------------------------------------------------------
def called(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Corpora of the same texts with other labels and years, and a run of two topics."""
    folder = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)
    texts = []
    for number in range(240):
        own, other = list(WORDS)[:: 1 if number % 2 == 0 else -1]
        texts.append([*rng.choice(WORDS[own].split(), 16), *rng.choice(WORDS[other].split(), 4)])
    years = [2000 + number // 60 for number in range(240)]
    labels = {
        "named": [None if number == 7 else "AB"[number % 2] for number in range(240)],
        "hostile": [f"{HOSTILE}{number % 2}" for number in range(240)],
        "single": ["A"] * 239 + ["B"],
    }
    for name, own in labels.items():
        rows = zip(texts, own, years, strict=True)
        lines = [json.dumps({"text": " ".join(t), "label": lab, "year": y}) for t, lab, y in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        called("ingest", folder / f"{name}.jsonl", "--out", folder / name, "--max-df", 1.0,
               "--keep", "year:number")  # fmt: skip
    train = ("train", folder / "named", "--topics", 2, "--laps", 5, "--seed", 1, "--quiet")
    called(*train, "--out", folder / "run")
    return folder


def page_of(world, tmp_path, corpus="named", **options):
    write_run_report(
        tmp_path / "r.html", [world / "run"], world / corpus, overwrite=True, **options
    )
    return (tmp_path / "r.html").read_text()


def section_of(page, name):
    found = page[page.index(f'<section id="{name}"') :]
    return found[: found.index("</section>")]


def minus(text):
    return text.replace("-", "−")


def test_the_page_has_the_numbers_of_the_command(world, tmp_path):
    groups = section_of(page_of(world, tmp_path, by="label"), "groups")
    arguments = (world / "run", world / "named", "--by", "label", "--json")
    shares = json.loads(called("prevalence", *arguments).stdout)
    differences = json.loads(called("prevalence", *arguments, "--differences").stdout)

    table = groups[groups.index('<table class="shares">') :]
    cells = re.findall(r"<td>([\d.]+) <small>([\d.]+ to [\d.]+)", table)
    assert [cell for place, cell in enumerate(cells) if place % 3] == [
        (f"{100 * own['mean']:.1f}", f"{100 * own['low']:.1f} to {100 * own['high']:.1f}")
        for own in shares
    ]
    panel = groups[groups.index('data-group="1"') :].split("</article>")[0]
    said = re.findall(r"<b>(.*?)</b> <small>(.*?)</small>", panel)
    wanted = [
        minus(f"{100 * own['difference']:+.1f}|{100 * own['low']:.1f} to {100 * own['high']:.1f}")
        for own in differences
    ]
    assert sorted(map("|".join, said)) == sorted(wanted)
    assert panel.count('sure"') == 2
    assert "1 document without label left out." in groups
    assert "Over" not in re.findall(r"<h2>(\w+)", page_of(world, tmp_path, by="label"))


def test_panels_say_first_and_last_shares_and_the_change(world, tmp_path):
    time = section_of(page_of(world, tmp_path, over="year"), "time")
    arguments = (world / "run", world / "named", "--over", "year", "--json")
    shares = json.loads(called("prevalence", *arguments).stdout)

    panels = time.split('<article class="panel trend of-')[1:]
    assert len(panels) == 2
    for panel in panels:
        theme = int(re.search(r'data-theme="(\d)"', panel).group(1))
        own = [share for share in shares if share["topic"] == theme]
        first, last = (f"{100 * each['mean']:.1f}%" for each in (own[0], own[-1]))
        assert f"<span>from {first} to {last}</span>" in panel
        change = 100 * (own[-1]["mean"] - own[0]["mean"])
        assert f"<b>{minus(f'{change:+.1f}')} points</b>" in panel
        assert panel.count("<i style=") == 4
    assert "of the documents (2000) to the last (2003)" in time
    assert "nan" not in time.lower()


def test_one_group_or_period_is_said(world, tmp_path):
    page = page_of(world, tmp_path, "single", by="label", over="year:100")

    assert "240 documents are of one period: <b>2000–2099</b>" in section_of(page, "time")
    groups = section_of(page, "groups")
    assert "<small>not known</small>" in groups  # of the group of one document
    assert "nan" not in groups.lower()


def test_python_writes_the_same_sections(world, tmp_path):
    model = LDA(2, max_iter=3).fit(Corpus.open(world / "named"))
    model.save(tmp_path / "run")

    model.report(tmp_path / "a.html", corpus=Corpus.open(world / "named"), by="label")

    write_run_report(tmp_path / "b.html", [tmp_path / "run"], world / "named", by="label")
    one, other = ((tmp_path / f"{name}.html").read_text() for name in "ab")
    assert section_of(one, "groups") == section_of(other, "groups")


def test_wrong_things_are_refused_in_one_line(world, tmp_path):
    run, corpus, out = world / "run", world / "named", tmp_path / "r.html"
    train = ("train", corpus, "--model", "mixture", "--topics", 2, "--likelihood", "multinomial")
    called(*train, "--laps", 2, "--quiet", "--out", tmp_path / "mixture")
    for arguments, message in (
        ((run, "--by", "label"), "--by: needs --corpus. It has the documents to divide."),
        ((run, "--over", "label:month"), "--over: needs --corpus"),
        (
            (run, run, "--corpus", corpus, "--by", "label"),
            "topics of one run, but 2 runs are given",
        ),
        ((run, "--corpus", corpus, "--by", "place"), "the corpus has no field 'place'"),
        ((run, "--corpus", corpus, "--over", "label:month"), "expected dates"),
        ((tmp_path / "mixture", "--corpus", corpus, "--by", "label"), "is a mixture"),
    ):
        result = called("report", *arguments, "--out", out, status=1)
        assert message in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
    assert not out.exists()


PROBE = """
const all = (where) => [...document.querySelectorAll(where)];
const texts = (where) => all(where).map((each) => each.textContent);
const choose = (one, other) => {
  const selects = all("#compare select");
  [selects[0].value, selects[1].value] = [one, other];
  selects[0].dispatchEvent(new Event("change"));
  return all("#compare li").map((each) => each.textContent.trim());
};
const compared = [["0", "1"], ["1", "0"], ["0", "-1"], ["0", "0"]].map((pair) => choose(...pair));
const lines = () => all(".trend .line").map((each) => each.getAttribute("d"));
const before = lines();
const select = (group, theme) =>
  document.dispatchEvent(new CustomEvent("choice", { detail: { group, period: 0, theme } }));
select(1, 0);
const parts = all("#time [data-theme], #groups [data-theme]");
const seen = parts.filter((each) => each.checkVisibility());
const chosen = { lines: lines(), themes: [...new Set(seen.map((each) => each.dataset.theme))],
                 ends: texts(".trend .ends b"), of: texts("#time-of")[0] };
select(0, -1);
document.title = JSON.stringify({
  compared, before, chosen, after: lines(), tables: texts(".shares thead th"),
  sides: texts("#compare .sides b"), images: document.images.length,
  handlers: document.querySelectorAll("[onerror]").length,
});
"""


def test_a_browser_compares_groups_and_draws_those_that_are_chosen(world, tmp_path):
    page = page_of(world, tmp_path, "hostile", by="label", over="year")

    told = told_by(page, PROBE, tmp_path)

    names = [f"{HOSTILE}0", f"{HOSTILE}1"]
    assert told["tables"][2:] == names
    assert told["sides"] == ["all other documents", names[0]]
    assert (told["images"], told["handlers"]) == (0, 0)
    run, corpus = load_run(world / "run"), Corpus.open(world / "hostile")
    grouping = Grouping.parse("label", None)
    found = division(grouped_documents(run.model, corpus, run.vocabulary.shown, grouping))
    differences = 100 * found.pairs.difference[0]
    for sign, rows in zip((1, -1, 1, 1), told["compared"], strict=True):
        numbers = [re.search(r"([+−][\d.]+) ", row).group(1) for row in rows]
        assert numbers == [minus(f"{own:+.1f}") for own in sorted(sign * differences)[::-1]]
    chosen = told["chosen"]
    assert chosen["themes"] == ["0"]
    assert chosen["of"] == f"Lines: only documents of {names[0]}."
    assert chosen["lines"] != told["before"]
    assert chosen["ends"][:2] == ["30", "30"]
    numbers = [re.findall(r"[\d.]+", "".join(own)) for own in (told["before"], told["after"])]
    np.testing.assert_allclose(*np.array(numbers, float), atol=0.006)
