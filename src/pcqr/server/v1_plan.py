"""What would be possible, from public numbers alone: `pcqr plan` over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from pcqr.planning.questions.curves import Varied
from pcqr.server.planner import Planned, planned
from pcqr.server.routes import problems

Class = Literal["thresholds", "intervals", "stumps", "rectangles", "halfspaces"]

router = APIRouter(prefix="/v1", tags=["pcqr"])


@router.get(
    "/plan",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}, **problems("bad_value", "overloaded")},
)
async def plan(
    records: Annotated[int, Query(ge=1, le=10**12, description="n, the private records.")],
    epsilon: Annotated[float, Query(gt=0, le=1000, description="ε.", allow_inf_nan=False)],
    delta: Annotated[float, Query(gt=0, lt=1, description="δ.")] = 1e-6,
    queries: Annotated[int, Query(ge=1, le=10**6, description="m, the queries that are planned for.")] = 1000,
    features: Annotated[int, Query(ge=1, le=10_000, description="Columns of the table once it is encoded.")] = 1,
    hypotheses: Annotated[Class, Query(alias="class", description="What the teachers learn.")] = "stumps",
    alpha: Annotated[float, Query(gt=0, lt=0.5, description="α, the extra error that a proof is for.")] = 0.1,
    beta: Annotated[float, Query(gt=0, lt=1, description="β, the chance of more.")] = 0.05,
    over: Annotated[Varied | None, Query(description="Let this number vary, from a quarter to four times.")] = None,
) -> Response:
    """What each algorithm is expected to give, the records that a proof needs, and what was measured on real tables.

    It takes some seconds, one question at a time.
    """
    asked = Planned(
        hypotheses=hypotheses,
        features=features,
        records=records,
        epsilon=epsilon,
        delta=delta,
        queries=queries,
        alpha=alpha,
        beta=beta,
        over=over,
    )
    return Response(await planned(asked), media_type="application/json")
