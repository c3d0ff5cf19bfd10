# SPDX-License-Identifier: Apache-2.0
"""Reads a skill's manifest."""

from pathlib import Path

from pydantic import ValidationError

from lastgate.contracts import ROSConfigError, RSkillManifest, config_error_from
from lastgate.tools.cli.input_files import load_document


def load_skill(path: Path) -> RSkillManifest:
    """Reads an `RSkillManifest` from .yaml or .json; every problem raises `ROSConfigError`."""
    document = load_document(path)
    if not isinstance(document, dict):
        raise ROSConfigError(f"{path}: a skill is a mapping, this is a {type(document).__name__}")
    try:
        return RSkillManifest(**document)
    except ValidationError as error:
        raise config_error_from(error, source=str(path)) from None
    except TypeError as error:
        raise ROSConfigError(f"{path}: {error}") from None
