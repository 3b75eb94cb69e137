"""A real model, small and slow, remembers: through the thread, through recall, with its tools, and past a summary.

What counts is the fact in the answer, never the words around it. Where an answer is the model's to get wrong, a test
says first what the model was shown, which is ours. Each run of an agent is a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.llm import runs

from perdure import Memory

pytestmark = pytest.mark.llm


@dataclass(frozen=True)
class Language:
    """What is said in one language. The drinks are such as a model does not guess."""

    system: str
    name: str
    drink: str
    other_drink: str
    told: str
    both: str
    remember: str
    known: tuple[str, ...]
    which: str
    look_up: str
    turns: tuple[tuple[str, str], ...]
    last: str
    who: str
    number: str


ENGLISH = Language(
    system="You are a helpful assistant. Answer in one short sentence.",
    name="mira",
    drink="oolong",
    other_drink="cocoa",
    told="My name is Mira and I like oolong tea best.",
    both="What is my name, and which drink do I like best?",
    remember="My favourite drink is {}. Please remember it.",
    known=("The user has two cats.", "The user's favourite drink is oolong tea.", "The user works as a gardener."),
    which="What is my favourite drink?",
    look_up="What is my favourite drink? Look it up with recall.",
    turns=(
        ("My name is Mira Holt.", "Nice to meet you."),
        ("Please always answer in one word.", "Understood."),
        ("Our order number is 48213.", "Noted."),
        ("We leave on a Friday in May.", "Friday."),
        ("Is May warm in Lisbon?", "Yes."),
        ("Which river runs through it?", "Tagus."),
        ("Do trams run there?", "Yes."),
        ("Which colour are the old trams?", "Yellow."),
        ("Is the sea near?", "Yes."),
        ("Which fish do people grill there?", "Sardines."),
        ("What is the dance music called?", "Fado."),
    ),
    last="Does Portugal use the euro?",
    who="What is my name?",
    number="What is our order number?",
)
CHINESE = Language(
    system="你是一个助手。用一句短话回答。",
    name="米拉",
    drink="乌龙茶",
    other_drink="可可",
    told="我叫米拉，我最喜欢喝乌龙茶。",
    both="我叫什么名字？我最喜欢喝什么？",
    remember="我最喜欢的饮料是{}，请记住。",
    known=("用户有两只猫。", "用户最喜欢的饮料是乌龙茶。", "用户是一名园丁。"),
    which="我最喜欢的饮料是什么？",
    look_up="我最喜欢的饮料是什么？请用 recall 查一查。",
    turns=(
        ("我叫林米拉。", "很高兴认识你。"),
        ("请始终只用一个词回答。", "好的。"),
        ("我们的订单号是 48213。", "收到。"),
        ("我们五月的一个星期五出发。", "好的。"),
        ("里斯本的五月暖和吗？", "暖和。"),
        ("流过那里的是哪条河？", "特茹河。"),
        ("那里有电车吗？", "有。"),
        ("老电车是什么颜色的？", "黄色。"),
        ("离海近吗？", "近。"),
        ("那里的人烤什么鱼？", "沙丁鱼。"),
        ("那里的音乐叫什么？", "法多。"),
    ),
    last="葡萄牙用欧元吗？",
    who="我叫什么名字？",
    number="我们的订单号是多少？",
)


@pytest.fixture(params=[ENGLISH, CHINESE], ids=["English", "Chinese"])
def spoken(request):
    return request.param


@pytest.fixture
def ask(file_url, address, spoken):
    """Run an agent over one database, in a new process each time."""

    def asked(said, thread, **given):
        return runs.ask(file_url, address, said, thread=thread, system=spoken.system, **given)

    return asked


def holds(said, *facts):
    return [fact for fact in facts if fact in said.answer.lower()] == [*facts]


def test_what_a_thread_said_is_known_in_another_process(ask, spoken):
    ask(spoken.told, "t")
    assert holds(ask(spoken.both, "t"), spoken.name, spoken.drink)
    assert spoken.drink not in ask(spoken.both, "another").whole, "the control: another thread knows nothing"


def test_a_stored_item_is_recalled_into_the_answer_of_another_thread(ask, spoken, file_url):
    with Memory.open(file_url) as memory:
        for key, text in enumerate(spoken.known):
            memory.store.put(("memories", "ada"), str(key), {"text": text})
    answer = ask(spoken.which, "t", user="ada", recall=True)
    assert spoken.drink in answer.whole
    assert holds(answer, spoken.drink)
    other = ask(spoken.which, "u", user="bob", recall=True)
    assert spoken.drink not in other.whole
    assert not holds(other, spoken.drink)


def test_what_the_model_stores_with_its_tool_comes_back_to_its_user_only(ask, spoken, file_url):
    told = ask(spoken.remember.format(spoken.drink), "t", user="ada", tools=True)
    assert [call["name"] for call in told.calls] == ["remember"]
    ask(spoken.remember.format(spoken.other_drink), "u", user="bob", tools=True)
    with Memory.open(file_url) as memory:
        (item,) = memory.store.search(("memories", "ada"))
        assert spoken.drink in item.value["text"].lower()
        assert item.about.source.thread == "t"
    assert holds(ask(spoken.which, "v", user="ada", recall=True), spoken.drink)
    for user, drink, hidden in (("ada", spoken.drink, spoken.other_drink), ("bob", spoken.other_drink, spoken.drink)):
        looked = ask(spoken.look_up, f"w {user}", user=user, tools=True)
        assert [call["name"] for call in looked.calls] == ["recall"]
        assert drink in looked.whole
        assert hidden not in looked.whole
        assert holds(looked, drink)


def test_a_model_shown_a_summary_still_knows_the_beginning_and_the_state_keeps_it_all(ask, spoken):
    messages = [one for said, answer in spoken.turns for one in (("user", said), ("ai", answer))]
    summarised = ask([*messages, ("user", spoken.last)], "t", compaction={"timeout": 300})
    summary = summarised.state["compaction"]
    assert summary, "no summary was made"
    read = summarised.shown[0]
    assert [said for said, _ in spoken.turns[:10] if said not in read] == [], "the summary's model was shown it all"
    assert spoken.name in summary["text"].lower()
    assert "48213" in summary["text"]
    assert summarised.state["messages"][: len(messages)] == [text for _, text in messages]
    for question, fact in ((spoken.who, spoken.name), (spoken.number, "48213")):
        later = ask(question, "t", compaction={"timeout": 300})
        assert spoken.turns[4][0] not in later.shown[-1], "the beginning is shown by its summary alone"
        assert holds(later, fact)
        assert spoken.turns[4][0] in later.state["messages"]
