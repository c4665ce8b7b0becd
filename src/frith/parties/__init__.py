"""Several curators, one forest: each counts its own records privately; anyone can add the counts.

Secure sums and servers need the `client` extra, so their names are imported when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from frith.curator.protocol import Party
from frith.parties.joint import JointCurator, OpenSum, train_together
from frith.parties.merging import MergeError, join, merge, restrict
from frith.parties.releases import PartyRelease, release
from frith.parties.shared_structure import Structure, make_structure

if TYPE_CHECKING:
    from frith.parties.masks import Keys
    from frith.parties.secure import LocalParty, SecureSum
    from frith.parties.servers import ServerParty, train_between

_HOMES = {
    "Keys": "frith.parties.masks",
    "LocalParty": "frith.parties.secure",
    "SecureSum": "frith.parties.secure",
    "ServerParty": "frith.parties.servers",
    "train_between": "frith.parties.servers",
}
__all__ = [
    "JointCurator",
    "Keys",
    "LocalParty",
    "MergeError",
    "OpenSum",
    "Party",
    "PartyRelease",
    "SecureSum",
    "ServerParty",
    "Structure",
    "join",
    "make_structure",
    "merge",
    "release",
    "restrict",
    "train_between",
    "train_together",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
