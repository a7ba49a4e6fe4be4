"""What is changed in a module: the operators of cosmic-ray that leave code which still runs.

``a + b`` becomes ``a - b`` but not ``a << b``, of which numpy itself complains: such mutants die of
any test at all, and a score that counts them says little. Two operators are ours. Annotations,
Protocols, imports, decorators and errors' messages are left alone.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.tree import NodeOrLeaf

ADOPTED = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in (
        "Add_Sub", "Sub_Add", "Mul_Div", "Mul_Add", "Div_Mul", "FloorDiv_Mul", "Mod_Mul", "Pow_Mul",
        "BitOr_BitAnd", "BitAnd_BitOr",
    )),
    *(f"ReplaceComparisonOperator_{pair}" for pair in (
        "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
        "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is",
    )),
    *(f"ReplaceUnaryOperator_Delete_{name}" for name in ("USub", "Not", "Invert")),
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr",
    "ReplaceOrWithAnd", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer",
    "ZeroIterationForLoop",
)  # fmt: skip
OPPOSITES = {"min": "max", "minimum": "maximum", "any": "all", "floor": "ceil"}
OPPOSITES |= {there: here for here, there in OPPOSITES.items()}


class SwapCalled(Operator):  # type: ignore[misc]  # cosmic-ray has no types
    """``min(…)`` becomes ``max(…)``, ``np.minimum(…)`` becomes ``np.maximum(…)`` and so on."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple[tuple[int, int], ...]]:
        following = node.get_next_leaf()
        is_called = following is not None and following.get_code(False) == "("
        if node.type == "name" and node.value in OPPOSITES and is_called:
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        node.value = OPPOSITES[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class DropStatement(Operator):  # type: ignore[misc]
    """A statement that changes something in place, ``a.add(b)``, ``a[i] = b``, ``a += b``, goes."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple[tuple[int, int], ...]]:
        if node.type == "simple_stmt" and _changes_in_place(node.children[0]):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        first = node.children[0]
        node.children[0] = parso.parse(first.get_first_leaf().prefix + "pass")
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _changes_in_place(statement: NodeOrLeaf) -> bool:
    if statement.type == "expr_stmt":
        target, operator = statement.children[:2]
        return operator.type == "operator" and (operator.value != "=" or target.type == "atom_expr")
    return statement.type == "atom_expr"  # a call


class Mutant(NamedTuple):
    """A module with one change."""

    line: int
    change: str  # what stood in its lines, and what stands there now
    source: str


def all_mutants(source: str) -> list[Mutant]:
    """Every mutant of a module, by line; none twice."""
    provider, tree = OperatorProvider(), parso.parse(source)
    operators = [provider[name]() for name in ADOPTED] + [SwapCalled(), DropStatement()]
    spared = list(_spared(ast.parse(source)))
    found: dict[str, Mutant] = {}
    for operator in operators:
        places = [
            (start, node.parent is not None and node.parent.type == "parameters")  # a lone *
            for node in ast_nodes(tree)
            for start, _ in operator.mutation_positions(node)
        ]
        for occurrence, (start, is_separator) in enumerate(places):
            if is_separator or any(first <= start < last for first, last in spared):
                continue
            mutated = MutationVisitor.mutate_code(source, operator, occurrence)
            if mutated is not None and mutated != source:
                found.setdefault(mutated, Mutant(start[0], _change(source, mutated), mutated))
    return sorted(found.values())


Place = tuple[int, int]  # line from 1, column


def _spared(tree: ast.AST) -> Iterator[tuple[Place, Place]]:
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(bases=bases) if any("Protocol" in ast.unparse(b) for b in bases):
                yield _span(node)
            case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Raise() | ast.Import():
                yield _span(node)
            case ast.ImportFrom():
                yield _span(node)
            case (
                ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation)
            ):
                yield _span(annotation)
            case ast.FunctionDef(returns=returns, decorator_list=decorators):
                yield from map(_span, decorators if returns is None else [*decorators, returns])
            case ast.ClassDef(decorator_list=decorators):
                yield from map(_span, decorators)
            case ast.Call(func=ast.Name("TypeVar")):
                yield _span(node)
            case ast.keyword(arg="strict"):  # of zip: it guards, and nothing follows from it
                yield _span(node)


def _span(node: ast.stmt | ast.expr | ast.keyword) -> tuple[Place, Place]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _change(before: str, after: str) -> str:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    left, right = next(pair for pair in pairs if pair[0] != pair[1])
    return f"{left.strip()}  →  {right.strip()}"
