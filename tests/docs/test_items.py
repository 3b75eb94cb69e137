"""The page about items names what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from perdure import Policy

PAGE = Path(__file__).parents[2] / "docs/reference/items.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_field_of_a_policy_is_named():
    named = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert named == [field.name for field in dataclasses.fields(Policy) if field.name != "prefix"]
