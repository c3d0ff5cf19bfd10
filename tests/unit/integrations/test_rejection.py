# SPDX-License-Identifier: Apache-2.0
"""Deprecated names of rejections stay usable for one release, with a warning."""

import pytest

import lastgate as lg
from lastgate.integrations import rejection
from lastgate.integrations.driver import StopReason
from lastgate.integrations.renamed import renamed_arguments, renamed_attribute


def test_deprecated_name_warns_and_is_the_same_class():
    with pytest.warns(DeprecationWarning, match="rejection.Rejection instead of"):
        assert rejection.Refusal is rejection.Rejection


def test_name_that_never_was_is_an_error():
    with pytest.raises(AttributeError, match="Rejected"):
        _ = rejection.Rejected


def test_deprecated_stop_reason_is_the_same_member():
    assert StopReason.REFUSED is StopReason.REJECTED


class Loop:
    refusals = renamed_attribute("refusals", "rejections")

    @renamed_arguments(on_refusal="on_rejection")
    def __init__(self, *, on_rejection="hold"):
        self.on_rejection = on_rejection
        self.rejections = 3


def test_deprecated_argument_and_attribute_warn_and_mean_the_same():
    with pytest.warns(DeprecationWarning, match="`on_refusal` is `on_rejection`"):
        loop = Loop(on_refusal="brake")
    assert loop.on_rejection == "brake"
    with pytest.warns(DeprecationWarning, match="`refusals` is `rejections`"):
        assert loop.refusals == 3


def test_both_spellings_of_an_argument_are_refused():
    with pytest.raises(lg.ROSConfigError, match="give one of them"):
        Loop(on_refusal="brake", on_rejection="hold")
