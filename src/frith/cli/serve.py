"""`frith serve` and `frith worker`: the private database."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import err, say_note

if TYPE_CHECKING:
    from frith.server.context import Context
    from frith.server.run.shutdown import Shutdown
    from frith.server.settings import Settings

Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings in TOML.")]
Place = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="PLACE",
        help="A SQLite file, or postgresql://user:password@host/database. "
        "Process lists show this option, but not the variable FRITH_DATABASE.",
    ),
]
_EXPOSED = (
    "other machines can reach this address, and tokens would travel unencrypted: put a proxy with TLS "
    "in front and set secure_cookies, or set tls_certificate and tls_key."
)


def serve(
    config: Config = None,
    database: Place = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Worker processes to start; 0 for none.")
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Use a sample table and two tokens, in a temporary folder."),
    ] = False,
) -> None:
    """Run the private database: its API, its pages and its workers.

    Start with `frith serve --demo`. For real use, add a curator with `frith member add`, and give
    them a token with `frith token create`. Every setting of the file can also be a variable, such as
    FRITH_PORT=80. The log goes to stderr, one JSON object a line.
    """
    from frith.server.run.shutdown import Shutdown

    given = {"database": database, "host": host, "port": port, "workers": workers}
    with Shutdown() as shutdown, _demo_folder(demo) as folder:
        if folder is not None:
            given["database"] = str(folder / "server.db")
        settings = read_settings(config, **given)
        if folder is not None:
            from frith.server.run.sample import with_sample

            settings = with_sample(settings, folder)
        _run(settings, folder, shutdown)


def _run(settings: Settings, folder: Path | None, shutdown: Shutdown) -> None:
    from frith.server.run.logs import set_up_logs
    from frith.server.run.place import is_exposed, listening

    set_up_logs()
    with listening(settings) as sockets:
        from frith.server.context import open_context
        from frith.server.run.serve import serve

        if is_exposed(settings):
            say_note(_EXPOSED)
        context = open_context(settings)
        _say_where(context, folder)
        serve(context, sockets, shutdown)


def worker(config: Config = None, database: Place = None) -> None:
    """Run a server's jobs in this process until stopped. Start as many as the machine can carry."""
    from frith.server.run.logs import set_up_logs
    from frith.server.run.pool import run_worker
    from frith.server.run.shutdown import Shutdown

    settings = read_settings(config, database=database)
    set_up_logs()
    with Shutdown() as shutdown:
        run_worker(settings, lambda: shutdown.requested)


def read_settings(config: Path | None, **given: Any) -> Settings:
    needs = "the server needs more packages: pip install 'frith[server]'"
    try:
        from frith.server.settings import load_settings
    except ImportError:
        raise ValueError(needs) from None
    return load_settings(config, **given)


@contextlib.contextmanager
def _demo_folder(wanted: bool) -> Iterator[Path | None]:
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="frith-demo-") as folder:
        yield Path(folder)


def _say_where(context: Context, folder: Path | None) -> None:
    from frith.server.run.place import address

    where = address(context.settings)
    if folder is None:
        err().print(f"frith listens on {where}, state in {context.database}", soft_wrap=True)
        return
    from frith.server.run.sample import ANALYST, CURATOR, fill

    sample = fill(context, folder)
    say_note("this is a demo: everything in it is deleted when it stops.")
    err().print(
        f"\n  open     {where}\n  table    {sample.table}\n"
        f"  curator  {CURATOR}  {sample.curator_token}\n"
        f"  analyst  {ANALYST}    {sample.analyst_token}\n\n"
        "These tokens are shown once. Stop with ctrl-C.\n",
        soft_wrap=True,
    )
