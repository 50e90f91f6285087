"use strict";

// What fools a judge: the card of its audit, and the changed pairs that fooled it most.
(() => {
  const { html, useMemo } = htmPreact;
  const { words } = explorer;
  const { QueryLink } = explorer.parts;

  const least = (shown) => Number.parseFloat(shown.replace(/^[<>] /, "").replaceAll(",", "").replace("−", "-"));

  const Card = ({ table }) => {
    const columns = useMemo(() => table.columns.map(({ heading, number }, place) => ({
      heading,
      number,
      short: !number,
      sort: number ? (row) => least(row[place]) : undefined,
      cell: (row) => words.visible(row[place]),
    })), [table]);
    return html`
      <${explorer.Table} caption=${table.title} noun="danger" columns=${columns} rows=${table.rows} />
      ${table.note && html`<p class="note">${words.visible(table.note)}</p>`}
    `;
  };

  /** Texts as the judge was shown them; what a probe left as it was is not said again. */
  const Shown = ({ heading, shown, other = null }) => {
    const parts = [["Query", shown.query, other?.query], ["Narrative", shown.narrative, other?.narrative]];
    return html`<div class="shown">
      <h4>${heading}</h4>
      ${parts.map(
        ([name, text, before]) =>
          text && text !== before && html`<p class="text" dir="auto"><span class="quiet">${name}: </span>${words.visible(text)}</p>`,
      )}
      ${shown.text !== other?.text && html`<p class="text" dir="auto">${words.visible(shown.text) || "(empty)"}</p>`}
    </div>`;
  };

  const Example = ({ model, example }) => {
    const { pair, original, changed, controlTexts, before, after, control } = example;
    const query = model.queryOf[pair];
    const alike = (one) => one && ["query", "narrative", "text"].every((name) => one[name] === original[name]);
    const same = alike(changed);
    // A control that is the pair itself was asked about again.
    const controlled = Boolean(controlTexts) && !alike(controlTexts);
    return html`<article class="passage audited">
      <h3 class="doc">${words.visible(example.probe)}: ${words.visible(example.variant)}</h3>
      <p class="of-query"><${QueryLink} ...${{ model, query, parameters: [["doc", example.doc]] }} /></p>
      <p class="ranks">
        Graded ${words.grade(before)} as it is, <b>${words.grade(after)}</b>${same ? " when asked again" : " as changed"}${control !== null &&
        `, ${words.grade(control)} in the control`}.
      </p>
      ${original &&
      html`<details>
        <summary>${same ? "The texts" : "The texts, as they are and as changed"}${controlled && ", and the control"}</summary>
        <div class="both">
          <${Shown} heading="As it is" shown=${original} />
          ${!same && html`<${Shown} heading="As changed" shown=${changed} other=${original} />`}
          ${controlled && html`<${Shown} heading="The control" shown=${controlTexts} other=${original} />`}
        </div>
      </details>`}
    </article>`;
  };

  /** The audit of a labeler; nothing without one. */
  explorer.Audit = ({ model, labeler }) => {
    const audit = model.audits?.[labeler];
    if (!audit) return null;
    return html`<section>
      <h2>Audit</h2>
      ${audit.said.map((sentence) => html`<p>${words.visible(sentence)}</p>`)}
      <${Card} table=${audit.table} />
      ${audit.worst.length > 0 &&
      html`<h3>What fooled it most</h3>
        ${audit.worst.map((example) => html`<${Example} ...${{ model, example }} />`)}`}
    </section>`;
  };
})();
