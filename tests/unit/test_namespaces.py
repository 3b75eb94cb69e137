"""The key form of namespaces: prefixes and order are those of the tuples."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure import errors
from perdure.core import namespaces
from perdure.core.namespaces import Condition, End

allowed = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
# A few characters, so that labels often begin alike.
labels = st.text(st.sampled_from("ab .-!~é\U0010ffff"), min_size=1, max_size=3) | st.text(
    allowed, min_size=1, max_size=8
)
spaces = st.lists(labels, min_size=1, max_size=5).map(tuple)
paths = st.lists(labels | st.just("*"), max_size=3).map(tuple)


@given(spaces)
@example(("\U0010ffff" * 255,) * 20)
def test_a_namespace_comes_back_from_its_key_form(space):
    assert namespaces.check(space) == space
    assert namespaces.unpack(namespaces.pack(space)) == space


@given(spaces, spaces)
@example(("acme",), ("acme-corp",))
@example(("a", "z"), ("ab",))
@example(("a",), ("a", " "))
def test_the_order_of_key_forms_is_the_order_of_the_labels(one, other):
    packed = [namespaces.pack(space).encode() for space in (one, other)]
    assert (packed[0] < packed[1]) is (one < other)
    assert (packed[0] == packed[1]) is (one == other)


@given(spaces, st.lists(labels, max_size=3).map(tuple))
@example(("acme-corp",), ("acme",))
@example(("acme", "x"), ("acme",))
@example(("\U0010ffff",), ())
def test_a_span_holds_exactly_what_has_the_prefix(space, prefix):
    low, high = (bound.encode() for bound in namespaces.span(prefix))
    assert (low <= namespaces.pack(space).encode() < high) is (space[: len(prefix)] == prefix)


def test_control_a_span_of_joined_text_would_hold_others_too():
    low, high, other = ("/".join(space) for space in [("acme",), ("acme\U0010ffff",), ("acme-corp",)])
    assert low <= other < high


@given(spaces, paths)
def test_a_wildcard_stands_for_exactly_one_label(space, path):
    def meets(part):
        return len(part) == len(path) and all(want in ("*", label) for want, label in zip(path, part, strict=True))

    assert namespaces.matches(space, [Condition(End.PREFIX, path)]) is meets(space[: len(path)])
    tail = space[len(space) - len(path) :] if len(path) <= len(space) else ()
    assert namespaces.matches(space, [Condition(End.SUFFIX, path)]) is meets(tail)


@given(st.text(min_size=1, max_size=4))
def test_a_label_is_anything_but_control_characters_and_surrogates(label):
    bad = any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" or 0xD800 <= ord(c) < 0xE000 for c in label)
    if bad:
        with pytest.raises(errors.InvalidNamespaceError):
            namespaces.check((label,))
    else:
        assert namespaces.check([label]) == (label,)
