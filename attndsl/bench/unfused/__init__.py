"""A spec in plain torch operations, every intermediate in memory, for all rows at once.

In float64 it is the truth that every timed output is held against, on shapes for which the reference interpreter is
far too slow. In the types of the inputs it is what a user writes first: a naive peer.

It follows `attndsl.reference`, tensors of all rows taking the place of one row after another; a test holds the two
together on the whole gallery. One thing it leaves out: what is absent adds 0 times what memory holds, so a NaN there
is not kept out. Differentiated by torch's autograd, it is the truth of gradients.
"""

from attndsl.bench.unfused.call import UnfusedCall, true_gradients, truth

__all__ = ["UnfusedCall", "true_gradients", "truth"]
