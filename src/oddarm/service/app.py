"""The service: studies over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from oddarm import errors
from oddarm._version import __version__
from oddarm.service import models
from oddarm.service.batching import StudyPool
from oddarm.service.guard import CALLER, ERROR, Guard
from oddarm.service.long_polling import LongPolling
from oddarm.service.metrics import CONTENT_TYPE_LATEST, Metrics
from oddarm.service.models import StudyName
from oddarm.service.page import HEADERS, Page
from oddarm.service.reference import reference_page
from oddarm.service.server import STUDY_MEMORY
from oddarm.service.tokens import LEAST_ROLE, Token, as_tokens
from oddarm.store import Study, StudyInfo
from oddarm.store.database.base import open_database

__all__ = ["create_app"]

LOG = logging.getLogger("oddarm.service")
EVENT_SECONDS = 0.5
"""How often a stream of events looks for changes."""
KEEP_ALIVE_SECONDS = 15.0

STATUSES: tuple[tuple[type[errors.OddarmError], int], ...] = (
    (errors.UnknownStudyError, 404),
    (errors.UnknownPullError, 404),
    (errors.StudyExistsError, 409),
    (errors.KeyReusedError, 409),
    (errors.StoreBusyError, 503),
    (errors.StoreFullError, 507),
    (errors.StoreDamagedError, 500),
    (errors.StoreError, 503),
    (errors.StateError, 500),
    (errors.OddarmError, 422),
)
"""The HTTP status of an error; the first class that fits counts.

