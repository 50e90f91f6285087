"""A pile of pages in which every rule of every step has pages planted for it, and the preparation that finds them.

Each planted page breaks one rule and, at the steps before it, none; what its text looks like follows from the
rule's bound, so the expected drops are known before anything runs.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.made_pages import MOST_SENTENCES, sentence_text, sentences, text

CONFIG = """\
name: planted
seed: 3
steps:
  - read: {path: "pages/*.jsonl*", max_page_bytes: 40000}
  - url:
      drop_tlds: [pt]
      drop_domains: [spam.example.com]
      drop_patterns: ["[?&]sessionid="]
      missing: drop
      malformed: drop
  - language: {keep: [pt], threshold: 0.4}
  - segment: {characters: 1000, tolerance: 200, min_characters: 350}
  - line-breaks: {share: 0.2}
  - quality:
      language: pt
      max_words: 215
  - duplicates
  - near-duplicates
  - write: {to: all}
  - sample: {share: 0.5}
  - write: {to: half, format: parquet, rows: 1000}
"""

PER_RULE = 7
GOOD = 1500
LONG = 60
"""Pages without fault of one passage, and of several."""


class Planted(NamedTuple):
    """The expected drops: of each step and reason the ids of pages, or of the passage cut from each."""

    drops: Mapping[str, Mapping[str, Sequence[str]]]
    kept: Sequence[str]
    """The pages of one passage of which that passage is written."""
    long: Sequence[str]
    """The pages of several passages, all written."""
    unreadable: Mapping[str, int]
    """Lines that are no page, by the reader's reason."""


class _Pile:
    def __init__(self) -> None:
        self.source = random.Random(11)
        self.lines: list[bytes] = []
        self.drops: dict[str, dict[str, list[str]]] = {}
        self.kept: list[str] = []
        self.long: list[str] = []
        self.unreadable: dict[str, int] = {}
        self._count = 0

    def page(self, content: str, url: str | None = None, doc_id: str | None = None) -> str:
        if doc_id is None:
            self._count += 1
            doc_id = f"p{self._count:05d}"
        record = {
            "doc_id": doc_id,
            "url": f"https://www.example.com.br/{doc_id}" if url is None else url,
            "text": content,
        }
        self.lines.append(json.dumps(record, ensure_ascii=False).encode())
        return doc_id

    def plant(self, step: str, reason: str, doc_id: str) -> None:
        self.drops.setdefault(step, {}).setdefault(reason, []).append(doc_id)

    def bad(self, reason: str, line: bytes) -> None:
        self.unreadable[reason] = self.unreadable.get(reason, 0) + 1
        self.lines.append(line)

    def good(self) -> str:
        """About 900 characters, so one passage."""
        return sentence_text(self.source, 850)


def words(line: str) -> list[str]:
    return line.split()


ENGLISH = "The {0} of the {1} was found near the old {2}, and nobody could say why it had been left there for so long."
SPANISH = "Los vecinos dijeron ayer que la {0} del {1} seguirá cerrada hasta que lleguen las nuevas piezas para el {2}."
THINGS = words(
    """
    bridge harbour letter garden window market engine station museum river lantern violin ladder bottle
    """
)
COSAS = words(
    """
    puerta escuela fábrica carretera iglesia biblioteca piscina oficina cocina tienda
    """
)
LONG_WORDS = words(
    """
    desenvolvimento responsabilidade administradores universitários independentemente circunstâncias
    constitucionalidade internacionalização comprometimento extraordinariamente aproximadamente reconhecimento
    sustentabilidade transformações representatividade industrialização disponibilidade interdisciplinares
    profissionalismo características empreendimentos estabelecimentos financiamentos
    """
)
SHORT_WORDS = words(
    """
    a o e de um é já no na do da se em eu tu só pé vi li há ou ao as os às
    """
)
MIDDLE_WORDS = words(
    """
    que com por uma dos das sem nos ele ela sol mar rio pão luz paz mãe pai rua fim dia mês ano boa bom mau
    sim não mas foi são tem ter ver vez voz cor dor flor céu chá pôr lua lei rei sal sul gás mel mil meu seu
    teu
    """
)
NOUNS = words(
    """
    governo cidade escola hospital estrada música história guerra igreja família trabalho empresa mercado
    notícia jornal televisão política eleição justiça polícia saúde doença remédio floresta montanha praia
    cozinha receita futebol jogador treinador campeonato vitória derrota professor estudante universidade
    pesquisa ciência planeta universo estrela computador telefone internet programa projeto reunião relatório
    orçamento imposto salário aluguel
    """
)


