# SPDX-License-Identifier: Apache-2.0
"""How finely the links of a robot are covered with spheres."""

from dataclasses import dataclass
from typing import Self

from lastgate.contracts import ROSConfigError
from lastgate.world.finite_numbers import require_positive

# As many on one link as two hulls of a fine cover per hull the core takes; more are no cover but a cloud.
_SPHERES_PER_LINK_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SphereGenConfig:
    """The targets of a cover. A cover stays a cover when it cannot be met: the model reports what was achieved.

    Attributes:
        radius_m_max: Spheres are cut until none stands out of its link by more than a tenth of this, or
            `spheres_per_link_max` are used. A sphere that fills a thick link may stay larger: small ones on its surface
            would stand out more.
        spheres_per_link_min: At least as many on every link that has anything to cut.
        spheres_per_link_max: At most as many on one link.
    """

    radius_m_max: float = 0.05
    spheres_per_link_min: int = 1
    spheres_per_link_max: int = 32

    def __post_init__(self) -> None:
        require_positive(self.radius_m_max, name="radius_m_max")
        for name in ("spheres_per_link_min", "spheres_per_link_max"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not 1 <= value <= _SPHERES_PER_LINK_MAX
            ):
                raise ROSConfigError(
                    f"{name} must be a whole number from 1 to {_SPHERES_PER_LINK_MAX}, got {value!r}"
                )
        if self.spheres_per_link_min > self.spheres_per_link_max:
            raise ROSConfigError(
                f"spheres_per_link_min is {self.spheres_per_link_min}, above spheres_per_link_max, "
                f"which is {self.spheres_per_link_max}"
            )

    @classmethod
    def coarse(cls) -> Self:
        """Returns the cover for a first query: at most 8 spheres per link."""
        return cls(radius_m_max=0.10, spheres_per_link_max=8)

    @classmethod
    def default(cls) -> Self:
        """Returns the cover for planning: at most 32 spheres per link."""
        return cls()

    @classmethod
    def fine(cls) -> Self:
        """Returns the cover for narrow places: 4 to 64 spheres per link."""
        return cls(radius_m_max=0.02, spheres_per_link_min=4, spheres_per_link_max=64)