A damaged database stays damaged until somebody repairs it. Its status is 500, which clients do not
retry, and not 503.
"""

_DESCRIPTIONS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "The role of the token does not allow this; without tokens, only this machine may call.",
    404: "There is no such study, or no such pull.",
    409: "The name is taken, or the key was used for other rewards.",
    413: "The request is too large.",
    422: "A value does not fit.",
    500: "An internal error, or a damaged database; the log says more.",
    503: "The database is busy or cannot be reached: try again.",
    507: "The disk of the database is full.",
}


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    common = (401, 403, 413, 500, 503)
    return {
        status: {"model": models.ErrorBody, "description": _DESCRIPTIONS[status]}
        for status in sorted({*statuses, *common})
    }


READ = _errors(404, 422)
WRITE = _errors(400, 404, 422, 507)
CHANGE = _errors(404, 422, 507)

# Examples in the OpenAPI description, for answers that are not models.
JSONL = '{"seq": 2, "at": 1767225601.5, "pull": "5f2a01.1.0", "arm": "ams", "reward": 1.0}\n'
CSV = "seq,at,pull,arm,reward\n2,1767225601.5,5f2a01.1.0,ams,1.0\n"
EVENT = 'event: change\nid: 2\ndata: {"name": "latency", "status": "running", "pulls": 1}\n\n'
METRICS = 'oddarm_studies{status="running",verdict="running"} 2.0\n'
RESULT = {
    "verdict": "budget",
    "summary": "Best guess after 160 pulls: gru, evidence 14 : 1 (you asked for 20 : 1); "
    "about 40 to 80 more pulls may decide: start a study with max_pulls=240.",
    "outliers": [],
    "candidates": ["gru"],
    "evidence": 14.2,
    "forecast": 40,
    "ranking": ["gru", "ams", "fra", "lhr"],
}
VIEW = {
    "name": "latency",
    "names": ["ams", "fra", "lhr", "gru"],
    "counts": [40, 40, 40, 40],
    "means": [0.1, 0.2, 0.15, 0.9],
    "gaps": [{"from": 0.48, "to": 0.62, "width": 0.14, "certain": True, "below": 3}],
    "limit": {"pulls": 212.4, "after": 120, "reason": None, "pending": False},
    "leases": {"out": 8, "late": 0, "workers": [{"name": "probe-3", "held": 8, "late": 0}]},
    "history": {"pulls": [40, 80], "evidence": [1.0, 3.2], "forecast": [None, 140]},
    "asks_waiting": 2,
}


def _with_example(example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    content = {"application/json": {"example": example}}
    return {**READ, 200: {"description": "An example, in part.", "content": content}}


def _streamed(description: str, examples: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    text = {"schema": {"type": "string"}}
    content = {kind: {**text, "example": example} for kind, example in examples.items()}
    return {**READ, 200: {"description": description, "content": content}}


router = APIRouter()


def create_app(
    storage: str | Path,
    *,
    token: str | Sequence[Token] | None = None,
    study_memory: int = STUDY_MEMORY,
    most_waiting: int = 1000,
) -> FastAPI:
    """Return the application that serves the studies of a database.

    Args:
        storage: `sqlite:///path`, a bare path (created if it does not exist), or `postgresql://…`.
        token: The token that callers must send, which may do everything, or tokens with roles; None
            to serve only this machine, without a token.
        study_memory: How many bytes the studies in memory may hold, about; beyond it, those that
            were not used for the longest time are closed.
        most_waiting: How many asks may wait for pulls at a time.
    """
    tokens = as_tokens(token)
    studies = StudyPool(open_database(storage, create=True), study_memory)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        LOG.info("started", extra={"fields": {"oddarm": __version__, "tokens": len(tokens)}})
        yield
        app.state.stopping = True
        await studies.close()
        LOG.info("stopped")

    app = FastAPI(
        title="oddarm",
        version=__version__,
        summary="Searches for outlying arms that many workers share.",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.openapi = partial(_openapi, app, bool(tokens))  # type: ignore[method-assign]
    app.state.studies = studies
    app.state.stopping = False
    app.state.metrics = Metrics()
    app.state.polling = LongPolling(studies, most_waiting, lambda: app.state.stopping)
    app.router.routes.extend(router.routes)  # matched faster than in a router of their own
    app.mount("/", Page(), name="page")
    app.add_middleware(Guard, tokens=tokens, metrics=app.state.metrics)
    app.add_exception_handler(errors.OddarmError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal)
    return app


def _openapi(app: FastAPI, guarded: bool) -> dict[str, Any]:
    """Return the OpenAPI description; it says which routes need a token, and of which role."""
    schema = FastAPI.openapi(app)  # which makes it once
    bearer = {"type": "http", "scheme": "bearer"}
    schema["components"]["securitySchemes"] = {
        "token": {**bearer, "description": "A token of `oddarm serve --token-file`."}
    }
    schema["security"] = [{"token": []}] if guarded else []
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            least = LEAST_ROLE.get((method.upper(), path))
            if least is None:
                operation["security"] = []  # open to all
            else:
                operation["x-role"] = least
    return schema


def _studies(request: Request) -> StudyPool:
    studies: StudyPool = request.app.state.studies
    return studies


def _polling(request: Request) -> LongPolling:
    polling: LongPolling = request.app.state.polling
    return polling


def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


def _worker(request: Request, body: models.AskBody) -> str:
    """Return who asks: what it calls itself, else its address, and the name of its token."""
    address = "unknown" if request.client is None else request.client.host
    token: Token | None = request.scope.get(CALLER)
    return (body.worker or address) + ("" if token is None else f" ({token.name})")


def _written(answer: BaseModel) -> Response:
    """Return an answer as JSON text; FastAPI would check a returned model once more."""
    return Response(answer.model_dump_json(), media_type="application/json")


# Routes are tried in order: those that workers call all the time come first.


@router.post("/studies/{name}/tell", responses=WRITE)
async def tell(request: Request, name: StudyName, body: models.TellBody) -> models.Told:
    """Report rewards by the id of their pull. Telling a pull again changes nothing.

    The answer comes when the rewards are on disk.
    """
    rewards = {row["pull"]: row["reward"] for row in body.tells}
    if len(rewards) < len(body.tells):  # the first reward of a pull counts, as in two requests
        rewards.update((row["pull"], row["reward"]) for row in reversed(body.tells))
    told = await _studies(request).write(name, lambda batch: batch.tell_many(rewards))
    _metrics(request).told.labels("yes").inc(told)
    return _written(models.Told(told=told))  # type: ignore[return-value]


@router.post("/studies/{name}/ask", responses=WRITE)
async def ask(request: Request, name: StudyName, body: models.AskBody) -> models.Asked:
    """Lease pulls to be made. Pulls whose lease has expired are handed out first.

    No pulls and the status "running" mean that all wanted pulls are in flight: ask again later.
    With `wait_seconds` the answer comes as soon as there are pulls, or the study is done or paused,
    and at the latest after that time.
    """
    asked = await _polling(request).ask(name, body, request.receive, _worker(request, body))
    _metrics(request).leased.inc(len(asked.pulls))
    return _written(asked)  # type: ignore[return-value]


@router.post("/studies/{name}/data", responses={**WRITE, **_errors(409)})
async def data(request: Request, name: StudyName, body: models.DataBody) -> models.Told:
    """Report rewards of an arm without an ask; rewards under a key count once.

    A key that was used for other rewards is refused.
    """
    new = await _studies(request).write(
        name, lambda batch: batch.tell_arm(body.arm, body.rewards, key=body.key)
    )
    told = len(body.rewards) if new else 0
    _metrics(request).told.labels("no").inc(told)
    return models.Told(told=told)


@router.post("/studies/{name}/give-up", responses=WRITE)
async def give_up(request: Request, name: StudyName, body: models.GiveUpBody) -> models.GivenUp:
    """Say that pulls will never be told, so that later rewards of their arms need not wait.

    If the loss of a pull may depend on its reward, as with a time-out, tell a reward instead.
    """
    number = await _studies(request).write(name, lambda batch: batch.give_up(body.pulls))
    _metrics(request).given_up.inc(number)
    return models.GivenUp(given_up=number)


@router.post("/studies/{name}/set-aside", responses=WRITE)
async def set_aside(request: Request, name: StudyName, body: models.AsideBody) -> models.Aside:
    """Mark an arm that cannot be pulled any more as failed; it ranks last."""
    changed = await _studies(request).write(
        name, lambda batch: batch.set_aside(body.arm, body.reason)
    )
    _metrics(request).failed.inc(changed)
    return models.Aside(changed=changed)


@router.get("/health", responses=_errors())
async def health(request: Request) -> models.Health:
    """Say whether the service and its database answer."""
    await _studies(request).health()
    return models.Health(oddarm=__version__)


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        **_errors(),
        200: {"description": "Text.", "content": {"text/plain": {"example": METRICS}}},
    },
)
async def metrics(request: Request) -> Response:
    """Return what the service counts and measures, for Prometheus."""
    studies = _studies(request)
    try:
        infos = await studies.infos()
    except errors.StoreError as error:
        LOG.warning("metrics", extra={"fields": {"error": str(error)}})
        infos = None
    waiting = {"oddarm_asks_waiting": ("Asks that wait for pulls.", _polling(request).count)}
    text = _metrics(request).text(infos, {**studies.gauges(), **waiting})
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """Return a page that describes every route, for people."""
    page = reference_page(request.app.openapi())
    return Response(page, media_type="text/html", headers=HEADERS)


@router.get("/caller", responses=_errors())
async def caller(request: Request) -> models.Caller:
    """Say whose token this is, and what it may do; without tokens everybody is an admin."""
    token: Token | None = request.scope.get(CALLER)
    if token is None:
        return models.Caller(name=None, role="admin")
    return models.Caller(name=token.name, role=token.role)


@router.get("/studies", responses=_errors())
async def list_studies(request: Request) -> list[models.StudyRow]:
    """List all studies, by name."""
    return [models.StudyRow.of(info) for info in await _studies(request).infos()]


@router.post("/studies", status_code=201, responses=_errors(400, 409, 422, 507))
async def create_study(
    request: Request, response: Response, body: models.CreateBody
) -> models.StudyRow:
    """Make a study."""
    info = await _studies(request).create(body.name, body.arms, body.options())
    response.headers["Location"] = f"/studies/{info.name}"
    return models.StudyRow.of(info)


@router.get("/studies/{name}", responses=READ)
async def get_study(request: Request, name: StudyName) -> models.StudyRow:
    """Say how far a study is."""
    return models.StudyRow.of(await _studies(request).read(name, Study.info))


@router.delete("/studies/{name}", status_code=204, responses=CHANGE)
async def delete_study(request: Request, name: StudyName) -> None:
    """Delete a study with all its rewards, for good."""
    await _studies(request).delete(name)


@router.post("/studies/{name}/pause", responses=CHANGE)
async def pause(request: Request, name: StudyName) -> models.StudyRow:
    """Hand out no more pulls; rewards of pulls in flight are still taken."""
    return models.StudyRow.of(await _studies(request).set_paused(name, True))


@router.post("/studies/{name}/resume", responses=CHANGE)
async def resume(request: Request, name: StudyName) -> models.StudyRow:
    """Hand out pulls again."""
    return models.StudyRow.of(await _studies(request).set_paused(name, False))


@router.get("/studies/{name}/result", responses=_with_example(RESULT))
async def result(request: Request, name: StudyName) -> dict[str, Any]:
    """Return the current result: verdict, sentence, outliers or the best guess, a row for each arm.

    `evidence` has the odds for the answer or the guess, `forecast` how many further pulls would
    likely decide.
    """
    text = await _studies(request).read_search(name, lambda study: study.result().to_json())
    return Response(text, media_type="application/json")  # type: ignore[return-value]


@router.get("/studies/{name}/view", responses=_with_example(VIEW))
async def view(request: Request, name: StudyName) -> dict[str, Any]:
    """Return all arms as arrays, and the certain gaps, for a page that draws them."""
    text = await _studies(request).view(name)
    text = b'%s,"asks_waiting":%d}' % (text[:-1], _polling(request).waiting(name))
    return Response(text, media_type="application/json")  # type: ignore[return-value]


@router.get(
    "/studies/{name}/export",
    response_class=StreamingResponse,
    responses=_streamed("One reward per line.", {"application/jsonl": JSONL, "text/csv": CSV}),
)
async def export(
    request: Request,
    name: StudyName,
    format: Annotated[Literal["jsonl", "csv"], Query()] = "jsonl",  # noqa: A002
) -> StreamingResponse:
    """Return every reward, in the order in which the search took them."""

    def first_piece_read(study: Study) -> Iterator[str]:
        pieces = _pieces(study.export(format))
        return chain([next(pieces, "")], pieces)  # an early error is a refusal, not a broken answer

    pieces = await _studies(request).read(name, first_piece_read)
    return StreamingResponse(
        pieces,
        media_type="text/csv" if format == "csv" else "application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="{name}.{format}"'},
    )


@router.get(
    "/studies/{name}/events",
    response_class=StreamingResponse,
    responses=_streamed("Server-sent events.", {"text/event-stream": EVENT}),
)
async def events(request: Request, name: StudyName) -> StreamingResponse:
    """Send an event `change` with the study's row now and whenever it has changed."""
    first = await _studies(request).read(name, Study.info)
    return StreamingResponse(
        _changes(request, first),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store"},
    )


