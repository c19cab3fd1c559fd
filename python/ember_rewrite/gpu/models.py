"""Reads model files: inputs, statements and the sources of data, as nested tuples of words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Union

Form = Union[str, tuple]
"""A word, or a list of forms. Texts in quotes are words without their quotes."""

TOKEN = re.compile(r'\s+|;[^\n]*|(?P<open>\()|(?P<close>\))|"(?P<text>[^"]*)"|(?P<word>[^\s()";]+)')


class Unsupported(Exception):
    """Raised for what a model says and this package cannot run."""


@dataclass(frozen=True)
class Input:
    """A tensor that a model reads."""

    name: str
    dtype: str
    extents: tuple[Form, ...]


@dataclass(frozen=True)
class Statement:
    """A tensor that a model computes."""

    name: str
    value: Form
    is_output: bool


@dataclass(frozen=True)
class Model:
    """A model file."""

    name: str
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    data: tuple[Form, ...]

    def is_table(self, operand: Form) -> bool:
        """Returns true for an operation, a temporary and an input of more than one dimension."""
        inputs = {given.name: len(given.extents) for given in self.inputs}
        lets = {statement.name for statement in self.statements}
        return isinstance(operand, tuple) or operand in lets or inputs.get(operand, 0) > 1

    def origin(self, table: Form) -> str:
        """Returns the input with as many rows as a table: for one that is computed, the first that it is made of.

        Raises:
            Unsupported: if it is made of none.
        """
        while True:
            table = next((s.value for s in self.statements if s.name == table), table)
            if isinstance(table, str):
                return table
            found = next((operand for operand in table[1:] if self.is_table(operand)), None)
            if found is None:
                raise Unsupported(f"`{table[0]}` is made of no table")
            table = found

    def calls(self) -> list[tuple]:
        """Returns every operation."""
        found, left = [], [statement.value for statement in self.statements]
        while left:
            form = left.pop()
            if isinstance(form, tuple):
                found.append(form)
                left += form[1:]
        return found


def forms(text: str) -> list[Form]:
    """Reads the forms of a text.

    Raises:
        Unsupported: if a parenthesis is missing or superfluous, or a character starts no form.
    """
    stack: list[list[Form]] = [[]]
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise Unsupported(f"no form starts at {text[at : at + 10]!r}")
        at = token.end()
        if token["open"]:
            stack.append([])
        elif token["close"]:
            done = tuple(stack.pop())
            if not stack:
                raise Unsupported("a closing parenthesis without an opening one")
            stack[-1].append(done)
        elif token["text"] is not None or token["word"] is not None:
            stack[-1].append(token["word"] if token["text"] is None else token["text"])
    if len(stack) > 1:
        raise Unsupported("a parenthesis is not closed")
    return stack[0]


def read(path: Path) -> Model:
    """Reads a model file.

    Raises:
        Unsupported: if the text is no model.
        OSError: if the file cannot be read.
    """
    read = forms(path.read_text(encoding="utf-8"))
    if len(read) != 1 or not isinstance(read[0], tuple) or read[0][:1] != ("model",) or len(read[0]) < 2:
        raise Unsupported("not one form `(model NAME …)`")
    name, *parts = read[0][1:]
    inputs, statements, data = [], [], ()
    for part in parts:
        head = part[0] if isinstance(part, tuple) and part else part
        if head == "input" and len(part) == 4:
            inputs.append(Input(part[1], part[2], part[3]))
        elif head in ("let", "output") and len(part) == 3:
            statements.append(Statement(part[1], part[2], head == "output"))
        elif head == "data":
            data = part[1:]
        elif head not in ("programs", "arguments", "results"):
            raise Unsupported(f"`{head}` is no part of a model that can be measured")
    return Model(name, tuple(inputs), tuple(statements), data)
