from disco_dspy.light.hashing import hash_text, row_numbers


def test_hashes_are_those_of_spacy() -> None:
    # Known numbers from spaCy's documentation of its string store.
    assert hash_text("coffee") == 3197928453018144401
    assert hash_text("apple") == 8566208034543834098
    assert hash_text("") == 0


def test_row_numbers_are_those_of_thinc() -> None:
    # Computed with thinc 8.3: NumpyOps().hash(array([7, 2**64 - 1]), 8).
    assert row_numbers(7, 8).tolist() == [2590490786, 1483956769, 1738252531, 2225935154]
    assert row_numbers(2**64 - 1, 8).tolist() == [2488739950, 2974852181, 1585626277, 2314794624]
