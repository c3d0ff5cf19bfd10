# SPDX-License-Identifier: Apache-2.0
"""What every schema shares: no unknown keys, finite numbers, frozen objects, messages that name the thing."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from lastgate.contracts.exceptions import ROSConfigError

# Long enough for any link of any published description; short enough that a log line stays a line.
_NAME_LENGTH_MAX = 256


def _require_plain_name(name: str) -> str:
    if name != name.strip() or not name.isprintable():
        raise ValueError(f"a name must be printable and must not start or end with a space, got {name!r}")
    return name


def require_ordered(value: object) -> object:
    # Pydantic would also read a set or a mapping's keys as a vector, in whatever order they come.
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"must be a list, got {type(value).__name__}")
    return value


def _require_known_version(version: object) -> object:
    if isinstance(version, bool) or version != 1:
        raise ValueError(f"this lastgate reads schema version 1, got {version!r}")
    return 1


# Strict: neither `true` nor "0.5" is a number. Whole numbers are. The last step drops the subclasses of float
# that YAML readers use to remember how a number was written.
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False), AfterValidator(float)]
Positive = Annotated[Finite, Field(gt=0.0)]
NotNegative = Annotated[Finite, Field(ge=0.0)]
SchemaVersion = Annotated[Literal[1], BeforeValidator(_require_known_version)]
Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]
Name = Annotated[
    str, Field(strict=True, min_length=1, max_length=_NAME_LENGTH_MAX), AfterValidator(_require_plain_name)
]
Vector2 = Annotated[tuple[Finite, Finite], BeforeValidator(require_ordered)]
Vector3 = Annotated[tuple[Finite, Finite, Finite], BeforeValidator(require_ordered)]
Quaternion = Annotated[tuple[Finite, Finite, Finite, Finite], BeforeValidator(require_ordered)]
XyzRpy = Annotated[tuple[Finite, Finite, Finite, Finite, Finite, Finite], BeforeValidator(require_ordered)]


class Schema(BaseModel):
    """Refuses unknown keys and numbers that are not finite, and cannot be changed once made.

    A `ValidationError` lists every problem, and each message names the joint, link or field it is about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)

    # "joint" and "name" make a message begin with: joint `elbow`.
    subject_noun: ClassVar[str] = ""
    subject_key: ClassVar[str] = "name"
    # Keys that were renamed: from the old value to the sentence that gives the new spelling.
    renamed_keys: ClassVar[Mapping[str, Callable[[Any], str]]] = {}
    # Keys that may be written in two ways, but not in both at once: from the other spelling to ours.
    also_spelled: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def _subject(cls, data: object) -> str:
        """Returns how a message addresses this object, or nothing where the object carries no name."""
        if not cls.subject_noun:
            return ""
        name = (
            data.get(cls.subject_key) if isinstance(data, Mapping) else getattr(data, cls.subject_key, None)
        )
        return f"{cls.subject_noun} `{name}`" if isinstance(name, str) else cls.subject_noun

    @model_validator(mode="wrap")
    @classmethod
    def _name_every_problem(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if cls.also_spelled and isinstance(data, Mapping):
            ours = {key: cls.also_spelled.get(key, key) for key in data}
            data = {key if ours[key] in data else ours[key]: value for key, value in data.items()}
        subject = cls._subject(data)
        refused: list[InitErrorDetails] = []
        try:
            made = handler(data)
            sentences = [sentence for check in made._checks() for sentence in check()]
        except ValidationError as error:
            problems = error.errors(include_url=False)
            refused = [cls._address(problem, subject) for problem in problems]
            fields = frozenset(str(problem["loc"][0]) for problem in problems if problem["loc"])
            sentences = cls._problems_of_refused(data, fields)
        else:
            if not sentences:
                return made
        refused += [
            InitErrorDetails(type=_worded("inconsistent", _with(subject, text), bool(subject)), input=None)
            for text in sentences
        ]
        raise ValidationError.from_exception_data(cls.__name__, refused) from None

    def _problems(self) -> Sequence[str]:
        """Lists what is wrong with the object as a whole, once each of its fields is accepted."""
        return ()

    def _checks(self) -> Sequence[Callable[[], Sequence[str]]]:
        """Returns the parts of `_problems` that can be asked one by one; one that needs a refused field is skipped."""
        return (self._problems,)

    @classmethod
    def _problems_of_refused(cls, data: object, refused: frozenset[str]) -> Sequence[str]:
        """Lists what can be said about the object as a whole although some of its fields were refused.

        The reader of the message should not need a second run to learn what else is wrong.
        """
        if not isinstance(data, Mapping):
            return ()
        known = {
            name: _reader(cls, name).validate_python(data[name])
            for name in cls.model_fields
            if name in data and name not in refused
        }
        partial = cls.model_construct(_fields_set=None, **known)
        for name in refused:
            vars(partial).pop(name, None)  # a default would be a guess at what was meant
        sentences: list[str] = []
        for check in partial._checks():
            try:
                sentences += check()
            except AttributeError as error:
                if error.name not in refused:
                    raise
        return sentences

    @classmethod
    def _address(cls, problem: ErrorDetails, subject: str) -> InitErrorDetails:
        context = problem.get("ctx", {})
        text = problem["msg"] if "names_subject" in context else cls._word(problem)
        names_subject = bool(subject) or context.get("names_subject", False)
        error = _worded(problem["type"], _with(subject, text), names_subject)
        return InitErrorDetails(type=error, loc=problem["loc"], input=problem["input"])

    @classmethod
    def _word(cls, problem: ErrorDetails) -> str:
        """Turns one of pydantic's messages into a sentence that gives the field and the value."""
        field = ".".join(str(part) for part in problem["loc"])
        kind = problem["type"]
        if kind == "missing":
            return f"`{field}` is missing"
        if kind == "extra_forbidden":
            return cls._word_unknown_key(str(problem["loc"][-1]), problem["input"])
        if kind == "value_error":
            text = str(problem.get("ctx", {}).get("error", problem["msg"]))
            return f"`{field}`: {text}" if field else text
        if kind == "union_tag_invalid":
            context = problem.get("ctx", {})
            return f"`{field}` is {context.get('tag')!r}, must be one of {context.get('expected_tags')}"
        text = problem["msg"]
        text = (
            f" must be {text[16:]}"
            if text.startswith("Input should be ")
            else f": {text[:1].lower()}{text[1:]}"
        )
        shown = repr(problem["input"])
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        return f"`{field}`{text}, got {shown}" if field else f"the object{text}, got {shown}"

    @classmethod
    def _word_unknown_key(cls, key: str, value: object) -> str:
        if key in cls.renamed_keys:
            return cls.renamed_keys[key](value)
        known = [*cls.model_fields]
        nearest = difflib.get_close_matches(key, known, n=1)
        hint = (
            f"did you mean `{nearest[0]}`?"
            if nearest
            else "known keys: " + ", ".join(f"`{k}`" for k in known)
        )
        return f"unknown key `{key}`; {hint}"


@cache
def _reader(schema: type[Schema], name: str) -> TypeAdapter[Any]:
    field = schema.model_fields[name]
    of_field: Any = Annotated[field.annotation, field]  # pyright: ignore[reportInvalidTypeForm]
    return TypeAdapter(of_field)


def _with(subject: str, text: str) -> str:
    return f"{subject}: {text}" if subject else text


def _worded(kind: str, text: str, names_subject: bool) -> PydanticCustomError:
    # The text goes in as a value, so that a brace in a user's name is not read as a placeholder.
    context = {"text": text, "names_subject": names_subject}
    return PydanticCustomError(kind, "{text}", context)  # pyright: ignore[reportArgumentType]


def describe_validation_error(error: ValidationError) -> list[str]:
    """Lists the problems of a refused object, one sentence each."""
    sentences: list[str] = []
    for problem in error.errors(include_url=False):
        context = problem.get("ctx", {})
        text = problem["msg"] if "names_subject" in context else Schema._word(problem)
        within = ".".join(str(part) for part in problem["loc"][:-1])
        has_place = context.get("names_subject", False) or text.startswith(f"`{within}")
        sentences.append(f"in `{within}`: {text}" if within and not has_place else text)
    return sentences


def config_error_from(error: ValidationError, *, source: str) -> ROSConfigError:
    """Turns a refused object into one error whose lines begin with the file or object they are about."""
    return ROSConfigError("\n".join(f"{source}: {sentence}" for sentence in describe_validation_error(error)))
