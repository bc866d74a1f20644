"""``odf webhook``: addresses that are told what happens to datasets."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.webhook_places import Whose, Wish, with_webhooks
from repo_server.webhook_states import DeliveryInfo, WebhookInfo

IS_GROUP = True
app = typer.Typer(
    help="""Have an address told what happens to datasets. Servers do it, and say how it goes.

\b
Example:
    odf webhook add https://example.org/hook --dataset us.noaa.seattle-weather --repo my-repository
""",
    no_args_is_help=True,
)
COLUMNS: Final = ("ID", "HOST", "OF", "EVENTS", "STATE", "TOLD UP TO", "FAILURES", "NEXT ATTEMPT")
DELIVERY_COLUMNS: Final = ("NUMBER", "AT", "EVENT", "TYPE", "ATTEMPT", "STATUS", "SECONDS", "FAILURE", "NEXT ATTEMPT")

Id = Annotated[str, typer.Argument(metavar="ID", help="As 'odf webhook list' shows it.")]
Dataset = Annotated[str | None, typer.Option("--dataset", metavar="REF", help="Of that dataset.")]
OfAccount = Annotated[
    str | None, typer.Option("--account", metavar="NAME", help="Of that account; at a server one's own.")
]


@app.command()
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address; it is not shown again.")],
    dataset: Dataset = None,
    account: OfAccount = None,
    events: Annotated[
        list[str] | None, typer.Option("--event", metavar="TYPE", help="What it is told; everything if not given.")
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Of the account's own datasets alone.")] = False,
    secret: Annotated[bool, typer.Option("--secret", help="Make a secret to sign with, and print it.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Tell an address whatever happens from now on, and print the id of the webhook.

    One of an account is told of every dataset that the account may read. With --secret the second line is a secret that
    messages are signed with too. It cannot be shown again.

    \b
    Example:
        odf webhook add https://example.org/hook --dataset us.noaa.seattle-weather --repo my-repository
        odf webhook add https://example.org/hook --account alice --event head-moved --secret --repo my-repository
        odf webhook add https://example.org/hook --own --repo https://repo.example.org
    """
    wish = Wish(url, tuple(events or ()), own, secret)
    made = with_webhooks(repository, Whose(dataset, account), lambda place: place.add(wish))
    if as_json:
        print_json(made)
        return
    print_line(made["id"])
    if made["secret"] is not None:
        print_line(made["secret"])


@app.command("list")
def list_(
    dataset: Dataset = None, account: OfAccount = None, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """List webhooks and how they stand: all, or those of an account or a dataset; at a server one's own.

    \b
    Example:
        odf webhook list --repo my-repository
    """
    found = with_webhooks(repository, Whose(dataset, account), lambda place: place.listed())
    if as_json:
        print_json(found)
    else:
        print_table(COLUMNS, map(_cells, found))


@app.command()
def remove(
    webhook_id: Id, dataset: Dataset = None, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Tell it nothing more.

    \b
    Example:
        odf webhook remove 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    with_webhooks(repository, Whose(dataset), lambda place: place.remove(webhook_id))
    if as_json:
        print_json({"removed": webhook_id})
    else:
        print_line(f"removed {webhook_id}")


@app.command()
def pause(webhook_id: Id, dataset: Dataset = None, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Tell it nothing until 'odf webhook resume'.

    \b
    Example:
        odf webhook pause 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    _set_active(webhook_id, dataset, repository, active=False, as_json=as_json)


@app.command()
def resume(
    webhook_id: Id, dataset: Dataset = None, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Go on telling it where it was when it was paused, or failed for too long; at once, if it waits after a failure.

    \b
    Example:
        odf webhook resume 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    _set_active(webhook_id, dataset, repository, active=True, as_json=as_json)


@app.command("test")
def try_out(
    webhook_id: Id, dataset: Dataset = None, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Send it a test now and say how that went; exit 1 when it was not taken.

    \b
    Example:
        odf webhook test 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    delivery = with_webhooks(repository, Whose(dataset), lambda place: place.test(webhook_id))
    if as_json:
        print_json(delivery)
    else:
        took = f"{delivery['durationS']:g} s"
        print_line(f"taken after {took}" if delivery["taken"] else f"not taken after {took}: {delivery['failure']}")
    if not delivery["taken"]:
        raise typer.Exit(1)


@app.command()
def deliveries(
    webhook_id: Id, dataset: Dataset = None, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Show the last hundred attempts to tell it something, the newest first.

    \b
    Example:
        odf webhook deliveries 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    found = with_webhooks(repository, Whose(dataset), lambda place: place.deliveries(webhook_id))
    if as_json:
        print_json(found)
    else:
        print_table(DELIVERY_COLUMNS, map(_delivery_cells, found))


def _set_active(webhook_id: str, dataset: str | None, repository: str, *, active: bool, as_json: bool) -> None:
    found = with_webhooks(repository, Whose(dataset), lambda place: place.set_active(webhook_id, active=active))
    if as_json:
        print_json(found)
    else:
        print_table(COLUMNS, [_cells(found)])


def _cells(webhook: WebhookInfo) -> tuple[str, ...]:
    return (
        webhook["id"],
        webhook["host"] or "",
        webhook["datasetId"] or webhook["reach"],
        ",".join(webhook["events"]) or "all",
        webhook["state"],
        str(webhook["toldUpTo"]),
        str(webhook["failures"]),
        webhook["nextAttemptAt"] or "",
    )


def _delivery_cells(delivery: DeliveryInfo) -> tuple[str, ...]:
    status = delivery["status"]
    return (
        str(delivery["id"]),
        delivery["at"],
        delivery["event"] or "",
        delivery["type"],
        str(delivery["attempt"]),
        "" if status is None else str(status),
        f"{delivery['durationS']:g}",
        delivery["failure"] or "",
        delivery["nextAttemptAt"] or "",
    )
