# SPDX-License-Identifier: Apache-2.0
"""Every mesh is read twice by readers that share nothing, the oracles' meshes too; where they differ, it is refused."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray

import lastgate as lg
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.lowering import mesh_reader
from lastgate.tools.lowering.mesh_reader import load_triangles
from lastgate.tools.lowering.second_reader import read_again
from lastgate.tools.lowering.triangle_sets import compare

Array = NDArray[np.float64]

SMALL, LARGE = (0.02, 0.02, 0.02), (0.1, 0.1, 0.4)


def box(size: tuple[float, float, float], x_m: float) -> Array:
    drawn = trimesh.creation.box(extents=size)
    return np.asarray(drawn.triangles) + np.array([x_m, 0.0, 0.0])


def _source(name: str, soup: Array) -> str:
    numbers = " ".join(f"{value:.9g}" for value in soup.ravel())
    return (
        f'<source id="{name}"><float_array id="{name}-a" count="{soup.size}">{numbers}</float_array>'
        f'<technique_common><accessor source="#{name}-a" count="{soup.size // 3}" stride="3">'
        '<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>'
        "</accessor></technique_common></source>"
        f'<vertices id="{name}-v"><input semantic="POSITION" source="#{name}"/></vertices>'
    )


def _triangles(name: str, first: int, count: int, kind: str = "triangles") -> str:
    order = " ".join(str(index) for index in range(3 * first, 3 * (first + count)))
    vcount = f"<vcount>{'3 ' * count}</vcount>" if kind == "polylist" else ""
    return (
        f'<{kind} count="{count}"><input semantic="VERTEX" source="#{name}-v" offset="0"/>'
        f"{vcount}<p>{order}</p></{kind}>"
    )


def dae(
    geometries: str, nodes: str, *, unit: str = "1", up_axis: str = "Z_UP", library_nodes: str = ""
) -> str:
    return (
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        f'<asset><unit meter="{unit}"/><up_axis>{up_axis}</up_axis></asset>'
        f"<library_geometries>{geometries}</library_geometries>{library_nodes}"
        f'<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def geometry(name: str, *soups: Array, kind: str = "triangles") -> str:
    source = _source(f"{name}-vertices", np.concatenate(soups))
    starts = np.cumsum([0, *(len(soup) for soup in soups)])
    blocks = "".join(
        _triangles(f"{name}-vertices", int(first), len(soup), kind)
        for first, soup in zip(starts[:-1], soups, strict=True)
    )
    return f'<geometry id="{name}"><mesh>{source}{blocks}</mesh></geometry>'


def shown(name: str, *, transform: str = "", inner: str = "") -> str:
    return f'<node>{transform}<instance_geometry url="#{name}"/>{inner}</node>'


# Two parts with materials of their own in one geometry, as modellers write every link of two colours: the file on
# which Coal's loader makes the triangles of the second part from the vertices of the first.
TWO_COLOURS = dae(geometry("g", box(SMALL, 0.0), box(LARGE, 0.3)), shown("g"))
# The same two parts in nested nodes, the third beside: the second cause, offsets that begin anew below a node.
NESTED = dae(
    geometry("a", box(SMALL, 0.0)) + geometry("b", box(LARGE, 0.0)),
    shown("a", inner=shown("b", transform="<translate>0.3 0 0</translate>", inner=shown("a"))),
)
BOTH = np.concatenate([box(SMALL, 0.0), box(LARGE, 0.3)])


def test_parts_of_two_colours_stay_where_they_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "two.dae"
    path.write_text(TWO_COLOURS)
    assert compare(load_triangles(path), BOTH) is None
    assert compare(read_again(path), BOTH) is None


def test_nested_nodes_are_placed_one_in_the_other(tmp_path: Path) -> None:
    path = tmp_path / "nested.dae"
    path.write_text(NESTED)
    drawn = np.concatenate([BOTH, box(SMALL, 0.3)])
    assert compare(load_triangles(path), drawn) is None


@pytest.mark.parametrize(
    ("transform", "turn"),
    [
        (
            "<rotate>0 0 1 90</rotate><translate>0.1 0 0</translate>",
            [[0, -1, 0, 0], [1, 0, 0, 0.1], [0, 0, 1, 0]],
        ),
        ("<matrix>2 0 0 0.5 0 1 0 0 0 0 1 0 0 0 0 1</matrix>", [[2, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0]]),
        ("<scale>1 3 1</scale>", [[1, 0, 0, 0], [0, 3, 0, 0], [0, 0, 1, 0]]),
    ],
)
def test_transforms_of_nodes_are_applied_in_order(
    tmp_path: Path, transform: str, turn: list[list[float]]
) -> None:
    path = tmp_path / "turned.dae"
    path.write_text(dae(geometry("g", box(SMALL, 0.2), kind="polylist"), shown("g", transform=transform)))
    pose = np.array(turn, dtype=float)
    assert compare(load_triangles(path), box(SMALL, 0.2) @ pose[:, :3].T + pose[:, 3]) is None


def test_up_axis_turns_nothing_as_in_ros(tmp_path: Path) -> None:
    path = tmp_path / "y_up.dae"
    path.write_text(dae(geometry("g", box(LARGE, 0.0)), shown("g"), up_axis="Y_UP"))
    assert compare(load_triangles(path), box(LARGE, 0.0)) is None


def test_unit_that_programs_read_differently_is_refused_and_a_metre_is_read(tmp_path: Path) -> None:
    path = tmp_path / "unit.dae"
    path.write_text(dae(geometry("g", box(LARGE, 0.0)), shown("g"), unit="0.01"))
    with pytest.raises(ROSConfigError, match=r"units of 0\.01 m.*unit\.dae"):
        load_triangles(path)
    path.write_text(dae(geometry("g", box(LARGE, 0.0)), shown("g"), unit="1.0"))
    assert len(load_triangles(path)) == 12


def test_part_that_one_reader_drops_is_refused_with_file_and_counts(tmp_path: Path) -> None:
    whole = dae(geometry("g", box(SMALL, 0.0)) + geometry("h", box(LARGE, 0.3)), shown("g") + shown("h"))
    # A colour that the file does not define: the first reader leaves the part out, without a word.
    colour = (
        '<bind_material><technique_common><instance_material symbol="m" target="#none"/></technique_common>'
    )
    dropped = whole.replace(
        '<instance_geometry url="#h"/>',
        f'<instance_geometry url="#h">{colour}</bind_material></instance_geometry>',
    )
    path = tmp_path / "dropped.dae"
    path.write_text(dropped)
    with pytest.raises(
        ROSConfigError, match=r"two readers .*dropped\.dae`: 12 triangles against 24, 12 of them"
    ):
        load_triangles(path)
    path.write_text(whole)
    assert len(load_triangles(path)) == 24


def test_skinned_mesh_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "skin.dae"
    path.write_text(
        dae(geometry("g", box(SMALL, 0.0)), shown("g", inner='<node><instance_controller url="#c"/></node>'))
    )
    with pytest.raises(ROSConfigError, match="instance_controller"):
        load_triangles(path)


def obj_text(*, colours: bool = True, negative: bool = False) -> str:
    lines, known = [], 0
    for name, soup in (("small", box(SMALL, 0.0)), ("large", box(LARGE, 0.3))):
        lines += [f"usemtl {name}"] if colours else []
        for triangle in soup:
            lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in triangle]
            known += 3
            lines.append("f -3 -2 -1" if negative else f"f {known - 2}//1 {known - 1}//1 {known}//1")
    return "\n".join(["vn 0 0 1", *lines]) + "\n"


@pytest.mark.parametrize("text", [obj_text(), obj_text(colours=False)], ids=["colours", "plain"])
def test_obj_of_several_materials_stays_where_it_is_drawn(tmp_path: Path, text: str) -> None:
    path = tmp_path / "two.obj"
    path.write_text(text)
    assert compare(load_triangles(path), BOTH) is None


def test_obj_that_counts_vertices_backwards_is_refused_where_one_reader_counts_from_the_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "back.obj"
    path.write_text(obj_text(negative=True))
    assert compare(read_again(path), BOTH) is None
    with pytest.raises(ROSConfigError, match=r"two readers .*back\.obj`: 24 triangles against 24"):
        load_triangles(path)


def test_obj_with_a_free_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "curve.obj"
    path.write_text(obj_text() + "cstype bspline\ndeg 3\ncurv 0 1 1 2 3 4\n")
    with pytest.raises(ROSConfigError, match="free form"):
        load_triangles(path)


def test_stl_that_readers_take_differently_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "box.stl"
    trimesh.Trimesh(**trimesh.triangles.to_kwargs(BOTH)).export(path)
    assert len(load_triangles(path)) == 24
    moved = BOTH.copy()
    moved[3] += [0.0, 0.0, 0.001]
    monkeypatch.setattr(mesh_reader, "_read", lambda _path: moved)
    with pytest.raises(
        ROSConfigError, match=r"24 triangles against 24, 2 of them without counterpart, up to 1\.000 mm"
    ):
        load_triangles(path)
    monkeypatch.setattr(mesh_reader, "_read", lambda _path: BOTH[::-1])
    assert len(load_triangles(path)) == 24, "order is no difference"


URDF = """<robot name="posts">
  <link name="base"><collision><geometry><mesh filename="two.{kind}" scale="1 1 1"/></geometry></collision></link>
  <link name="arm"><collision><origin xyz="{x} 0 0.15"/><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
