"""Which of many numbers reach one of two bounds, using vector instructions."""

from typing import Any

from lookalike.kernels.compile import MODE, intrinsic

if MODE != "pack":  # the rest runs only where kernels are compiled
    from llvmlite import ir
    from numba.core import cgutils, types

    I64 = ir.IntType(64)

LANES = 16
"""The number of values that a mask covers."""


@intrinsic
def reach_mask(
    typingctx: Any, values: Any, at: Any, lows: Any, needs: Any, index: Any, row_need: Any, row_low: Any
) -> Any:
    """Set bit i if values[at + i] >= lows[index + i] + row_need, or >= needs[index + i] + row_low, or is NaN.

    Loads LANES values of each array: the caller must ensure that they exist.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        item = context.get_data_type(signature.args[0].dtype)
        wide = ir.VectorType(item, LANES)

        def load(number: int, start: Any) -> Any:
            data = cgutils.create_struct_proxy(signature.args[number])(context, builder, args[number]).data
            loaded = builder.load(builder.bitcast(builder.gep(data, [start]), wide.as_pointer()))
            loaded.align = 1
            return loaded

        def spread(value: Any) -> Any:
            one = builder.insert_element(ir.Constant(wide, ir.Undefined), value, ir.IntType(32)(0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            return builder.shuffle_vector(one, ir.Constant(wide, ir.Undefined), zeros)

        found = load(0, args[1])
        for_row = builder.fadd(load(2, args[4]), spread(args[5]))
        for_column = builder.fadd(load(3, args[4]), spread(args[6]))
        mask = builder.or_(
            builder.fcmp_unordered(">=", found, for_row), builder.fcmp_unordered(">=", found, for_column)
        )
        return builder.zext(builder.bitcast(mask, ir.IntType(LANES)), I64)

    item = values.dtype
    return types.uint64(values, types.int64, lows, needs, types.int64, item, item), codegen
