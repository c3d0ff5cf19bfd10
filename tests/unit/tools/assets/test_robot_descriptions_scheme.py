# SPDX-License-Identifier: Apache-2.0
"""`rd:` says what it downloads before it does, and what it cannot, without a traceback."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.robot_descriptions_scheme import inspect_module

ServeRepository = Callable[[str, Mapping[str, str]], Path]

PANDA_URL = "https://github.com/Gepetto/example-robot-data.git"
PANDA_FILES = {
    "robots/panda_description/urdf/panda.urdf": "<robot name='panda'/>",
    "robots/panda_description/srdf/panda.srdf": "<robot name='panda'/>",
}


def test_cache_miss_says_so_once_and_then_downloads(serve_repository: ServeRepository, rd_cache: Path, capfd):
    serve_repository(PANDA_URL, PANDA_FILES)
    path = resolve_asset("rd:panda_description", "urdf")
    assert path.read_text() == "<robot name='panda'/>"
    assert path.is_relative_to(rd_cache)
    assert capfd.readouterr() == ("", "Downloading panda_description …\n")


def test_download_line_comes_before_anything_is_fetched(
    serve_repository: ServeRepository, rd_cache: Path, monkeypatch
):
    serve_repository(PANDA_URL, PANDA_FILES)
    existed_when_said: list[bool] = []
    monkeypatch.setattr(
        "builtins.print", lambda *_words, **_more: existed_when_said.append(rd_cache.exists())
    )
    resolve_asset("rd:panda_description", "urdf")
    assert existed_when_said[0] is False


def test_cache_hit_is_silent_and_needs_no_network(serve_repository: ServeRepository, capfd):
    repository = serve_repository(PANDA_URL, PANDA_FILES)
    resolve_asset("rd:panda_description", "urdf")
    capfd.readouterr()
    repository.rename(repository.with_name("unplugged"))
    assert resolve_asset("rd:panda_description", "urdf").is_file()
    assert resolve_asset("rd:panda_description", "srdf").name == "panda.srdf"
    assert capfd.readouterr() == ("", "")


def test_l19_mjcf_is_served_by_a_module_that_has_one(serve_repository: ServeRepository):
    url = inspect_module("panda_mj_description").repositories[0].url
    serve_repository(url, {"franka_emika_panda/panda.xml": "<mujoco/>"})
    assert resolve_asset("rd:panda_mj_description", "mjcf").read_text() == "<mujoco/>"


def test_cache_follows_its_environment_variable_between_calls(
    serve_repository: ServeRepository, tmp_path: Path, monkeypatch
):
    serve_repository(PANDA_URL, PANDA_FILES)
    first = resolve_asset("rd:panda_description", "urdf")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "second"))
    second = resolve_asset("rd:panda_description", "urdf")
    assert first != second
    assert second.is_relative_to(tmp_path / "second")


def test_offline_miss_is_one_sentence_and_a_hint(rd_cache: Path, capfd):
    with pytest.raises(ROSConfigError) as refusal:
        resolve_asset("rd:panda_description", "urdf")
    sentence, _, hint = str(refusal.value).partition("\n\n")
    assert "\n" not in sentence
    assert sentence.startswith(
        "`rd:panda_description` is not in the cache and could not be downloaded from https://"
    )
    assert hint.startswith("hint: ")
    assert "\n" not in hint
    assert capfd.readouterr() == ("", "Downloading panda_description …\n")


def test_second_offline_miss_is_the_same_as_the_first(rd_cache: Path, capfd):
    refusals = []
    for _ in range(2):
        with pytest.raises(ROSConfigError) as refusal:
            resolve_asset("rd:panda_description", "urdf")
        refusals.append(str(refusal.value).partition(": ")[0])
    assert refusals[0] == refusals[1]
    assert capfd.readouterr().err == "Downloading panda_description …\n" * 2


def test_download_works_after_an_offline_miss(serve_repository: ServeRepository, tmp_path: Path):
    repository = serve_repository(PANDA_URL, PANDA_FILES)
    repository.rename(tmp_path / "unplugged")
    with pytest.raises(ROSConfigError, match="could not be downloaded"):
        resolve_asset("rd:panda_description", "urdf")
    (tmp_path / "unplugged").rename(repository)
    assert resolve_asset("rd:panda_description", "urdf").is_file()


@pytest.mark.parametrize(
    "module", ["ur5e_description", "ur10e_description", "rizon4_description", "openarm_v2_description"]
)
def test_l19_xacro_only_urdf_is_refused_naming_the_command_and_downloads_nothing(
    module: str, rd_cache: Path, capfd
):
    with pytest.raises(ROSConfigError, match=f"lastgate robot vendor-urdf ID --upstream rd:{module}"):
        resolve_asset(f"rd:{module}", "urdf")
    assert not rd_cache.exists()
    assert capfd.readouterr() == ("", "")


def test_xacro_only_srdf_is_refused(rd_cache: Path):
    with pytest.raises(ROSConfigError, match="SRDF as xacro only"):
        resolve_asset("rd:fr3_description", "srdf")
    assert not rd_cache.exists()


@pytest.mark.parametrize(
    ("ref", "kind", "served"),
    [("rd:panda_mj_description", "urdf", "mjcf"), ("rd:panda_description", "mjcf", "urdf, srdf")],
)
def test_kind_a_module_does_not_have_is_refused_and_downloads_nothing(
    ref: str, kind, served: str, rd_cache: Path
):
    with pytest.raises(ROSConfigError, match=f"it has: {served}$"):
        resolve_asset(ref, kind)
    assert not rd_cache.exists()


@pytest.mark.parametrize("module", ["panda_descriptio", "panda", "_cache", "_empty_description", "loaders"])
def test_unknown_module_is_refused_with_the_closest_names(module: str, rd_cache: Path):
    with pytest.raises(ROSConfigError, match=f"has no module `{module}`; closest: `"):
        resolve_asset(f"rd:{module}", "urdf")


def test_closest_module_is_named_first(rd_cache: Path):
    with pytest.raises(ROSConfigError, match="closest: `panda_description`, "):
        resolve_asset("rd:panda_descriptio", "urdf")


def test_folder_that_is_no_repository_is_refused_and_kept(rd_cache: Path):
    folder = inspect_module("panda_description").repositories[0].folder
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("five years of work")
    with pytest.raises(ROSConfigError, match="is no git repository, and robot_descriptions would delete it"):
        resolve_asset("rd:panda_description", "urdf")
    assert (folder / "thesis.tex").read_text() == "five years of work"


def test_link_to_a_folder_that_is_no_repository_is_refused_and_kept(rd_cache: Path, tmp_path: Path):
    folder = inspect_module("panda_description").repositories[0].folder
    folder.parent.mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("five years of work")
    folder.symlink_to(tmp_path / "work", target_is_directory=True)
    with pytest.raises(ROSConfigError, match="is no git repository"):
        resolve_asset("rd:panda_description", "urdf")
    assert (tmp_path / "work" / "thesis.tex").is_file()


def test_repository_without_the_promised_file_is_refused(serve_repository: ServeRepository):
    serve_repository(PANDA_URL, {"README.md": "moved"})
    with pytest.raises(ROSConfigError, match="the repository has no file"):
        resolve_asset("rd:panda_description", "urdf")


def test_missing_package_is_refused_with_the_pip_command(monkeypatch, rd_cache: Path):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_name: None)
    with pytest.raises(ROSConfigError, match="hint: pip install robot_descriptions"):
        resolve_asset("rd:panda_description", "urdf")


def test_every_public_module_can_be_inspected_without_running_it(rd_cache: Path):
    from robot_descriptions import DESCRIPTIONS

    inspected = [inspect_module(name) for name in DESCRIPTIONS]
    assert len(inspected) > 100
    assert all(module.repositories for module in inspected)
    assert all(repository.folder.is_relative_to(rd_cache) for m in inspected for repository in m.repositories)
    assert not rd_cache.exists()


def test_inspected_folder_is_the_one_the_library_clones_into(serve_repository: ServeRepository):
    serve_repository(PANDA_URL, PANDA_FILES)
    path = resolve_asset("rd:panda_description", "urdf")
    (repository,) = inspect_module("panda_description").repositories
    assert path.is_relative_to(repository.folder)
    assert repository.revision == os.environ["ROBOT_DESCRIPTION_COMMIT"]
    head = subprocess.run(
        ["git", "describe", "--tags"], cwd=repository.folder, capture_output=True, text=True, check=True
    )
    assert head.stdout.strip() == os.environ["ROBOT_DESCRIPTION_COMMIT"]
