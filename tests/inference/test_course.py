"""Which course a run follows, and a course that is added."""

import numpy as np
import pytest

from sparsetopics.inference import course
from sparsetopics.inference.course import Course, course_of
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from worlds.bars import ten_bars

DP = {"model": "dp-mixture", "local": LocalOptions("mean-field")}
FOLLOWED = {
    "GradualStart": [{}, {"learner": "full"}, {"local": LocalOptions("mean-field")}],
    "Path": [{"lower_rungs": (3, 2)}],
    "ValidatedNumber": [{"model": "hdp", "lower_rungs": (3, 2)}],
    "Mover": [{"model": "hdp"}, DP],
    "Grower": [DP | {"n_topics": 1, "learner": "accelerated"}],
    "Course": [
        {"model": "hdp", "moves": MoveOptions(())},
        {"model": "hdp", "learner": "stochastic"},
        DP | {"model": "mixture"},
    ],
}


@pytest.mark.parametrize(
    ("name", "given"), [(name, given) for name, each in FOLLOWED.items() for given in each]
)
def test_options_say_which_course_a_run_follows(name, given):
    assert course_of(TrainingOptions(**{"n_topics": 4} | given)).__name__ == name


class Halving(Course):
    """Ends after two laps, and tells when it is asked."""

    asked = []  # noqa: RUF012 - of all objects

    def first_number(self):
        return self.options.n_topics // 2

    def before_lap(self, lap):
        self.asked.append(("before", lap))

    def after_lap(self, lap):
        self.asked.append(("after", lap))
        return super().after_lap(lap)

    def after_report(self, lap):
        self.asked.append(("reported", lap))

    def is_over(self, infos):
        return len(infos) == 2


def test_a_course_is_a_class_and_a_line(fit, monkeypatch):
    monkeypatch.setattr(Halving, "asked", [])
    line = {f"{__name__}:Halving": lambda options: options.n_topics == 8}
    monkeypatch.setattr(course, "COURSES", line | course.COURSES)
    source = ten_bars(np.random.default_rng(0), n_docs=30).source(2)

    _, laps = fit(source, TrainingOptions(8, 9, model="hdp", moves=MoveOptions(())))

    assert [info.n_topics for info in laps] == [4, 4]
    steps = ("before", "after", "reported")
    assert Halving.asked == [(step, lap) for lap in (1, 2) for step in steps]
