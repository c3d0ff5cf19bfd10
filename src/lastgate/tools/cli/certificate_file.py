# SPDX-License-Identifier: Apache-2.0
"""`lastgate verify`: a certificate, checked by a program that shares nothing with the core. Exit 0 or 1, 2 unread."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.tools.cli.messages import paint

if TYPE_CHECKING:
    from lastgate.certificate import Certificate


def verify_command(
    certificate: Annotated[
        Path, typer.Argument(metavar="F", help="What `lastgate check --certificate F` wrote.")
    ],
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="The model digest it must be about, as verdicts print it."),
    ] = None,
) -> int:
    """Checks the certificate of an accepted chunk: that it leaves nothing out, and that every number in it is true.

    The checker has kinematics, motion bounds and a list of pairs of its own. What it takes for granted is the robot
    model, by its digest, and the world as the file gives it.
    """
    from lastgate.certificate.checker import Refused, check_text
    from lastgate.contracts.exceptions import ROSConfigError

    try:
        text = certificate.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ROSConfigError(f"{certificate}: cannot be read: {error}") from None
    try:
        report = check_text(text)
        if model is not None and report.model_digest != model:
            raise Refused(f"it is about the model {report.model_digest}, not {model}")
    except Refused as error:
        print(f"{paint('refused', 'red', stream=sys.stdout)}: {error}")
        return 1
    print(report)
    return 0


def save_certificate(certificate: "Certificate", path: Path) -> None:
    """Writes a certificate.

    Raises:
        ROSConfigError: The file cannot be written.
    """
    from lastgate.contracts.exceptions import ROSConfigError

    try:
        certificate.save(path)
    except OSError as error:
        raise ROSConfigError(f"{path}: the certificate cannot be written: {error}") from None
