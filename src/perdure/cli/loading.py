"""What options name by module: classes and embedders of the program that the database belongs to."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from perdure.cli import output

__all__ = ["named"]


def named(name: str, option: str, example: str) -> Any:
    """Return what MODULE:NAME names, in modules that Python finds here as well. Raises a usage error."""
    module, colon, path = name.partition(":")
    if not colon or not path:
        raise output.Misuse(f"{option} takes MODULE:NAME, such as {example}, not {name}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise output.Misuse(f"{option} {name}: {error}.") from None
    finally:
        sys.path.remove(str(Path.cwd()))
    return found