</robot>
"""


@pytest.mark.parametrize("kind", ["dae", "obj"])
@pytest.mark.parametrize(("x_m", "meets"), [(0.24, True), (0.22, False)])
def test_oracle_meets_the_part_where_it_is_drawn(tmp_path: Path, kind: str, x_m: float, meets: bool) -> None:
    from lastgate.tools.lowering.mesh_truth import MeshTruth

    (tmp_path / "two.dae").write_text(TWO_COLOURS)
    (tmp_path / "two.obj").write_text(obj_text())
    (tmp_path / "posts.urdf").write_text(URDF.format(kind=kind, x=x_m))
    robot = lg.RobotDescription.model_validate(
        {
            "schema_version": 1,
            "name": "posts",
            "base_frame": "base",
            "joints": [
                {
                    "name": "turn",
                    "joint_type": "revolute",
                    "parent_link": "base",
                    "child_link": "arm",
                    "axis_xyz": [0, 0, 1],
                    "position_limits": [-1, 1],
                    "velocity_limit": 1.0,
                }
            ],
        }
    )
    assert (MeshTruth(robot, tmp_path / "posts.urdf").touching(np.zeros(1)) is not None) == meets


QUADS = """v 0 0 0\nv .3 0 0\nv .5 .2 0\nv 0 .2 0\nv 0 0 .1\nv .3 0 .1\nv .5 .2 .1\nv 0 .2 .1
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""
MJCF = """<mujoco><asset><mesh name="q" file="q.obj" scale="1 2 -1" refpos="0.1 0 0" refquat="0 0 1 0"/></asset>
<worldbody><body name="base"><geom type="mesh" mesh="q"/></body></worldbody></mujoco>"""


