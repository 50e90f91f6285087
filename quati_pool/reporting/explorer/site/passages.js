"use strict";

(() => {
  const { html } = htmPreact;
  const { words } = explorer;
  const { Name, LabelerLink, gradeShown } = explorer.parts;

  const Chip = ({ model, labeler, pair }) => {
    const { sign, meaning, level } = gradeShown(model, labeler, pair);
    return html`<li class="chip" data-level=${level} title=${words.visible(meaning)}>
      <${LabelerLink} ...${{ model, labeler }} /> <b>${sign}</b><span class="unseen"> ${words.visible(meaning)}</span>
    </li>`;
  };

  const Ranks = ({ model, ranks }) =>
    ranks.length
      ? ranks.map(
          ([system, rank], place) =>
            html`${place ? " · " : ""}<span class="rank"><${Name} text=${model.systems[system].name} /> ${rank}</span>`,
        )
      : `in no ranking’s first ${model.depth}`;

  /** What a labeler said on a pair: the state of an attempt, samples, the reason for the grade and a note. */
  const Detail = ({ model, labeler, detail }) => html`
    <dt>
      <${Name} text=${model.labelers[labeler].name} />
      ${detail.state && html` · ${words.visible(detail.state)}`}
      ${detail.why && html` · ${words.visible(detail.why.replaceAll("_", " "))}`}
      ${detail.samples && html` · samples ${detail.samples.join(", ")}`}
      ${detail.cut && " · read a shortened passage"}
      ${detail.revealed && " · graded after seeing a judge’s grade"}
    </dt>
    ${detail.reason && html`<dd dir="auto">${words.visible(detail.reason)}</dd>`}
    ${detail.note && html`<dd dir="auto"><span class="quiet">Note: </span>${words.visible(detail.note)}</dd>`}
  `;

  const textOf = (model, passage) => {
    if (!model.texts) return html`<p class="quiet">The texts of this collection are withheld.</p>`;
    if (passage.text == null) return html`<p class="quiet">The text of this passage is not stored.</p>`;
    return html`<p class="text" dir="auto">${words.visible(passage.text)}</p>`;
  };

  /** A passage: its text, where systems rank it, each labeler's grade, and what labelers said on it. */
  explorer.Passage = ({ model, passage, marked = false, level = 3, lead = null }) => {
    const only = model.alone[passage.pair];
    return html`<article class=${`passage ${marked ? "marked" : ""}`} id=${`passage-${passage.pair}`}>
      ${lead}
      ${h(level, passage.doc)}
      ${textOf(model, passage)}
      <ul class="chips" aria-label="Grades">
        ${model.labelers.map((_, labeler) => html`<${Chip} ...${{ model, labeler, pair: passage.pair }} />`)}
        ${passage.spread > 0 &&
        html`<li class="disputed">grades differ by ${words.number(passage.spread)}</li>`}
      </ul>
      <p class="ranks">
        <${Ranks} ...${{ model, ranks: passage.ranks }} />
        ${only >= 0 && html` — pooled because of <${Name} text=${model.systems[only].name} /> alone`}
      </p>
      ${passage.details.length > 0 &&
      html`<details>
        <summary>Reasons and notes (${passage.details.length})</summary>
        <dl>${passage.details.map(([labeler, detail]) => html`<${Detail} ...${{ model, labeler, detail }} />`)}</dl>
      </details>`}
    </article>`;
  };

  const h = (level, doc) => htmPreact.h(`h${level}`, { tabindex: "-1", class: "doc" }, html`<${Name} text=${doc} />`);

  /** Scrolls to a pair's passage and puts the focus there; returns whether it is on the page. */
  explorer.toPassage = (pair) => {
    const article = document.getElementById(`passage-${pair}`);
    article?.scrollIntoView({ block: "start" });
    article?.querySelector(".doc").focus({ preventScroll: true });
    return article !== null;
  };
})();
