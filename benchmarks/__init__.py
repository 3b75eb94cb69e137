"""Measurements of Perdure beside its peers and the floor, on the same work in one run."""
