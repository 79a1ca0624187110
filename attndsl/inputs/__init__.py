"""Inputs made up for a spec, for trying it out, testing and measuring it."""

from attndsl.inputs.dims import default_dims, default_params, places_suffice
from attndsl.inputs.make import make_inputs
from attndsl.inputs.poison import elements_read, poison_absent
from attndsl.inputs.ranges import layouts_of
from attndsl.inputs.strides import LAYOUTS, copied, relay, repeated

__all__ = [
    "LAYOUTS", "copied", "default_dims", "default_params", "elements_read", "layouts_of", "make_inputs",
    "places_suffice", "poison_absent", "relay", "repeated",
]  # fmt: skip
