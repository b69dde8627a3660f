"""Moving arrays between the processor's memory and a GPU's."""

from taskarr.device.choosing import check_device
from taskarr.device.dtypes import check_dtype
from taskarr.evaluate import run
from taskarr.expr import Expr, held
from taskarr.runtime import runtime


def to_device(node: Expr, device: str) -> Expr:
    """Node with the same elements in a device's memory, computed now; no messages."""
    here = runtime(node.world)
    memory = here.backend_on(check_device(device))
    check_dtype(node.dtype, device)
    run([node], f"to_device({device!r})")
    value = node.value
    if value is not None:
        value = memory.here(here.backend.host(value))
    found = held(value, node.dtype, node.layout, node.world)
    found.order = node.order
    found.settle(device)
    return found
