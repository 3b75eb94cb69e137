"""A tool for administrators only, and a quota that ten calls at once can't pass: both checked in the tool itself."""

from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException

from perdure import Memory, errors


class FakeModel(GenericFakeChatModel):
    """No language model: it says what it was given to say."""

    def bind_tools(self, _tools: object, **_: object) -> "FakeModel":
        """Accept tools."""
        return self


@dataclass(frozen=True)
class User:
    """Who runs the agent, and what they may do."""

    user_id: str
    role: str = "member"


@tool
def set_motto(text: str, runtime: ToolRuntime[User]) -> str:
    """Set the motto of the team. For administrators."""
    if runtime.context.role != "admin":  # that the model was told so, or not shown the tool, is no check
        raise ToolException("Only an administrator may do this; nothing was changed.")
    runtime.store.put(("team",), "motto", {"text": text, "by": runtime.context.user_id})
    return "set"


@tool
def send_mail(to: str, runtime: ToolRuntime[User]) -> str:
    """Send a mail. Three a day."""
    try:
        number = runtime.store.increment(("quota", runtime.context.user_id), "mails", at_most=3)
    except errors.LimitReachedError as full:
        raise ToolException(f"No more mails today: {full.current} were sent, which is the limit.") from None
    return f"mail {number} sent to {to}"


set_motto.handle_tool_error = send_mail.handle_tool_error = True  # the model is told, and the run goes on

memory = Memory.open("sqlite://")


def calls(user: User, name: str, given: list[dict[str, Any]]) -> list[ToolMessage]:
    """Let the model make calls at once, which LangGraph runs in parallel; return what was answered."""
    wishes = [{"name": name, "args": args, "id": f"call-{at}"} for at, args in enumerate(given)]
    model = FakeModel(messages=iter([AIMessage("", tool_calls=wishes), AIMessage("Done.")]))
    agent = create_agent(model, [set_motto, send_mail], context_schema=User, store=memory.store)
    state = agent.invoke({"messages": [("user", "go")]}, context=user)
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


(refused,) = calls(User("bob"), "set_motto", [{"text": "Obey Bob"}])
print("bob:", refused.text)
assert refused.status == "error"
assert memory.store.get(("team",), "motto") is None
assert calls(User("ada", role="admin"), "set_motto", [{"text": "Be kind"}])[0].status == "success"

answers = calls(User("bob"), "send_mail", [{"to": f"friend {number}"} for number in range(10)])
print("bob:", sorted(answer.text for answer in answers)[-3:])
assert [answer.status for answer in answers].count("success") == 3
assert memory.store.get(("quota", "bob"), "mails").value == {"value": 3}

memory.close()
print("A member was refused, and of ten calls at once exactly three went through.")
