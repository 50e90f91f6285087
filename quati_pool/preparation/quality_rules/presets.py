"""The rules of the step ``quality``, in order, and the bounds that presets set for them."""

from __future__ import annotations

from typing import Literal, NamedTuple

Preset = Literal["massiveweb", "quati-1M"]
Bound = float | None

TOP_NGRAMS = (2, 3, 4)
DUPLICATE_NGRAMS = (5, 6, 7, 8, 9, 10)


class Rule(NamedTuple):
    """A rule drops rows whose measure is beyond a bound, the parameter named ``key``: below it if the name begins with
    ``min_``, otherwise above it. ``wording`` describes the measure: {} stands for the number, which is a percentage
    for a ``share``."""

    key: str
    reason: str
    wording: str
    share: bool = False

    @property
    def counted(self) -> bool:
        """Whether the measure is a whole number of words."""
        return self.wording.endswith(" words")

    @property
    def least(self) -> bool:
        return self.key.startswith("min_")


def _top(n: int) -> Rule:
    return Rule(f"max_top_{n}gram", f"top {n}-gram", f"{{}} of characters in the most frequent {n}-gram", True)


def _duplicate(n: int) -> Rule:
    return Rule(f"max_duplicate_{n}grams", f"duplicate {n}-grams", f"{{}} of characters in duplicate {n}-grams", True)


RULES = (
    Rule("min_words", "too few words", "{} words"),
    Rule("max_words", "too many words", "{} words"),
    Rule("min_word_length", "short words", "{} characters per word"),
    Rule("max_word_length", "long words", "{} characters per word"),
    Rule("max_hash_signs", "hash signs", "{} hash signs per word"),
    Rule("max_ellipses", "ellipses", "{} ellipses per word"),
    Rule("max_bullet_lines", "bullets", "{} of lines start with a bullet", True),
    Rule("max_ellipsis_lines", "lines ending in an ellipsis", "{} of lines end in an ellipsis", True),
    Rule("min_alphabetic_words", "few alphabetic words", "{} of words hold a letter", True),
    Rule("min_stop_words", "few stop words", "{} different stop words"),
    Rule("max_duplicate_lines", "duplicate lines", "{} of lines are duplicates", True),
    Rule("max_duplicate_paragraphs", "duplicate paragraphs", "{} of paragraphs are duplicates", True),
    Rule("max_duplicate_line_characters", "characters in duplicate lines", "{} of characters in duplicate lines", True),
    Rule(
        "max_duplicate_paragraph_characters",
        "characters in duplicate paragraphs",
        "{} of characters in duplicate paragraphs",
        True,
    ),
    *map(_top, TOP_NGRAMS),
    *map(_duplicate, DUPLICATE_NGRAMS),
    Rule("min_line_words", "short lines", "{} words per line"),
    Rule("min_letters", "few letters", "{} of characters are letters", True),
)
"""The rules of Rae et al. 2021 in the paper's order, then two of our own."""

PRESETS: dict[str, dict[str, Bound]] = {
    # Rae et al. 2021, appendix A.1.1 and table A1.
    "massiveweb": {
        "min_words": 50,
        "max_words": 100_000,
        "min_word_length": 3,
        "max_word_length": 10,
        "max_hash_signs": 0.1,
        "max_ellipses": 0.1,
        "max_bullet_lines": 0.9,
        "max_ellipsis_lines": 0.3,
        "min_alphabetic_words": 0.8,
        "min_stop_words": 2,
        "max_duplicate_lines": 0.3,
        "max_duplicate_paragraphs": 0.3,
        "max_duplicate_line_characters": 0.2,
        "max_duplicate_paragraph_characters": 0.2,
        "max_top_2gram": 0.2,
        "max_top_3gram": 0.18,
        "max_top_4gram": 0.16,
        "max_duplicate_5grams": 0.15,
        "max_duplicate_6grams": 0.14,
        "max_duplicate_7grams": 0.13,
        "max_duplicate_8grams": 0.12,
        "max_duplicate_9grams": 0.11,
        "max_duplicate_10grams": 0.1,
        "min_line_words": None,
        "min_letters": None,
    },
    # Our bounds: the Quati paper (arXiv 2404.06976, section 3.1) says only that its set of a million is cleaner.
    # Chosen for passages of about 1,000 characters of running text.
    "quati-1M": {
        "min_words": 80,
        "max_words": 400,
        "min_word_length": 3.5,
        "max_word_length": 8,
        "max_hash_signs": 0.02,
        "max_ellipses": 0.02,
        "max_bullet_lines": 0.3,
        "max_ellipsis_lines": 0.1,
        "min_alphabetic_words": 0.85,
        "min_stop_words": 4,
        "max_duplicate_lines": 0.1,
        "max_duplicate_paragraphs": 0.1,
        "max_duplicate_line_characters": 0.05,
        "max_duplicate_paragraph_characters": 0.05,
        "max_top_2gram": 0.15,
        "max_top_3gram": 0.13,
        "max_top_4gram": 0.12,
        "max_duplicate_5grams": 0.11,
        "max_duplicate_6grams": 0.1,
        "max_duplicate_7grams": 0.09,
        "max_duplicate_8grams": 0.08,
        "max_duplicate_9grams": 0.07,
        "max_duplicate_10grams": 0.06,
        "min_line_words": 8,
        "min_letters": 0.85,
    },
}
