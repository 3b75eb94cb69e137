"""The only place where bytes are made: value -> encode -> compress -> envelope, and back.

Stored bytes never name code. A closed table of integer tags leads to our own decoders; users' classes are found by
name among those that this process has registered. What goes in comes out equal and of the same type, or `pack` refuses.
"""

from perdure.core.codec.codec import Codec, describe_exception
from perdure.core.codec.discover import types_of
from perdure.core.codec.kinds import Opaque, Parts
from perdure.core.codec.tags import REF_CODES

__all__ = ["REF_CODES", "Codec", "Opaque", "Parts", "describe_exception", "types_of"]
