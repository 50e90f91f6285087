// Sorts, filters and folds the tables, and marks the reader's place in the contents list. The page is complete without
// this script, so everything that needs it is made here.
"use strict";
(() => {
  const ROWS = 10;

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // What is not a number, such as the dash of an undefined value, is below every number.
  const number = (text) => (Number.isNaN(Number(text)) ? -Infinity : Number(text));
  Tablesort.extend("number", () => false, (a, b) => (number(a) < number(b) ? 1 : number(a) > number(b) ? -1 : 0));

  function sortable(table) {
    new Tablesort(table);
    table.addEventListener("afterSort", () => {
      const column = table.querySelector("[aria-sort]").cellIndex;
      const body = table.tBodies[0];
      const undefinedRows = [...body.rows].filter((row) => row.cells[column].classList.contains("undefined"));
      body.append(...undefinedRows);
    });
  }

  // Rows beyond the tenth are clipped, not removed, so that the browser's search and the Tab key still reach them:
  // either scrolls the clipped box, which then unfolds.
  function foldable(figure, box, table) {
    const rows = [...table.tBodies[0].rows];
    const filter = element("input", { type: "search", placeholder: "filter" });
    const count = element("output");
    const more = element("button", { type: "button", className: "more" });
    const title = table.getAttribute("aria-label");
    filter.setAttribute("aria-label", `Filter the rows: ${title}`);
    figure.querySelector(".tools").append(filter, count);
    box.after(more);
    let open = false;

    function fold() {
      const shown = [...table.tBodies[0].rows].filter((row) => !row.hidden);
      const next = shown[ROWS];
      const folded = next !== undefined && !open;
      const foot = table.tFoot ? table.tFoot.offsetHeight : 0;
      const top = next && next.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
      box.style.maxHeight = folded ? `${top + foot + box.offsetHeight - box.clientHeight}px` : "";
      box.classList.toggle("folded", folded);
      more.hidden = next === undefined;
      more.textContent = folded ? `show all ${shown.length.toLocaleString("en")} rows` : `show the first ${ROWS} rows`;
      more.setAttribute("aria-expanded", String(!folded));
    }

    function unfold(whole) {
      open = whole;
      fold();
    }

    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      for (const row of rows) {
        const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
        row.hidden = !text.includes(wanted);
      }
      const left = rows.filter((row) => !row.hidden).length;
      count.textContent = wanted ? `${left.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
      fold();
    });
    more.addEventListener("click", () => unfold(!open));
    box.addEventListener("scroll", () => box.scrollTop > 0 && !open && unfold(true));
    table.addEventListener("afterSort", fold);
    // Also called when the table first has a size, as in a part that is opened.
    new ResizeObserver(fold).observe(table);
  }

  for (const figure of document.querySelectorAll("figure.table")) {
    const box = figure.querySelector(".scroll");
    const table = box && box.querySelector("table");
    if (table && table.tBodies[0].rows.length > 1) sortable(table);
    if (table && table.tBodies[0].rows.length > ROWS) foldable(figure, box, table);
  }

  function contents(nav) {
    const list = nav.querySelector("details");
    const narrow = matchMedia("(max-width: 71.99rem)");
    const fit = () => { list.open = !narrow.matches; };
    narrow.addEventListener("change", fit);
    fit();
    nav.addEventListener("click", (event) => {
      if (narrow.matches && event.target.closest("a")) list.open = false;
    });

    const links = [...nav.querySelectorAll("a")];
    const targets = new Map(links.map((link) => [document.getElementById(link.hash.slice(1)), link]));
    const inView = new Set();
    let current = null;
    function mark(link) {
      if (link === current) return;
      current?.removeAttribute("aria-current");
      link.setAttribute("aria-current", "location");
      current = link;
      const top = link.offsetTop - nav.offsetTop;
      if (top < nav.scrollTop || top > nav.scrollTop + nav.clientHeight - 40) nav.scrollTop = top - nav.clientHeight / 2;
    }
    // One is where a line at a quarter of the window's height is; a part is within its section, and comes after it.
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) inView[entry.isIntersecting ? "add" : "delete"](entry.target);
      const last = [...targets.keys()].findLast((target) => inView.has(target));
      if (last) mark(targets.get(last));
    }, { rootMargin: "-25% 0px -74% 0px" });
    for (const target of targets.keys()) observer.observe(target);
    // The last parts of the page may be too near to its end to reach that line.
    addEventListener("hashchange", () => {
      const link = links.find((one) => one.hash === location.hash);
      if (link) mark(link);
    });
  }

  const nav = document.querySelector("nav");
  if (nav) contents(nav);
})();
