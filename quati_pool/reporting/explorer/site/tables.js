"use strict";

(() => {
  const { html, h, Component, useRef } = htmPreact;
  const { words } = explorer;
  const FOLDED = 10;

  // Tablesort expects what comes first in a descending order to be negative; what is missing is the least.
  const least = (text) => (text === "" || Number.isNaN(Number(text)) ? -Infinity : Number(text));
  Tablesort.extend(
    "number",
    () => false,
    (one, other) => (least(one) === least(other) ? 0 : least(other) - least(one)),
  );

  /** The table itself: ten rows until all are needed. Tablesort moves rows, so that what was sorted is never drawn
      again, only replaced. */
  class Sheet extends Component {
    constructor(properties) {
      super(properties);
      this.whole = properties.open || properties.sorted !== null;
    }

    shouldComponentUpdate({ open }) {
      const grows = open && !this.whole;
      this.whole ||= open;
      return grows;
    }

    // Before Tablesort sorts: all rows must be there, and of numbers the largest come first, as in a leaderboard.
    prepare(event) {
      const heading = event.target.closest("th");
      if (!heading || (event.key && event.key !== "Enter")) return;
      if (!this.whole) {
        this.whole = true;
        this.forceUpdate();
      }
      if (heading.classList.contains("number") && !heading.hasAttribute("aria-sort"))
        heading.setAttribute("aria-sort", "ascending");
    }

    componentDidMount() {
      const table = this.base;
      const headings = table.tHead.rows[0];
      headings.addEventListener("click", (event) => this.prepare(event), true);
      headings.addEventListener("keydown", (event) => this.prepare(event), true);
      const sorter = new Tablesort(table);
      const sorted = this.props.sorted;
      if (sorted) {
        const heading = headings.cells[sorted.column];
        heading.setAttribute("aria-sort", sorted.direction);
        sorter.current = heading;
        sorter.refresh();
      }
      table.addEventListener("afterSort", () =>
        this.props.onSort({ column: sorter.current.cellIndex, direction: sorter.current.getAttribute("aria-sort") }),
      );
    }

    render({ caption, columns, rows }) {
      const drawn = this.whole ? rows : rows.slice(0, FOLDED);
      return html`<table>
        <caption>${caption}</caption>
        <thead>
          <tr>
            ${columns.map(
              (column) =>
                html`<th
                  scope="col"
                  class=${classOf(column)}
                  title=${column.title}
                  data-sort-method=${column.sort ? "number" : "text"}
                >
                  ${column.heading}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${drawn.map((row) => html`<tr>${columns.map((column, place) => cell(column, row, place))}</tr>`)}
        </tbody>
      </table>`;
    }
  }

  const classOf = (column) => (column.number ? "number" : column.short ? "short" : null);

  const cell = (column, row, place) => {
    const attributes = { class: classOf(column), "data-sort": column.sort && String(column.sort(row) ?? "none") };
    return place ? h("td", attributes, column.cell(row)) : h("th", { ...attributes, scope: "row" }, column.cell(row));
  };

  /** A sortable table, folded to ten rows. A column has a heading, `cell(row)`, and for numbers `sort(row)`; `number`
      aligns it to the right, `short` keeps it on one line. New rows must be a new array, the same rows the same one. */
  explorer.Table = ({ caption, columns, rows, noun }) => {
    const [open, setOpen] = explorer.useKept(`open ${caption}`, false);
    const [sorted, setSorted] = explorer.useKept(`sorted ${caption}`, null);
    const seen = useRef({ rows: null, version: 0 });
    if (seen.current.rows !== rows) seen.current = { rows, version: seen.current.version + 1 };
    const long = rows.length > FOLDED;
    return html`<div class=${`sheet ${long && !open ? "folded" : ""}`}>
      <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
        <${Sheet}
          key=${seen.current.version}
          ...${{ caption, columns, rows, sorted, open }}
          onSort=${setSorted}
        />
      </div>
      ${long &&
      html`<button type="button" class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        ${open ? `Show ${FOLDED}` : `Show all ${words.counted(rows.length, noun)}`}
      </button>`}
    </div>`;
  };
})();
