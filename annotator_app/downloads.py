"""The route for a lead's downloads of grades and labels; the commands behind it check sign-in and role."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from annotator_app.context import COOKIE
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import StoreError

if TYPE_CHECKING:
    from quati_pool.commands.annotate.session import AnnotationSession


def routes(session: AnnotationSession) -> list[Route]:
    """The routes /download/KIND?labeler=NAME and /download/questions?format=tsv. They return the file, 401 without
    a sign-in, 403 for anybody but a lead."""

    async def download(request: Request) -> Response:
        # Imported here because it imports the readers and writers of all formats, which only a lead needs.
        from quati_pool.commands.annotate.questions.writing import questions_file
        from quati_pool.commands.annotate.review.downloads import Download, exported

        kind, labeler = request.path_params["kind"], request.query_params.get("labeler", "")
        token = request.cookies.get(COOKIE)
        try:
            if kind == "questions":
                form = request.query_params.get("format", "tsv")
                file = Download(*await run_in_threadpool(questions_file, session, token, form), left_out=0)
            else:
                file = await run_in_threadpool(exported, session, token, kind, labeler)
        except SignedOutError:
            return PlainTextResponse("sign in", 401)
        except ForbiddenError:
            return PlainTextResponse("this is for leads", 403)
        except StoreError:
            return PlainTextResponse("the label database cannot be reached; try again in a minute", 503)
        except QuatiPoolError as error:
            return PlainTextResponse(str(error), 400)
        name = quote(file.filename, safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "X-Left-Out": str(file.left_out)}
        return Response(file.content, media_type="text/plain; charset=utf-8", headers=headers)

    return [Route("/download/{kind}", download, methods=["GET"])]


def address(kind: str, labeler: str) -> str:
    """The address of a download."""
    return f"/download/{quote(kind, safe='')}?labeler={quote(labeler, safe='')}"
