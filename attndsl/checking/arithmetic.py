"""Integer arithmetic that gives equal expressions the same form.

Sums are kept as linear forms (`2 * D + i - 1`), so that `D + P` and `P + D`, or `j + 1 + 1` and `j + 2`, are one
object; products are multiplied out only where they are made of dims and parameters. 64-bit integers wrap, and so do
the coefficients, which makes every step exact. A term that may be absent is never cancelled.
"""

from __future__ import annotations

from attndsl.checking.graph import Graph
from attndsl.checking.numbers import LARGEST_SIZE, wrap
from attndsl.checking.typed import Apply, Constant, DimValue, Expr
from attndsl.syntax.source import Span

Monomial = tuple[Expr, ...]
Linear = dict[Monomial, int]
"""A sum of products: how often each product of expressions is taken. The empty product is the number term."""

MAX_TERMS = 16
"""A longer sum is left as it was written."""

MAX_FACTORS = 8
"""A longer product is left as it was written."""


class Arithmetic:
    """Simplifying operators on the integer expressions of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._forms: dict[Expr, Linear] = {}

    def linear(self, expr: Expr) -> Linear:
        """The expression as a sum of products."""
        if isinstance(expr, Constant):
            return {(): int(expr.value)} if expr.value else {}
        return self._forms.get(expr) or {(expr,): 1}

    def add(self, left: Expr, right: Expr, span: Span, sign: int = 1) -> Expr:
        """`left + sign * right`."""
        form = dict(self.linear(left))
        for monomial, count in self.linear(right).items():
            form[monomial] = wrap(form.get(monomial, 0) + sign * count)
        if len(form) > MAX_TERMS or any(count == 0 and self._partial(term) for term, count in form.items()):
            return self._graph.apply("iadd" if sign > 0 else "isub", (left, right), span)
        return self.build(form, span)

    def negate(self, operand: Expr, span: Span) -> Expr:
        """`-operand`."""
        return self.build({term: wrap(-count) for term, count in self.linear(operand).items()}, span)

    def multiply(self, left: Expr, right: Expr, span: Span) -> Expr:
        """`left * right`, multiplied out where one is a number or both are made of dims and parameters."""
        for number, other in ((left, right), (right, left)):
            if isinstance(number, Constant):
                factor = int(number.value)
                if factor == 0 and self._graph.facts(other).partial:
                    break
                return self.build({term: wrap(factor * count) for term, count in self.linear(other).items()}, span)
        if self._graph.facts(left).uniform and self._graph.facts(right).uniform:
            ones, others = self.linear(left), self.linear(right)
            # What was too long is left alone from then on: taken as one factor, each further sum would double it.
            if len(ones) * len(others) <= MAX_TERMS and not (self._as_written(left) or self._as_written(right)):
                form: Linear = {}
                for one, a in ones.items():
                    for other_term, b in others.items():
                        term = tuple(sorted(one + other_term, key=self._serial))
                        form[term] = wrap(form.get(term, 0) + a * b)
                if all(len(term) <= MAX_FACTORS for term in form):
                    return self.build(form, span)
        return self._graph.apply("imul", (left, right), span)

    def divide(self, left: Expr, right: Expr, span: Span) -> Expr:
        """`left / right`, rounded towards -infinity; nothing is done to a division by zero."""
        if isinstance(right, Constant) and right.value != 0:
            divisor = int(right.value)
            form = self.linear(left)
            if divisor == 1:
                return left
            if isinstance(left, Constant):
                return self._graph.constant(wrap(int(left.value) // divisor), span)
            if form and self._fits(form) and all(count % divisor == 0 for count in form.values()):
                return self.build({term: count // divisor for term, count in form.items()}, span)
        return self._graph.apply("idiv", (left, right), span)

    def modulo(self, left: Expr, right: Expr, span: Span) -> Expr:
        """`left % right`, with the sign of `right`; nothing is done to a division by zero."""
        if isinstance(left, Constant) and isinstance(right, Constant) and right.value != 0:
            return self._graph.constant(int(left.value) % int(right.value), span)
        return self._graph.apply("imod", (left, right), span)

    def build(self, form: Linear, span: Span) -> Expr:
        """The expression of a sum of products: variables and data first, then dims, then the number."""
        number = form.get((), 0)
        terms = sorted(
            ((term, count) for term, count in form.items() if term and count != 0),
            key=lambda item: (item[1] < 0, self._uniform(item[0]), [self._serial(factor) for factor in item[0]]),
        )
        total: Expr | None = None
        for term, count in terms:
            product = self._product(term, abs(count) if total is not None else count, span)
            if total is None:
                total = product
            else:
                total = self._graph.apply("iadd" if count > 0 else "isub", (total, product), span)
        if total is None:
            return self._graph.constant(number, span)
        if number > 0 or number == -(2**63):
            total = self._graph.apply("iadd", (total, self._graph.constant(number, span)), span)
        elif number < 0:
            total = self._graph.apply("isub", (total, self._graph.constant(-number, span)), span)
        self._forms[total] = {term: count for term, count in form.items() if count != 0}
        return total

    def _product(self, term: Monomial, count: int, span: Span) -> Expr:
        product = term[0]
        for factor in term[1:]:
            product = self._graph.apply("imul", (product, factor), span)
        if count == 1:
            return product
        if count == -1:
            return self._graph.apply("ineg", (product,), span)
        return self._graph.apply("imul", (self._graph.constant(wrap(count), span), product), span)

    def _as_written(self, expr: Expr) -> bool:
        """Whether an expression is a product that was not multiplied out."""
        return isinstance(expr, Apply) and expr.operator == "imul" and expr not in self._forms

    def _serial(self, expr: Expr) -> int:
        return self._graph.facts(expr).serial

    def _uniform(self, term: Monomial) -> bool:
        return all(self._graph.facts(factor).uniform for factor in term)

    def _partial(self, term: Monomial) -> bool:
        return any(self._graph.facts(factor).partial for factor in term)

    def _fits(self, form: Linear) -> bool:
        """Whether it is of dims alone, and never wraps: then an exact division is one. Products of dims are sizes."""
        sizes = all(isinstance(factor, DimValue) for term in form for factor in term)
        return sizes and sum(map(abs, form.values())) * LARGEST_SIZE < 2**63
