"""The wire documents: requests and responses of the API, each declared once.

The server checks, sends and describes (OpenAPI) these models; the client and the command line write
and read the same ones. That is why pydantic is part of the `client` extra and not of the server's
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, TypeVar

from frith.client.kinds import (
    JobKind,
    JobState,
    ProblemCode,
    ProposalKind,
    ProposalState,
    Role,
    Scope,
)
from frith.domain import Domain
from frith.errors import FormatError
from frith.ledger import Receipt
from frith.ledger.entries import FIELDS
from frith.privacy.exact import exact, readable, show

NEEDS_CLIENT = "asking a private database needs more packages: pip install 'frith[client]'"
try:
    from pydantic import (
        BaseModel,
        BeforeValidator,
        ConfigDict,
        Field,
        InstanceOf,
        PlainSerializer,
        ValidationError,
        WithJsonSchema,
    )  # fmt: skip
except ImportError:
    raise ImportError(NEEDS_CLIENT) from None

T = TypeVar("T")
NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
AMOUNT = r"^([0-9]{1,9}(\.[0-9]{1,18})?(e-?[0-9]{1,2})?|[0-9]{1,9}/[0-9]{1,3})$"
"""How callers write amounts: 0.5, 1e-6, 1/3. Short, so that no exponent makes a giant number.

Denominators have at most three digits: with longer ones, sums in the ledger would grow with every
request until they could not be written down.
"""
_PATTERNS = {NAME: "at most 63 lower-case letters, digits, - and _, the first no - or _"}
Name = Annotated[str, Field(pattern=NAME, max_length=63)]
Amount = (
    Annotated[str, Field(pattern=AMOUNT, max_length=40)]
    | Annotated[float, Field(strict=True, ge=0, le=1e9)]
)
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Source = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Scalar = bool | int | float | Annotated[str, Field(max_length=1000)] | None


def _reader(read: Callable[[Any], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: read(value) if isinstance(value, dict) else value)


_RECEIPT = {
    f.name: {
        "type": {"int": "integer", "str | None": ["string", "null"]}.get(str(f.type), "string")
    }
    for f in fields(Receipt)
    if f.name in FIELDS
}
Exact = Annotated[Fraction, BeforeValidator(exact), PlainSerializer(show, return_type=str)]
"""An exact amount, spelled as text."""
DomainDocument = Annotated[
    InstanceOf[Domain],
    _reader(Domain.from_json),
    PlainSerializer(Domain.to_json),
    WithJsonSchema({"type": "object"}),
]
ReceiptDocument = Annotated[
    InstanceOf[Receipt],
    _reader(Receipt.from_json),
    PlainSerializer(Receipt.to_json),
    WithJsonSchema({"type": "object", "properties": _RECEIPT, "required": list(_RECEIPT)}),
]


class Document(BaseModel):
    """A JSON object; a response may hold more than is read, because a newer server may say more."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def read(cls, data: Any) -> Self:
        """The document, or a `FormatError` that names the first wrong field."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise FormatError(first_problem(error.errors())) from None

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def first_problem(errors: Sequence[Any]) -> str:
    """Where the first error is and what is wrong, without the value."""
    where = ".".join(str(part) for part in errors[0]["loc"])
    pattern = errors[0].get("ctx", {}).get("pattern")
    return f"{where}: {_PATTERNS.get(pattern, errors[0]['msg'])}"


class Listing(list[T]):
    """A list that prints one item a line."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "(none)"


# -- requests --------------------------------------------------------------------------------------


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
    """For a confusion matrix; if anything else is named, for scores of the probabilities of a label.

    For the errors of a forest that predicts a number, name nothing else.
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
    """For a score, unless it says what else."""

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
    """A question that several parties are asked alike."""

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
    """What is to change; what is left out stays as it is."""

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
    """Where records are: a table of a connection, or a query where the connection takes them."""

    connection: Name = Field(description="One that the operator declared.")
    table: Source | None = Field(default=None, description="A file of a folder, or schema.table.")
    query: Source | None = Field(default=None, description="A SELECT, instead of a table.")


class TableRequest(SourceRequest):
    name: Name
    domain: Annotated[str, Field(max_length=500_000)] = Field(description="TOML or JSON, reviewed.")
    policy: PolicyRequest
    title: Text = ""
    signed: bool = Field(
        default=False, description="Each row of a query depends on one record alone."
    )


class PaidTableRequest(SourceRequest):
    """A table without public bounds: what its columns are, and what its domain may cost."""

    name: Name
    label: Text = Field(description="The column to predict.")
    columns: dict[Text, Literal["number", "date"] | Annotated[list[Text], Field(max_length=10_000)]]
    epsilon: Amount = Field(description="What the domain costs, of the policy's epsilon.")
    records: int | None = Field(default=None, ge=1, le=2**47, description="If it is public.")
    person: Text | None = Field(default=None, description="The column that names the person.")
    records_per_person: int = Field(default=1, ge=1, le=10**6)
    policy: PolicyRequest
    title: Text = ""
    signed: bool = Field(
        default=False, description="Each row of a query depends on one record alone."
    )


class BatchRequest(SourceRequest):
    name: Name
    disjoint: bool = Field(
        default=False, description="None of its people is in the table or another batch."
    )


class GrantRequest(RequestDocument):
    columns: list[Text] | None = Field(default=None, max_length=10_000)
    epsilon: Amount | None = Field(default=None, description="A cap for this analyst alone.")


# -- responses -------------------------------------------------------------------------------------


class ProblemResponse(Document):
    model_config = ConfigDict(extra="allow")
    code: ProblemCode
    message: str


class HealthResponse(Document):
    status: str = "ok"


class ReadyResponse(Document):
    """Whether a server can do its work, and what it looked at."""

    ready: bool
    checks: dict[str, bool]


class Member(Document):
    """Somebody who may use the server."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    role: Role
    subject: str | None
    created: str
    disabled: str | None = Field(description="Since when they are disabled.")
    owner: str | None = Field(default=None, description="Of a service account.")
    expires: str | None = Field(default=None, description="When a service account ends.")

    def __str__(self) -> str:
        service = f", a service account of {self.owner}" if self.owner else ""
        return f"{self.name}, {self.role}{service}" + (", disabled" if self.disabled else "")


