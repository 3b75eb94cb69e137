"""Spans: half-open ranges of positions, as sets."""

from __future__ import annotations

__all__ = ["Span", "merge", "subtract"]

Span = tuple[int, int]
"""From a position up to, and without, another."""


def merge(spans: list[Span]) -> list[Span]:
    """Return the same positions as few spans, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def subtract(spans: list[Span], others: list[Span]) -> list[Span]:
    """Return the positions of merged spans that merged others do not have."""
    left: list[Span] = []
    for start, end in spans:
        at = start
        for low, high in others:
            if high <= at or low >= end:
                continue
            if low > at:
                left.append((at, low))
            at = max(at, high)
        if at < end:
            left.append((at, end))
    return left
