"""The one door to the records: questions in, releases out."""

from frith.curator.curator import RECORDS_ARE_PUBLIC, Curator
from frith.curator.masking import Masking
from frith.curator.pricing import noise_of, noise_share
from frith.curator.protocol import CuratorLike, Progress, Release, records_per_unit

__all__ = [
    "RECORDS_ARE_PUBLIC",
    "Curator",
    "CuratorLike",
    "Masking",
    "Progress",
    "Release",
    "noise_of",
    "noise_share",
    "records_per_unit",
]