class Token(Document):
    """A token by its id; its text is shown once, when it is made."""

    model_config = ConfigDict(from_attributes=True)
    id: str
    member: str
    note: str
    created: str
    expires: str
    revoked: str | None
    parent: str | None = Field(default=None, description="What made it; it ends with that token.")
    minter: str | None = Field(default=None, description="Who made it; null for the operator.")
    scopes: str | None = Field(default=None, description="Null for all that the role has.")

    def __str__(self) -> str:
        state = f"revoked {self.revoked[:10]}" if self.revoked else f"until {self.expires[:10]}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.id} of {self.member}{note}, {state}"


class IssuedToken(Token):
    """A new token with its text, which is never printed."""

    token: str = Field(repr=False, description="Shown once; only its hash is kept.")


class Proposal(Document):
    """What somebody proposed, and who decided it."""

    id: str
    kind: ProposalKind
    table: str
    member: str = Field(description="Who proposed it.")
    job: str | None = Field(description="The job that waits, for a request.")
    reason: str
    created: str
    state: ProposalState
    decider: str | None
    decided: str | None
    before: dict[str, Any] | None = Field(description="The policy that it would replace.")
    policy: dict[str, Any] | None = Field(description="The policy that is proposed.")

    def __str__(self) -> str:
        by = f" by {self.decider}" if self.decider else ""
        return f"{self.id}: {self.kind} on {self.table} by {self.member}, {self.state}{by}: {self.reason}"


class LogLine(Document):
    """One line of the audit log: an event, or an entry of the ledger."""

    entry: int
    at: str
    actor: str = Field(description="Who did it; empty where nobody wrote it down.")
    action: str
    target: str
    outcome: str = Field(description="`done`, or why it was refused.")
    role: str = ""
    address: str = ""
    request: str = Field(default="", description="The id of the request, as in the server's log.")
    via: str = Field(default="", description="The token or session that they came with.")
    before: Any = None
    after: Any = None
    more: dict[str, Any] = Field(default_factory=dict)
    amount: Exact | None = None
    unit: str | None = None
    purpose: str | None = None

    def __str__(self) -> str:
        outcome = "" if self.outcome == "done" else f", refused: {self.outcome}"
        return f"{self.entry} {self.at} {self.actor or '?'}: {self.action} {self.target}{outcome}"


class LogResponse(Document):
    """Lines of the audit log, the newest first."""

    lines: list[LogLine]
    before: int | None = Field(description="Ask on before this entry; null at the beginning.")


class ConnectionInfo(Document):
    """A connection that curators may pick tables of."""

    name: str
    kind: str
    queries: bool = Field(description="Whether it takes queries.")

    def __str__(self) -> str:
        return f"{self.name}, {self.kind}" + (", takes queries" if self.queries else "")


class LearnerInfo(Document):
    """A learner of the server, and the parameters that a request may set."""

    name: str
    summary: str
    parameters: dict[str, Any]

    def __str__(self) -> str:
        settings = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.name}: {self.summary} {settings}".rstrip()


class Account(Document):
    """A budget and how much of it is spent, in its own unit: epsilon, or rho if it has a delta."""

    name: str
    unit: str
    epsilon: Exact
    delta: Exact
    neighbors: str | None = Field(default=None, description="What the amounts protect.")
    total: Exact
    spent: Exact
    held: Exact = Field(description="Reserved for jobs that have not started.")
    left: Exact
    left_epsilon: float = Field(description="The epsilon of one request that would use it up.")

    def __str__(self) -> str:
        held = f", {readable(self.held)} held" if self.held else ""
        about = f" (epsilon {self.left_epsilon:.4g})" if self.unit != "epsilon" else ""
        return (
            f"{self.name}: {self.unit} {readable(self.spent)} of {readable(self.total)} spent{held}, "
            f"{readable(self.left)} left{about}"
        )


