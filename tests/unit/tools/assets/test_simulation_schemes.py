# SPDX-License-Identifier: Apache-2.0
"""`gym_aloha:`, `openarm:` and `menagerie:` serve MJCF, and list what they have."""

import sys
from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.closest_names import quote_all


def test_missing_gym_aloha_is_refused_with_the_pip_command(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_name: None)
    with pytest.raises(ROSConfigError, match="hint: pip install --no-deps gym-aloha"):
        resolve_asset("gym_aloha:bimanual_viperx_transfer_cube", "mjcf")


def test_missing_openarm_is_refused_with_the_pip_command(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ROSConfigError, match="hint: pip install --no-deps openarm-mujoco"):
        resolve_asset("openarm:bimanual", "mjcf")


def test_missing_menagerie_is_refused_with_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_menagerie", None)
    with pytest.raises(ROSConfigError, match="hint: pip install mujoco-menagerie"):
        resolve_asset("menagerie:unitree_h1", "mjcf")


def test_unknown_openarm_variant_lists_the_variants_closest_first():
    with pytest.raises(ROSConfigError, match="has no variant `bimanul`; closest first: `bimanual`, `"):
        resolve_asset("openarm:bimanul", "mjcf")


@pytest.mark.library
@pytest.mark.parametrize(
    "scene",
    [
        "bimanual_viperx_transfer_cube",
        "bimanual_viperx_insertion",
        "bimanual_viperx_end_effector_transfer_cube",
        "bimanual_viperx_end_effector_insertion",
    ],
)
def test_gym_aloha_scene_is_found(scene: str):
    path = resolve_asset(f"gym_aloha:{scene}", "mjcf")
    assert path.name == f"{scene}.xml"
    assert "gym_aloha" not in sys.modules


@pytest.mark.library
@pytest.mark.parametrize("scene", ["transfer_cube", "scene", "vx300s_left"])
def test_what_is_no_gym_aloha_scene_is_refused_with_the_scenes(scene: str):
    with pytest.raises(ROSConfigError, match=f"has no scene `{scene}`; closest first: `bimanual_"):
        resolve_asset(f"gym_aloha:{scene}", "mjcf")


@pytest.mark.library
@pytest.mark.parametrize(
    ("variant", "name"),
    [("bimanual", "openarm_bimanual.xml"), ("cell", "cell.xml"), ("pedestal", "pedestal.xml")],
)
def test_openarm_variant_is_found(variant: str, name: str):
    path = resolve_asset(f"openarm:{variant}", "mjcf")
    assert path.is_file()
    assert path.name == name


@pytest.fixture
def menagerie_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MENAGERIE_ROOT", raising=False)
    monkeypatch.setenv("MENAGERIE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MENAGERIE_BASE_URL", f"file://{tmp_path}/nowhere")
    return tmp_path / "cache"


@pytest.mark.library
def test_cached_menagerie_model_is_the_robot_without_its_scene(menagerie_offline: Path, capfd):
    import mujoco_menagerie

    robot = mujoco_menagerie.get("unitree_h1")
    folder = mujoco_menagerie.Cache().model_path(robot)
    folder.mkdir(parents=True)
    (folder / "h1.xml").write_text("<mujoco/>")
    (folder / ".complete").write_text("{}")
    assert resolve_asset("menagerie:unitree_h1", "mjcf") == folder / "h1.xml"
    assert capfd.readouterr() == ("", "")


@pytest.mark.library
def test_menagerie_checkout_is_used_without_a_download(
    menagerie_offline: Path, tmp_path: Path, monkeypatch, capfd
):
    (tmp_path / "checkout" / "unitree_h1").mkdir(parents=True)
    (tmp_path / "checkout" / "unitree_h1" / "h1.xml").write_text("<mujoco/>")
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path / "checkout"))
    assert resolve_asset("menagerie:unitree_h1", "mjcf").read_text() == "<mujoco/>"
    assert capfd.readouterr() == ("", "")


@pytest.mark.library
def test_menagerie_checkout_without_the_model_is_refused(
    menagerie_offline: Path, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    with pytest.raises(ROSConfigError, match="`menagerie:unitree_h1` is not available"):
        resolve_asset("menagerie:unitree_h1", "mjcf")


def test_every_known_name_is_listed_however_many_there_are():
    known = [f"model_{number}" for number in range(30)]
    assert quote_all("model_7", known).startswith("`model_7`, ")
    assert sorted(quote_all("model_7", known).split(", ")) == sorted(f"`{name}`" for name in known)
    assert quote_all("model_7", []) == "none"


@pytest.mark.library
def test_offline_menagerie_miss_is_one_sentence_after_the_download_line(menagerie_offline: Path, capfd):
    with pytest.raises(ROSConfigError) as refusal:
        resolve_asset("menagerie:unitree_h1", "mjcf")
    sentence, _, hint = str(refusal.value).partition("\n\n")
    assert sentence.startswith("`menagerie:unitree_h1` is not available: ")
    assert "\n" not in sentence
    assert hint.startswith("hint: ")
    assert capfd.readouterr() == ("", "Downloading unitree_h1 …\n")


@pytest.mark.library
def test_unknown_menagerie_model_lists_all_there_are_closest_first(menagerie_offline: Path):
    import mujoco_menagerie

    with pytest.raises(
        ROSConfigError, match="has no model `unitree_h2`; closest first: `unitree_h1`"
    ) as refusal:
        resolve_asset("menagerie:unitree_h2", "mjcf")
    assert all(f"`{model}`" in str(refusal.value) for model in mujoco_menagerie.names())
