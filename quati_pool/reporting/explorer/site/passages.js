"use strict";

(() => {
  const { html, useState } = htmPreact;
  const { words } = explorer;
  const { Name, LabelerLink, gradeShown } = explorer.parts;

  const Chip = ({ model, labeler, pair }) => {
    const { sign, meaning, level } = gradeShown(model, labeler, pair);
    return html`<li class="chip" data-level=${level} title=${words.visible(meaning)}>
      <${LabelerLink} ...${{ model, labeler }} /> <b>${sign}</b><span class="unseen"> ${words.visible(meaning)}</span>
    </li>`;
  };

  const Ranks = ({ model, ranks }) => {
    if (ranks === null) return "ranks hidden with the rankings of its query";
    if (!ranks.length) return `in no ranking’s first ${model.depth}`;
    return ranks.map(
      ([system, rank], place) =>
        html`${place ? " · " : ""}<span class="rank"><${Name} text=${model.systems[system].name} /> ${rank}</span>`,
    );
  };

  /** In place of what is hidden on a pair; where the reader may ask to see it, `explorer.reveal` shows it. */
  const Hidden = ({ model, passage }) => {
    const [problem, setProblem] = useState(null);
    const show = async () => {
      try {
        await explorer.reveal(model.queries[model.queryOf[passage.pair]].id, passage.doc);
        headingOf(passage.pair)?.focus({ preventScroll: true });
      } catch (error) {
        setProblem(error.message);
      }
    };
    return html`<p class="withheld">
      Names and grades of judges and systems are hidden while this passage awaits a decision.
      ${explorer.reveal &&
      html` <button type="button" onClick=${show}>Show them</button>
        <span class="quiet"> Your decisions on it are marked from then on.</span>`}
      ${problem && html` <span role="alert">${problem}</span>`}
    </p>`;
  };

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
    const hidden = model.hidden.has(passage.pair);
    const labelers = [...model.labelers.keys()].filter((one) => !hidden || model.mark(one, passage.pair) !== "?");
    return html`<article class=${`passage ${marked ? "marked" : ""}`} id=${`passage-${passage.pair}`}>
      ${lead}
      ${h(level, passage.doc)}
      ${textOf(model, passage)}
      <ul class="chips" aria-label="Grades">
        ${labelers.map((labeler) => html`<${Chip} ...${{ model, labeler, pair: passage.pair }} />`)}
        ${passage.spread > 0 &&
        html`<li class="disputed">grades differ by ${words.number(passage.spread)}</li>`}
      </ul>
      ${hidden
        ? html`<${Hidden} ...${{ model, passage }} />`
        : html`<p class="ranks">
            <${Ranks} ...${{ model, ranks: passage.ranks }} />
            ${only >= 0 && html` — pooled because of <${Name} text=${model.systems[only].name} /> alone`}
          </p>`}
      ${passage.details.length > 0 &&
      html`<details>
        <summary>Reasons and notes (${passage.details.length})</summary>
        <dl>${passage.details.map(([labeler, detail]) => html`<${Detail} ...${{ model, labeler, detail }} />`)}</dl>
      </details>`}
    </article>`;
  };

  const h = (level, doc) => htmPreact.h(`h${level}`, { tabindex: "-1", class: "doc" }, html`<${Name} text=${doc} />`);

  const headingOf = (pair) => document.getElementById(`passage-${pair}`)?.querySelector(".doc");

  /** Scrolls to a pair's passage and puts the focus there; returns whether it is on the page. */
  explorer.toPassage = (pair) => {
    document.getElementById(`passage-${pair}`)?.scrollIntoView({ block: "start" });
    const heading = headingOf(pair);
    heading?.focus({ preventScroll: true });
    return heading !== undefined;
  };
})();