class BatchBudget(Document):
    """The budget of a batch whose people are nowhere else."""

    batch: str
    own: Account
    whole: Account | None = Field(default=None, description="For curators.")


class BudgetResponse(Document):
    table: str
    own: Account
    renewal: str | None
    batches: list[BatchBudget] = Field(description="Those with a budget of their own.")
    whole: Account | None = Field(default=None, description="For curators.")
    analysts: list[Account] | None = Field(default=None, description="For curators.")


class Batch(Document):
    """Further records of a table."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    disjoint: bool = Field(description="None of its people is in the table or another batch.")
    created: str


class TableInfo(Document):
    """A table that you may ask about, as far as your grant goes."""

    name: str
    title: str
    version: int
    policy: dict[str, Any] = Field(repr=False)
    renewal: str | None = Field(repr=False)
    learner: str = Field(repr=False, description="The learner used when a request names none.")
    domain: DomainDocument = Field(repr=False)
    batches: list[Batch] = Field(repr=False)
    source: str | None = Field(
        default=None,
        repr=False,
        description="For curators: the connection, and what was picked in it.",
    )

    @property
    def batch_names(self) -> tuple[str, ...]:
        return tuple(batch.name for batch in self.batches)

    def __str__(self) -> str:
        title = f"{self.title}; " if self.title else ""
        label = self.domain.label
        said = "a number" if self.domain.has_target else f"of {label.size} values"
        batches = f", batches {', '.join(self.batch_names)}" if self.batches else ""
        return (
            f"{self.name}: {title}{len(self.domain.names)} attributes, label {label.name!r} "
            f"{said}, version {self.version}{batches}"
        )


class Grant(Document):
    """Who may ask about a table: about which attributes, and for how much."""

    table: str
    member: str
    columns: list[str] | None
    epsilon: Exact | None

    def __str__(self) -> str:
        what = "all attributes" if self.columns is None else ", ".join(self.columns)
        cap = "" if self.epsilon is None else f"; at most epsilon {readable(self.epsilon)}"
        return f"{self.member} may ask {self.table} about {what}{cap}"


class Estimate(Document):
    """How much a request takes, from the sizes in it and in the domain; never from the records."""

    cells: int = Field(description="The counters of its largest question.")
    bytes: int = Field(description="Of memory.")
    seconds: int = Field(description="On one core.")
    stored: int = Field(description="Bytes that its result takes in the database.")


class Quote(Document):
    """What a request would cost, and what would be left."""

    unit: str
    cost: Exact
    left: Exact
    left_after: Exact
    left_after_epsilon: float
    granted: bool
    refusal: str | None
    estimate: Estimate | None = Field(default=None, description="What it takes to compute.")

    def __str__(self) -> str:
        if self.refusal is not None:
            return self.refusal
        about = f" (epsilon {self.left_after_epsilon:.4g})" if self.unit != "epsilon" else ""
        return (
            f"costs {self.unit} {readable(self.cost)} of the {readable(self.left)} that you have left; "
            f"{readable(self.left_after)}{about} would remain"
        )


class VerificationResponse(Document):
    entries: int
    head: str
    holds: bool = Field(description="Every entry is as it was written.")
    problems: list[str] = Field(description="Entries that are not as they were written.")
    flagged: list[str] = Field(description="Charges that would be refused today.")


class JobResponse(Document):
    """A request that the server has accepted. Its cost is charged when it starts."""

    id: str
    kind: JobKind
    table: str
    version: int
    member: str
    state: JobState
    passes: int = Field(description="The passes over the records that have begun.")
    doing: str = Field(description="What the pass under way is for.")
    request: dict[str, Any] = Field(description="What was asked, every parameter spelled out.")
    created: str
    problem: str | None = Field(description="Why it failed.")
    receipt: ReceiptDocument | None = Field(description="The last entry of your account about it.")
    purpose: str = Field(description="What it is for, as the ledger says it.")

    def __str__(self) -> str:
        pass_ = f", pass {self.passes}" if self.passes else ""
        doing = f": {self.doing}" if self.doing else ""
        problem = f": {self.problem}" if self.problem else ""
        return f"{self.id} {self.purpose} on {self.table}, {self.state}{pass_}{doing}{problem}"


class ReleaseResponse(Document):
    """What a job released, with your receipt."""

    id: str
    receipt: ReceiptDocument | None


class ForestResponse(ReleaseResponse):
    learner: str
    parameters: dict[str, Any] = {}
    forest: dict[str, Any]


class ScoreResponse(ReleaseResponse):
    score: dict[str, Any]


class CountsResponse(ReleaseResponse):
    counts: dict[str, Any]


class PartyInfo(Document):
    """A server as one of several parties."""

    party: str | None
    key: str | None = Field(description="The public key for secure sums.")

    def __str__(self) -> str:
        return f"{self.party}, key {self.key}" if self.key else "no party: it has no keys"


class PredictionResponse(Document):
    """Predicted labels and their probabilities; or predicted numbers, which have none."""

    labels: list[Any]
    classes: list[Any]
    probabilities: list[list[float]]
