# SPDX-License-Identifier: Apache-2.0
"""`openarm:<variant>`: a MuJoCo model of the openarm-mujoco package."""

from pathlib import Path

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_all
from lastgate.tools.assets.pkg_scheme import resolve_pkg

PATH_BY_VARIANT = {
    "bimanual": "share/openarm_mujoco/v2/openarm_bimanual.xml",
    "cell": "share/openarm_mujoco/v2/cell/cell.xml",
    "pedestal": "share/openarm_mujoco/v2/pedestal/pedestal.xml",
}


def resolve_openarm(variant: str) -> Path:
    """Returns the MJCF file of a variant; raises `ROSConfigError` listing the variants there are.

    openarm-mujoco installs its models into the data folder of the environment, beside site-packages.
    """
    if variant not in PATH_BY_VARIANT:
        raise ROSConfigError(
            f"openarm has no variant `{variant}`; closest first: {quote_all(variant, PATH_BY_VARIANT)}"
        )
    return resolve_pkg("openarm-mujoco", PATH_BY_VARIANT[variant])
