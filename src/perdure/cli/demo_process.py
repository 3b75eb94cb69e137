"""One step of the demo, as a process: `python -m perdure.cli.demo_process STEP …`, started by `perdure demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import demo_steps
from perdure.cli.commands import Run, command
from perdure.cli.demo import STAND_IN, BaseUrl, Lang, Model
from perdure.cli.edge import leave
from perdure.cli.output import Reply
from perdure.errors import PerdureError
from perdure.memory import Memory

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
Step = Annotated[int, typer.Argument(min=1, max=3)]


@command(app, "step")
def step(run: Run, number: Step, *, model: Model = STAND_IN, base_url: BaseUrl = None, lang: Lang = "en") -> Reply:
    """Play one step of the demo."""
    plan, stage = demo_steps.Plan(model, base_url, lang), demo_steps.begin(number)
    with Memory.open(run.url, tenant=run.tenant) as memory:
        try:
            demo_steps.play(stage, plan, memory, run.calls(memory))
        except PerdureError as error:
            return Reply(stage.data, stage.lines, problem=error)
    return Reply(stage.data, stage.lines)


if __name__ == "__main__":
    leave(app)
