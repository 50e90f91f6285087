"""Strict reader of YAML settings: every error names file, line and key, and suggests a name for an unknown key."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from quati_pool.errors import ConfigError, InputError
from quati_pool.registry import nearest

# These names become file names and columns of TREC runs.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\Z")
EXPECTED_NAME = "expected a name of letters, digits, '.', '_', '+' and '-'"


def is_name(text: str) -> bool:
    """Whether a text can name a system, corpus or judge."""
    return _NAME.match(text) is not None


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True, allow_inf_nan=False)


M = TypeVar("M", bound=BaseModel)
Place = tuple[Any, ...]


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list, such as [a, b]",
    "dict_type": "keys and their values, {{key: value}}",
    "model_type": "keys and their values, {{key: value}}",
    "greater_than_equal": "at least {ge:,.10g}",
    "less_than_equal": "at most {le:,.10g}",
    "greater_than": "more than {gt:,.10g}",
    "less_than": "less than {lt:,.10g}",
    "literal_error": "{expected}",
    "too_short": "at least {min_length}",
}


def _explained(fault: ErrorDetails) -> str:
    """The message for an error found by pydantic, in the style of our other messages."""
    context = fault.get("ctx", {})
    if "error" in context:
        return str(context["error"])
    value = fault["input"]
    expected = _EXPECTED.get(fault["type"])
    if expected is None:
        return f"{fault['msg']}, not {value!r}"
    hint = ""
    if fault["type"] == "string_type":
        if isinstance(value, bool):
            hint = " (YAML reads a bare yes, no, on or off that way: put it in quotes)"
        elif value is not None and not isinstance(value, (dict, list)):
            hint = " (put it in quotes)"
    return f"expected {expected.format(**context)}, not {'nothing' if value is None else repr(value)}{hint}"


def _keys_at(model: type[BaseModel], place: Place) -> set[str]:
    """The keys of the model nested at ``place``; empty if a union makes it ambiguous."""
    for part in place:
        field = model.model_fields.get(part)
        kinds = [field.annotation, *get_args(field.annotation)] if field else []
        models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if len(models) != 1:
            return set()
        model = models[0]
    return {field.alias or name for name, field in model.model_fields.items()}


def checked_parameters(model: type[M], data: Mapping[str, Any], where: str) -> M:
    """A component's parameters that do not come from a file, validated; raises ConfigError with a message that begins
    with ``where``."""
    for key in data:
        if key not in model.model_fields:
            raise ConfigError(f"{where} {key}: there is no such parameter; {nearest(key, model.model_fields)}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        fault = error.errors()[0]
        raise ConfigError(f"{where} {'.'.join(map(str, fault['loc']))}: {_explained(fault)}") from None


class YamlFile:
    """A YAML file with the line of every key, and checks whose errors name the line."""

    def __init__(self, path: Path, missing: str = "check the path") -> None:
        """Reads the file; ``missing`` is the advice in the error message if it does not exist."""
        self.path = path
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise InputError(path, None, f"there is no such file; {missing}") from None
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            raise InputError(path, line, "is not UTF-8; save it as UTF-8") from None
        except OSError as error:
            raise InputError(path, None, f"cannot be read ({error.strerror}); expected a YAML file") from None
        self._lines: dict[Place, int] = {(): 1}
        try:
            loader = yaml.SafeLoader(text)
            root = loader.get_single_node()
            for place, line in self._walk((), root, loader):
                self._lines[place] = line
            self.data: Any = loader.construct_document(root) if root else None
        except RecursionError:
            raise InputError(path, None, "nests too deeply, or holds itself; write it out") from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or "cannot be read"
            raise InputError(path, mark.line + 1 if mark else None, f"is not YAML: {problem}") from None
        except yaml.YAMLError as error:
            raise InputError(path, None, f"is not YAML: {' '.join(str(error).split())}") from None

    def _walk(self, place: Place, node: yaml.Node | None, loader: yaml.SafeLoader) -> Iterator[tuple[Place, int]]:
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key_node, value in node.value:
                line = key_node.start_mark.line + 1
                # << and = have special tags, for which there is no constructor.
                special = key_node.tag.endswith((":merge", ":value"))
                key = key_node.value if special else loader.construct_object(key_node, deep=True)
                if not isinstance(key, Hashable):
                    raise InputError(self.path, line, "a list or a mapping cannot be a key; expected a word")
                if key in seen:
                    raise InputError(self.path, line, f"the key {key_node.value!r} occurs twice; keep one")
                seen.add(key)
                yield (*place, key), line
                yield from self._walk((*place, key), value, loader)
        elif isinstance(node, yaml.SequenceNode):
            for position, value in enumerate(node.value):
                yield (*place, position), value.start_mark.line + 1
                yield from self._walk((*place, position), value, loader)

    def line(self, place: Place) -> int:
        """The line of a key, or of the nearest enclosing key that exists."""
        while place not in self._lines:
            place = place[:-1]
        return self._lines[place]

    def error(self, place: Place, message: str) -> InputError:
        name = ".".join(map(str, place))
        return InputError(self.path, self.line(place), f"{name}: {message}" if name else message)

    def refuse_unknown(self, place: Place, data: Mapping[Any, Any], known: set[str]) -> None:
        for key in data:
            if key not in known:
                raise self.error((*place, key), f"unknown key; {nearest(str(key), known)}")

    def text_key(self, place: Place, key: Any) -> str:
        if not isinstance(key, str) or not is_name(key):
            raise self.error(place, f"{EXPECTED_NAME} (quote a number: '7')")
        return key

    def model(self, place: Place, model: type[M], data: Any) -> M:
        if isinstance(data, dict):
            names = {field.alias or name for name, field in model.model_fields.items()}
            self.refuse_unknown(place, data, names)
        try:
            return model.model_validate(data)
        except ValidationError as error:
            fault = error.errors()[0]
            at = place
            for part in fault["loc"]:
                # pydantic's location also contains the branch of a union, which is not a key.
                at = (*at, part) if (*at, part) in self._lines else at
            if fault["type"] == "missing":
                raise self.error(at, f"the key {fault['loc'][-1]!r} is missing; add it") from None
            if fault["type"] == "extra_forbidden":
                hint = nearest(str(fault["loc"][-1]), _keys_at(model, fault["loc"][:-1]))
                raise self.error(at, f"unknown key; {hint}") from None
            raise self.error(at or fault["loc"][:1], _explained(fault)) from None
