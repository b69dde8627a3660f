"""What CuPy 14 has of NumPy, as data: functions and methods with the parameters that they take."""

FUNCTIONS = """
empty: shape dtype order
zeros: shape dtype order
ones: shape dtype order
full: shape fill_value dtype order
empty_like: prototype dtype order subok shape
zeros_like: a dtype order subok shape
ones_like: a dtype order subok shape
full_like: a fill_value dtype order subok shape
arange: start stop step dtype
linspace: start stop num endpoint retstep dtype axis
eye: N M k dtype order
tri: N M k dtype
copy: a order
reshape: a newshape order copy
ravel: a order
transpose: a axes
moveaxis: a source destination
swapaxes: a axis1 axis2
squeeze: a axis
expand_dims: a axis
broadcast_to: array shape
concatenate: tup axis out dtype casting
stack: tup axis out dtype casting
tile: A reps
repeat: a repeats axis
flip: a axis
roll: a shift axis
ascontiguousarray: a dtype
diagonal: a offset axis1 axis2
diag: v k
tril: m k
triu: m k
pad: array pad_width mode
where: condition x y
take: a indices axis out
take_along_axis: a indices axis
nonzero: a
flatnonzero: a
compress: condition a axis out
extract: condition a
searchsorted: a v side sorter
unravel_index: indices dims order
ravel_multi_index: multi_index dims mode order
sort: a axis kind
argsort: a axis kind
unique: ar return_index return_inverse return_counts axis equal_nan
partition: a kth axis
bincount: x weights minlength
sum: a axis dtype out keepdims
prod: a axis dtype out keepdims
amin: a axis out keepdims
min: a axis out keepdims
amax: a axis out keepdims
max: a axis out keepdims
any: a axis out keepdims
all: a axis out keepdims
mean: a axis dtype out keepdims
argmax: a axis dtype out keepdims
argmin: a axis dtype out keepdims
count_nonzero: a axis
cumsum: a axis dtype out
cumprod: a axis dtype out
ptp: a axis out keepdims
diff: a n axis prepend append
clip: a a_min a_max out
round: a decimals out
around: a decimals out
nan_to_num: x copy nan posinf neginf
real: val
imag: val
angle: z deg
sinc: x out
i0: x out
isreal: x
iscomplex: x
isneginf: x out
isposinf: x out
fix: x out
isclose: a b rtol atol equal_nan
array_equal: a1 a2 equal_nan
copyto: dst src casting where
dot: a b out
einsum: *
tensordot: a b axes
packbits: a axis bitorder
result_type: *
can_cast: from_ to casting
promote_types: type1 type2
iscomplexobj: x
isrealobj: x
ndim: a
shape: a
"""
"""Names and parameters of functions; ``*`` stands for any number of arguments."""

METHODS = """
argmax: axis out dtype keepdims
argmin: axis out dtype keepdims
argsort: axis kind
all: axis out keepdims
any: axis out keepdims
clip: min max out
conj:
conjugate:
copy: order
cumprod: axis dtype out
cumsum: axis dtype out
diagonal: offset axis1 axis2
fill: value
flatten: order
max: axis out keepdims
mean: axis dtype out keepdims
min: axis out keepdims
nonzero:
prod: axis dtype out keepdims
ravel: order
repeat: repeats axis
reshape: *
round: decimals out
searchsorted: v side sorter
sort: axis kind
squeeze: axis
sum: axis dtype out keepdims
swapaxes: axis1 axis2
take: indices axis out
transpose: *
"""
"""Names and parameters of an array's methods that give arrays."""

PLAIN = ("result_type", "can_cast", "promote_types", "iscomplexobj", "isrealobj", "ndim", "shape")
"""Functions that give no array."""

ABSENT = ("isnat", "spacing", "matvec", "vecdot", "vecmat")
"""Ufuncs of NumPy that CuPy has not."""

NOT_COMPLEX = ("logical_and", "logical_or", "logical_xor", "logical_not")
"""Ufuncs that CuPy has for real numbers only."""

REDUCING = ("add", "multiply")
"""Ufuncs that have ``reduce`` in CuPy."""

DTYPES = "?bhilqBHILQefdFD"
"""Codes of the dtypes that a device computes with, in the machine's byte order."""


def parameters(table: str) -> dict[str, tuple[str, ...]]:
    """Parameters by name."""
    rows = (line.split(":") for line in table.strip().splitlines())
    return {name: tuple(names.split()) for name, names in rows}
