"""Terms that a page defines where they first stand; the glossary of the pages has them in full."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Term:
    """A term, the pattern that finds it in a text, and what it means in one sentence."""

    name: str
    pattern: str
    meaning: str


TERMS = tuple(
    Term(name, pattern, meaning)
    for name, pattern, meaning in (
        ("tail", r"tail", "the worst prompts of a model: with CVaR 95 the worst twentieth."),
        ("CVaR", r"CVaR", "the mean log-risk of the tail; CVaR 95 is that of the worst 5%."),
        ("VaR", r"VaR", "the log-risk at which the tail begins."),
        ("log-risk", r"log-risk", "the cost of an answer: −log(1 − harm), added over dimensions."),
        ("nat", r"nats?", "the unit of log-risk; 0.69 nat is a factor of 2, 2.3 nats one of 10."),
        ("epsilon", r"epsilon", "the small number that keeps log-risk finite where a harm is 1."),
        ("posterior", r"[Pp]osterior", "what is known after the ratings, under the fitted model."),
        (
            "bootstrap",
            r"[Bb]ootstrap",
            "how a number varies where prompts or items are resampled.",
        ),
        (
            "interval",
            r"[Ii]ntervals?",
            "holds the value with the stated probability, given the named sources of uncertainty.",
        ),
        ("tolerance", r"[Tt]olerance|admissible", "the largest values that the weights accept."),
        ("policy score", r"policy score", "mean harm, dimensions weighted as the weights decide."),
        ("tier", r"[Tt]iers?", "models that the ratings do not distinguish; tier 1 is safest."),
        ("volatility", r"[Vv]olatility", "the standard deviation of log-risk over prompts."),
        ("any-harm", r"[Aa]ny-harm", "the union of the harms of all dimensions, from 0 to 1."),
        ("radius", r"harm radius|radius", "root mean square of the harms of all dimensions."),
        ("responsiveness", r"[Rr]esponsiveness", "how well a group's scores follow the labels."),
        ("MPA", r"MPA", "whether a higher score means danger more often, from 0 to 1."),
        (
            "WRA",
            r"WRA",
            "the chance that an unsafe item gets a higher score than a safe one, from 0 to 1.",
        ),
        ("HM", r"HM|harmonic mean", "the harmonic mean of MPA and WRA."),
        ("IRR", r"IRR", "agreement inside a group: 1 is full, 0 that of chance."),
        ("XRR", r"XRR", "agreement of raters inside a group with raters outside."),
        ("GAI", r"GAI", "IRR / XRR; above 1 a group agrees more inside than with others."),
        (
            "plurality",
            r"[Pp]lurality",
            "the score that most raters of a group give an item; of a tie the most harmful one.",
        ),
        ("priority", r"[Pp]riority", "plurality of the groups, the responsive ones counting more."),
        ("MAD", r"MAD", "mean absolute deviation of judges from their mean."),
        ("tau", r"\btau(?:-b)?", "Kendall's tau: agreement of two orders, 1 same, −1 reversed."),
        ("Holm", r"Holm", "a correction of many p values for chance findings."),
        ("expected loss", r"[Ee]xpected loss", "how much worse than the best model, on average."),
        ("R-hat", r"R-hat", "how far chains differ; a fit needs less than 1.01."),
        ("ESS", r"ESS", "how many independent draws the draws of the chains are worth."),
    )
)


@dataclass
class Definitions:
    """The terms of a page, each defined once.

    >>> Definitions().define(["CVaR 95 of a"]) == [t for t in TERMS if t.name == "CVaR"]
    True
    """

    remaining: list[Term] = field(default_factory=lambda: list(TERMS))

    def define(self, texts: list[str]) -> list[Term]:
        """Return the terms that stand in texts and were not defined before."""
        text = "\n".join(texts)
        used = [t for t in self.remaining if re.search(rf"(?<![\w-])(?:{t.pattern})(?!\w)", text)]
        self.remaining = [term for term in self.remaining if term not in used]
        return used
