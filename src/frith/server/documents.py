"""The shapes of what goes in and out of the API; OpenAPI describes them from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from frith.parties.masks import HEX, MAX_NUMBER, MAX_PARTIES, SESSION
from frith.server.budget.amounts import AMOUNT
from frith.server.context import NAME

Name = Annotated[str, Field(pattern=NAME, max_length=63)]
Amount = (
    Annotated[str, Field(pattern=AMOUNT, max_length=40)]
    | Annotated[float, Field(strict=True, ge=0, le=1e9)]
)
Text = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Source = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Scalar = bool | int | float | Annotated[str, Field(max_length=1000)] | None


class Asking(BaseModel):
    """A body of a request; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class BudgetAsked(Asking):
    epsilon: Amount = Field(examples=["0.5"], description="Read exactly as written.")
    delta: Amount = Field("0", examples=["0"], description="0 on a table with a pure budget.")


class ForestAsked(BudgetAsked):
    learner: Annotated[str, Field(max_length=40)] | None = Field(
        None, examples=["forest"], description="Else the table's; see GET /v1/tables/{table}."
    )
    parameters: dict[str, Scalar] = Field(
        default={}, max_length=40, description="The learner's own; see GET /v1/learners."
    )


class FurtherQuoteAsked(BudgetAsked):
    batch: Name | None = Field(None, description="For an update with it; without, for a score.")


class ScoreAsked(BudgetAsked):
    pass


class UpdateAsked(BudgetAsked):
    batch: Name


class PredictAsked(Asking):
    records: list[dict[str, Scalar]] = Field(max_length=10_000)


class RoundAsked(Asking):
    """One attempt at one question of a secure sum, as all parties must see it."""

    session: Annotated[str, Field(pattern=SESSION)]
    attempt: int = Field(ge=1, le=MAX_NUMBER, strict=True)
    question: int = Field(ge=0, le=MAX_NUMBER, strict=True)
    about: Annotated[str, Field(pattern=HEX)] = Field(
        description="The digest of the question's terms; see frith.parties.binding."
    )
    keys: dict[Name, Annotated[str, Field(pattern=HEX)]] = Field(max_length=MAX_PARTIES)
    colluders: int = Field(1, ge=1, le=MAX_PARTIES, strict=True)


class CountsAsked(BudgetAsked):
    """A question that several parties are asked alike."""

    question: dict[str, Any] = Field(description="A kernel in JSON; see frith.parties.questions.")
    domain: Annotated[str, Field(max_length=64)] = Field(description="The domain's fingerprint.")
    round: RoundAsked | None = Field(None, description="To be answered masked.")


class MemberAsked(Asking):
    name: Name
    role: Literal["curator", "analyst"] = "analyst"
    subject: Text | None = Field(None, description="Their `sub` at the OIDC issuer.")


class DisabledAsked(Asking):
    disabled: bool


class TokenAsked(Asking):
    note: Text = ""
    days: int | None = Field(None, ge=1, le=3650)


class PolicyAsked(Asking):
    epsilon: Amount
    delta: Amount = "0"
    analyst_epsilon: Amount | None = None
    request_epsilon: Amount | None = None
    least_epsilon: Amount | None = Field(None, description="0.001 where none is given.")
    learners: list[Annotated[str, Field(max_length=40)]] | None = Field(None, max_length=20)
    renewal_days: int | None = Field(None, ge=1, le=36500)


class TableAsked(Asking):
    name: Name
    source: Source = Field(
        description="A path or URL that frith opens; ${NAME} is read from the server's environment."
    )
    domain: Annotated[str, Field(max_length=500_000)] = Field(description="TOML or JSON, reviewed.")
    policy: PolicyAsked
    title: Text = ""
    signed: bool = Field(False, description="Each row of a query depends on one record alone.")


class BatchAsked(Asking):
    name: Name
    source: Source
    disjoint: bool = Field(
        False, description="None of its people is in the table or another batch."
    )


class GrantAsked(Asking):
    columns: list[Text] | None = Field(None, max_length=10_000)
    epsilon: Amount | None = Field(None, description="A cap for this analyst alone.")


class Said(BaseModel):
    """A body of an answer."""


class ProblemSaid(Said):
    model_config = ConfigDict(extra="allow")
    code: str
    message: str


class Healthy(Said):
    status: str


class MemberSaid(Said):
    name: str
    role: str
    subject: str | None
    created: str
    disabled: str | None = Field(description="Since when they are shut out.")


class TokenSaid(Said):
    id: str
    member: str
    note: str
    created: str
    expires: str
    revoked: str | None


class TokenIssued(TokenSaid):
    token: str = Field(repr=False, description="Shown once; only its hash is kept.")


class LearnerSaid(Said):
    name: str
    summary: str
    parameters: dict[str, Any]


class AccountSaid(Said):
    name: str
    unit: str
    epsilon: str
    delta: str
    neighbors: str | None = Field(description="What the amounts are about.")
    total: str
    spent: str
    held: str
    left: str
    left_epsilon: float


class BatchBudgetSaid(Said):
    """The budget of a batch whose people are nowhere else."""

    batch: str
    own: AccountSaid
    whole: AccountSaid | None = Field(None, description="For curators.")


class BudgetSaid(Said):
    table: str
    own: AccountSaid
    renewal: str | None
    batches: list[BatchBudgetSaid] = Field(description="Those with a budget of their own.")
    whole: AccountSaid | None = Field(None, description="For curators.")
    analysts: list[AccountSaid] | None = Field(None, description="For curators.")


class TableSaid(Said):
    name: str
    title: str
    version: int
    policy: dict[str, Any]
    renewal: str | None
    learner: str = Field(description="Of a request that names none.")
    domain: dict[str, Any]
    batches: list[dict[str, Any]]
    source: str | None = Field(None, description="For curators, without passwords.")


class GrantSaid(Said):
    table: str
    member: str
    columns: list[str] | None
    epsilon: str | None


class QuoteSaid(Said):
    unit: str
    cost: str
    left: str
    left_after: str
    left_after_epsilon: float
    granted: bool
    refusal: str | None


class EntrySaid(Said):
    id: int
    account: str
    kind: str
    request: str | None
    amount: str
    spent: str
    held: str
    unit: str
    purpose: str
    at: str
    hash: str


class VerificationSaid(Said):
    entries: int
    head: str
    holds: bool = Field(description="Every entry is as it was written.")
    problems: list[str] = Field(description="Where it is not.")
    flagged: list[str] = Field(description="Charges that would be refused today.")


class JobSaid(Said):
    id: str
    kind: str
    table: str
    version: int
    member: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    passes: int
    doing: str
    request: dict[str, Any]
    created: str
    problem: str | None
    receipt: EntrySaid | None
    purpose: str


class ForestSaid(Said):
    id: str
    learner: str
    parameters: dict[str, Any]
    forest: dict[str, Any]
    receipt: EntrySaid | None


class ScoreSaid(Said):
    id: str
    score: dict[str, Any]
    receipt: EntrySaid | None


class CountsSaid(Said):
    id: str
    counts: dict[str, Any]
    receipt: EntrySaid | None


class PartySaid(Said):
    party: str | None
    key: str | None = Field(description="The public key for secure sums.")


class PredictionsSaid(Said):
    labels: list[Any]
    classes: list[Any]
    probabilities: list[list[float]]
