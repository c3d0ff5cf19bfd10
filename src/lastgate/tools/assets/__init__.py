# SPDX-License-Identifier: Apache-2.0
"""Where robot descriptions come from: references become files, and mesh names become meshes."""

from lastgate.tools.assets.live_description import LiveDescription
from lastgate.tools.assets.mesh_uri import resolve_mesh_uri
from lastgate.tools.assets.resolver import resolve_asset

__all__ = ["LiveDescription", "resolve_asset", "resolve_mesh_uri"]
