"""Converts any text to LaTeX that shows it and always compiles."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from quati_pool.text.characters import one_line


@lru_cache(1 << 16)
def escape(text: str) -> str:
    """``text`` on one line, with all special characters escaped.

    The result needs ``\\usepackage[T1]{fontenc}``, UTF-8 input (LaTeX's default since 2018) and LaTeX of 2020 or
    later, but no other package. Latin letters, Greek letters and common mathematical and typographical signs are
    shown. A character for which LaTeX has no sign (an emoji, Chinese, Cyrillic) is shown as its code point, such
    as [U+1F600], so that no text is lost and different names stay different. Invisible characters are left out.
    """
    pieces: list[str] = []
    before = ""
    for character in unicodedata.normalize("NFC", one_line(text)):
        if character in _ACCENTS and before.isascii() and before.isalpha():
            pieces[-1] = _accented(character, pieces[-1])
        elif before + character in _LIGATURES:
            pieces.append("{}" + _shown(character))
        else:
            pieces.append(_shown(character))
        before = character
    return "".join(pieces)


# T1 fonts join these pairs into a dash or a quotation mark.
_LIGATURES = {"--", "-–", "–-", "––", "''", ",,"}

_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0328": "k",
    "\u0331": "b",
}  # fmt: skip
"""Combining marks, and the LaTeX commands for them."""

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi",
    "ρ": "rho", "ς": "varsigma", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi",
    "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi",
    "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_MATHEMATICS = {
    "≥": "geq", "≤": "leq", "≠": "neq", "≈": "approx", "≡": "equiv", "∼": "sim", "∝": "propto", "±": "pm",
    "×": "times", "÷": "div", "·": "cdot", "√": "surd", "∞": "infty", "∑": "sum", "∏": "prod", "∂": "partial",
    "∆": "Delta", "∈": "in", "∉": "notin", "∩": "cap", "∪": "cup", "⊂": "subset", "⊆": "subseteq",
    "∅": "emptyset", "∀": "forall", "∃": "exists", "∧": "wedge", "∨": "vee", "¬": "neg", "′": "prime",
    "→": "rightarrow", "←": "leftarrow", "↑": "uparrow", "↓": "downarrow", "↔": "leftrightarrow",
    "⇒": "Rightarrow", "⇔": "Leftrightarrow", "★": "star", "∗": "ast", "∘": "circ",
}  # fmt: skip
_COMMANDS = {
    "<": "textless", ">": "textgreater", "|": "textbar", "~": "textasciitilde", "^": "textasciicircum",
    "\\": "textbackslash", "`": "textasciigrave", "“": "textquotedblleft", "”": "textquotedblright",
    "„": "quotedblbase", "‘": "textquoteleft", "’": "textquoteright", "‚": "quotesinglbase", "«": "guillemotleft",
    "»": "guillemotright", "‹": "guilsinglleft", "›": "guilsinglright", "—": "textemdash", "―": "textemdash",
    "…": "textellipsis", "•": "textbullet", "†": "textdagger", "‡": "textdaggerdbl", "€": "texteuro",
    "£": "textsterling", "¥": "textyen", "¢": "textcent", "™": "texttrademark", "©": "textcopyright",
    "®": "textregistered", "°": "textdegree", "‰": "textperthousand", "§": "textsection", "¶": "textparagraph",
    "µ": "textmu", "ª": "textordfeminine", "º": "textordmasculine", "¼": "textonequarter", "½": "textonehalf",
    "¾": "textthreequarters", "№": "textnumero", "¡": "textexclamdown", "¿": "textquestiondown",
}  # fmt: skip
_SIGNS = (
    {c: f"\\{c}" for c in "&%$#_{}"}
    # After \\, LaTeX would read [ and * as its arguments.
    | {"[": "{[}", "*": "{*}"}
    | {"–": "--", "‐": "-", "‑": "-", "‒": "--", "−": "$-$", "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,"}
    | {sign: f"$\\{name}$" for sign, name in (_GREEK | _MATHEMATICS).items()}
    | {sign: f"\\{name}{{}}" for sign, name in _COMMANDS.items()}
    | dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True))
    | {sign: f"$^{{{digit}}}$" for sign, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)}
    | {sign: f"$_{{{digit}}}$" for sign, digit in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
)
# The non-ASCII letters that LaTeX's UTF-8 input declares for T1 fonts.
_LETTERS = {c for c in map(chr, range(0xC0, 0x17F)) if c not in "×÷ĦħĸĿŀŉŦŧ"} | set("ȘșȚț")


@cache
def _shown(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    if character.isascii() or character in _LETTERS:
        return character
    category = unicodedata.category(character)
    if category == "Cf" or "\ufe00" <= character <= "\ufe0f":
        return ""
    if category == "Zs":
        return " "
    letter, _, mark = unicodedata.decomposition(character).partition(" ")
    if mark and not letter.startswith("<"):
        base, accent = chr(int(letter, 16)), chr(int(mark, 16))
        if accent in _ACCENTS and (base in _LETTERS or (base.isascii() and base.isalpha())):
            return _accented(accent, base)
    return f"{{[}}U+{ord(character):04X}]"


def _accented(accent: str, letter: str) -> str:
    return f"\\{_ACCENTS[accent]}{{{letter}}}"
