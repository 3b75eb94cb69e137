"""What earlier releases stored is still read: one file of sealed values per version of the format and dictionary."""

from __future__ import annotations

import base64
import json
import pathlib

import pytest
from tests.unit.codec.sameness import same
from tests.unit.codec.samples import USER, VALUES

from perdure.core.codec import Codec

# Written once, by the release that brought the format. A value whose bytes change needs a new tag, not a new file.
FILES = ("stored_v1.json", "stored_v1_dictionary_2.json")
STORED = {
    f"{name} of {file}": (name, sealed)
    for file in FILES
    for name, sealed in json.loads((pathlib.Path(__file__).parent / file).read_text()).items()
}
CLASSES = {type(value) for value in USER.values()} - {dict, set}


@pytest.mark.parametrize(("name", "stored"), STORED.values(), ids=STORED)
def test_values_stored_by_format_1_are_read(name, stored):
    codec = Codec(CLASSES)
    codec.pack([*USER.values()])  # registers what only stands inside others
    sealed = base64.b85decode(stored)
    assert same(codec.unpack(codec.open(sealed)), VALUES[name])


@pytest.mark.parametrize(("name", "stored"), STORED.values(), ids=STORED)
def test_values_are_still_packed_as_format_1_says(name, stored):
    codec = Codec()
    assert codec.pack(VALUES[name]) == codec.open(base64.b85decode(stored))
