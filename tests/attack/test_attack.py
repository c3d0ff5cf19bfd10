# SPDX-License-Identifier: Apache-2.0
"""The gate under attack some times; `make attack` runs the same for as long as wanted."""

from attack.__main__ import table
from attack.campaign import Campaign


def test_no_violation_is_accepted_and_nothing_plainly_clear_is_rejected():
    campaign = Campaign(seed=20)
    # By number: a busy machine would see less in a given time.
    campaign.run_cases(150)
    assert campaign.failures() == [], "\n" + table(campaign)
    assert all(tally.examined > 0 for tally in campaign.tallies.values()), "\n" + table(campaign)
