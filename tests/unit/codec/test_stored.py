"""What earlier releases stored is still read: one file of sealed values per version of the format."""

from __future__ import annotations

import base64
import json
import pathlib

import pytest
from tests.unit.codec.sameness import same
from tests.unit.codec.samples import USER, VALUES

from perdure.core.codec import Codec

# Written once, by the release that brought the format. A value whose bytes change needs a new tag, not a new file.
STORED = json.loads((pathlib.Path(__file__).parent / "stored_v1.json").read_text())
CLASSES = {type(value) for value in USER.values()} - {dict, set}


@pytest.mark.parametrize("name", STORED)
def test_values_stored_by_format_1_are_read(name):
    codec = Codec(CLASSES)
    codec.pack([*USER.values()])  # registers what only stands inside others
    sealed = base64.b85decode(STORED[name])
    assert same(codec.unpack(codec.open(sealed)), VALUES[name])


@pytest.mark.parametrize("name", STORED)
def test_values_are_still_packed_as_format_1_says(name):
    codec = Codec()
    assert codec.pack(VALUES[name]) == codec.open(base64.b85decode(STORED[name]))