async def _changes(request: Request, info: StudyInfo) -> AsyncIterator[str]:
    """Yield an event for each change, until the study is deleted or the service stops."""
    shown: StudyInfo | None = None
    spoke = time.monotonic()
    while not request.app.state.stopping:
        if info != shown:
            yield f"event: change\nid: {info.revision}\ndata: {json.dumps(asdict(info))}\n\n"
            shown, spoke = info, time.monotonic()
        elif time.monotonic() - spoke > KEEP_ALIVE_SECONDS:
            yield ": nothing new\n\n"
            spoke = time.monotonic()
        await asyncio.sleep(EVENT_SECONDS)
        try:
            info = await _studies(request).read(info.name, Study.info)
        except errors.UnknownStudyError:
            yield "event: deleted\ndata: {}\n\n"
            return
        except errors.StoreError as error:
            LOG.warning("events", extra={"fields": {"study": info.name, "error": str(error)}})
            yield f"event: trouble\ndata: {json.dumps({'error': error.public})}\n\n"


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """Yield many lines at a time: each piece is made in a thread and sent on its own."""
    while piece := "".join(islice(lines, 1000)):
        yield piece


async def _refused(request: Request, error: Exception) -> JSONResponse:
    status = next(code for kind, code in STATUSES if isinstance(error, kind))
    headers = {"Retry-After": "1"} if status == 503 else None
    words = str(error)
    if status >= 500:
        request.scope[ERROR] = words  # the log says where the database is, the answer does not
    if isinstance(error, errors.StoreError):
        words = error.public
    return JSONResponse({"error": words}, status, headers)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, RequestValidationError)
    details = error.errors()
    # If a value fits no alternative, the error of the alternative with its type says most.
    first = next((each for each in details if not each["type"].endswith("_type")), details[0])
    if first["type"] == "json_invalid":
        return JSONResponse({"error": f"the body is not JSON: {first['ctx']['error']}."}, 400)
    place = ".".join(str(part) for part in first["loc"] if f"_{part}".isidentifier())
    return JSONResponse({"error": f"{place}: {first['msg']}."}, 422)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    words = error.detail
    if error.status_code == 400:
        words = "the body is not JSON that can be read."
    if error.status_code in (404, 405):
        words = f"There is no route {request.method} {request.url.path}."
    return JSONResponse({"error": words}, error.status_code, error.headers)


async def _internal(request: Request, error: Exception) -> JSONResponse:
    LOG.error("failed", exc_info=error, extra={"fields": {"path": request.url.path}})
    return JSONResponse({"error": "an internal error; the log of the service says more."}, 500)
