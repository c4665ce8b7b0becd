"""An ONNX graph under construction: values get names, arrays become constants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto

OPSET, ML_OPSET, IR_VERSION = 17, 4, 8  # what runtimes of 2024 and later have
INT64 = 7  # ONNX's number for the type
NEEDS_ONNX = "writing an ONNX model needs onnx: pip install 'frith[onnx]'"

Step = Callable[..., Sequence[str]]
"""Adds to the body of a loop: from the body, the index and the states to the next states."""


class Graph:
    """Nodes in the order they run. A value is the name of what a node gives.

    Bodies of loops are graphs of their own that share the names and the constants of the whole.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self._nodes: list[Any] = []
        self._constants: list[TensorProto] = []
        self._taken = set(taken)
        self._numbers = itertools.count()

    def op(self, kind: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """Add a node; what it gives. An input is a value, or an array or number to make one of."""
        from onnx import helper

        output = name or self._fresh(kind)
        values = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        domain = "ai.onnx.ml" if kind == "LabelEncoder" else ""
        node = helper.make_node(kind, values, [output], name=output, domain=domain, **attributes)
        self._nodes.append(node)
        return output

    def constant(self, value: Any) -> str:
        """A value that is part of the model."""
        name = self._fresh("Constant")
        self._constants.append(tensor(np.asarray(value), name))
        return name

    def repeat(self, times: int, states: Sequence[str], step: Step) -> list[str]:
        """`states = step(body, i, *states)` for i in range(times); the last states."""
        from onnx import helper

        body = self._body()
        going, index = self._fresh("going"), self._fresh("index")
        before = [self._fresh("state") for _ in states]
        after = step(body, index, *before)
        still = body.op("Identity", going)
        # The types of states are those of what goes in: ONNX lets bodies of loops leave them out.
        untyped = helper.make_empty_tensor_value_info
        body.inputs = [described(index, np.int64, []), described(going, np.bool_, [])]
        body.inputs += [untyped(name) for name in before]
        body.outputs = [described(still, np.bool_, []), *(untyped(name) for name in after)]
        last = [self._fresh("Loop") for _ in states]
        inputs = [self.constant(np.int64(times)), self.constant(True), *states]
        loop = helper.make_node("Loop", inputs, last, name=last[0], body=body._proto("step"))
        self._nodes.append(loop)
        return last

    def model(self, name: str, about: str, facts: dict[str, str]) -> ModelProto:
        """The finished model, checked."""
        from onnx import checker, helper

        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        graph = self._proto(name)
        graph.initializer.extend(self._constants)
        model = helper.make_model(graph, opset_imports=opsets, producer_name="frith")
        model.ir_version, model.doc_string = IR_VERSION, about
        helper.set_model_props(model, facts)
        checker.check_model(model, full_check=True)
        return model

    def _body(self) -> Graph:
        body = Graph()
        body._constants, body._taken, body._numbers = self._constants, self._taken, self._numbers
        return body

    def _proto(self, name: str) -> GraphProto:
        from onnx import helper

        return helper.make_graph(self._nodes, name, self.inputs, self.outputs)

    def _fresh(self, kind: str) -> str:
        names = (f"{kind}_{number}" for number in self._numbers)
        return next(name for name in names if name not in self._taken)


def tensor(array: NDArray[Any], name: str = "") -> TensorProto:
    """An array as ONNX has it; one of objects is text."""
    from onnx import TensorProto, numpy_helper

    if array.dtype != np.dtype(object):
        return numpy_helper.from_array(array, name)
    text = [str(t).encode() for t in array.ravel()]
    return TensorProto(name=name, data_type=TensorProto.STRING, dims=array.shape, string_data=text)


def described(name: str, dtype: Any, shape: Sequence[str | int], about: str = "") -> ValueInfoProto:
    """An input or output of the model."""
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape, about)
