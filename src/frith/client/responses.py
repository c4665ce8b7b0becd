"""The bodies of the API's responses."""

from __future__ import annotations

from typing import Any, TypeVar

from frith.client.documents import Document, DomainDocument, Exact, ReceiptDocument
from frith.client.kinds import JobKind, JobState, ProblemCode, ProposalKind, ProposalState, Role
from frith.privacy.exact import readable

# isort: split
# After `documents`, which says what to install if pydantic is missing.
from pydantic import ConfigDict, Field

T = TypeVar("T")


class Listing(list[T]):
    """A list that prints one item a line."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "(none)"


class ProblemResponse(Document):
    model_config = ConfigDict(extra="allow")
    code: ProblemCode
    message: str


class HealthResponse(Document):
    status: str = "ok"


class ReadyResponse(Document):
    """Whether a server can do its work, and what each check found."""

    ready: bool
    checks: dict[str, bool]


class Member(Document):
    """Somebody who may use the server."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    role: Role
    subject: str | None
    created: str
    disabled: str | None = Field(description="The time since when they are disabled.")
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
    actor: str = Field(description="Who did it; empty if nobody recorded it.")
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
    before: int | None = Field(description="Continue before this entry; null at the beginning.")


class ConnectionInfo(Document):
    """A connection from which curators may pick tables."""

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
    """What a request needs, from the sizes in it and in the domain; never from the records."""

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
    parameters: dict[str, Any] = Field(default={})
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
    """Predicted labels with their probabilities, or predicted numbers, which have none."""

    labels: list[Any]
    classes: list[Any]
    probabilities: list[list[float]]
