"""What Python says of the compiled functions is what their header says."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import oddarm.kernels
import oddarm.strategies
from oddarm.kernels.native import KINDS, SIGNATURES, Record

HEADER = Path(oddarm.kernels.__file__).with_name("oddarm.h").read_text(encoding="utf-8")
TESTED = {"centred_capital", "erfcinv", "log_capital"}  # called by kernels, and by tests alone
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
NUMBERS = {"double": "real", "int64_t": "whole", "bool": "flag", "void": None}
ARRAYS = {
    "double": {"floats", "results"},
    "int64_t": {"wholes", "results"},
    "bool": {"flags"},
    "uint8_t": {"bytes", "flags"},
    "uint64_t": {"words"},
    "int32_t": {"small_wholes"},
    "char": {"floats"},  # working memory
}

for package in (oddarm.kernels, oddarm.strategies):  # which declare what they call
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("._native"):  # the library itself
            importlib.import_module(module.name)


def kinds_of(declaration):
    """Return the name of a declared parameter or field, and what Python may call its kind."""
    text = declaration.replace("const ", "").strip()
    name = re.search(r"(\w+)(\)?\[\d\])*$", text)[1]
    if text.startswith("struct "):
        return name, {"record"} if "*" in text else {text.split()[1]}
    word = text.split()[0].rstrip("*")
    return name, ARRAYS[word] if re.search(r"[*\[]", text) else {NUMBERS[word]}


def functions():
    """Return the parameters of each exported function, and what it returns."""
    found = re.findall(r"EXPORT (\w+) (\w+)\(([^;]*)\);", CODE)
    return {name: (parameters.split(","), NUMBERS[gives]) for gives, name, parameters in found}


def structs():
    """Return the fields of each struct by name, those of a struct inside it in their place."""
    found = {}
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", CODE, re.DOTALL):
        fields = {}
        for line in re.findall(r"([^;]+);", body):
            first, *others = line.split(",")
            word = re.match(r"\s*(?:const )?(?:struct )?\w+ ", first)[0]
            for one in (first, *(word + other for other in others)):
                field, kinds = kinds_of(one)
                inner = found.get(next(iter(kinds)))
                fields |= inner or {field: kinds}
        found[name] = fields
    return found


def records():
    """Return the records of Python by the name of their struct."""
    return {record.__name__.lstrip("_").lower(): record for record in Record.__subclasses__()}


def test_python_calls_every_function_as_the_header_says():
    """Each function has a caller that hands over the right kinds and expects the right number."""
    declared = functions()
    assert len(declared) > 20
    assert SIGNATURES.keys() <= declared.keys()
    assert declared.keys() - SIGNATURES.keys() <= TESTED
    for name, (takes, gives) in SIGNATURES.items():
        parameters, returns = declared[name]
        assert gives == returns, name
        for kind, parameter in zip(takes.split(), parameters, strict=True):
            assert kind in kinds_of(parameter)[1], f"{name}: {parameter}"


@pytest.mark.parametrize("struct", sorted(structs().keys() - {"rule"}))
def test_records_have_the_layout_of_their_structs(struct):
    """Each record has the fields of its struct, in their order and of their types."""
    fields = structs()[struct]
    record = records()[struct]
    assert list(record.kinds) == list(fields)
    for name, kinds in fields.items():
        assert record.kinds[name] in [KINDS[kind] for kind in kinds], name
    assert [name for name, _ in record._fields_] == list(fields)


def test_no_struct_is_without_a_record():
    """Python has a record for each struct but those inside others."""
    assert records().keys() == structs().keys() - {"rule"}
