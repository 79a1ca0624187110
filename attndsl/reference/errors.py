"""How large an error rounding can make of each output of a call: a running error analysis beside the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from attndsl.checking.typed import (
    FOLDS,
    Apply,
    Block,
    Constant,
    Expr,
    Kind,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Tensor,
    Write,
    operands,
)
from attndsl.reference.agreement import stored
from attndsl.reference.arrays import Array, Axes, along, broadcast, union
from attndsl.reference.interpreter import Arrays, Outputs, Params, call_of, run
from attndsl.reference.pointwise_errors import pointwise
from attndsl.reference.rounding import Added, Errors, Rounding
from attndsl.reference.row import Environment, Row, in_order, nth_of, operands_first


def error_bounds(spec: Spec, arrays: Arrays, params: Params | None, rounding: Rounding) -> dict[str, Array]:
    """The largest error of each element of each output that `rounding` explains, before the output is stored.

    Infinite where rounding explains anything: where a comparison of floats is closer than the error of its sides, where
    a sum leaves the range of the type that computes, where an infinity may have met a zero, where data sends two rows
    to one element.

    A running error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.3): beside each
    value x that the reference computes stand its *size* s, which is what x would be if no two terms of opposite sign
    had met, and a bound e of the error of what a program computes for x. Let u be `rounding.unit`, half a step of
    the type that computes.

    - What is read, or given as a parameter, has the size |x| and no error. What an earlier block wrote has the error
      that it was computed with, and half a step of the type that it is kept in. A number of the spec that the type does
      not hold has the error u |x|.
    - a + b: s = s_a + s_b, e = e_a + e_b + u s. It is u times the *size*, not |a + b|, so that it holds however a pass
      reassociates: each way to bracket a sum, or to multiply it out, adds the same terms (section 4.2).
    - a b: s = s_a s_b, e = |a| e_b + |b| e_a + e_a e_b + u s.
    - a sum of n terms: s = the sum of their sizes, e = the sum of their errors + n u s, in whatever order (section
      4.2). That is what tiles, packed rows and contractions that change places do. Where products are made of smaller
      ones (tf32x3), `rounding.product` s more.
    - f(x), a function: e = the most that f varies within e of x, + `FUNCTION` u of its result, as accurate as GPUs have
      it; of a hyperbolic tangent `rounding.function` of it more, where that is approximated. Its size is |f(x)|: no
      pass reassociates through it.
    - softmax. Let d_j be the error of the exponent of a weight p_j: that of its score, 6 u S for its scale and for the
      maximum that is taken off, S being the size of the largest score, and 2 n u for the factors with which later
      maxima rescale it, of which the differences telescope. Then p_j is off by the factor exp(d_j) - 1 at most, and so
      are the sums of weights and of weighted values, each with its n u of a sum; a quotient's relative error is that of
      both. Where weights are rounded to 16 bits (narrow-products) each is off by the factor `rounding.weight` more, and
      by `rounding.floor` below the range of normal numbers. Before an infinity a weight that underflows
      has no bound. Where no maximum is taken off (skip-maxima), the sum L of weights lies between `rounding.least` and
      `rounding.most`. A weight, and a product with a value v, that underflows is off by `rounding.tiny`, t, at most:
      n t / L of the sum of n weights, t (|v| + 1) / L for each key of the mean. A sink above what t is the power of
      scales sums with a factor that underflows: t L more of the mean of 1.
    - logsumexp: the largest error of a score, and those of the sum above; max, min, over keys or an axis: the largest
      error of a score.
    - argmax: none, but where another key than the first of the largest may have the largest score.
    - topk: none, but where the key at that place may change places with another one.
    - what rows add to an element: as a sum, of as many terms as there are such rows.
    - sum over keys: as a sum; `rounding.weight` s more where terms are products of which one factor is rounded.

    Numbers below the normal ones may be taken for 0 (`rounding.tiny`), as GPUs do.
    """
    return with_bounds(spec, arrays, params, rounding)[1]


def with_bounds(
    spec: Spec, arrays: Arrays, params: Params | None, rounding: Rounding
) -> tuple[dict[str, Array], dict[str, Array]]:
    """What a call writes, as `reference` has it, and its `error_bounds`: these need all that the reference computes."""
    call = call_of(spec, arrays, params or {})
    bounds = {tensor.name: np.zeros(call.tensors[tensor.name].shape) for tensor in spec.written}
    added = {w.tensor.name: _before(w.tensor, call) for block in spec.blocks for w in block.writes if w.adds}
    taken = {tensor.name: np.zeros(call.tensors[tensor.name].shape) for tensor in spec.written}
    run(spec, call, lambda block, row: _Analysis(row, rounding, bounds, added, taken).write(block))
    written = {tensor.name: call.tensors[tensor.name] for tensor in spec.results}
    return written, {name: bounds[name] for name in written}


def _before(tensor: Tensor, call: Environment) -> Added:
    """What stands in a tensor before anything is added: nothing, or what a call gives."""
    return Added.to(np.asarray(call.tensors[tensor.name], np.float64))


class _Analysis:
    """The errors of a row's expressions; those of ints and bools are 0, or infinite where they may be others.

    Ints and bools that are made of such alone are certain, and not listed. `bounds` are the errors of all that blocks
    have written so far, `added` the sums that they add up to, and `taken` counts the rows that have put what is there.
    """

    def __init__(
        self, row: Row, rounding: Rounding, bounds: Outputs, added: Mapping[str, Added], taken: Outputs
    ) -> None:
        self._row = row
        self._rounding = rounding
        self._bounds = bounds
        self._added = added
        self._taken = taken
        self._known: dict[Expr, Errors] = {}

    def write(self, block: Block) -> None:
        """Puts the errors of what this row writes into the bounds."""
        roots = [expr for write in block.writes for expr in (*write.indices, write.value)]
        for root in roots:
            self._row.array(root)
        for expr in operands_first(*roots):
            if expr.kind is Kind.FLOAT or any(operand in self._known for operand in operands(expr)):
                self._known[expr] = self._of(expr)
        for write in block.writes:
            self._put(write, self._bounds[write.tensor.name])

    def _put(self, write: Write, bound: Array) -> None:
        value = self._row.array(write.value)
        size, error = self._found(write.value)
        # An absent value is 0 for certain, unless an index of it may be another.
        error = np.where(value.present | np.isinf(error), error, 0.0)
        target = self._added[write.tensor.name].error if write.adds else bound
        if any(np.isinf(self._found(index).error).any() for index in write.indices):
            target[...] = np.inf  # it may be anywhere
        else:
            self._row.put(write, error, value.axes, target)
            doubtful = np.zeros(target.shape)
            self._row.put(write, np.isinf(error), value.axes, doubtful, everywhere=True)
            target[doubtful > 0] = np.inf  # of an inout, what is absent here too
        if not write.adds:
            taken, mine = self._taken[write.tensor.name], np.zeros(target.shape)
            self._row.put(write, np.asarray(1.0), (), mine)
            taken += mine
            target[(mine > 0) & (taken > 1)] = np.inf
        else:
            added = self._added[write.tensor.name]
            term = np.where(value.present, value.value, 0.0)
            self._row.put(write, np.where(value.present, size, 0.0), value.axes, added.size)
            self._row.put(write, term == np.inf, value.axes, added.rising)
            self._row.put(write, term == -np.inf, value.axes, added.falling)
            self._row.put(write, np.ones(size.shape), value.axes, added.terms)
            bound[...] = self._rounding.added_up(self._row.call.tensors[write.tensor.name], added)

    def _of(self, expr: Expr) -> Errors:
        own = self._row.known[expr]
        match expr:
            case Constant(kind=Kind.FLOAT):
                return self._rounding.number(own.value)
            case ParamValue():
                return Errors(np.abs(own.value), np.zeros(own.value.shape))
            case Read():
                return self._read(expr)
            case Apply():
                return self._apply(expr)
            case ReduceAxis():
                return self._reduce_axis(expr)
            case Reduce():
                return self._reduce(expr)
        raise TypeError(f"no errors of a {type(expr).__name__}")

    def _found(self, expr: Expr) -> Errors:
        if expr in self._known:
            return self._known[expr]
        value = self._row.known[expr].value
        return Errors(np.abs(value * 1.0), np.zeros(value.shape))

    def _read(self, expr: Read) -> Errors:
        own = self._row.known[expr]
        error = self._stored(expr, own.value) if expr.tensor.role != "input" else np.zeros(own.value.shape)
        for index in expr.indices:
            if index in self._known:
                error = error + along(self._known[index].error, self._row.known[index].axes, own.axes)
        size = np.abs(own.value) * 1.0
        if expr.kind is Kind.FLOAT:
            error = error + np.where(size < self._rounding.tiny, size, 0.0)
        return Errors(size, error)

    def _stored(self, expr: Read, value: Array) -> Array:
        """The errors of what earlier blocks wrote."""
        element = self._row.call.types.get(expr.tensor.element, expr.tensor.element)
        if expr.kind is not Kind.FLOAT:
            value = self._row.read(expr, self._row.call.tensors[expr.tensor.name]).value
        return stored(element, value, self._row.read(expr, self._bounds[expr.tensor.name]).value)

    def _apply(self, expr: Apply) -> Errors:
        own = self._row.known[expr]
        known = [(self._row.known[argument], self._found(argument)) for argument in expr.arguments]
        values = [along(masked.value, masked.axes, own.axes) for masked, _ in known]
        errors = [
            Errors(along(found.size, masked.axes, own.axes), along(found.error, masked.axes, own.axes))
            for masked, found in known
        ]
        found = pointwise(expr.operator, values, errors, own.value, self._rounding)
        return Errors(*(broadcast(array, own.value.shape) for array in found))

    def _reduce_axis(self, expr: ReduceAxis) -> Errors:
        body, found = self._row.known[expr.body], self._found(expr.body)
        axes = (expr.index, *(axis for axis in body.axes if axis is not expr.index))
        shape = self._row.sizes(axes)
        value, *terms = (broadcast(along(array, body.axes, axes), shape) for array in (body.value, *found))
        found = Errors(*terms)
        if expr.function == "sum":
            return self._rounding.summed(value, found, self._rounding.product)
        return self._rounding.extreme(found, self._row.known[expr].value)

    def _reduce(self, expr: Reduce) -> Errors:
        row, rounding, result = self._row, self._rounding, self._row.known[expr]
        kept = row.kept(expr)
        parts = [part for part in (expr.mask, expr.score, expr.value) if part is not None]
        sinks = [expr.sink] if expr.sink is not None else []
        nths = [expr.nth] if expr.nth is not None else []
        everything = union([kept, *(row.known[part] for part in (*parts, *sinks, *nths))])
        axes = (*row.over, *(axis for axis in everything if axis not in row.over))
        rest = axes[len(row.over) :]
        shape = row.sizes(axes)
        flat = (int(np.prod(shape[: len(row.over)])), *shape[len(row.over) :])

        def lined_up(array: Array, own: Axes) -> Array:
            """One dimension for all key positions, then one for each other variable."""
            return broadcast(along(array, own, axes), shape).reshape(flat)

        def lined_up_all(part: Expr, missing: float) -> tuple[Array, Errors]:
            """The values and errors of the keys that count; those of others are none."""
            own, found = row.known[part], self._found(part)
            value, *errors = (lined_up(array, own.axes) for array in (own.value, *found))
            return np.where(counted, value, missing), Errors(*(np.where(counted, each, 0.0) for each in errors))

        counted = lined_up(kept.value, kept.axes)
        doubtful = np.zeros(flat, bool)
        for part in parts:
            if part not in self._known:
                continue
            masked = row.known[part]
            could = counted | ~lined_up(masked.present, masked.axes) if part is not expr.mask else True
            doubtful |= np.isinf(lined_up(self._known[part].error, masked.axes)) & could
        missing = FOLDS[expr.function].empty if expr.function in FOLDS else -np.inf
        score, scores = lined_up_all(expr.score, missing)
        match expr.function:
            case "sum":
                if rounding.floor:
                    floor = rounding.floor * self._factors(expr.score, lined_up, counted)
                    scores = Errors(scores.size, scores.error + np.where(np.isfinite(score), floor, 0.0))
                found = rounding.summed(score, scores, rounding.product + rounding.weight)
            case "argmax":
                found = rounding.position(counted, score, scores, result.value)
            case "topk":
                assert expr.value is not None
                (nth,) = (broadcast(along(row.known[e].value, row.known[e].axes, rest), flat[1:]) for e in nths)
                place = lined_up(row.known[expr.value].value, row.known[expr.value].axes)
                places = rounding.places(score, scores, in_order(counted, score, place))
                found = Errors(np.abs(result.value * 1.0), nth_of(places, nth, 0.0))
            case "max" | "min":
                found = rounding.extreme(scores, result.value)
            case function:
                sink, sunk = np.asarray(-np.inf), np.asarray(0.0)
                for each in sinks:
                    masked = row.known[each]
                    sink, sunk = (along(a, masked.axes, rest) for a in (masked.value, self._found(each).error))
                weights = rounding.weighted(score, scores, sink, sunk)
                if function == "logsumexp":
                    found = rounding.log_sum(weights, scores.size, result.value)
                else:
                    assert expr.value is not None
                    found = rounding.mean(weights, *lined_up_all(expr.value, 0.0), result.value)
        return Errors(found.size, np.where(doubtful.any(axis=0), np.inf, found.error))

    def _factors(self, expr: Expr, lined_up: Callable[[Array, Axes], Array], counted: Array) -> Array:
        """The product of what a term is a product of, each factor 1 at least: what a small weight may stand before."""
        match expr:
            case Apply(operator="fmul", arguments=(left, right)):
                return self._factors(left, lined_up, counted) * self._factors(right, lined_up, counted)
            case Apply(operator="fneg" | "fdiv", arguments=(inner, *_)):
                return self._factors(inner, lined_up, counted)
        size = lined_up(self._found(expr).size, self._row.known[expr].axes)
        return np.where(counted, np.maximum(size, 1.0), 0.0)
