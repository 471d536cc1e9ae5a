import numpy as np

from disco_dspy.light.store import load_arrays
from disco_dspy.light.syntax import SyntaxNet
from disco_dspy.light.tokens import tokenize

NET = SyntaxNet(load_arrays("syntax"))


def test_tags_heads_and_labels_are_those_of_spacys_small_model() -> None:
    # The reference was printed by spaCy 3.8.18 with en_core_web_sm 3.8.0.
    tokens = tokenize("He said that the cats, which were hungry, ate because they wanted to.")
    syntax = NET.analyse(tokens)
    assert " ".join(syntax.tags) == "PRP VBD IN DT NNS , WDT VBD JJ , VBD IN PRP VBD TO ."
    assert syntax.heads == (1, 1, 10, 4, 10, 4, 7, 4, 7, 10, 1, 13, 13, 10, 13, 1)
    assert " ".join(syntax.labels) == (
        "nsubj ROOT mark det nsubj punct nsubj relcl acomp punct ccomp mark nsubj advcl xcomp punct"
    )


def test_links_stay_inside_sentences_and_reach_a_root() -> None:
    tokens = tokenize(
        "Go. A very odd heap of words the of and\nThe dog that the man saw barked; it ran, and we left! Yes?"
    )
    syntax = NET.analyse(tokens)
    for token, head in enumerate(syntax.heads):
        assert tokens.sentence[token] == tokens.sentence[head]
        for _ in range(len(tokens)):
            token = syntax.heads[token]
        assert syntax.heads[token] == token


def test_the_same_words_give_the_same_vectors() -> None:
    tokens = tokenize("Same words, same vectors.")
    assert np.array_equal(NET.vectors(tokens), SyntaxNet(load_arrays("syntax")).vectors(tokens))
