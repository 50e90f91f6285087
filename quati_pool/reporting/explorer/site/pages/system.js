"use strict";

(() => {
  const { html, useEffect, useMemo, useState } = htmPreact;
  const { routes, words } = explorer;
  const { Choice, LabelerLink, Name, QueryLink, SystemLink } = explorer.parts;
  const { labelerOptions, measureNamed, scoredBy, systemNamed, systemOptions } = explorer.parts;
  const FIRST = 10;
  const AT_ONCE = 8;

  /** The next system on the leaderboard, the one before for the last, or any other. */
  const nextOf = (model, by, system) => {
    const board = model.board(by).map((row) => row.system);
    const place = board.indexOf(system);
    const others = [board[place + 1], place > 0 ? board[place - 1] : undefined, ...model.systems.keys()];
    return others.find((other) => other !== undefined && other !== system) ?? null;
  };

  const meanShown = (measure, [mean, low, high], first) => {
    const ends = low == null ? "" : ` (${first ? "95\u00a0% interval " : ""}${words.interval(low, high)})`;
    return `${measure} ${words.decimals(mean)}${ends}`;
  };

  const About = ({ model, by, system }) => {
    const { name, family, depth } = model.systems[system];
    const board = model.board(by);
    const row = board.find((one) => one.system === system);
    return html`<p class="said">
      ${row &&
      html`Rank ${row.rank} of ${board.length} under <${LabelerLink} ...${{ model, labeler: by }} />${model.isAlone(by) &&
        "’s grades alone"}:
        ${" "}${row.means.map((mean, place) => meanShown(model.measures[place], mean, place === 0)).join(", ")}.
        ${row.letters?.length > 0 && ` ${row.letters.length > 1 ? "Groups" : "Group"} ${row.letters.join(", ")}.`}
        ${row.unjudged != null && ` Of its first ${FIRST} documents, ${words.percent(row.unjudged)} are unjudged.`}${" "}`}
      ${family && family !== name && html`It belongs to the family <${Name} text=${family} />. `}
      ${depth > 0 ? `Its first ${words.number(depth)} documents were pooled.` : "It did not contribute to the pool."}
    </p>`;
  };

  const Estimate = ({ model, system }) => {
    const found = model.estimates?.systems[system];
    if (!found) return null;
    const { measure, interval, statement } = model.estimates;
    return html`
      <p class="said">
        Estimated ${measure} under people’s grades: ${words.decimals(found[0])} (${interval} ${words.interval(...found.slice(1))}).
      </p>
      <p class="note">${words.visible(statement)}</p>
    `;
  };

  const Alone = ({ model, by, system }) => {
    const pairs = model.alonePairs(system);
    const relevant = by === null ? 0 : pairs.filter((pair) => model.grade(by, pair) > 0).length;
    const parameters = [["alone", model.systems[system].name], ["by", by === null ? null : model.labelers[by].name]];
    if (!pairs.length) return html`<p>Every pair that it brought into the pool came from another system, too.</p>`;
    return html`<p>
      It alone brought <a href=${routes.build("pairs", null, parameters)}>${words.counted(pairs.length, "pair")}</a> into
      the pool${by !== null &&
      html`, of which <${Name} text=${model.labelers[by].name} /> graded
        ${" "}<a href=${routes.build("pairs", null, [...parameters, ["relevant", "1"]])}>${words.number(relevant)} above 0</a>`}.
    </p>`;
  };

  const Outcome = ({ model, by, system, against, measure, found }) => {
    const name = (one) => html`<${Name} text=${model.systems[one].name} />`;
    if (!found.rows.length) return html`<p>No query has scores of both systems.</p>`;
    return html`<p class="said">
      ${name(system)} is ahead of ${name(against)} on ${words.number(found.ahead)} of
      ${" "}${words.counted(found.rows.length, "query")}, behind on ${words.number(found.behind)}, equal on ${words.number(found.equal)}; mean
      difference ${words.signed(found.mean)} ${measure} under <${LabelerLink} ...${{ model, labeler: by }} />.
    </p>`;
  };

  const Comparison = ({ model, by, system, against, measure, scores, measureName }) => {
    const found = useMemo(() => explorer.compare(scores[system], scores[against]), [scores, system, against]);
    const rows = useMemo(() => [...found.rows].sort((a, b) => b.difference - a.difference || a.query - b.query), [found]);
    const names = [system, against].map((one) => model.systems[one].name);
    const parameters = [...names.map((name) => ["system", name]), ["by", model.labelers[by].name]];
    if (measure > 0) parameters.push(["measure", measureName]);
    const linesOf = (row) => [
      `${words.start(names[0], 30)} ${words.decimals(row.score)}`,
      `${words.start(names[1], 30)} ${words.decimals(row.other)}`,
      `difference ${words.signed(row.difference)}`,
    ];
    const score = (place, key) => ({
      heading: html`<${Name} text=${names[place]} />`,
      number: true,
      sort: (row) => row[key],
      cell: (row) => words.decimals(row[key]),
    });
    const columns = [
      {
        heading: "Query",
        sort: (row) => row.query,
        cell: ({ query }) => html`<${QueryLink} ...${{ model, query, parameters }} />`,
      },
      score(0, "score"),
      score(1, "other"),
      { heading: "Difference", number: true, sort: (row) => row.difference, cell: (row) => words.signed(row.difference) },
    ];
    return html`
      <${Outcome} ...${{ model, by, system, against, found }} measure=${measureName} />
      ${rows.length > 0 &&
      html`
        <${explorer.Bars}
          ...${{ model, rows, linesOf }}
          axis=${`Difference in ${measureName}`}
          label="Differences by query, sorted; the table below lists them"
          hrefOf=${(row) => routes.build("query", model.queries[row.query].id, parameters)}
        />
        <p class="note">A bar is a query; press it for the rankings and passages of both systems.</p>
        <${explorer.Table} caption="Differences by query" noun="query" columns=${columns} rows=${rows} />
      `}
    `;
  };

  const unjudgedOf = (model, by, system, query, data) => {
    const first = model.first[query];
    const pooled = model.first[query + 1] - first;
    const shown = data.rankings[system].slice(0, FIRST);
    return { query, shown: shown.length, unjudged: shown.filter((doc) => doc >= pooled || "-!".includes(model.mark(by, first + doc))).length };
  };

  /** What is unjudged among the first ten documents by query. Rankings are in every query's file, so that they are
      read only when somebody asks. */
  const Unjudged = ({ model, source, by, system }) => {
    const [asked, ask] = explorer.useKept("unjudged", false);
    const [rows, setRows] = useState(null);
    const [fault, setFault] = useState(null);
    useEffect(() => {
      if (!asked) return undefined;
      let wanted = true;
      setRows(null);
      (async () => {
        const found = [];
        for (let query = 0; query < model.queries.length && wanted; query += AT_ONCE) {
          const some = [...model.queries.keys()].slice(query, query + AT_ONCE);
          const data = await Promise.all(some.map((one) => source.query(one)));
          found.push(...some.map((one, place) => unjudgedOf(model, by, system, one, data[place])));
        }
        if (wanted) setRows(found.sort((a, b) => b.unjudged - a.unjudged || a.query - b.query));
      })().catch((error) => wanted && setFault(error.message));
      return () => (wanted = false);
    }, [asked, by, system]);
    if (fault) return html`<p role="status">${fault}</p>`;
    if (!asked) return html`<p><button type="button" onClick=${() => ask(true)}>Count them by query</button></p>`;
    if (!rows) return html`<p role="status">Reading ${words.counted(model.queries.length, "query")} …</p>`;
    const parameters = [["system", model.systems[system].name], ["by", model.labelers[by].name], ["show", "unjudged"]];
    const columns = [
      { heading: "Query", sort: (row) => row.query, cell: ({ query }) => html`<${QueryLink} ...${{ model, query, parameters }} />` },
      { heading: "Unjudged", number: true, sort: (row) => row.unjudged, cell: (row) => words.number(row.unjudged) },
      { heading: "Of first", number: true, sort: (row) => row.shown, cell: (row) => words.number(row.shown) },
    ];
    const some = rows.filter((row) => row.unjudged > 0).length;
    return html`
      <p>${words.counted(some, "query")} of ${words.number(rows.length)} ${some === 1 ? "has" : "have"} unjudged documents among the first ${FIRST}.</p>
      <${explorer.Table} caption="Unjudged documents by query" noun="query" columns=${columns} rows=${rows} />
    `;
  };

  const System = ({ model, source, route, by, system, against, measure, scores }) => {
    const measureName = model.measures[measure];
    const others = [...model.systems.keys()].filter((other) => other !== system);
    return html`
      <p class="kicker">System</p>
      <h1 tabindex="-1"><${Name} text=${model.systems[system].name} /></h1>
      <${Estimate} ...${{ model, system }} />
      <${About} ...${{ model, by, system }} />
      <${Alone} ...${{ model, by, system }} />
      <section>
        <h2>Against another system</h2>
        <p class="choices">
          ${against !== null &&
          html`<${Choice}
            label="Against"
            options=${systemOptions(model, others)}
            value=${against}
            onChoose=${(chosen) => explorer.go(route.changed({ against: model.systems[chosen].name }))}
          />`}
          ${by !== null &&
          html`<${Choice}
            label="Under the grades of"
            options=${labelerOptions(model, model.boarded())}
            value=${by}
            onChoose=${(chosen) => explorer.go(route.changed({ by: model.labelers[chosen].name }))}
          />`}
          ${model.measures.length > 1 &&
          html`<${Choice}
            label="Measure"
            options=${model.measures.map((name, place) => [place, name])}
            value=${measure}
            onChoose=${(chosen) => explorer.go(route.changed({ measure: model.measures[chosen] }))}
          />`}
        </p>
        ${scores && against !== null
          ? html`<${Comparison} ...${{ model, by, system, against, measure, scores, measureName }} />
              <p>The other way round: <${SystemLink} model=${model} system=${against} parameters=${turned(model, by, system, route)} /></p>`
          : html`<p>There are no scores to compare.</p>`}
      </section>
      ${by !== null &&
      html`<section>
        <h2>Unjudged among the first ${FIRST}</h2>
        <${Unjudged} ...${{ model, source, by, system }} />
      </section>`}
    `;
  };

  const turned = (model, by, system, route) => [
    ["against", model.systems[system].name],
    ["by", model.labelers[by].name],
    ["measure", route.get("measure")],
  ];

  explorer.pages.set("system", async ({ model, source }, route) => {
    if (route.name === null) throw new explorer.Missing("The address names no system.");
    const system = systemNamed(model, route.name, null);
    const by = scoredBy(model, route.get("by"));
    const measure = measureNamed(model, route.get("measure"));
    const against = systemNamed(model, route.get("against"), nextOf(model, by, system));
    const scores = by === null ? null : await source.scores(by, measure);
    return {
      title: model.systems[system].name,
      trail: true,
      body: html`<${System} ...${{ model, source, route, by, system, against, measure, scores }} />`,
    };
  });
})();