def test_mesh_of_an_mjcf_is_held_against_its_file(tmp_path: Path) -> None:
    from lastgate.tools.lowering.mjcf_meshes import mesh_triangles
    from lastgate.tools.lowering.mjcf_model import compile_mjcf

    (tmp_path / "q.obj").write_text(QUADS)
    (tmp_path / "q.xml").write_text(MJCF)
    compiled = compile_mjcf(tmp_path / "q.xml")
    assert len(mesh_triangles(compiled, 0)) == 12
    (tmp_path / "q.obj").write_text(QUADS.replace("v .5 .2 .1", "v .5 .2 .101"))
    with pytest.raises(ROSConfigError, match=r"two readers .*q\.obj`: MuJoCo's 12 triangles against 12"):
        mesh_triangles(compiled, 0)
    (tmp_path / "q.obj").write_text(QUADS + "f 1 2 3\n")
    with pytest.raises(ROSConfigError, match="12 triangles against 13"):
        mesh_triangles(compiled, 0)


def test_vertices_joined_wrongly_are_told_from_another_diagonal() -> None:
    first = box(LARGE, 0.0)
    mixed = first.copy()
    mixed[[0, 5], 1] = mixed[[5, 0], 1]
    assert compare(first, mixed, cut_alike=False) is not None
    assert compare(first, first[::-1, [1, 2, 0]], cut_alike=False) is None
