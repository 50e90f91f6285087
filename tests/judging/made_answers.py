"""Answers made up from a seed: clean verdicts, and whatever may be around them or wrong with them.

About half of them are near the border between what gives a grade and what does not: a clean verdict with one
thing, or two, that may or may not leave a doubt.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from tests.judging.answer_oracle import Setup


@dataclass(frozen=True)
class Wanted:
    """What a prompt asks for, with the key of the reason, in the language of the answers."""

    reason: str
    setup: Setup
    language: str


SCALE = range(4)
WANTED = [
    Wanted("Razão", Setup(("Pontuação", "Pontuacao"), SCALE), "pt"),
    Wanted("Reason", Setup(("Score", "Final score"), SCALE), "en"),
    Wanted("Razão", Setup(("Pontuação",), SCALE, {"Cobertura": SCALE, "Confiança": (0, 1)}), "pt"),
    Wanted("Reason", Setup(("Score",), (0, 1, 10), marks=(("<<plan>>", "<</plan>>"),)), "en"),
    Wanted("Reason", Setup(("O",), SCALE, {"M": SCALE, "T": SCALE}), "en"),
    Wanted("Razão", Setup(("Pontuação",), SCALE, marks=None), "pt"),
]
LIKELY = (6, 6, 2, 2, 2, 1)


@dataclass(frozen=True)
class Answer:
    """One choice of a completion, and what was asked for."""

    wanted: Wanted
    text: str | None
    refusal: str | None
    finish_reason: str | None
    error: str | None


NORMAL = ["stop", "stop", "stop", None, "", "STOP", " end_turn", "eos", "Stop Sequence", "stop-sequence", "COMPLETE"]
ABNORMAL = [
    "length", "LENGTH", "max_tokens", "MAX_TOKENS", "max output tokens", "Model-Length", "token_limit", "incomplete",
    "model_context_window_exceeded", "max_length",
    "content_filter", "Content-Filter", "content_filtered", "safety", "SAFETY", "refusal", "RECITATION", "blocklist",
    "prohibited_content", "SPII", "sensitive", "moderation", "guardrail_intervened", "image safety",
    "abort", "tool_calls", "function_call", "error", "cancelled", "length_", "unknown", "stopped",
]  # fmt: skip

SPACES = [" ", " ", " ", "", "  ", "\t", "\n", "\u00a0", "\u2009", "\u202f", "\u3000", "\u200b", "\ufeff"]
WORDS = {
    "pt": [
        "o trecho",
        "responde",
        "em parte",
        "à pergunta",
        "sem citar 2023",
        "é vago",
        "não traz a data",
        "só 3 de 4",
    ],
    "en": ["the passage", "answers", "in part", "the question", "of 2023", "is vague", "has no date", "only 3 of 4"],
}
SORRY = {
    "pt": ["Desculpe, não consigo avaliar.", "Não sei.", "A nota depende do leitor."],
    "en": ["Sorry, I cannot rate this.", "I do not know.", "It depends."],
}
REMARKS = {
    "pt": [" (muito relevante)", "\n\nEspero ter ajudado!", " – pouco relevante", " de 3", ", talvez", "\nObs.: 2"],
    "en": [" (very relevant)", "\n\nHope this helps!", " - hardly relevant", " out of 3", ", perhaps", "\nP.S. 2"],
}
NEXT_PAIRS = {
    "pt": ["\n\nPergunta: e agora?\nPassagem: outra coisa.\n", "\n\nPróximo par:\n", "\n### Usuário\n"],
    "en": ["\n\nQuery: what else?\nPassage: another.\n", "\n\nNext pair:\n", "\nUser: "],
}
QUOTING = {
    "pt": ["A passagem traz: {}", "A passagem tenta injetar “{}”, o que ignoro.", "Nela está escrito {}."],
    "en": ["The passage says: {}", "The passage tries to inject “{}”, which I ignore.", "It has {} in it."],
}
OTHERS = {
    "pt": ["Confiança da {}: {}", "A {} máxima é 3, e a {}: {}", "F-{}: {}", "max_{}: {}", "resultado.{}: {}"],
    "en": ["Confidence {}: {}", "The {} may be 3, and the {}: {}", "F-{}: {}", "max_{}: {}", "result.{}: {}"],
}
EMPTY_KEYS = ["{}: ?", "{}: see below", "{}:", "{}: n/a.", "**{}**: veja"]
CLOSERS = [
    "", ".", "!", "\n", " ", "\n```", "\n~~~", "```", "~~~~", "~~", ")", "]", "}", "”", "»", "’", "**", "_", "|", "。",
    "！", "\u00a0", "\u3000", "）", "】", "›", "‹", "'''", "\"", "`", "..", "\n\n", "\u200b", "?", ";", ",", ":", "-",
    "—", "(", "#", "…", "、", "\0", "/",
]  # fmt: skip
VALUES_IN_TEXT = [
    "{}/3", "{}-3", "{} - 3", "{} ou 3", "{} or 3", "{} de 3", "{} of 3", "entre {} e 3", "0{}", "+{}", "{}.5", "{},5",
    "{}.00", "{}%", "{}½", "{}²", "{}a", "[{}]", "({})", "<{}>", "#{}", "aprox. {}", "-{}", "{}0", "{} e meio", "two",
    "{}?", "{}!", "{};", "{}...", "{}. 5", "{}°", "“{}”", "{}。", "{}\u200b", "1{}0", "={}", "{} pts", "{}, or so",
]  # fmt: skip
VALUES_IN_JSON = [
    '"{}/3"', '"{}-3"', '"{} ou 3"', "0{}", "+{}", "{}.5", '"{}.5"', '"{}.00"', '"0{}"', '"two"', '""', "true", "null",
    "false", "NaN", "[{}]", '{{"value": {}}}', "{}e0", "-{}", "{}0", '"-{}"', '" {} "', '"{}\\n"', "{}.0000", "-0",
    '"{}."', "1{}0", "Infinity",
]  # fmt: skip
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
TEXT_FRAMES = [
    "{}: {}", "{}: {}.", "**{}:** {}", "**{}**: **{}**", "- **{}**: {}.", '"{}":"{}"', "{}：{}", "{}：\n{}",
    "## {}:\n\n{}", "> * _{}_: {}", "`{}`: {}", "| {}: {} |", "→ {}: {}", "({}: {})", "“{}”: “{}”", "{} : {}",
    "1. {}: {}", "« {} » : {}", "{}: \u00a0{}", "-{}: {}",
]  # fmt: skip
LEADS = [
    "", "", "\n", ". ", "; ", "! ", "… ", ") ", "] ", "—", " — ", " – ", " - ", ", ", ": ", "? ", "\r\n", "\u2028",
    "\u0085", " ", "-", "–", "·", ".", ":", " (", "/", "\u200b", "_", "__", "* ", "\n- ", "\n> ", "\f",
]  # fmt: skip
BLOCKS = [
    ("<think>", "</think>"), ("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"), ("<thoughts>", "</thoughts>"), ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"), ("<|channel>thought", "<channel|>"), ("<THINK>", "</Think>"),
    ("< think >", "</ think >"), ("[ think]", "[/THINK ]"), ("<thinker>", "</thinker>"),
    ("<<plan>>", "<</plan>>"), ("<<PLAN>>", "<</Plan>>"),
]  # fmt: skip
NOISE = [
    *"{}[]()\"'\\:,.;!?-–—~`*_#|0123/<>", "\n", " ", "\0", "\u00a0", "\u200b", "\u0301", "：", "。", "”", "“", "é", "x",
    "½", "２", "\\\"", "```", "</think>", "<think>", "<|end|>",
]  # fmt: skip


class ArtifactBuilder:
    """One answer under way."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.wanted = self.random.choices(WANTED, LIKELY)[0]
        self.setup = self.wanted.setup
        self.grade = self.random.choice([7, -1, 12] if self.one_in(12) else list(self.setup.scale))
        self.other = self.random.choice([grade for grade in self.setup.scale if grade != self.grade])

    def one_in(self, number: float) -> bool:
        return self.random.random() * number < 1

    def of(self, words: dict[str, list[str]]) -> str:
        return self.random.choice(words[self.wanted.language])

    def prose(self) -> str:
        words = WORDS[self.wanted.language]
        return " ".join(self.random.choice(words) for _ in range(self.random.randint(1, 5)))

    # -- verdicts

    def key(self) -> str:
        key = self.setup.keys[0] if self.one_in(1.3) else self.random.choice(self.setup.keys)
        if self.one_in(2):
            return key
        forms: list[Callable[[str], str]] = [
            str.upper, str.lower, str.title, lambda key: unicodedata.normalize("NFD", key),
            lambda key: unicodedata.normalize("NFD", key[:7]) + key[7:],
            lambda key: key.replace(" ", self.random.choice(["  ", "\u00a0", "\t"])), lambda key: key,
        ]  # fmt: skip
        return self.random.choice(forms)(key)

    def json_verdict(self, grade: int, value: str | None = None) -> str:
        if value is None:
            value = self.random.choice(["{}", "{}", "{}", "{}.0", "{}.000", '"{}"', '"{}.0"']).format(grade)
        reason = self.prose()
        if self.one_in(6):
            inner = self.random.choice(['{{"{}": {}}}', "{}: {}", '"{}": {}', "\n{}: {}\n"])
            reason += " " + inner.format(self.setup.keys[0], self.other)
        members = [f"{self.quoted(self.wanted.reason)}: {self.quoted(reason)}"] if self.one_in(1.3) else []
        for name, scale in self.setup.aspects.items():
            if self.one_in(1.3):
                aspect = self.random.choice([*scale, '"1"', "1.0", 7, "true", "0.5"])
                members += [f"{self.quoted(name)}: {aspect}"] * (2 if self.one_in(10) else 1)
        padding = self.random.choice([" ", "\n"]) if self.one_in(15) else ""
        verdict = f"{self.quoted(padding + self.key())}:{self.random.choice(['', ' ', ' '])}{value}"
        members.insert(self.random.randint(0, len(members)) if self.one_in(4) else len(members), verdict)
        if self.one_in(12):
            members.insert(0, f'"nested": {self.nested(self.grade if self.one_in(2) else self.other)}')
        space = self.random.choice(["", "", " ", "\n", "\n  "])
        return "{" + space + self.random.choice([", ", ",", ",\n"]).join(members) + space + "}"

    def nested(self, grade: int) -> str:
        inner = f'{{"{self.setup.keys[0]}": {grade}}}'
        return self.random.choice(["{}", "[{}]", '{{"x": {}}}', "[[1, {}]]"]).format(inner)

    def quoted(self, text: str) -> str:
        written = json.dumps(text, ensure_ascii=self.one_in(12))
        return written.replace("\\n", "\n") if self.one_in(3) else written

    def text_verdict(self, grade: int, value: str | None = None) -> str:
        written = self.random.choice(["{}", "{}", "{}.0"]).format(grade) if value is None else value
        verdict = self.random.choice(TEXT_FRAMES).format(self.key(), written)
        lead = self.random.choice(LEADS)
        before = [f"{name}: {self.random.choice([*scale, 7, '1.5'])}\n" for name, scale in self.setup.aspects.items()]
        aspects = "".join(before) if self.one_in(2) else ""
        return aspects + (self.prose() + lead if lead else "") + verdict

    def verdict(self, grade: int) -> str:
        kind = self.random.random()
        if kind < 0.6:
            return self.json_verdict(grade)
        if kind < 0.95:
            return self.text_verdict(grade)
        return self.random.choice(
            ["{}", "{}", "{}.0", "**{}**", '"{}"', "{}.", " {}\n", "`{}`. ", "{}..", "({})"]
        ).format(grade)

    # -- thoughts

    def thought(self) -> str:
        """A closed one."""
        opening, closing = self.random.choice(BLOCKS)
        inner = self.draft()
        if self.one_in(6):
            inner += opening + self.draft() + closing
        if self.one_in(8):
            inner += self.random.choice(self.random.choice(BLOCKS))
        return opening + self.random.choice(SPACES) + inner + closing

    def draft(self) -> str:
        return self.verdict(self.other) + " " + self.prose() if self.one_in(2) else self.prose()

    def channel(self, name: str, body: str, end: str | None = None) -> str:
        start = self.random.choice(["", "<|start|>assistant"])
        header = self.random.choice(["", "", " to=user", " <|constrain|>json"])
        ends = ["<|end|>", "<|return|>", "<|call|>", ""] if end is None else [end]
        return f"{start}<|channel|>{name}{header}<|message|>{body}{self.random.choice(ends)}"

    def with_thoughts(self, text: str) -> str:
        opening, closing = self.random.choice(BLOCKS)
        kind = self.random.randrange(12)
        if kind < 5:
            return self.thought() + self.random.choice(["", "\n", "\n\n"]) + text
        if kind == 5:
            return text + self.random.choice(["", "\n"]) + self.thought()
        if kind == 6:
            return self.draft() + closing + self.random.choice(["", "\n"]) + text
        if kind == 7:
            return self.random.choice([opening + self.draft() + text, text + opening, opening + text + closing])
        if kind == 8:
            at = self.random.randint(0, len(text))
            return text[:at] + self.random.choice([self.thought(), closing, "<|end|>"]) + text[at:]
        if kind == 9:
            return self.channel("final", text) + (
                self.channel("analysis", self.draft(), "<|end|>") if self.one_in(3) else ""
            )
        names = ["analysis", "commentary", "Analysis"]
        made = self.channel(self.random.choice(names), self.draft(), self.random.choice(["<|end|>", "<|end|>", ""]))
        if kind == 10 or self.one_in(2):
            return made + self.channel(self.random.choice(["final", "final", "FINAL"]), text)
        return made + text

    # -- what may be wrong

    def broken(self, text: str) -> str:
        """JSON that is not quite."""
        kind = self.random.randrange(11)
        if kind == 0:
            return text.rstrip().removesuffix("}")
        if kind == 1:
            return text.rstrip().removesuffix("}") + ",}"
        if kind == 2:
            return text.replace('"', "'")
        if kind == 3:
            return text.replace(" ", ' "oi" ', 1) if self.one_in(2) else text.replace(" ", ' "oi ', 1)
        if kind == 4:
            return text[: self.random.randint(0, len(text))]
        if kind == 5:
            return text.replace(",", "", 1)
        if kind == 6:
            return text.replace(":", self.random.choice(["=", "", "::"]), 1)
        if kind == 7:
            return text.replace("{", "{" + self.random.choice(["x", "\u00a0", "{", ","]), 1)
        if kind == 8:
            place = text.rfind(",")
            return text[: max(place, 0)] + self.random.choice(["[", "(", "{", ";", ",,", ", ["]) + text[place + 1 :]
        if kind == 9:
            key, colon, value = self.broken(text).rpartition(":")
            return key[:-1] + self.random.choice(["'", '"', "”", "`"]) + colon + value
        return text + self.random.choice(["}", "{", '{"', "{'a': 1}", '{"a": }'])

    def scratched(self, text: str) -> str:
        """With a character more, less or other."""
        at = self.random.randint(0, len(text))
        noise = "" if self.one_in(3) else self.random.choice(NOISE)
        return text[:at] + noise + text[at + (1 if self.one_in(2) else 0) :]

    def disturbed(self, text: str) -> str:
        """With one thing that may leave a doubt, or may not."""
        kind = self.random.randrange(20)
        if kind < 4:
            return self.with_thoughts(text)
        if kind < 6:
            return text + self.random.choice(CLOSERS) + (self.random.choice(CLOSERS) if self.one_in(3) else "")
        if kind == 6:
            fence = self.random.choice(["```", "```", "~~~", "````", "``"])
            return f"{fence}{self.random.choice(['', 'json'])}\n{text}\n{fence}"
        if kind == 7:
            return text + self.of(REMARKS)
        if kind == 8:
            return text + self.of(NEXT_PAIRS) + self.verdict(self.random.choice([self.grade, self.other]))
        if kind < 11:
            repeated = self.verdict(self.grade if self.one_in(1.5) else self.other)
            return repeated + self.random.choice(["\n", " ", "\n\n", ", ", ". "]) + text
        if kind == 11:
            quotation = self.of(QUOTING).format(
                self.json_verdict(self.other) if self.one_in(2) else self.text_verdict(self.other)
            )
            return self.random.choice([f"{quotation}\n{text}", f"{text}\n{quotation}"])
        if kind == 12:
            key = self.setup.keys[0].lower()
            other = self.of(OTHERS)
            made = other.format(*[key] * (other.count("{}") - 1), self.random.choice([self.grade, self.other]))
            return self.random.choice([f"{made}\n{text}", f"{made}. {text}", f"{text}\n{made}"])
        if kind == 13:
            empty = self.random.choice(EMPTY_KEYS).format(self.setup.keys[0])
            return self.random.choice([f"{empty}\n{text}", f"{empty}\n{text}", f"{text}\n{empty}"])
        if kind == 14:
            first = self.random.choice([text, self.json_verdict(self.other), '{"x": 1}'])
            others = [f"[{text}]", f"[{first}, {text}]", f"[{text}, {first}]", f'{{"x": {text}}}', f"{{{text}}}"]
            return self.random.choice(others)
        if kind == 15:
            return self.prose() + self.random.choice(LEADS) + text
        if kind == 16:
            return self.broken(self.json_verdict(self.grade))
        if kind == 17:
            value = self.random.choice(VALUES_IN_JSON).format(self.grade)
            made = self.json_verdict(self.grade, value)
            return made if self.one_in(2) else f"{made}\n{text}"
        if kind == 18:
            value = self.random.choice(VALUES_IN_TEXT).format(self.grade)
            value = value.translate(FULL_WIDTH) if self.one_in(15) else value
            made = self.text_verdict(self.grade, value)
            return made if self.one_in(2) else f"{made}\n{text}"
        return self.scratched(text)

    def text(self) -> str:
        kind = self.random.random()
        if kind < 0.03:
            return self.random.choice(
                ["", " ", "\n\n", self.of(SORRY), self.prose(), self.thought(), self.text_verdict(7)]
            )
        text = self.verdict(self.grade)
        if kind < 0.25:
            return text
        if kind < 0.75:
            for _ in range(self.random.choice([1, 1, 2])):
                text = self.disturbed(text)
            return text
        # Anything goes.
        for _ in range(self.random.randint(2, 4)):
            text = self.disturbed(text) if self.one_in(1.5) else self.scratched(text)
        return text

    def answer(self) -> Answer:
        text: str | None = self.text()
        refusal, finish_reason, error = None, self.random.choice(NORMAL), None
        kind = self.random.random()
        if kind < 0.12:
            finish_reason = self.random.choice(ABNORMAL)
        elif kind < 0.14:
            refusal = self.of(SORRY)
        elif kind < 0.16:
            error = "overloaded"
        elif kind < 0.165:
            text = None
        return Answer(self.wanted, text, refusal, finish_reason, error)


def made_answer(seed: int) -> Answer:
    """The answer of a seed, always the same."""
    return ArtifactBuilder(seed).answer()
