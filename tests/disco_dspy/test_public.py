from __future__ import annotations

import subprocess
import sys

import pytest

import disco_dspy


def test_every_public_name_is_there() -> None:
    for name in disco_dspy.__all__:
        assert getattr(disco_dspy, name) is not None
        assert name in dir(disco_dspy)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Disco'"):
        disco_dspy.Disco  # noqa: B018


def test_importing_the_package_loads_neither_dspy_nor_an_index() -> None:
    code = "import sys, disco_dspy; print([m for m in ('dspy', 'faiss', 'sqlalchemy', 'litellm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_using_a_program_loads_no_litellm() -> None:
    code = "import sys, disco_dspy; disco_dspy.DiscoRAG(); print('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
