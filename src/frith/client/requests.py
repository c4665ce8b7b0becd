"""The bodies of requests to the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from frith.client.documents import Amount, Digest, Document, Name, Scalar, Source, Text
from frith.client.kinds import Role, Scope

# isort: split
# After `documents`, which says what to install if pydantic is missing.
from pydantic import ConfigDict, Field


class RequestDocument(Document):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class BudgetRequest(RequestDocument):
    epsilon: Amount = Field(examples=["0.5"], description="Read exactly as written.")
    delta: Amount = Field(
        default="0", examples=["0"], description="0 on a table with a pure budget."
    )
    reason: Text = Field(
        default="", description="Why; some tables want it, and somebody's approval."
    )


class ForestRequest(BudgetRequest):
    learner: Annotated[str, Field(max_length=40)] | None = Field(
        default=None, examples=["forest"], description="The table's own, if none is named."
    )
    parameters: dict[str, Scalar] = Field(
        default={}, max_length=40, description="The learner's parameters; see GET /v1/learners."
    )


class ScoreRequest(BudgetRequest):
    """A confusion matrix, or scores of a label's probabilities if any field below is given.

    For a forest that predicts a number, its errors: no field below applies.
    """

    metrics: list[Annotated[str, Field(max_length=40)]] | None = Field(
        default=None, max_length=10, description="accuracy, auc, log_loss, brier, calibration."
    )
    by: list[Annotated[str, Field(max_length=1000)]] = Field(
        default=[], max_length=10, description="Attributes whose groups get rates."
    )
    positive: Scalar = Field(
        default=None, description="The label that is scored; the second of two if none is named."
    )


class QuoteRequest(BudgetRequest):
    """For a score, unless one of the fields below is given."""

    batch: Name | None = Field(default=None, description="Names the batch of an update.")
    rules: bool = Field(default=False, description="For counts of the forest's rules.")


class UpdateRequest(BudgetRequest):
    batch: Name


class PredictionRequest(RequestDocument):
    records: list[dict[str, Scalar]] = Field(max_length=10_000)


class RoundRequest(RequestDocument):
    """One attempt at one question of a secure sum, as all parties must see it.

    `frith.parties.masks.Round` is the strict reader behind it; its limits are repeated for OpenAPI.
    """

    session: Annotated[str, Field(pattern=r"^[!-~]{1,64}$")]
    attempt: int = Field(ge=1, le=1_000_000, strict=True)
    question: int = Field(ge=0, le=1_000_000, strict=True)
    about: Digest = Field(
        description="The digest of the question's terms; see frith.parties.binding."
    )
    keys: dict[Name, Digest] = Field(max_length=100)
    colluders: int = Field(default=1, ge=1, le=100, strict=True)


class CountsRequest(BudgetRequest):
    """A question that all parties get."""

    question: dict[str, Any] = Field(description="A kernel in JSON; see frith.parties.questions.")
    domain: Annotated[str, Field(max_length=64)] = Field(description="The domain's fingerprint.")
    round: RoundRequest | None = Field(default=None, description="To be answered masked.")


class MemberRequest(RequestDocument):
    name: Name
    role: Role = Role.ANALYST
    subject: Text | None = Field(default=None, description="Their `sub` at the OIDC issuer.")
    owner: Name | None = Field(
        default=None, description="For a service account: who answers for it."
    )
    days: int | None = Field(default=None, ge=1, le=3650, description="After which it ends.")


class MemberChangeRequest(RequestDocument):
    """What to change; fields left out stay the same."""

    disabled: bool | None = None
    role: Role | None = None
    owner: Name | None = None


class TokenRequest(RequestDocument):
    note: Text = ""
    days: int | None = Field(default=None, ge=1, le=3650)
    scopes: list[Scope] | None = Field(
        default=None, max_length=len(Scope), description="All if none."
    )


class PolicyRequest(RequestDocument):
    epsilon: Amount
    delta: Amount = "0"
    analyst_epsilon: Amount | None = None
    request_epsilon: Amount | None = None
    least_epsilon: Amount | None = Field(default=None, description="0.001 if none is given.")
    learners: list[Annotated[str, Field(max_length=40)]] | None = Field(default=None, max_length=20)
    renewal_days: int | None = Field(default=None, ge=1, le=36500)
    approval_epsilon: Amount | None = Field(
        default=None, description="Requests for more wait until a curator approves them."
    )


class RaiseRequest(RequestDocument):
    """A policy with a larger budget, and why it is wanted."""

    policy: PolicyRequest
    reason: Text


POLICY_AMOUNTS = tuple(name for name in PolicyRequest.model_fields if "epsilon" in name) + (
    "delta",
)


class SourceRequest(RequestDocument):
    """Where records are: a table of a connection, or a query if the connection takes queries."""

    connection: Name = Field(description="One that the operator declared.")
    table: Source | None = Field(default=None, description="A file of a folder, or schema.table.")
    query: Source | None = Field(default=None, description="A SELECT, instead of a table.")


class NewTableRequest(SourceRequest):
    """What every new table needs."""

    name: Name
    policy: PolicyRequest
    title: Text = ""
    signed: bool = Field(
        default=False, description="Each row of a query depends on one record alone."
    )


class TableRequest(NewTableRequest):
    domain: Annotated[str, Field(max_length=500_000)] = Field(description="TOML or JSON, reviewed.")


class PaidTableRequest(NewTableRequest):
    """A table without public bounds: what its columns are, and what its domain may cost."""

    label: Text = Field(description="The column to predict.")
    columns: dict[Text, Literal["number", "date"] | Annotated[list[Text], Field(max_length=10_000)]]
    epsilon: Amount = Field(description="What the domain costs, of the policy's epsilon.")
    records: int | None = Field(default=None, ge=1, le=2**47, description="If it is public.")
    person: Text | None = Field(default=None, description="The column that names the person.")
    records_per_person: int = Field(default=1, ge=1, le=10**6)


class BatchRequest(SourceRequest):
    name: Name
    disjoint: bool = Field(
        default=False, description="None of its people is in the table or another batch."
    )


class GrantRequest(RequestDocument):
    columns: list[Text] | None = Field(default=None, max_length=10_000)
    epsilon: Amount | None = Field(default=None, description="A cap for this analyst alone.")
