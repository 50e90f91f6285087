"use strict";

(() => {
  const { html, useRef } = htmPreact;
  const { words } = explorer;
  const { Bar, SystemLink, gradeShown } = explorer.parts;
  const OUTSIDE = { sign: "○", meaning: "not in the pool", level: "outside" };
  const STEPS = new Map([
    ["ArrowUp", [-1, 0]],
    ["ArrowDown", [1, 0]],
    ["ArrowLeft", [0, -1]],
    ["ArrowRight", [0, 1]],
  ]);

  /** The pointer or the focus on a document marks it in all columns, and arrow keys move between documents. This is
      done without drawing again, because there may be thousands of cells. */
  const useDocuments = () => {
    const table = useRef(null);
    const marked = useRef([]);

    const mark = (event) => {
      const document = event.target.closest("[data-doc]");
      if (!document) return;
      marked.current.forEach((one) => one.classList.remove("same"));
      marked.current = Array.from(table.current.querySelectorAll(`[data-doc="${document.dataset.doc}"]`));
      marked.current.forEach((one) => one.classList.add("same"));
    };

    const enter = (event) => {
      mark(event);
      const document = event.target.closest("[data-doc]");
      if (!document) return;
      // One stop of the tab key for the whole table.
      table.current.querySelectorAll("[data-doc][tabindex='0']").forEach((one) => (one.tabIndex = -1));
      document.tabIndex = 0;
    };

    const leave = () => {
      marked.current.forEach((one) => one.classList.remove("same"));
      marked.current = [];
    };

    const move = (event) => {
      const cell = event.target.closest("td");
      const step = STEPS.get(event.key);
      if (!cell || !step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const row = cell.closest("tbody").rows[cell.parentNode.sectionRowIndex + step[0]];
      row?.cells[cell.cellIndex + step[1]]?.querySelector("[data-doc]")?.focus();
    };
    return { ref: table, onmouseover: mark, onmouseleave: leave, onfocusin: enter, onfocusout: leave, onkeydown: move };
  };

  const Document = ({ model, by, first, doc, id, pooled, href, stop }) => {
    const shown = pooled ? (by === null ? null : gradeShown(model, by, first + doc)) : OUTSIDE;
    const title = `${words.visible(id)}${shown ? `: ${words.visible(shown.meaning)}` : ""}`;
    const content = html`${shown && html`<b>${shown.sign}</b>`}<bdi>${words.end(id, 12)}</bdi>`;
    const same = { "data-doc": doc, tabindex: stop ? 0 : -1, title };
    return html`<td data-level=${shown?.level}>
      ${pooled ? html`<a ...${same} href=${href}>${content}</a>` : html`<span ...${same}>${content}</span>`}
    </td>`;
  };

  /** The systems' rankings of a query as columns, in the order of `systems`, to `depth`; `scores` are the systems'
      scores on the query, or null; `hrefOf(doc)` is where a pooled document leads. */
  explorer.Rankings = ({ model, query, data, by, systems, depth, scores, measure, parameters, hrefOf }) => {
    const documents = useDocuments();
    const first = model.first[query];
    const pooled = model.first[query + 1] - first;
    const rows = Math.min(depth, Math.max(0, ...systems.map((system) => data.rankings[system].length)));
    const hrefs = data.docs.slice(0, pooled).map(hrefOf);
    return html`<div class="scroll wide">
      <table class="rankings" ...${documents}>
        <caption>The first ${depth} documents of ${words.counted(systems.length, "system")}</caption>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            ${systems.map(
              (system) => html`<th scope="col">
                <${SystemLink} ...${{ model, system, parameters }} />
                ${scores &&
                html`<span class="score" title=${measure}>${words.decimals(scores[system])}</span>
                  <${Bar} share=${scores[system]} />`}
              </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${Array.from(
            { length: rows },
            (_, rank) => html`<tr>
              <th scope="row">${rank + 1}</th>
              ${systems.map((system, column) => {
                const doc = data.rankings[system][rank];
                if (doc === undefined) return html`<td></td>`;
                const stop = rank === 0 && column === 0;
                const properties = { model, by, first, doc, id: data.docs[doc], pooled: doc < pooled, href: hrefs[doc] };
                return html`<${Document} ...${properties} stop=${stop} />`;
              })}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  };
})();
