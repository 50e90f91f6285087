"use strict";

(() => {
  const { html, useEffect, useRef, useState } = htmPreact;
  const { words } = explorer;
  const DARK = matchMedia("(prefers-color-scheme: dark)");

  const colors = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return { ahead: read("--accent"), behind: read("--behind"), rule: read("--rule"), quiet: read("--quiet"), sans: read("--sans") };
  };

  const useScheme = () => {
    const [dark, setDark] = useState(DARK.matches);
    useEffect(() => {
      const change = () => setDark(DARK.matches);
      DARK.addEventListener("change", change);
      return () => DARK.removeEventListener("change", change);
    }, []);
    return dark;
  };

  const settings = (bars, axis, look) => {
    const font = { family: look.sans, size: 12 };
    return {
      type: "bar",
      data: {
        labels: bars.map((_, place) => place + 1),
        datasets: [
          {
            data: bars.map((bar) => bar.value),
            backgroundColor: bars.map((bar) => (bar.value < 0 ? look.behind : look.ahead)),
            barPercentage: 1,
            categoryPercentage: bars.length > 150 ? 1 : 0.85,
            // A difference of nothing has a bar that can be seen, too.
            minBarLength: 2,
          },
        ],
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        onClick: (_, [hit]) => hit && explorer.go(bars[hit.index].href),
        scales: {
          x: { ticks: { display: false }, grid: { display: false }, border: { color: look.quiet } },
          y: {
            ticks: { color: look.quiet, font },
            grid: { color: look.rule },
            border: { display: false },
            title: { display: true, text: axis, color: look.quiet, font },
          },
        },
        plugins: {
          legend: { display: false },
          tooltip: {
            displayColors: false,
            titleFont: font,
            bodyFont: font,
            callbacks: { title: ([item]) => bars[item.dataIndex].title, label: (item) => bars[item.dataIndex].lines },
          },
        },
      },
    };
  };

  /** A query's name and text as the title of a tooltip. */
  const titleOf = (query) => `${words.start(query.id, 40)} ${words.start(query.text, 70)}`;

  /** A bar for each query's difference, `{query, difference}`, in the order of `rows`; the pointer shows `linesOf(row)`,
      and pressing it leads to `hrefOf(row)`. What bars say must also be in a table, because a picture cannot be read by
      everybody. A new array of rows is drawn again. */
  explorer.Bars = ({ model, rows, axis, label, linesOf, hrefOf }) => {
    const canvas = useRef(null);
    const [problem, setProblem] = useState(null);
    const dark = useScheme();
    useEffect(() => {
      const bars = rows.map((row) => ({
        value: row.difference,
        title: titleOf(model.queries[row.query]),
        lines: linesOf(row),
        href: hrefOf(row),
      }));
      let chart = null;
      let gone = false;
      const draw = async () => {
        try {
          const Chart = await explorer.chartLibrary();
          if (!gone) chart = new Chart(canvas.current, settings(bars, axis, colors()));
        } catch (error) {
          setProblem(error.message);
        }
      };
      draw();
      return () => {
        gone = true;
        chart?.destroy();
      };
    }, [rows, axis, dark]);
    if (problem) return html`<p role="alert">${problem}</p>`;
    return html`<div class="chart"><canvas ref=${canvas} role="img" aria-label=${label}></canvas></div>`;
  };
})();
