# SPDX-License-Identifier: Apache-2.0
"""Where things were seen, and the tools by which an agent goes and looks: also over the Model Context Protocol."""

from lastgate.integrations.agent.spatial_memory import ObjectSighting, Place, SpatialMemory
from lastgate.integrations.agent.tools import AgentTools, SeeingBody
from lastgate.integrations.agent.view import CameraView, Detection, Detector, SegmentationDetector

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
