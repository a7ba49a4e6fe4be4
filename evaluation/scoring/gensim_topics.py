"""The topics of a gensim ``LdaModel``, a Python pickle: only for files that are trusted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gensim.models import LdaModel
from gensim.utils import SaveLoad

from sparsetopics.evaluation.scoring.weight_files import WordWeights


def read_gensim(path: Path) -> WordWeights:
    """Load a model that ``LdaModel.save`` wrote, with the words and α_k that it knows.

    Unpickling runs whatever the file says. Raises ValueError for any other model, HdpModel among
    them: its topics are as many as it was told.
    """
    try:
        kind = type(SaveLoad.load(str(path)))
        if not issubclass(kind, LdaModel):
            raise ValueError(f"a {kind.__name__}, not a gensim LdaModel")
        model = LdaModel.load(str(path))
        weights = model.get_topics()
        words = [model.id2word[column] for column in range(weights.shape[1])]
    except (OSError, ValueError):
        raise
    except Exception as error:  # a pickle may raise anything
        raise ValueError(f"no gensim model ({error})") from error
    return WordWeights(weights, words, np.asarray(model.alpha, np.float64))
