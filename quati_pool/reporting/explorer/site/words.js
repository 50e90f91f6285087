"use strict";

// All scripts share this one object.
globalThis.explorer = { pages: new Map() };

(() => {
  // Directions, other controls and halves of characters would act on what follows, or be invisible.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069\p{Surrogate}]/gu;

  /** The text of others with a mark such as ⟨U+202E⟩ for every character that acts or cannot be seen. */
  const visible = (text) =>
    String(text)
      .replace(/\r\n?/g, "\n")
      .replace(HIDDEN, (found) => `⟨U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

  /** The text, or its start, of at most `length` characters. */
  const start = (text, length) => {
    const characters = Array.from(visible(text).slice(0, 4 * length + 4));
    return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : characters.join("");
  };

  /** The end of a long identifier, where identifiers differ. */
  const end = (text, length) => {
    const characters = Array.from(visible(text));
    return characters.length > length ? `…${characters.slice(1 - length).join("")}` : characters.join("");
  };

  const grouped = new Intl.NumberFormat("en");
  const number = (value) => (value == null ? "–" : grouped.format(value));
  // What is rounded to 0 has no sign.
  const decimals = (value, digits = 3) => (value == null ? "–" : value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−"));
  const signed = (value, digits = 3) => {
    const shown = decimals(value, digits);
    return value > 0 && Number(shown) !== 0 ? `+${shown}` : shown;
  };
  const grade = (value) => String(value).replace("-", "−");
  const percent = (share) => (share == null ? "–" : `${decimals(100 * share, 0)}\u00a0%`);
  const interval = (low, high) => (low == null || high == null ? "–" : `${decimals(low)} to ${decimals(high)}`);

  /** `1 pair`, `1,200 pairs`, `2 queries`. */
  const counted = (count, noun) => {
    const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
    return `${number(count)} ${count === 1 ? noun : plural}`;
  };

  const KINDS = new Map([
    ["person", "person"],
    ["llm", "language model"],
    ["distilled", "distilled judge"],
    ["program", "program"],
    ["file", "file of labels"],
    ["consensus", "consensus"],
    ["hybrid", "hybrid of people and a judge"],
    ["decisions", "decisions"],
  ]);
  const kind = (name) => KINDS.get(name) ?? visible(name);

  explorer.words = { visible, start, end, number, decimals, signed, grade, percent, interval, counted, kind };
})();
