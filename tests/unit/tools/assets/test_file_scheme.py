# SPDX-License-Identifier: Apache-2.0
"""`file:` reads the manifest's folder and its repository, and nothing else on the disk."""

from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a manifest folder, beside a file that is none of its business."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "robots" / "arm").mkdir(parents=True)
    (root / "robots" / "arm" / "arm.urdf").write_text("<robot name='arm'/>")
    (root / "shared").mkdir()
    (root / "shared" / "hand.urdf").write_text("<robot name='hand'/>")
    (tmp_path / "secret.urdf").write_text("<robot name='secret'/>")
    return root


@pytest.fixture
def manifest_dir(repository: Path) -> Path:
    return repository / "robots" / "arm"


def test_l19_file_beside_the_manifest_is_found(manifest_dir: Path):
    assert resolve_asset("file:arm.urdf", "urdf", manifest_dir) == (manifest_dir / "arm.urdf").resolve()


def test_file_of_the_repository_root_is_found(manifest_dir: Path, repository: Path):
    expected = (repository / "shared" / "hand.urdf").resolve()
    assert resolve_asset("file:shared/hand.urdf", "urdf", manifest_dir) == expected


def test_manifest_folder_wins_over_the_repository_root(manifest_dir: Path, repository: Path):
    (repository / "arm.urdf").write_text("<robot name='other'/>")
    assert resolve_asset("file:arm.urdf", "urdf", manifest_dir) == (manifest_dir / "arm.urdf").resolve()


def test_dots_that_stay_in_the_repository_are_followed(manifest_dir: Path, repository: Path):
    expected = (repository / "shared" / "hand.urdf").resolve()
    assert resolve_asset("file:../../shared/hand.urdf", "urdf", manifest_dir) == expected


@pytest.mark.parametrize(
    "ref", ["file:../../../secret.urdf", "file:../secret.urdf", "file:a/../../../../secret.urdf"]
)
def test_dots_that_leave_the_repository_are_refused(ref: str, manifest_dir: Path):
    with pytest.raises(ROSConfigError, match=r"leads out of|no such file"):
        resolve_asset(ref, "urdf", manifest_dir)


def test_existing_file_outside_is_refused_as_outside(manifest_dir: Path):
    with pytest.raises(ROSConfigError, match="leads out of"):
        resolve_asset("file:../../../secret.urdf", "urdf", manifest_dir)


def test_without_a_repository_only_the_manifest_folder_is_read(tmp_path: Path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "beside.urdf").write_text("<robot/>")
    with pytest.raises(ROSConfigError, match="leads out of"):
        resolve_asset("file:../beside.urdf", "urdf", tmp_path / "robots")


@pytest.mark.parametrize(
    "ref", ["file:/etc/passwd", "file://etc/passwd", "file:~/arm.urdf", "file:C:/arm.urdf"]
)
def test_absolute_path_is_refused(ref: str, manifest_dir: Path):
    with pytest.raises(ROSConfigError, match="relative"):
        resolve_asset(ref, "urdf", manifest_dir)


def test_link_within_the_repository_is_followed(manifest_dir: Path, repository: Path):
    (manifest_dir / "linked.urdf").symlink_to(repository / "shared" / "hand.urdf")
    expected = (repository / "shared" / "hand.urdf").resolve()
    assert resolve_asset("file:linked.urdf", "urdf", manifest_dir) == expected


def test_link_out_of_the_repository_is_refused(manifest_dir: Path, tmp_path: Path):
    (manifest_dir / "linked.urdf").symlink_to(tmp_path / "secret.urdf")
    with pytest.raises(ROSConfigError, match="leads out of"):
        resolve_asset("file:linked.urdf", "urdf", manifest_dir)


def test_linked_folder_out_of_the_repository_is_refused(manifest_dir: Path, tmp_path: Path):
    (manifest_dir / "linked").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(ROSConfigError, match="leads out of"):
        resolve_asset("file:linked/secret.urdf", "urdf", manifest_dir)


def test_link_out_is_refused_even_if_the_repository_root_has_that_name(
    manifest_dir: Path, repository: Path, tmp_path: Path
):
    (manifest_dir / "both.urdf").symlink_to(tmp_path / "secret.urdf")
    (repository / "both.urdf").write_text("<robot/>")
    with pytest.raises(ROSConfigError, match="leads out of"):
        resolve_asset("file:both.urdf", "urdf", manifest_dir)


def test_links_in_a_circle_are_refused(manifest_dir: Path):
    (manifest_dir / "a.urdf").symlink_to(manifest_dir / "b.urdf")
    (manifest_dir / "b.urdf").symlink_to(manifest_dir / "a.urdf")
    with pytest.raises(ROSConfigError, match=r"a\.urdf"):
        resolve_asset("file:a.urdf", "urdf", manifest_dir)


def test_missing_file_is_refused_with_what_is_there(manifest_dir: Path):
    with pytest.raises(ROSConfigError, match=r"no such file.*\n\nhint: .* holds `arm\.urdf`"):
        resolve_asset("file:amr.urdf", "urdf", manifest_dir)


def test_folder_is_not_a_file(manifest_dir: Path):
    with pytest.raises(ROSConfigError, match="no such file"):
        resolve_asset("file:shared", "urdf", manifest_dir)


def test_name_longer_than_the_system_allows_is_refused(manifest_dir: Path):
    with pytest.raises(ROSConfigError, match="cannot be followed"):
        resolve_asset("file:" + "a" * 5000, "urdf", manifest_dir)


def test_reference_without_a_manifest_folder_is_refused():
    with pytest.raises(ROSConfigError, match="no manifest folder was given"):
        resolve_asset("file:arm.urdf", "urdf")


def test_manifest_folder_that_does_not_exist_is_refused(tmp_path: Path):
    with pytest.raises(ROSConfigError, match="no manifest folder"):
        resolve_asset("file:arm.urdf", "urdf", tmp_path / "gone")


def test_working_folder_does_not_matter(manifest_dir: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve_asset("file:arm.urdf", "urdf", manifest_dir).is_file()
    with pytest.raises(ROSConfigError, match="no such file"):
        resolve_asset("file:secret.urdf", "urdf", manifest_dir)
