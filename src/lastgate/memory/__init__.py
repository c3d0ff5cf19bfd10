# SPDX-License-Identifier: Apache-2.0
"""Where things were seen, and the tools by which an agent goes and looks: also over the Model Context Protocol."""

from lastgate.memory.spatial_memory import ObjectSighting, Place, SpatialMemory
from lastgate.memory.tools import AgentTools, SeeingBody
from lastgate.memory.view import CameraView, Detection, Detector, SegmentationDetector

__all__ = [
    "AgentTools",
    "CameraView",
    "Detection",
    "Detector",
    "ObjectSighting",
    "Place",
    "SeeingBody",
    "SegmentationDetector",
    "SpatialMemory",
]
