"""An effect: do answers get better or worse in the course of a session? Figures, tests and tables
follow from the declaration."""

from dataclasses import replace

from spanlab.analysis.effects.effect import Effect


def in_tens(scored):
    return replace(scored, items=scored.items.assign(so_far=(scored.items["trial"] + 9) // 10 * 10))


COURSE = Effect(
    name="session_course",
    title="correct in the course of a session",
    x="so_far",
    x_title="trials so far",
    needs=("trial",),
    prepare=in_tens,
    human=False,
    method="Proportion correct in every ten trials of a session.",
)
