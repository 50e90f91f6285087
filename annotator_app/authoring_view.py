"""The HTML of the page where people write: what a step shows, and its form, drawn from the step's fields.

The page's script (``assets/authoring.js``) puts these pieces in place. Everything untrusted in them is escaped here, by
``html``; the script inserts no text of its own making as HTML. The rounds and steps of a design that is not ours have
no messages: their names are shown as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from annotator_app import constraints_view, guide, html, words
from annotator_app.words import Voice
from quati_pool.annotation.authoring.base import Design
from quati_pool.annotation.authoring.forms import Doubt, Field, WritingError, at_path
from quati_pool.annotation.authoring.pira import Pira
from quati_pool.annotation.authoring.romqa import Romqa
from quati_pool.annotation.evidence import evidence_in
from quati_pool.commands.annotate.authoring.step import WritingStep
from quati_pool.commands.annotate.questions.rules import COMMENT_CHARACTERS
from quati_pool.commands.annotate.session import AnnotationSession

TEXT = "text"
"""The name of what is written from, next to the form; its evidence is marked in it."""

_APART = ("evidence", "flags", "similar", "correct", "versions")
_LANGUAGE = re.compile("[a-z]{2}")
_SAID_BY_THE_SCRIPT = ("confirm", "drop_unsent", "was", "nothing_marked", "too_quick")
_SAID_OF_TRANSLATIONS = ("translating", "translated", "machine", "machine_edited")
_SAID_AS_WHERE_PEOPLE_GRADE = ("not_stored", "try_again", "evidence_keys", "evidence_touch")
_KEYS = ("go", "undo", "later", "cannot", "evidence", "language", "translate", "rows", "enter", "leave", "guide")


def has_messages(design: Design[Any] | None) -> bool:
    """Whether there are messages on the rounds and steps of a design; one of somebody else may give their names to
    something else."""
    return isinstance(design, Pira | Romqa)


class AuthoringView:
    """Draws the page of a session in one language."""

    def __init__(self, session: AnnotationSession, voice: Voice) -> None:
        self._session = session
        self._voice = voice

    def _say(self, key: str, **values: object) -> str:
        return self._voice.say(f"authoring.{key}", **values)

    def _named(self, key: str, otherwise: str) -> str:
        """The message of a name that a design gives, or else the name itself."""
        if f"authoring.{key}" in words.messages(self._voice.language):
            return self._say(key)
        return html.one_line(otherwise.replace("_", " "))

    def _of_design(self, key: str, otherwise: str) -> str:
        """The message on a round or step, or else what the design calls it."""
        known = has_messages(self._session.design)
        return self._named(key, otherwise) if known else html.one_line(otherwise.replace("_", " "))

    def _explained(self, section: str, reason: str | None, values: Mapping[str, Any], otherwise: str) -> str:
        """The sentence for a reason that a design gives, with its values filled in, or else what it says itself."""
        shown = {name: html.short_line(one) if isinstance(one, str) else one for name, one in values.items()}
        try:
            return self._say(f"{section}.{reason}", **shown)
        except (KeyError, IndexError):  # no such message, or it needs other values
            return html.one_line(otherwise)

    # The frame

    def frame(self) -> Markup:
        """What stays from step to step: places for it and the messages, and the guide."""
        keys = [
            html.fill("<tr><td><kbd>{key}</kbd></td><td>{text}</td></tr>", key=key, text=text)
            for key, _, text in (self._say(f"keys.{name}").partition(": ") for name in self._keys())
        ]
        return html.fill(
            '<div class="desk writing" data-stage="begin"><div class="left"><div class="where"></div>'
            '<div class="said" role="status"></div><div class="pair-place"></div><div class="bar"></div></div>'
            "{guide}</div>",
            guide=guide.drawer(
                self._session,
                self._voice,
                self._say("keys.title"),
                html.fill("<table><tbody>{keys}</tbody></table>", keys=html.join(keys)),
            ),
        )

    def _keys(self) -> list[str]:
        return [name for name in _KEYS if name != "translate" or self._session.translator is not None]

    def words(self) -> dict[str, str]:
        """The messages that the script shows by itself."""
        said = {key: self._say(key) for key in _SAID_BY_THE_SCRIPT}
        if self._session.translator is not None:
            said |= {key: self._say(key) for key in _SAID_OF_TRANSLATIONS}
            said["not_translated"] = self.not_translated("failed")
        said |= {key: self._voice.say(f"annotate.{key}") for key in _SAID_AS_WHERE_PEOPLE_GRADE}
        return {**said, "unreachable": self._voice.say("app.unreachable")}

    def bar(self, step: WritingStep | None, undoable: bool) -> Markup:
        """The buttons of a step, at the bottom of the window; of none, those of a person who has nothing to do."""
        spoken = self._voice.say
        undo = html.button("undo", spoken("annotate.undo"), "u") if undoable else Markup("")
        shown_guide = html.button("guide", spoken("annotate.guide"), "?")
        if step is None:
            again = html.button("next", spoken("annotate.look_again"), "g", primary=True)
            return html.fill('<div class="moves">{moves}</div>', moves=again + undo + shown_guide)
        moves = [html.button("go", self._go(step), "g", stages="write", primary=True)]
        if step.several:
            moves.append(html.button("end", self._say("end"), None, stages="write"))
        if _spans(step):
            moves.append(html.button("evidence", spoken("annotate.evidence"), "e", stages="write"))
        moves += [undo, html.button("later", spoken("annotate.later"), "s", stages="write")]
        reasons = Markup("")
        if step.refusals:
            moves.append(html.button("cannot", self._say("refuse"), "x", stages="write"))
            moves.append(html.button("cannot", spoken("annotate.back"), "x", stages="reasons"))
            reasons = self._reasons(step.refusals)
        moves.append(shown_guide)
        return html.fill('{reasons}<div class="moves">{moves}</div>', reasons=reasons, moves=html.join(moves))

    def _go(self, step: WritingStep) -> str:
        """What the button says that stores the form."""
        if step.several:
            return self._say("store_set")
        if step.step.reveals:
            return self._say("store_reveals")
        if step.refusals and all(field.prefilled or not field.required for field in step.step.fields):
            return self._of_design(f"accepts.{step.step.name}", self._say("accept"))
        return self._say("store")

    def _reasons(self, refusals: Sequence[str]) -> Markup:
        buttons = [
            html.button("because", self._named(f"refusal.{reason}", reason), str(place), value=reason)
            for place, reason in enumerate(refusals, 1)
        ]
        return html.fill(
            '<div class="reasons" data-stages="reasons" role="group" aria-label="{why}"><p class="quiet">{why}</p>'
            '<div class="grades">{buttons}</div><div class="field" data-field="comment">'
            '<label for="comment">{label}</label>'
            '<textarea id="comment" rows="1" maxlength="{most}" dir="auto" aria-describedby="comment-said"></textarea>'
            '<p class="field-said" id="comment-said" role="alert" hidden></p></div></div>',
            why=self._say("why"),
            buttons=html.join(buttons),
            label=self._say("comment"),
            most=COMMENT_CHARACTERS,
        )

    # What changes

    def progress(self, step: WritingStep | None, today: int, stored: str | None) -> Markup:
        """Where the person is, and what was stored last."""
        parts = []
        if step is not None:
            name = self._of_design(f"round.{step.round}", step.round)
            parts.append(html.fill('<span class="badge">{name}</span>', name=name))
            if step.steps > 1:
                place = self._say("step_of", number=step.number + 1, steps=step.steps)
                parts.append(html.fill("<span>{place}</span>", place=place))
        parts.append(html.fill('<span class="quiet">{text}</span>', text=self._say("today", count=today)))
        if stored is not None:
            parts.append(html.fill('<span class="quiet stored">{text}</span>', text=self._say(f"stored.{stored}")))
        return html.fill('<div class="progress">{parts}</div>', parts=html.join(parts))

    def step(self, step: WritingStep) -> Markup:
        """What the step shows, and its form."""
        name = step.step.name
        several = len({found for field in step.step.fields if (found := _number(field.name))}) > 1
        hint = self._of_design(f"step.{name}.hint", "")
        translatable = step.translatable
        source = self._source(step)
        return html.fill(
            '<section class="pair{with_source}">{source}<form class="form" autocomplete="off" novalidate>'
            '<h1 class="step-title">{title}</h1>{hint}{shown}{fields}{own}</form></section>',
            with_source=Markup(" with-source") if source else Markup(""),
            source=source,
            title=self._of_design(f"step.{name}.title", name),
            hint=html.fill('<p class="hint">{hint}</p>', hint=hint) if hint else Markup(""),
            shown=self._shown(step),
            fields=html.join(
                [
                    self._translate(step, field) + self._field(place, field, name, several, field.name in translatable)
                    for place, field in enumerate(step.step.fields)
                ]
            ),
            own=self._own(step),
        )

    def _source(self, step: WritingStep) -> Markup:
        """The text next to the form, one of its languages at a time."""
        texts = texts_of(step)
        if not texts:
            return Markup("")
        evidence = step.shown.get("evidence")
        marked = () if _spans(step) or not isinstance(evidence, list) else evidence
        blocks = []
        for place, (language, text) in enumerate(texts.items()):
            of_this = [one for one in marked if isinstance(one, Mapping) and (one.get("language") or "") == language]
            blocks.append(
                html.fill(
                    '<div class="source" data-language="{language}"{spoken}{hidden}>{text}</div>',
                    language=language,
                    spoken=_spoken(language),
                    hidden=Markup(" hidden") if place else Markup(""),
                    text=html.passage(text, evidence_in(text, of_this)),
                )
            )
        switch = Markup("")
        if len(texts) > 1:
            buttons = [
                html.fill(
                    '<button type="button" data-do="language" data-value="{language}" aria-pressed="{pressed}">'
                    "{name}</button>",
                    language=language,
                    pressed="false" if place else "true",
                    name=words.LANGUAGES.get(language, language),
                )
                for place, language in enumerate(texts)
            ]
            switch = html.fill(
                '<div class="languages" role="group" aria-label="{name}" aria-keyshortcuts="t">{buttons}<kbd>t</kbd>'
                "</div>",
                name=self._say("text_language"),
                buttons=html.join(buttons),
            )
        return html.fill(
            '<div class="material">{switch}<div class="scroller" tabindex="0" role="region" aria-label="{name}">'
            "{blocks}</div></div>",
            switch=switch,
            name=self._named(f"shown.{TEXT}", TEXT),
            blocks=html.join(blocks),
        )

    def _shown(self, step: WritingStep) -> Markup:
        """What is shown above the fields, but for what these begin with."""
        filled = {field.prefilled for field in step.step.fields}
        texts = texts_of(step)
        logical = constraints_view.shows(step.shown)
        apart = (*_APART, *constraints_view.NAMES) if logical else _APART
        cards = [
            html.fill(
                '<div class="shown" data-shown="{name}"><h2>{title}</h2>{value}</div>',
                name=name,
                title=self._title(step, name),
                value=self._value(value, name, right=step.shown.get("correct")),
            )
            for name, value in step.shown.items()
            if not (name in apart or (name == TEXT and texts) or filled.issuperset(_leaves(name, value)))
            if not _empty(value)
        ]
        return html.fill(
            "{flags}{cards}{logical}{similar}{versions}",
            logical=constraints_view.drawn(step.shown, self._voice) if logical else Markup(""),
            flags=self._flags(step.shown.get("flags")),
            cards=html.fill('<div class="cards">{cards}</div>', cards=html.join(cards)) if cards else Markup(""),
            similar=self._similar(step.shown.get("similar")),
            versions=self._versions(step.shown.get("versions")),
        )

    def _title(self, step: WritingStep, name: str) -> str:
        """What something shown is called, in this step or in all."""
        return self._named(f"shown.{step.step.name}_{name}", self._part(name))

    def _part(self, name: str) -> str:
        """The name of a text, of a field, or of a language."""
        if name in words.LANGUAGES:
            return name
        return self._named(f"shown.{name}", self._named(f"field_short.{name}", name))

    def _value(self, value: object, name: str = "", right: object = None) -> Markup:
        """Something shown: a text, or texts by language, or lists and mappings of them; ``right`` is the place of the
        right one in a list."""
        if isinstance(value, Mapping):
            rows = [
                html.fill(
                    '<div class="part"{spoken}><span class="badge none">{name}</span><div>{inner}</div></div>',
                    spoken=_spoken(str(key)),
                    name=self._part(str(key)),
                    inner=self._value(inner, str(key), right),
                )
                for key, inner in value.items()
                if not _empty(inner)
            ]
            return html.join(rows)
        if isinstance(value, (list, tuple)):
            items = [
                html.fill(
                    "<li>{inner}{mark}</li>",
                    inner=self._value(inner),
                    mark=html.fill('<span class="badge">{text}</span>', text=self._say("right"))
                    if place == right and name != ""
                    else Markup(""),
                )
                for place, inner in enumerate(value)
            ]
            return html.fill("<ol>{items}</ol>", items=html.join(items))
        if isinstance(value, bool):
            return html.fill("<p>{text}</p>", text=self._say("y" if value else "n"))
        if isinstance(value, (int, float)):
            return html.fill("<p>{text}</p>", text=str(value))
        if name == "field":
            return html.fill("<p>{text}</p>", text=self._path(str(value)))
        if name == "language":
            return html.fill("<p>{text}</p>", text=words.LANGUAGES.get(str(value), str(value)))
        if f"authoring.value.{name}.{value}" in words.messages(self._voice.language):
            return html.fill("<p>{text}</p>", text=self._say(f"value.{name}.{value}"))
        return html.passage(str(value), kind="shown-text")

    def _versions(self, found: object) -> Markup:
        """Every version of the texts that were changed, folded."""
        if not isinstance(found, Mapping) or not found:
            return Markup("")
        rows = [
            html.fill("<h3>{name}</h3>{texts}", name=self._path(str(path)), texts=self._value(list(texts)))
            for path, texts in found.items()
        ]
        return html.fill(
            '<details class="versions"><summary>{title}</summary>{rows}</details>',
            title=self._say("shown.versions"),
            rows=html.join(rows),
        )

    def _flags(self, flags: object) -> Markup:
        """What is odd about the texts: it is pointed out, and people decide."""
        rows = []
        for one in flags if isinstance(flags, Sequence) and not isinstance(flags, str) else ():
            found = dict(one) if isinstance(one, Mapping) else {}
            reason, field = str(found.pop("reason", "")), str(found.pop("field", ""))
            values = found.pop("values", None)
            values = dict(values) if isinstance(values, Mapping) else found
            named = {name: self._path(str(value)) if name == "as" else value for name, value in values.items()}
            said = self._explained("flag", reason, {**named, "where": self._path(field)}, f"{field}: {reason}")
            rows.append(html.fill("<li>{said}</li>", said=said))
        return html.fill('<ul class="notice warning flags">{rows}</ul>', rows=html.join(rows)) if rows else Markup("")

    def _path(self, path: str) -> str:
        """The name of a text by its path, such as ``validation.1.pt``."""
        name, *rest = path.split(".")
        if rest and name == "translation":
            name = f"{name}_{rest.pop(0)}"
        return html.one_line(" ".join([self._part(name), *rest]))

    def _similar(self, similar: object) -> Markup:
        """Questions like the shown one, by language."""
        found = similar if isinstance(similar, Mapping) else {}
        rows = [
            html.fill("<li{spoken}>{question}</li>", spoken=_spoken(str(language)), question=html.text(str(question)))
            for language, questions in found.items()
            for question in questions
        ]
        if not rows:
            return Markup("")
        return html.fill(
            '<div class="notice warning similar"><p>{title}</p><ul>{rows}</ul></div>',
            title=self._say("similar"),
            rows=html.join(rows),
        )

    def _own(self, step: WritingStep) -> Markup:
        """What the person has made of this text so far, each with a button that takes it back."""
        if not step.own:
            return Markup("")
        rows = [
            html.fill(
                "<li>{text} {undo}</li>",
                text=html.text(one.text),
                undo=html.button("take_back", self._voice.say("annotate.undo"), value=one.seq),
            )
            for one in step.own
        ]
        return html.fill(
            '<div class="own-items"><h2>{title}</h2><ol>{rows}</ol></div>',
            title=self._say("own"),
            rows=html.join(rows),
        )

    def end(self, today: int) -> Markup:
        """What is said when there is nothing to write."""
        return html.fill(
            '<div class="card end"><h1>{title}</h1><p>{text}</p></div>',
            title=self._say("end_title"),
            text=self._say("end_text" if today else "nothing_text"),
        )

    # Fields

    def _translate(self, step: WritingStep, field: Field) -> Markup:
        """Before the first field of a language that a model can fill: the button for it. The script shows it while
        there is something to translate."""
        filled = (one for one in step.step.fields if one.name in step.translatable)
        if next((one for one in filled if one.language == field.language), None) is not field:
            return Markup("")
        name = self._say("translate", into=words.LANGUAGES.get(str(field.language), field.language))
        return html.fill(
            '<div class="translate" data-into="{language}" hidden>{button}</div>',
            language=field.language,
            button=html.button("translate", name, "m", value=field.language),
        )

    def _machine(self) -> Markup:
        """Under a field that a model can fill: that it did, and whether the person has checked it."""
        return html.fill(
            '<p class="machine" hidden><span class="badge none"></span><label><input type="checkbox"> {checked}</label>'
            "</p>",
            checked=self._say("checked"),
        )

    def _field(self, place: int, field: Field, step: str, several: bool, translatable: bool) -> Markup:
        """A field; with ``several`` of its kind, such as a field for each of two people's answers, it is numbered. A
        ``translatable`` one has a place that says so once a model has filled it."""
        ident = f"field{place}"
        named = self._named(f"field.{step}_{field.label}", self._named(f"field.{field.label}", field.label))
        number = _number(field.name) if several else None
        label = html.fill(
            "{name}{number}{language}{optional}",
            name=named,
            number=f" {number}" if number else "",
            language=html.fill(' <span class="badge none">{code}</span>', code=field.language)
            if field.language
            else Markup(""),
            optional=Markup("")
            if field.required
            else html.fill(' <span class="quiet">({text})</span>', text=self._say("optional")),
        )
        said = html.fill('<p class="field-said" id="{ident}-said" role="alert" hidden></p>', ident=ident)
        of = field.name.removesuffix(f".{field.language}")
        if field.kind in ("line", "prose"):
            return html.fill(
                '<div class="field" data-field="{name}" data-kind="{kind}"{of}><label for="{ident}">{label}</label>'
                '<textarea id="{ident}" rows="{rows}" maxlength="{most}" dir="auto" spellcheck="true"{spoken}'
                ' aria-describedby="{ident}-said"{required}></textarea>{machine}<p class="was" hidden></p>{said}</div>',
                of=html.fill(' data-of="{of}" data-in="{language}"', of=of, language=field.language)
                if translatable
                else Markup(""),
                machine=self._machine() if translatable else Markup(""),
                name=field.name,
                kind=field.kind,
                ident=ident,
                label=label,
                rows=1 if field.kind == "line" else 2,
                most=field.most,
                spoken=_spoken(field.language or ""),
                required=Markup(' aria-required="true"') if field.required else Markup(""),
                said=said,
            )
        if field.kind == "spans":
            return html.fill(
                '<div class="field" data-field="{name}" data-kind="spans" role="group" aria-labelledby="{ident}-label">'
                '<span class="label" id="{ident}-label">{label}</span><ol class="quotes"></ol>{said}</div>',
                name=field.name,
                ident=ident,
                label=label,
                said=said,
            )
        return html.fill(
            '<div class="field row" data-field="{name}" data-kind="{kind}" role="radiogroup"'
            ' aria-labelledby="{ident}-label" aria-describedby="{ident}-said"{required}>'
            '<span class="label" id="{ident}-label">{label}</span><div class="options">{options}</div>{said}</div>',
            name=field.name,
            kind=field.kind,
            ident=ident,
            required=Markup(' aria-required="true"') if field.required else Markup(""),
            label=label,
            options=self._options(field),
            said=said,
        )

    def _options(self, field: Field) -> Markup:
        """The values of a field of which one is chosen, each with its key."""
        if field.kind == "yes_no":
            return self._option("true", self._say("y"), "y") + self._option("false", self._say("n"), "n")
        if field.kind == "choice":
            return html.join(
                [
                    self._option(value, self._named(f"value.{field.label}.{value}", value), str(place))
                    for place, value in enumerate(field.values, 1)
                ]
            )
        low, high = int(field.values[0]), int(field.values[-1])
        ends = [
            html.fill('<span class="quiet">{text}</span>', text=self._named(f"scale.{field.label}.{end}", ""))
            for end in ("low", "high")
        ]
        steps = [self._option(str(value), str(value), str(value), shows_key=False) for value in range(low, high + 1)]
        return html.join([ends[0], *steps, ends[1]])

    def _option(self, value: str, name: str, key: str, shows_key: bool = True) -> Markup:
        return html.fill(
            '<button type="button" role="radio" aria-checked="false" tabindex="-1" data-do="choose"'
            ' data-value="{value}" data-choice="{key}"><span>{name}</span>{kbd}</button>',
            value=value,
            key=key,
            name=name,
            kbd=html.fill("<kbd>{key}</kbd>", key=key) if shows_key else Markup(""),
        )

    # What is said

    def refusal(self, error: WritingError) -> str:
        """Why a form was not stored."""
        return self._explained("refused", error.reason, error.values, str(error))

    def not_translated(self, state: str) -> str:
        """Why a model translated nothing, without its name."""
        return self._say(f"not_translated.{state}")

    def doubt(self, doubt: Doubt) -> str:
        """What is doubtful in a form."""
        return self._explained("doubt", doubt.reason, doubt.values, doubt.reason)

    def conflict(self, reason: str) -> Markup:
        """Why what was sent does not apply any more."""
        return self._notice(f"conflict.{reason}", "warning")

    def undone(self) -> Markup:
        return self._notice("undone")

    def stored_now(self) -> Markup:
        """Says that something is stored after all, since the page had called it not stored."""
        return self._notice("stored_now", "good")

    def doubtful(self) -> Markup:
        """Says that nothing was stored yet because of doubts, and how to confirm them."""
        return self._notice("doubtful", "warning")

    def _notice(self, key: str, kind: str = "info") -> Markup:
        return html.fill('<p class="notice {kind}">{text}</p>', kind=kind, text=self._say(key))


def texts_of(step: WritingStep) -> dict[str, str]:
    """The text that a step shows next to its form, by language, '' for a text whose language is not given. A text that
    is edited is in its field instead."""
    text = step.shown.get(TEXT)
    if any(field.prefilled == TEXT for field in step.step.fields):
        return {}
    if isinstance(text, str):
        return {"": text}
    return {str(language): one for language, one in text.items()} if isinstance(text, Mapping) else {}


def prefilled(step: WritingStep) -> dict[str, Any]:
    """What the fields of a step begin with, by field."""
    found = {field.name: at_path(step.shown, field.prefilled) for field in step.step.fields if field.prefilled}
    return {name: value for name, value in found.items() if value is not None}


def _spans(step: WritingStep) -> bool:
    return any(field.kind == "spans" for field in step.step.fields)


def _number(name: str) -> str | None:
    """The number in a field's name, such as 1 in ``validation.1.pt``."""
    found = re.search(r"\.([0-9]+)\.", name)
    return None if found is None else found[1]


def _empty(value: object) -> bool:
    return value is None or value in ("", [], (), {})


def _leaves(path: str, value: object) -> Iterator[str]:
    """The paths of the texts in something shown."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}", inner)
    else:
        yield path


def _spoken(language: str) -> Markup:
    """The attribute by which a screen reader knows the language of a text."""
    return html.fill(' lang="{language}"', language=language) if _LANGUAGE.fullmatch(language) else Markup("")
