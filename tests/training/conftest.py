"""A tiny corpus, written once for all tests of training."""

from __future__ import annotations

import pytest

from edgeworth.training.pocket_corpus import Corpus, CorpusSettings, make_corpus


@pytest.fixture(scope="session")
def corpus_settings() -> CorpusSettings:
    return CorpusSettings(negotiations=500, markets=40, held_out_negotiations=60, held_out_markets=6, vocabulary=1_200)


@pytest.fixture(scope="session")
def corpus(corpus_settings: CorpusSettings) -> Corpus:
    return make_corpus(corpus_settings)
