# SPDX-License-Identifier: Apache-2.0
"""How the commands that read recordings are told which, and how to read them."""

from pathlib import Path
from typing import Annotated

import typer

DatasetArgument = Annotated[
    Path,
    typer.Argument(metavar="DATASET", help="LeRobot folder, rosbag2 or .mcap, .hdf5, or a folder of .npz."),
]
RateOption = Annotated[
    float | None, typer.Option(metavar="HZ", help="Steps per second, where the dataset does not say.")
]
DegreesOption = Annotated[
    bool, typer.Option("--degrees", help="What turns is recorded in degrees; what slides, in metres.")
]
UnitsOption = Annotated[
    str | None,
    typer.Option(
        metavar="U",
        help="Unit of all or single joints, like `degrees,gripper=percent`; si, degrees, percent.",
    ),
]
JointMapOption = Annotated[
    str | None,
    typer.Option(metavar="C=J,…", help="Joint of each column, by the column's name or number."),
]
ColumnsOption = Annotated[str | None, typer.Option(metavar="0,1,…", help="Which columns the joints are.")]
ActionKeyOption = Annotated[str, typer.Option(metavar="K", help="Column, HDF5 path or topic of commands.")]
StateKeyOption = Annotated[str, typer.Option(metavar="K", help="The same for what was measured.")]
EpisodesOption = Annotated[int | None, typer.Option(metavar="N", help="Only the first so many.")]
