"""How the kernels are compiled."""

import pkgutil
from importlib import import_module

from numba.core.dispatcher import Dispatcher

import oddarm.kernels
from oddarm.kernels.compiling import OPTIONS


def test_every_kernel_has_the_common_options():
    """Every kernel is cached and lets other threads run, so that runs share the cores."""
    found = {}
    for module in pkgutil.iter_modules(oddarm.kernels.__path__):
        home = import_module(f"oddarm.kernels.{module.name}")
        found |= {
            f"{module.name}.{name}": value.targetoptions
            | {"cache": value._cache.cache_path is not None}
            for name, value in vars(home).items()
            if isinstance(value, Dispatcher)
        }
    assert len(found) > 30
    for name, options in found.items():
        assert OPTIONS.items() <= options.items(), name
