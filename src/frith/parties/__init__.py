"""Several curators, one forest: each counts its own records privately, and anyone adds up."""

from frith.parties.joint import JointCurator, OpenSum, Party, train_together
from frith.parties.masks import Keys
from frith.parties.merging import MergeError, join, merge
from frith.parties.releases import PartyRelease, release
from frith.parties.secure import LocalParty, SecureSum
from frith.parties.structure import Structure, make_structure

__all__ = [
    "JointCurator",
    "Keys",
    "LocalParty",
    "MergeError",
    "OpenSum",
    "Party",
    "PartyRelease",
    "SecureSum",
    "Structure",
    "join",
    "make_structure",
    "merge",
    "release",
    "train_together",
]
