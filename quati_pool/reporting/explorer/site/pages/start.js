"use strict";

(() => {
  const { html, useMemo } = htmPreact;
  const { routes, words } = explorer;
  const { Bar, Choice, LabelerLink, Name, QueryLink, SystemLink } = explorer.parts;
  const { labelerOptions, scoredBy, usual } = explorer.parts;
  const FOUND = 20;

  const fold = (term) => term.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

  /** A search over the queries, made when it is first needed; returns the numbers of the queries, best first. */
  const searchOf = (model) => {
    let index = null;
    return (text) => {
      if (index === null) {
        index = new MiniSearch({
          fields: ["queryId", "text", "narrative"],
          processTerm: (term) => fold(term) || null,
          searchOptions: { prefix: true, fuzzy: 0.2, combineWith: "AND", boost: { queryId: 3, text: 2 } },
        });
        index.addAll(
          model.queries.map(({ id, text, narrative }, number) => ({ id: number, text, narrative, queryId: id })),
        );
      }
      return index.search(text).map((found) => found.id);
    };
  };

  const Search = ({ model, search, text, onText }) => {
    const found = useMemo(() => (text.trim() ? search(text) : []), [text]);
    return html`<section aria-label="Search">
      <form role="search" onSubmit=${(event) => event.preventDefault()}>
        <label for="search">Search ${words.counted(model.queries.length, "query")}</label>
        <input
          id="search"
          type="search"
          autocomplete="off"
          spellcheck="false"
          dir="auto"
          value=${text}
          onInput=${(event) => onText(event.target.value)}
        />
      </form>
      <p class="note" role="status">
        ${text.trim() &&
        (found.length > FOUND
          ? `${words.counted(found.length, "query")} found; the best ${FOUND}:`
          : `${words.counted(found.length, "query")} found.`)}
      </p>
      <ol class="found">
        ${found.slice(0, FOUND).map((query) => html`<li key=${query}><${QueryLink} ...${{ model, query }} /></li>`)}
      </ol>
    </section>`;
  };

  const queryColumns = (model, by) => {
    const judged = by === null ? "Judged" : html`Judged by <${Name} text=${model.labelers[by].name} />`;
    const count = (heading, key, title) => ({
      heading,
      title,
      number: true,
      sort: (row) => row[key],
      cell: (row) => words.number(row[key]),
    });
    return [
      { heading: "Query", sort: (row) => row.query, cell: ({ query }) => html`<${QueryLink} ...${{ model, query }} />` },
      count("Pairs", "pairs"),
      ...(by === null ? [] : [count(judged, "judged")]),
      count("Disputed", "disputed", "Pairs that two labelers graded differently"),
      {
        heading: "Mean difference",
        title: "The highest grade of a pair less the lowest, averaged over pairs with two grades",
        number: true,
        sort: (row) => row.disagreement,
        cell: (row) => words.decimals(row.disagreement, 2),
      },
      count("No grade", "ungraded", "Pairs that nobody graded"),
    ];
  };

  const boardRows = (model, by) => {
    const board = model.board(by);
    const without = model.systems.map((_, system) => system).filter((system) => !board.some((row) => row.system === system));
    return [...board, ...without.map((system) => ({ system }))];
  };

  const boardColumns = (model, by, alone) => {
    const best = Math.max(...model.board(by).map((row) => row.means[0]?.[0] ?? 0), 0);
    const parameters = by === null ? [] : [["by", model.labelers[by].name]];
    const mean = (row, measure) => row.means?.[measure]?.[0];
    const scored = by !== null && model.board(by).length > 0;
    return [
      ...(scored
        ? [{ heading: "Rank", number: true, sort: (row) => row.rank, cell: (row) => words.number(row.rank) }]
        : []),
      { heading: "System", short: true, cell: ({ system }) => html`<${SystemLink} ...${{ model, system, parameters }} />` },
      ...(model.estimates ? [estimateColumn(model.estimates)] : []),
      ...(scored
        ? [
            {
              heading: model.measures[0],
              number: true,
              sort: (row) => mean(row, 0),
              cell: (row) => html`<${Bar} share=${best ? mean(row, 0) / best : 0} /> ${words.decimals(mean(row, 0))}`,
            },
            {
              heading: "95 % interval",
              number: true,
              sort: (row) => row.means?.[0]?.[1],
              cell: (row) => words.interval(row.means?.[0]?.[1], row.means?.[0]?.[2]),
            },
            {
              heading: "Groups",
              title: "Systems that share a letter do not differ significantly",
              cell: (row) => (row.letters ?? []).join(" "),
            },
            ...model.measures.slice(1).map((measure, place) => ({
              heading: measure,
              number: true,
              sort: (row) => mean(row, place + 1),
              cell: (row) => words.decimals(mean(row, place + 1)),
            })),
            {
              heading: "Unjudged in first 10",
              number: true,
              sort: (row) => row.unjudged,
              cell: (row) => words.percent(row.unjudged),
            },
          ]
        : []),
      {
        heading: "Alone in pool",
        title: "Pairs that only this system brought into the pool",
        number: true,
        sort: ({ system }) => alone[system],
        cell: ({ system }) =>
          html`<a href=${routes.build("pairs", null, [["alone", model.systems[system].name], ...parameters])}
            >${words.number(alone[system])}</a
          >`,
      },
    ];
  };

  const estimateColumn = ({ measure, interval, systems }) => ({
    heading: `Estimated ${measure}`,
    title: `Under people’s grades, with the ${interval}`,
    number: true,
    sort: ({ system }) => systems[system]?.[0],
    cell: ({ system }) => {
      const found = systems[system];
      return found ? `${words.decimals(found[0])} (${words.interval(...found.slice(1))})` : "–";
    },
  });

  const labelerRows = (model) =>
    model.labelers.map((_, labeler) => {
      const agreement = model.main === null || model.main === labeler ? null : model.agreementOf(labeler, model.main);
      return { labeler, agreement, ...model.distribution(labeler) };
    });

  const labelerColumns = (model) => [
    {
      heading: "Labeler",
      short: true,
      cell: ({ labeler }) => html`<${LabelerLink} ...${{ model, labeler }} />${labeler === model.main ? " (main)" : ""}`,
    },
    { heading: "Kind", cell: ({ labeler }) => words.kind(model.labelers[labeler].kind) },
    { heading: "Graded", number: true, sort: (row) => row.graded, cell: (row) => words.number(row.graded) },
    { heading: "Mean grade", number: true, sort: (row) => row.mean, cell: (row) => words.decimals(row.mean, 2) },
    ...(model.main === null
      ? []
      : [
          {
            heading: html`κ with <${Name} text=${model.labelers[model.main].name} />`,
            title: model.agreement.some((one) => one.weighted)
              ? "Cohen’s κ, of samples weighted by how their pairs were drawn"
              : "Cohen’s κ",
            number: true,
            sort: (row) => row.agreement?.kappa,
            cell: (row) => words.decimals(row.agreement?.kappa),
          },
          {
            heading: "95 % interval",
            number: true,
            sort: (row) => row.agreement?.low,
            cell: (row) => words.interval(row.agreement?.low, row.agreement?.high),
          },
        ]),
  ];

  const Said = ({ model, by }) => {
    const [best] = model.board(by);
    return html`<p class="said">
      ${words.counted(model.queries.length, "query")}, ${words.counted(model.systems.length, "system")},
      ${" "}${words.counted(model.pairs, "pooled pair")}, ${words.counted(model.labelers.length, "labeler")}.
      ${best &&
      html` <${SystemLink} ...${{ model, system: best.system }} /> is first with a mean ${model.measures[0]} of
        ${" "}${words.decimals(best.means[0]?.[0])} under <${LabelerLink} ...${{ model, labeler: by }} />${model.isAlone(by) &&
        "’s grades alone"}.`}
    </p>`;
  };

  const Start = ({ model, search, route, by }) => {
    const main = usual(model);
    const text = route.get("q") ?? "";
    const alone = useMemo(() => model.aloneCounts(), []);
    const queries = useMemo(() => model.queries.map((_, query) => ({ query, ...model.summary(query, main) })), []);
    const systems = useMemo(() => boardRows(model, by), [by]);
    const labelers = useMemo(() => labelerRows(model), []);
    const write = (written) => explorer.go(route.changed({ q: written || null }), { replace: true });
    return html`
      <h1 tabindex="-1" dir="auto">${words.visible(model.title || model.name)}</h1>
      <${Said} ...${{ model, by }} />
      <${Search} ...${{ model, search, text }} onText=${write} />
      <section>
        <h2>Queries</h2>
        <${explorer.Table} caption="Pairs and disagreement by query" noun="query" columns=${queryColumns(model, main)} rows=${queries} />
      </section>
      <section>
        <h2>Systems</h2>
        ${by !== null &&
        html`<p>
          <${Choice}
            label="Under the grades of"
            options=${labelerOptions(model, model.boarded())}
            value=${by}
            onChoose=${(chosen) => explorer.go(route.changed({ by: model.labelers[chosen].name }))}
          />
        </p>`}
        ${model.isAlone(by) &&
        html`<p class="note">
          Ranks and means are under the grades of <${Name} text=${model.labelers[by].name} /> alone, no estimates of
          people’s.
        </p>`}
        ${model.estimates && html`<p class="note">${words.visible(model.estimates.statement)}</p>`}
        <${explorer.Table} caption="Scores and pairs by system" noun="system" columns=${boardColumns(model, by, alone)} rows=${systems} />
      </section>
      <section>
        <h2>Labelers</h2>
        <${explorer.Table} caption="Grades and agreement by labeler" noun="labeler" columns=${labelerColumns(model)} rows=${labelers} />
        ${model.labelers.length > 0 && html`<p><a href="#/pairs">Pairs on which labelers differ most</a></p>`}
      </section>
    `;
  };

  const searches = new WeakMap();

  explorer.pages.set("", async ({ model }, route) => {
    if (!searches.has(model)) searches.set(model, searchOf(model));
    const search = searches.get(model);
    const by = scoredBy(model, route.get("by"));
    return {
      title: model.title || model.name,
      body: html`<${Start} ...${{ model, search, route, by }} />`,
      // Who comes by the key "/" wants to write.
      landing: () => route.get("q") === "" && (document.getElementById("search").focus(), true),
    };
  });
})();
