"""Inputs made up for a spec, for trying it out, testing and measuring it."""

from attndsl.inputs.dims import default_dims, default_params
from attndsl.inputs.make import make_inputs
from attndsl.inputs.poison import elements_read, poison_absent
from attndsl.inputs.strides import LAYOUTS, relay

__all__ = ["LAYOUTS", "default_dims", "default_params", "elements_read", "make_inputs", "poison_absent", "relay"]
