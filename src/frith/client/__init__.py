"""The analyst's and the curator's side of a private database: `frith.connect(url, token)`."""

from frith.client.database import RemoteDatabase, connect
from frith.client.facts import Account, Grant, LearnerInfo, Listing, Member, Quote, TableInfo, Token
from frith.client.jobs import Job

__all__ = [
    "Account",
    "Grant",
    "Job",
    "LearnerInfo",
    "Listing",
    "Member",
    "Quote",
    "RemoteDatabase",
    "TableInfo",
    "Token",
    "connect",
]
