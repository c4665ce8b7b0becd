"""Secure sums: parties hide their counts under masks and add only shares of the noise.

Publishing full noise at each of m parties gives m times its variance. Here the sum alone is seen, and
each party adds a share of the noise, so small that the shares of m - t parties together are what one
curator would have added: m / (m - t) times the variance, for t colluders.

Trust model
-----------
Honest but curious: every party follows the protocol, and at most t of them, with whoever adds up, put
together what they know. People whom the parties trust give them the keys beforehand. A party that
leaves a round spoils it: nothing can be read from it, but it is charged as if it were opened.

Privacy
-------
Fix a party P that does not collude. The colluders see masked messages, the sum, and their own numbers.
Messages of the others are evenly distributed given their sum (each pair of them has a mask that the
colluders do not know), so all there is to see is the sum of the honest parties' values, with their
shares of noise: at least m - t of them, independent of the colluders' own. By the claims of the shares
(`frith.privacy.shares`) that is (epsilon, delta)-DP for P's records, for the budget that each party
charges in full before its message leaves, at every attempt. What a person has at several honest
parties adds up, as in `frith.parties.merging`.

Whoever coordinates is not believed about what a round is: each party works out the terms of the
question itself (`frith.parties.binding`) and answers only a round that is about them, so that all shares
of a sum are of one mechanism and one scale.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator, Masking, Release, noise_share
from frith.curator.protocol import Party
from frith.errors import FrithError
from frith.kernels import Question
from frith.parties.binding import terms_of
from frith.parties.joint import check_parties
from frith.parties.masks import Keys, PairMasks, Round, trust_assumption, unmask
from frith.parties.merging import MergeError, together
from frith.privacy.guarantee import Guarantee


class SecureParty(Party, Protocol):
    """A party that can also answer under masks."""

    @property
    def public_key(self) -> str: ...

    def masked_answer(
        self, kernel: Question, share: Fraction, purpose: str, round: Round
    ) -> NDArray[np.uint64]: ...


class LocalParty:
    """A party in this process: a curator with keys."""

    def __init__(self, curator: Curator, keys: Keys):
        self.curator, self.keys = curator, keys
        self.domain, self.budget = curator.domain, curator.budget
        self.noisy_counts = curator.noisy_counts
        self._answered = set[bytes]()

    @property
    def public_key(self) -> str:
        return self.keys.public

    @property
    def guarantee(self) -> Guarantee:
        return self.curator.guarantee

    @property
    def remaining_share(self) -> Fraction:
        return self.curator.remaining_share

    def masked_answer(
        self, kernel: Question, share: Fraction, purpose: str, round: Round
    ) -> NDArray[np.uint64]:
        """One answer per round: a second one under the same masks would reveal its noise."""
        if round.describe() in self._answered:
            raise MergeError("this round was answered before; begin another attempt")
        masking: Masking = PairMasks(self.keys, round)
        self._answered.add(round.describe())
        return self.curator.masked_counts(kernel, share, purpose, masking)


class SecureSum:
    """Only the sum of all parties' answers is seen."""

    def __init__(
        self,
        parties: Mapping[str, SecureParty],
        *,
        colluders: int = 1,
        disjoint: bool = False,
        session: str | None = None,
    ):
        self.parties, self.colluders, self._disjoint = dict(parties), colluders, disjoint
        check_parties(self.parties)
        if len({str(p.budget) for p in self.parties.values()}) > 1:
            raise MergeError("a secure sum needs the same budget at every party")
        self._session = session or secrets.token_hex(16)
        self._question = 0
        self._round(0, "0" * 64)  # refuse a malformed one now

    @property
    def gain(self) -> float:
        """How many times smaller the variance is than with full noise at every party."""
        return len(self.parties) - float(self.colluders)

    def describe(self) -> str:
        """What the sum costs in noise, and what it saves."""
        m, t = len(self.parties), self.colluders
        text = (
            f"{m} parties, at most {t} of which put together what they know: the noise has "
            f"{m}/{m - t} of the variance that one curator's would have"
        )
        if self.gain == 1:
            return f"{text}; nothing is gained over full noise at every party"
        return f"{text}, {self.gain:g} times less than with full noise at every party"

    def sum(self, kernel: Question, share: Fraction, purpose: str) -> Release:
        """One round; if a party fails, the error names it, and what the others paid stays spent."""
        self._question += 1
        round = self._round(self._question, self._about(kernel, share))
        messages = []
        for name, party in self.parties.items():
            try:
                messages.append(party.masked_answer(kernel, share, purpose, round))
            except (FrithError, OSError, ValueError) as error:
                raise MergeError(
                    f"{name} failed: {error}; this round counts as spent for all who answered"
                ) from error
        return Release(unmask(messages), self._variance(kernel, share))

    def _about(self, kernel: Question, share: Fraction) -> str:
        """The digest of what every party is asked; each works it out again for itself."""
        first, t = next(iter(self.parties.values())), self.colluders
        try:
            terms = terms_of(
                kernel, first.domain, first.budget, share, keys=self._keys, colluders=t
            )
        except ValueError as error:
            raise MergeError(f"no party was asked, and nothing is spent: {error}") from error
        return terms.digest

    @property
    def _keys(self) -> dict[str, str]:
        return {name: party.public_key for name, party in self.parties.items()}

    def _round(self, question: int, about: str) -> Round:
        return Round(self._session, 1, question, about, self._keys, self.colluders)

    def _variance(self, kernel: Question, share: Fraction) -> float:
        first = next(iter(self.parties.values()))
        if first.budget.is_exact:
            return 0.0
        amount, honest = share * first.budget.total, len(self.parties) - self.colluders
        noise = noise_share(kernel, first.domain, amount, first.budget.unit, honest)
        return len(self.parties) * noise.variance

    @property
    def guarantee(self) -> Guarantee:
        shares = [p.guarantee.of_party(name) for name, p in self.parties.items()]
        whole = together(shares, disjoint=self._disjoint)
        return whole.assuming(trust_assumption(len(self.parties), self.colluders))
