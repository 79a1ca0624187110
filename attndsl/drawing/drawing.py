"""A spec before the eyes: its masks and its data flow, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attndsl.checking.evaluate import Number
from attndsl.checking.typed import Spec
from attndsl.drawing.call import DrawnCall, make_call
from attndsl.drawing.picture import Picture, pictures
from attndsl.drawing.style import SMALL, png_of, styled, svg_of
from attndsl.driver.targets import place_of
from attndsl.packages import pip_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE, MARGIN, EDGE, HEAD = 3.3, 0.95, 0.1, 0.35
"""In inches: how wide the picture of a mask is, what is around it and around all, and how high a line of text is."""


class DrawingMissing(ModuleNotFoundError):
    """That matplotlib is not installed; the message says how it is."""

    def __init__(self) -> None:
        super().__init__(f"a drawing needs matplotlib: {pip_install('matplotlib')}", name="matplotlib")


@dataclass(frozen=True)
class Drawing:
    """A spec drawn for a call: `masks`, one for each block that has keys, and the flow of data through all.

    Tiles are those of programs for `target`. A notebook shows it; `svg` and `png` are its files, `mask_svg` and
    `flow_svg` its halves.
    """

    target: str
    call: DrawnCall
    masks: tuple[Picture, ...]

    def svg(self) -> str:
        """Both as SVG, whose ground is transparent."""
        return self._svg(masks=True, flow=True)

    def mask_svg(self) -> str:
        """The masks as SVG; empty where no block has keys."""
        return self._svg(masks=True, flow=False) if self.masks else ""

    def flow_svg(self) -> str:
        """The data flow as SVG."""
        return self._svg(masks=False, flow=True)

    def png(self) -> bytes:
        """Both as PNG, on white."""
        with styled():
            return png_of(self._figure(masks=True, flow=True))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<drawing of {self.call.spec.name}>"

    def _svg(self, masks: bool, flow: bool) -> str:
        with styled():
            return svg_of(self._figure(masks, flow))

    def _figure(self, masks: bool, flow: bool) -> Figure:
        from matplotlib.figure import Figure

        from attndsl.drawing.flow import draw_flow, layout_of
        from attndsl.drawing.tiles import draw_split, draw_whole, height_of, legend_of

        spec = self.call.spec
        flows = [(block, layout_of(spec, block)) for block in (spec.blocks if flow else ())]
        shown = self.masks if masks else ()
        width = max([2 * (SIDE + MARGIN), *(layout.width for _, layout in flows)]) + 2 * EDGE
        height = HEAD + sum(height_of(each) * SIDE + MARGIN for each in shown) + (HEAD if shown else 0)
        height += sum(layout.height for _, layout in flows)
        figure = Figure(figsize=(width, height))
        top = height

        def axes(left: float, wide: float, tall: float) -> Axes:
            return figure.add_axes((left / width, (top - tall) / height, wide / width, tall / height))

        sizes = ", ".join(f"{name} = {value}" for name, value in {**self.call.dims, **self.call.params}.items())
        said = f"on {self.target}: {sizes}"
        figure.text(EDGE / width, 1 - 0.08 / height, spec.name, fontsize=11, va="top", weight="bold")
        figure.text((EDGE + 0.3 + 0.11 * len(spec.name)) / width, 1 - 0.12 / height, said, fontsize=SMALL, va="top")
        top -= HEAD
        for picture in shown:
            tall = height_of(picture) * SIDE
            top -= 0.25
            draw_whole(axes(EDGE + 0.5, SIDE, tall), picture)
            if picture.split:
                draw_split(axes(EDGE + SIDE + MARGIN + 0.5, SIDE, tall), picture)
            top -= tall + MARGIN - 0.25
        if shown:
            place = (EDGE / width, (top + 0.25) / height)
            figure.legend(
                handles=legend_of(),
                loc="upper left",
                bbox_to_anchor=place,
                ncols=3,
                fontsize=SMALL,
                frameon=False,
            )
            top -= HEAD
        for block, layout in flows:
            draw_flow(axes(EDGE, layout.width, layout.height), spec, block)
            top -= layout.height
        return figure


def draw(
    spec: Spec,
    types: Mapping[str, str],
    target: str = "triton",
    shape: Mapping[str, int] = {},
    params: Mapping[str, Number] = {},
) -> Drawing:
    """A spec drawn for a call with these extents and parameters, those that are left out chosen small.

    Raises DrawingMissing without matplotlib, ValueError where no extents go with these.
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise DrawingMissing from None
    row, machine = place_of(target)
    if not row.machines:
        machine = None  # CPUs differ in how they multiply and mask a tile, not in which tiles there are
    call = make_call(spec, types, shape, params)
    return Drawing(target, call, tuple(pictures(call, row.name, machine)))
