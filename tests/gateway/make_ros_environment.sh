#!/usr/bin/env bash
# Makes an environment with a real ROS 2 and our messages: make_ros_environment.sh jazzy|kilted FOLDER
set -euo pipefail
distro=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
messages=$here/../../ros2/openral_msgs

"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --require-hashes -r "$here/ros-$distro.txt"

# The wheels' CMake files name the folders of the machine that built them.
include=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
numpy=$("$folder/bin/python" -c 'import numpy; print(numpy.get_include())')
{ grep -rlE '/opt/python/' "$folder/share" --include='*.cmake' || true; } |
  xargs -r sed -i -E "s#/opt/python/[^\";]*/include/python[0-9.]+#$include#g; s#/opt/python/[^\";]*numpy/_?core/include#$numpy#g"

export PATH="$folder/bin:$PATH" AMENT_PREFIX_PATH="$folder" CMAKE_PREFIX_PATH="$folder"
cmake --fresh -S "$messages" -B "$folder/openral_msgs" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$folder" \
  -DBUILD_TESTING=OFF -DPython3_EXECUTABLE="$folder/bin/python" -DPython3_FIND_VIRTUALENV=ONLY >"$folder/openral_msgs.log" 2>&1 &&
  cmake --build "$folder/openral_msgs" -j "${BUILD_JOBS:-2}" --target install >>"$folder/openral_msgs.log" 2>&1 ||
  { tail -40 "$folder/openral_msgs.log"; exit 1; }
touch "$folder/.ready"