def _quality(pile: _Pile) -> dict[str, Callable[[], str]]:
    """A text for each rule that breaks it and no rule before it (in the order of the rules)."""
    source = pile.source

    def drawn_words(known: list[str], characters: int) -> str:
        drawn: list[str] = []
        while sum(map(len, drawn)) + len(drawn) < characters:
            drawn += source.sample(known, min(len(known), 20))
        return " ".join(drawn)[:characters].rpartition(" ")[0]

    def mixed(extra: Callable[[int], str], characters: int = 700) -> str:
        """Words of good sentences, after each what ``extra`` says."""
        return " ".join(word + extra(place) for place, word in enumerate(sentence_text(source, characters).split()))

    def lines(start: str, end: str) -> str:
        return "\n".join(start + sentence.rstrip(".") + end for sentence in sentences(source, 8))

    return {
        "too few words": lambda: sentences(source, 1)[0],
        "too many words": lambda: drawn_words(MIDDLE_WORDS, 980),
        "short words": lambda: drawn_words(SHORT_WORDS, 500),
        "long words": lambda: "de que para com " + drawn_words(LONG_WORDS, 900),
        "hash signs": lambda: mixed(lambda place: " #" if place % 8 == 0 else ""),
        "ellipses": lambda: mixed(lambda place: "..." if place % 8 == 0 else ""),
        "bullets": lambda: lines("- ", "."),
        "lines ending in an ellipsis": lambda: lines("", "…"),
        "few alphabetic words": lambda: mixed(lambda place: f" {place * 37}" if place % 3 == 0 else ""),
        "few stop words": lambda: drawn_words(NOUNS, 800),
        # Six lines the same of sixteen: 5/16 are duplicates, with little of the text.
        "duplicate lines": lambda: "\n".join([*sentences(source, 8), *["leia mais aqui hoje mesmo agora"] * 6]),
        "duplicate paragraphs": lambda: "\n\n".join(
            [
                *(f"{one}\n{other}" for one, other in _pairs(sentences(source, 8))),
                *["veja também outras notícias de hoje"] * 4,
            ]
        ),
        # Two of ten lines are duplicates, with more than a fifth of the characters.
        "characters in duplicate lines": lambda: _long_twice(source, "\n"),
        "top 2-gram": lambda: mixed(lambda place: " governo federal" if place % 5 == 0 else "", 550),
        "duplicate 5-grams": lambda: " ".join([*(some := sentences(source, 7)), *some[:2]]),
    }


def _pairs(some: list[str]) -> list[tuple[str, str]]:
    return list(zip(some[::2], some[1::2], strict=True))


def _long_twice(source: random.Random, joined: str) -> str:
    some = sentences(source, 5)
    return joined.join(
        [some[0] + " " + some[1], some[2], "fim da parte um", some[3], some[0] + " " + some[1], "fim da parte dois"]
    )


def make_pile() -> tuple[list[bytes], Planted]:
    """The lines of the pages, in an order that mixes good and planted ones, and what is to be found."""
    pile = _Pile()
    source = pile.source
    for number in range(PER_RULE):
        pile.bad("not JSON", b'{"doc_id": "torn' + str(number).encode())
        pile.bad("not UTF-8", b'{"doc_id": "latin-%d", "url": "", "text": "p\xe3o"}' % number)
        pile.bad("no text", json.dumps({"doc_id": f"blank-{number}", "url": "", "text": " \n"}).encode())
        pile.bad("no id", json.dumps({"url": "", "text": pile.good()}).encode())
        pile.bad("too long", json.dumps({"doc_id": f"huge-{number}", "url": "", "text": "x " * 30000}).encode())

        for reason, url in {
            "top-level domain": f"https://www.jornal.pt/{number}",
            "domain": f"http://loja{number}.spam.example.com/a",
            "pattern": f"https://example.com.br/x?sessionid={number}",
            "no URL": "",
            "malformed URL": "http://[half/open",
        }.items():
            pile.plant("url", reason, pile.page(pile.good(), url))
        for template, things in ((ENGLISH, THINGS), (SPANISH, COSAS)):
            foreign = " ".join(template.format(*source.sample(things, 3)) for _ in range(7))
            pile.plant("language", "language", pile.page(foreign))
        # A break after every third word.
        broken = pile.good().split()
        content = "\n".join(" ".join(broken[place : place + 3]) for place in range(0, len(broken), 3))
        pile.plant("line-breaks", "too many line breaks", pile.page(content))
        for reason, made in _quality(pile).items():
            pile.plant("quality", reason, pile.page(made()))

    for _ in range(LONG):
        pile.long.append(pile.page(text(source, source.randint(2500, 6000))))
    for _ in range(GOOD):
        pile.kept.append(pile.page(pile.good()))

    originals = source.sample(pile.kept, 4 * PER_RULE)
    stored = {json.loads(line)["doc_id"]: json.loads(line)["text"] for line in pile.lines if _readable(line)}
    for number, doc_id in enumerate(originals):
        content: str = stored[doc_id]
        if number % 4 == 0:
            pile.plant("duplicates", "duplicate", pile.page(content))
        elif number % 4 == 1:
            pile.plant("duplicates", "duplicate", pile.page("  " + content.upper().replace(" ", "  ", 9)))
        elif number % 4 == 2:
            # One word of some hundred and forty, at the end: of n shingles at most five differ.
            pile.plant("near-duplicates", "near duplicate", pile.page(content.rsplit(" ", 1)[0] + " amanhã."))
        else:
            pile.plant("repeated-ids", "repeated doc_id", pile.page(pile.good(), doc_id=doc_id))

    fixed = _firsts_first(pile.lines, source)
    return fixed, Planted(pile.drops, pile.kept, pile.long, pile.unreadable)


def _readable(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line).get("doc_id"), str)
    except ValueError:
        return False


def _firsts_first(lines: list[bytes], source: random.Random) -> list[bytes]:
    """All lines in a mixed order, but copies, which were made last, after what they are copies of."""
    copies = 4 * PER_RULE
    first = lines[:-copies]
    source.shuffle(first)
    return [*first, *lines[-copies:]]


def write_pile(folder: Path, lines: Sequence[bytes], files: int = 4) -> Path:
    """``prepare.yaml`` and the pages in several files, the second one gzip; gives the configuration."""
    (folder / "pages").mkdir(parents=True)
    size = -(-len(lines) // files)
    for number in range(files):
        data = b"\n".join(lines[number * size : (number + 1) * size]) + b"\n"
        if number == 1:
            (folder / "pages" / f"{number}.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))
        else:
            (folder / "pages" / f"{number}.jsonl").write_bytes(data)
    (folder / "prepare.yaml").write_text(CONFIG, encoding="utf-8")
    return folder / "prepare.yaml"


assert MOST_SENTENCES >= 8
