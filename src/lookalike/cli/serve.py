"""`lookalike serve`: the HTTP API and the web page of an index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from lookalike.cli.options import CONTEXT, json_and_quiet

_EXAMPLES = """\b
Examples:
  lookalike serve seen
  lookalike serve seen --keys keys.txt --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  lookalike serve seen --read-only --port 8379
  lookalike serve --run out
"""
_path = click.Path(path_type=Path)


@click.command("serve", epilog=_EXAMPLES, context_settings=CONTEXT)
@click.argument("index", required=False, metavar="[INDEX]")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8378, show_default=True, help="The port; 0 chooses a free one.")
@click.option(
    "--keys", type=_path, metavar="FILE", help="API keys: a file with lines `read KEY name` or `write KEY name`."
)
@click.option("--read-only", is_flag=True, help="Only answer queries, and follow the process that writes.")
@click.option(
    "--allow-origin", "allow_origins", multiple=True, metavar="ORIGIN", help="Allow requests from pages of this site."
)
@click.option("--tls-cert", type=_path, metavar="FILE", help="Certificate for HTTPS.")
@click.option("--tls-key", type=_path, metavar="FILE", help="Private key for HTTPS.")
@click.option(
    "--root-path", default="", metavar="PATH", help="The path under which a proxy offers it, such as /lookalike."
)
@click.option(
    "--forwarded-allow-ips",
    metavar="IPS",
    help="Proxies whose X-Forwarded-For names the client: addresses or networks with commas, or *.",
)
@click.option("--run", type=_path, metavar="OUT", help="Review the output of dedup or link on the web page.")
@click.option("--max-body", default="32MiB", show_default=True, help="Largest JSON body, and largest line of NDJSON.")
@click.option("--max-items", default=10_000, show_default=True, help="Maximum number of items in a JSON array.")
@click.option("--max-text", default="4MiB", show_default=True, help="Longest text.")
@click.option("--max-requests", default=256, show_default=True, help="Maximum number of requests in progress.")
@click.option("--max-connections", default=512, show_default=True, help="Maximum number of open connections.")
@click.option("--max-k", default=1000, show_default=True, help="Maximum number of matches per query.")
@click.option("--max-response", default="64MiB", show_default=True, help="Longest JSON response, and longest line.")
@click.option(
    "--max-in-flight", default="256MiB", show_default=True, help="Memory for the bodies of all requests in progress."
)
@click.option(
    "--max-spool", default="1GiB", show_default=True, help="Disk space for all answers that wait for their clients."
)
@click.option("--timeout", default=30.0, show_default=True, help="Seconds to wait for a body, or for a client to read.")
@click.option(
    "--drain-delay",
    default=2.0,
    show_default=True,
    help="Seconds to keep accepting connections after SIGTERM, while /readyz returns 503.",
)
@click.option("--refresh", default=1.0, show_default=True, help="With --read-only: seconds between checks for changes.")
@click.option(
    "--log",
    metavar="[all|errors|none]",
    help="Requests to log on stderr, as JSON. [default: all; in a terminal: errors]",
)
@click.option("--no-batching", is_flag=True, help="Answer each query separately, to measure the difference.")
@json_and_quiet
def command(
    index: str | None,
    max_body: str,
    max_text: str,
    max_response: str,
    max_in_flight: str,
    max_spool: str,
    forwarded_allow_ips: str | None,
    log: str | None,
    no_batching: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Serve an index over HTTP, with a web page to search, explore and review.

    Without --keys, only programs on this machine can connect. SIGTERM finishes requests in progress; Ctrl-C does so
    without --drain-delay; SIGHUP reads keys and certificates again. One process writes to an index in a folder; others
    serve it with --read-only. With --json, the address is printed as an object.
    """
    from lookalike.cli.output import print_record
    from lookalike.cli.progress import open_progress
    from lookalike.engine.memory import parse_size
    from lookalike.errors import UsageError

    try:
        from lookalike.server.options import Limits, ServerOptions
        from lookalike.server.serve import serve
    except ImportError as error:
        raise UsageError(f"serving needs a web server ({error}); pip install 'lookalike[server]'") from None
    limits = Limits(
        body_bytes=parse_size(max_body, "max-body"),
        items=options.pop("max_items"),
        text_bytes=parse_size(max_text, "max-text"),
        requests=options.pop("max_requests"),
        connections=options.pop("max_connections"),
        seconds=options.pop("timeout"),
        k=options.pop("max_k"),
        response_bytes=parse_size(max_response, "max-response"),
        in_flight_bytes=parse_size(max_in_flight, "max-in-flight"),
        spool_bytes=parse_size(max_spool, "max-spool"),
    )
    options["forwarded_allow_ips"] = tuple(one.strip() for one in (forwarded_allow_ips or "").split(",") if one.strip())
    seconds = {"refresh_seconds": options.pop("refresh"), "drain_delay_seconds": options.pop("drain_delay")}
    in_terminal = sys.stderr is not None and sys.stderr.isatty()
    options["log"] = log or ("errors" if in_terminal else "all")  # a page view makes many requests
    told = ServerOptions(**options, limits=limits, batching=not no_batching, **seconds)
    serve(index, told, open_progress(quiet).say, print_record if as_json else lambda _: None)
