"""Statistics of a study: shares with exact intervals, a bootstrap over raters, Bradley–Terry, and its power."""

import math
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from kinema.errors import KinemaError
from kinema.evaluate.study.answers import Answers, Comparison

DRAWS = 2000
"""Resamples of the bootstrap."""
LEVEL, POWER, DIFFERENCE = 0.05, 0.8, 0.05
"""Of the power note: chance of a false finding, of finding a true one, and how far the true share is from a half."""
RIDGE = 1e-3
"""Regularisation of Bradley–Terry, which has no finite answer where one method wins always."""


@dataclass(frozen=True)
class Share:
    """How often the first method was preferred to the second."""

    question: str
    first: str
    second: str
    wins: int
    answers: int
    share: float
    exact: tuple[float, float]
    """Clopper–Pearson, 95 %: as if all answers were independent."""
    over_raters: tuple[float, float]
    """95 % of the bootstrap that draws raters, whose answers hang together."""
    p_value: float
    """Exact binomial test against a half, two-sided."""
    agreement: float
    """Correlation of two answers of one rater (intraclass)."""
    raters_needed: int
    """Raters with as many answers and as much agreement who find a share of 1/2 + DIFFERENCE."""


def exact_interval(wins: int, answers: int) -> tuple[float, float]:
    """Clopper–Pearson interval of a share at 95 %."""
    found = stats.binomtest(wins, answers).proportion_ci(confidence_level=0.95, method="exact")
    return float(found.low), float(found.high)


def shares(answers: Answers, *, seed: int = 0) -> list[Share]:
    """Each question and each pair of methods that was compared."""
    found = []
    for question, comparisons in answers.comparisons.items():
        for i, first in enumerate(answers.names):
            for second in answers.names[i + 1 :]:
                these = [c for c in comparisons if {c.winner, c.loser} == {first, second}]
                if these:
                    found.append(_share(question, first, second, these, seed))
    if not found:
        raise KinemaError("no answers are left: nobody passed the attention checks")
    return found


def _share(question: str, first: str, second: str, these: list[Comparison], seed: int) -> Share:
    wins, total = sum(c.winner == first for c in these), len(these)
    low, high = exact_interval(wins, total)
    per_rater = _by_rater(these, first)
    draws = np.random.default_rng(seed).integers(0, len(per_rater), (DRAWS, len(per_rater)))
    resampled = per_rater[draws].sum(1)
    around = np.quantile(resampled[:, 0] / resampled[:, 1], (0.025, 0.975))
    test = stats.binomtest(wins, total, 0.5)
    each, agreement = total / len(per_rater), intraclass(per_rater)
    needed = math.ceil(answers_needed() * (1 + (each - 1) * agreement) / each)
    return Share(
        question, first, second, wins, total, wins / total, (low, high), (float(around[0]), float(around[1])),
        float(test.pvalue), agreement, needed,
    )  # fmt: skip


def _by_rater(these: list[Comparison], first: str) -> Float[np.ndarray, "raters 2"]:
    """Wins of the first method and answers, of each rater."""
    found: dict[str, list[float]] = {}
    for comparison in these:
        counts = found.setdefault(comparison.rater, [0.0, 0.0])
        counts[0] += comparison.winner == first
        counts[1] += 1
    return np.array(list(found.values()))


def strengths(answers: Answers, question: str) -> dict[str, float]:
    """Bradley–Terry: log-odds strengths with mean zero, P(i before j) = 1 / (1 + exp(s_j - s_i))."""
    try:
        import choix
    except ImportError:
        raise KinemaError("Bradley–Terry needs choix: pip install 'kinema[study]'") from None
    index = {name: k for k, name in enumerate(answers.names)}
    pairs = [(index[c.winner], index[c.loser]) for c in answers.comparisons[question]]
    found = choix.opt_pairwise(len(index), pairs, alpha=RIDGE)
    return {name: float(found[k] - np.mean(found)) for name, k in index.items()}


@cache
def answers_needed(difference: float = DIFFERENCE) -> int:
    """Least number of independent answers from which on the exact test finds a share of 1/2 + difference."""
    counts = np.arange(10, 40_000)
    # The exact test's power is a saw: it must not fall below the bound again.
    low = stats.binom.ppf(LEVEL / 2, counts, 0.5) - 1
    while (above := stats.binom.cdf(low + 1, counts, 0.5) <= LEVEL / 2).any():
        low = np.where(above, low + 1, low)
    high, share = counts - low, 0.5 + difference
    power = stats.binom.cdf(low, counts, share) + stats.binom.sf(high - 1, counts, share)
    weak = np.flatnonzero(power < POWER)
    return int(counts[weak[-1] + 1]) if len(weak) else int(counts[0])


def intraclass(per_rater: Float[np.ndarray, "raters 2"]) -> float:
    """Correlation of two answers of one rater, by analysis of variance; 0 where it cannot be told."""
    wins, counts = per_rater.T
    raters, total = len(counts), counts.sum()
    if raters < 2 or total <= raters:
        return 0.0
    share, mean = wins / counts, wins.sum() / total
    between = (counts * (share - mean) ** 2).sum() / (raters - 1)
    within = (counts * share * (1 - share)).sum() / (total - raters)
    size = (total - (counts**2).sum() / total) / (raters - 1)
    whole = between + (size - 1) * within
    return float(np.clip((between - within) / whole, 0.0, 1.0)) if whole > 0 else 0.0


def study_report(answers: Answers, *, seed: int = 0) -> dict[str, Any]:
    """Everything, as JSON can hold it."""
    found = shares(answers, seed=seed)
    questions = list(dict.fromkeys(share.question for share in found))
    return {
        "raters": len(answers.raters),
        "inattentive": list(answers.inattentive),
        "shares": [asdict(share) for share in found],
        "strengths": {question: strengths(answers, question) for question in questions},
        "answers_needed": answers_needed(),
    }


def report_lines(report: dict[str, Any]) -> list[str]:
    """The report as lines of text."""
    left_out = f"; left out for inattention: {', '.join(report['inattentive'])}" if report["inattentive"] else ""
    lines = [f"{report['raters']} raters{left_out}"]
    for s in report["shares"]:
        exact, raters = (f"[{100 * low:.1f}, {100 * high:.1f}]" for low, high in (s["exact"], s["over_raters"]))
        lines.append(
            f"  {s['question']:8s} {s['first']} over {s['second']}: {100 * s['share']:.1f} % of {s['answers']} answers,"
            f" 95 % {exact} exact, {raters} over raters, p = {s['p_value']:.3g}"
        )
    for question, found in report["strengths"].items():
        told = ", ".join(f"{name} {value:+.2f}" for name, value in found.items())
        lines.append(f"  {question:8s} Bradley–Terry: {told}")
    needed = ", ".join(
        f"{s['raters_needed']} for {s['question']} of {s['first']} and {s['second']} ({s['agreement']:.2f})"
        for s in report["shares"]
    )
    lines.append(
        f"  to tell {50 + 100 * DIFFERENCE:g} % from 50 % ({100 * POWER:g} % power, {100 * LEVEL:g} % level):"
        f" {report['answers_needed']} independent answers; raters who answer as much as these and agree as much with"
        f" themselves (intraclass correlation in brackets): {needed}"
    )
    return lines
