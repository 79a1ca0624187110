"""The reference interpreter: what a spec means, in float64, one row at a time. It shares no code with the compiler."""

from attndsl.reference.dims import dims_of
from attndsl.reference.interpreter import reference

__all__ = ["dims_of", "reference"]
