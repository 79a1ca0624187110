"""The seam to xDSL: every name of it that the project uses, so that an upgrade touches one folder."""

from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnknownLoc,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, OpResult, Region, SSAValue, Use
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    attr_def,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import ArgSpecParseError, ParseError, VerifyException

index = IndexType()

__all__ = [
    "AnyFloat", "ArgSpecParseError", "ArrayAttr", "Attribute", "AttrSizedOperandSegments", "Block", "BoolAttr", "Context",
    "Dialect",
    "DictionaryAttr", "FileLineColLoc", "FloatAttr", "GreedyRewritePatternApplier", "IRDLOperation", "IndexType",
    "InsertPoint", "IntAttr", "IntegerAttr", "IntegerType", "IsTerminator", "LocationAttr", "IsolatedFromAbove", "ModuleOp",
    "ModulePass", "NoTerminator", "OpResult", "Operation", "ParseError", "Parser", "PassPipeline", "PatternRewriteWalker",
    "PatternRewriter", "PatternRewriterListener", "Printer", "Pure", "Region", "RewritePattern", "SSAValue",
    "StringAttr", "SymbolNameConstraint", "SymbolOpInterface", "SymbolRefAttr", "UnknownLoc", "Use", "VarConstraint", "VerifyException", "arith",
    "attr_def", "base", "builtin", "f32", "f64", "i1", "index", "irdl_op_definition", "math", "op_type_rewrite_pattern",
    "operand_def", "opt_operand_def", "opt_prop_def", "prop_def", "region_def", "result_def", "scf", "traits_def",
    "var_operand_def", "var_result_def",
]  # fmt: skip
