"""Files as their modes have it, for root too, who may otherwise read and write everything.

Nothing outside this process changes, and it stays the same user in the same folder.
"""

import ctypes
import os
from contextlib import contextmanager

import pytest

_VERSION_3 = 0x20080522  # of capget and capset, with two words for each set of capabilities
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def only_those_of_modes():
    """Within, this thread and those that it starts have the rights that modes give the owner."""
    if os.geteuid() != 0:
        yield
        return
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)  # 0 is this thread
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "capset") or library.capget(header, sets):
        pytest.skip("needs capabilities of Linux, or a user other than root")
    effective = sets[0]
    _set_effective(library, header, sets, effective & ~_OVERRIDES)
    try:
        yield
    finally:
        _set_effective(library, header, sets, effective)


def _set_effective(library, header, sets, capabilities):
    sets[0] = capabilities
    if library.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset failed")
