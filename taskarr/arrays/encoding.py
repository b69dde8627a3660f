"""JSON of values of zero dimensions: numbers, as programs written for NumPy's scalars expect."""

import json
from typing import Any


def encode_values(kind: type) -> None:
    """Let every JSON encoder write arrays of zero dimensions of a class as their only element.

    Encoders ask ``json.JSONEncoder.default`` what to do with objects that they don't know. It is
    called as before for all others.
    """
    before = json.JSONEncoder.default

    def default(self: json.JSONEncoder, o: Any) -> Any:
        if isinstance(o, kind) and not o.ndim:  # type: ignore[attr-defined]
            return o.item()  # type: ignore[attr-defined]
        return before(self, o)

    json.JSONEncoder.default = default  # type: ignore[method-assign]
