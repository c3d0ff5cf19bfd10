# SPDX-License-Identifier: Apache-2.0
"""What stands between a stop and its being forgotten: files that are removed, disks that fail, folders of others."""

import os
import shutil
import signal
import stat
import subprocess
import time

import pytest
from fixtures.analytic_robots import stacked
from fixtures.kernel_messages import submit

import lastgate as lg
from lastgate import _core

ROW = [[0.01] * 3]
FAILING_DISK = """
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int fails(void) { return access(getenv("FAILING_DISK"), F_OK) == 0; }
#ifdef SYNC
int fdatasync(int file) { (void)file; if (fails()) { errno = EIO; return -1; } return 0; }
#else
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
    (void)file; (void)bytes; (void)at;
    if (fails()) { errno = ENOSPC; return -1; }
    lseek(file, at, SEEK_SET);
    return write(file, bytes, size);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off_t at) { return pwrite(file, bytes, size, at); }
#endif
"""


def wait_until(holds, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kill(kernel: lg.KernelClient) -> None:
    os.kill(kernel.pid, signal.SIGKILL)
    kernel.close()


@pytest.fixture
def kernel_in(tmp_path):
    """Starts kernels whose latch lies in a folder of its own below the test's."""
    running: list[lg.KernelClient] = []

    def start() -> lg.KernelClient:
        client = lg.KernelClient(
            lg.RobotDescription(**stacked(3)),
            rate_hz=10.0,
            instance=f"durability-{os.getpid()}",
            state_dir=tmp_path / "state",
            settings=lg.KernelSettings(without_world=True, reset_cooldown_s=0.01),
        )
        running.append(client)
        return client

    yield start
    for client in running:
        client.close()


def remove(path):
    path.unlink()


def move_folder(path):
    path.parent.rename(path.parent.with_name("elsewhere"))


def replace_with_clear_one(path):
    path.rename(path.with_name("old"))
    shutil.copy(path.with_name("old"), path)
    os.truncate(path, 0)


@pytest.mark.parametrize("latched_before", [True, False])
@pytest.mark.parametrize("lose", [remove, move_folder, replace_with_clear_one])
def test_file_that_is_lost_under_a_running_kernel_is_a_stop_and_is_written_again(
    kernel_in, tmp_path, lose, latched_before
):
    kernel = kernel_in()
    path = tmp_path / "state" / f"{kernel.instance}.latch"
    if latched_before:
        kernel.estop("before")
    lose(path)
    wait_until(lambda: path.exists() and path.stat().st_size == 256)
    wait_until(lambda: "latch file was removed" in kernel.status().reason)
    assert not submit(kernel, ROW).accepted
    kill(kernel)
    assert kernel_in().status().latched


def test_file_that_is_left_alone_is_no_stop(kernel_in, tmp_path):
    kernel = kernel_in()
    (tmp_path / "state" / f"{kernel.instance}.latch").read_bytes()
    time.sleep(0.5)
    assert submit(kernel, ROW).accepted
    kill(kernel)
    assert submit(kernel_in(), ROW).accepted


@pytest.fixture
def failing_disk(tmp_path, monkeypatch):
    """Has the disk of every kernel of this test fail in one call, while a file is there that is returned."""

    def build(call: str):
        compiler = shutil.which("cc") or shutil.which("c++")
        assert compiler is not None, "needs the compiler that the kernel was built with"
        library = tmp_path / "failing_disk.so"
        define = ["-DSYNC"] if call == "fdatasync" else []
        command = [compiler, *define, "-x", "c", "-shared", "-fPIC", "-o", str(library), "-"]
        subprocess.run(command, input=FAILING_DISK, text=True, check=True)
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("FAILING_DISK", str(tmp_path / "fails"))
        return tmp_path / "fails"

    return build


@pytest.mark.parametrize("call", ["fdatasync", "pwrite"])
def test_reset_that_the_disk_does_not_keep_is_refused_and_one_that_it_keeps_is_not(
    kernel_in, failing_disk, call
):
    fails = failing_disk(call)
    kernel = kernel_in()
    assert submit(kernel, ROW).accepted
    kernel.estop("stop")
    time.sleep(0.05)
    fails.touch()
    outcome = kernel.reset()
    assert (outcome.success, "latch file" in outcome.message) == (False, True)
    assert not submit(kernel, ROW).accepted
    assert kernel.status().latched
    fails.unlink()
    wait_until(lambda: kernel.reset().success)
    assert submit(kernel, ROW).accepted


def test_disk_that_keeps_nothing_any_more_is_a_stop(kernel_in, failing_disk):
    fails = failing_disk("fdatasync")
    kernel = kernel_in()
    fails.touch()
    kernel.attach("ring0", lg.SphereShape(radius_m=0.001), object_id="part")  # which is written down
    wait_until(lambda: kernel.status().latched)
    assert kernel.status().reason == "the disk does not keep the latch file"


def test_name_under_which_the_file_is_made_is_never_followed(kernel_in, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder / f"durability-{os.getpid()}.latch.new").symlink_to(victim)
    kernel = kernel_in()
    assert submit(kernel, ROW).accepted
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == [f"{kernel.instance}.latch"]


def test_latch_file_that_is_a_link_is_refused(kernel_in, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / f"durability-{os.getpid()}.latch").symlink_to(tmp_path / "other")
    with pytest.raises(lg.ROSConfigError, match="must be a plain file of this user"):
        kernel_in()


def test_folder_is_made_for_its_owner_alone_and_its_file_too(kernel_in, tmp_path):
    before = os.umask(0)
    try:
        kernel = kernel_in()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / f"{kernel.instance}.latch").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_folder_that_others_can_write_to_is_refused_and_one_that_they_can_read_is_not(
    kernel_in, tmp_path, mode
):
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(lg.ROSConfigError, match="writable by no other"):
        kernel_in()
    folder.chmod(0o755)
    assert submit(kernel_in(), ROW).accepted


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folder_and_file_of_another_user_are_refused(kernel_in, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65533, 65533)
    with pytest.raises(lg.ROSConfigError, match="must belong to this user"):
        kernel_in()
    os.chown(folder, 0, 0)
    path = folder / f"durability-{os.getpid()}.latch"
    path.touch(mode=0o600)
    os.chown(path, 65533, 65533)
    with pytest.raises(lg.ROSConfigError, match="must be a plain file of this user"):
        kernel_in()


def test_stop_is_answered_when_the_disk_has_kept_it(kernel_in):
    kernel = kernel_in()
    kernel.estop("stop")
    assert _core.StopEvent(kernel.instance).latch_is_kept
    time.sleep(0.05)
    assert kernel.reset().success
    assert not _core.StopEvent(kernel.instance).latch_is_kept
