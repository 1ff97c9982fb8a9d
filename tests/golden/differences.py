"""The intended differences of the fits in Python from golden.jsonl.gz, each with its reason.

All other numbers agree to 1e-6. python/tests/offline/test_golden.py compares them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The reason for each part of the program that the test replaces, so that it can compare the rest of each case.
SWITCHED_OFF = {
    "exact ends": "where fewer than five prompts differ, intervals are those of Clopper and Pearson, not Student's",
    "ranges": "ends of intervals of full tables are cut to the range of what they bound, as those of logs were",
    "no call": "decisions of independent tosses that call nothing have no row, and are counted by the propensities",
    "judge in logs": "the judge's dollars in the log of a cascade are taken off, as a model alone does not pay them",
    "dollars": "what is promised of dollars, calls and savings reaches to what the deployed policy brings on its rows",
    "dearer": "and so do bounds on dollars",
    "one stands out": "where one prompt stands out, a bound on dollars counts one more of its kind",
    "first in the file": "of answers of equal quality the one that was called first is deployed, as is promised",
    "few failures": "one note for all tells of few failures, and how many prompts could show a bound",
}
#: A regular expression of the paths of members that are not compared.
GIVEN_UP = {r"/result/(without|elsewhere)": "fits without a model and under other circumstances are given up"}
#: The beginnings of notes that only one of the two versions prints.
NOTES = {
    "what is said of fits without a model": "given up with what it tells of",
    "which qualities are known depends": "labels that lean towards low or high scores are told",
    "calls are recorded that cost less": "whether a log's dollars hold the judge's is told",
    "the log's dollars are taken": "the same",
    "decisions in which no toss": "those that call nothing are counted",
    "the quality of": "the note of a log counts the calls that were made, where C++ counted all cells",
}
#: Words of the C++ fits, and the plainer words that took their place.
REWORDED = {
    ", which is taken to come by chance alone": "; this assumes that only chance decided which ones",
    "answers that were called and could not be deployed (explore was 0): what they are worth is known from the judge "
    "alone": "some answers could not be deployed (explore was 0): only the judge tells their quality",
}


@dataclass(frozen=True)
class Difference:
    """`where`: a regular expression of the paths of members. `cases`: names with spaces between them; empty: all."""

    reason: str
    where: str
    cases: str = ""

    def explains(self, case: str, path: str) -> bool:
        """Whether this member of the case may differ from the kept one."""
        return (not self.cases or case in self.cases.split()) and re.fullmatch(self.where, path) is not None


#: Two thresholds are equally good if no answer lies between them, and so are answers of two models with the same
#: estimated quality. In C++ the rounding of sums chose between them. With the same order of sums, Python gives the same
#: results to 1e-6.
TIES = "a tie, which sums of C++ broke by their last digits; here the lowest threshold, or the first answer"
DIFFERENCES = [
    Difference("reasons and topics of notes stand in the record for programs", r"/result/(judged_calls|topics|why)"),
    Difference("a file that holds what was learned has a version of its own", r"/cascade/version"),
    Difference("errors name the same in plainer words", r"/error", "stars/5 cached/1 tokens/4 tokens/5 twice/1"),
    Difference(
        "the file says how many requests were asked for, not how many have room", r"/cascade/most_requests", "eight/3"
    ),
    Difference(
        "what logs promise is read out of fold; C++ left its default, and said in words that promises are corrected",
        r"/result/out_of_fold",
    ),
    Difference(
        "a model gains nothing over itself; C++ counted the noise of its labels, twice",
        r"/result/single/gain/(low|high)",
        "log-in-order-labels/2 log-tosses-labels/2 log-running/2 log-running/5 log-running-poor/2 log-running-poor/3 "
        "log-running-still/2",
    ),
    Difference(
        TIES,
        r"/cascade/thresholds/.*|/result/verdict|/text",
        "log-in-order/2 log-running/2 log-running/5 log-running/6",
    ),
    Difference(
        TIES,
        r"/result/(break_even_judge_usd|verdict|(notes|promise|gain|kinds)/.*)",
        "log-in-order-labels/2 log-in-order-labels/3 log-in-order-labels/4 log-tosses-labels/2 log-tosses-labels/3 "
        "log-tosses-labels/4",
    ),
    Difference(TIES, r"/result/(verdict|(gain|quality|utility)/.*)", "log-tosses-table/3"),
    Difference(
        "a tie of bounds, as of two models as many answers fail: the cheaper one, where C++ went by last digits",
        r"/result/(verdict|(gain|kinds|promise|single)/.*)",
        "rarely-fails/3",
    ),
    Difference(
        "drawn answers lie in another order: that of numpy's generator, which no C++ standard library has",
        r"/cascade/(thresholds|probes)/.*|/result/(break_even_judge_usd|verdict|(gain|promise|kinds)/.*)"
        r"|/result/(calls|quality|saving|usd_per_1000|utility|effective_prompts)(/.*)?|/result/notes.*",
        "log-apart/2 log-apart/4 log-apart-labels/1 log-apart-labels/2",
    ),
    Difference(
        "there is no APGR and no CPT without a gap between weak and strong",
        r"/result/metrics/(apgr|cpt_50|cpt_80)/.*",
        "rarely-fails/6 classes/8 complements/5 all-wrong/4 all-free/5 tiny/7 tiny/10 independent-sides/6",
    ),
    Difference(
        "an interval holds its value, also where every draw with replacement is less well calibrated than the prompts",
        r"/result/metrics/judge_ece_calibrated/low",
        "three-graded/9",
    ),
    Difference(
        "a router that looks at nothing has a frontier",
        r"/(exit_code|error|result)",
        "tiny/9",
    ),
    Difference(
        "a verdict on a log says of a router what that on a table says: that plans are chosen by the context",
        r"/result/verdict",
        "log-router/2 log-router-poor/2",
    ),
    Difference(
        "a fit is printed on one screen, and everything in plain sentences",
        r"/text",
        "two/3 two/10 two/13 two/18 two/19 two/20 latency/9 router-pays/16 easy-or-hard/9",
    ),
    Difference(
        "refused with other words: options are spelt as their reader writes them, and rows counted in the whole table",
        r"/error",
        "two/21 two/22 two/32 two/33 two/38 two/40 two/43 two/44 two/46 two/52 gaps/3 labels-20/4 labels-5/4 "
        "log-in-order/8 log-in-order-labels/5 log-in-order-labels/6 log-tosses/6 seventeen/1 seventeen/2",
    ),
]
