# SPDX-License-Identifier: Apache-2.0
"""`gym_aloha:<scene>`: a MuJoCo scene of the gym-aloha package."""

import importlib.util
from pathlib import Path

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_all

# gym-aloha ships parts of scenes beside the scenes; these are what a scene file starts with.
SCENE_PREFIX = "bimanual_"


def resolve_gym_aloha(scene: str) -> Path:
    """Returns `gym_aloha/assets/<scene>.xml`; raises `ROSConfigError` listing the scenes there are.

    The package is located and not imported: importing it needs gymnasium and a renderer.
    """
    spec = importlib.util.find_spec("gym_aloha")
    if spec is None or not spec.submodule_search_locations:
        raise ROSConfigError(
            f"`gym_aloha:{scene}` needs the package gym-aloha, which is not installed\n\n"
            "hint: pip install --no-deps gym-aloha"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "assets"
    known = {path.stem: path for path in folder.glob(f"{SCENE_PREFIX}*.xml")}
    if scene not in known:
        raise ROSConfigError(f"gym-aloha has no scene `{scene}`; closest first: {quote_all(scene, known)}")
    return known[scene]
