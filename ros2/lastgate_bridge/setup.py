# SPDX-License-Identifier: Apache-2.0
"""How colcon installs the bridge node; `lastgate` itself comes from `pip install lastgate`."""

from setuptools import setup

setup(
    name="lastgate_bridge",
    version="0.1.0",
    packages=["lastgate_bridge"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/lastgate_bridge"]),
        ("share/lastgate_bridge", ["package.xml"]),
    ],
    install_requires=["setuptools", "lastgate"],
    maintainer="lastgate",
    maintainer_email="maintainers@lastgate.dev",
    description="The topics and services of a running lastgate kernel, and a driver behind it, as nodes of this ROS 2.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": ["bridge = lastgate_bridge.bridge:main", "hal = lastgate_bridge.hal:main"]
    },
)
