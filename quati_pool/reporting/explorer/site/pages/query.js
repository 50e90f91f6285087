"use strict";

(() => {
  const { html, useMemo } = htmPreact;
  const { routes, words } = explorer;
  const { Choice, Name } = explorer.parts;
  const { labelerNamed, labelerOptions, measureNamed, queryNamed, systemNamed, usual } = explorer.parts;
  const DEPTHS = [5, 10, 20, 50, 100, 200, 500, 1000];
  const FIRST = 10;

  const SHOWN = [
    ["all", "All", () => true],
    ["judged", "Judged", (model, by, { pair }) => by !== null && model.grade(by, pair) !== null],
    ["disputed", "Disputed", (model, by, { spread }) => spread > 0],
    ["unjudged", "Unjudged", (model, by, { pair }) => by === null || "-!".includes(model.mark(by, pair))],
    ["alone", "By one system alone", (model, by, { pair }) => model.alone[pair] >= 0],
  ];

  const ORDERS = new Map([
    ["rank", { words: "best rank", key: ({ ranks }) => -(ranks?.[0]?.[1] ?? Infinity) }],
    ["grade", { words: "grade", key: ({ pair }, model, by) => (by === null ? null : model.grade(by, pair)) ?? -Infinity }],
    ["disagreement", { words: "disagreement", key: ({ spread }) => spread ?? -1 }],
  ]);

  const ordered = (passages, order, model, by) => {
    const key = (ORDERS.get(order) ?? ORDERS.get("rank")).key;
    const keyed = passages.map((passage) => [key(passage, model, by), passage]);
    keyed.sort(([one, a], [other, b]) => (one === other ? a.place - b.place : other > one ? 1 : -1));
    return keyed.map(([, passage]) => passage);
  };

  const relevantAmong = (model, by, query, ranking) => {
    const first = model.first[query];
    const pooled = model.first[query + 1] - first;
    return ranking.slice(0, FIRST).filter((doc) => doc < pooled && model.grade(by, first + doc) > 0).length;
  };

  /** Two systems compared in words: their scores and how many relevant documents are among their first ten. */
  const Between = ({ model, query, data, by, scores, measure, systems: [one, other] }) => {
    const name = (system) => html`<${Name} text=${model.systems[system].name} />`;
    const [mine, theirs] = [scores?.[one], scores?.[other]];
    const found = by === null ? [] : [one, other].map((system) => relevantAmong(model, by, query, data.rankings[system]));
    return html`
      ${mine != null &&
      theirs != null &&
      html`${name(one)} scores ${words.decimals(mine)}, ${name(other)} ${words.decimals(theirs)}: a difference of
        ${" "}${words.signed(mine - theirs)} ${measure}. `}
      ${found.length > 0 &&
      html`Among its first ${FIRST} documents, ${name(one)} has ${found[0]} graded above 0, ${name(other)} ${found[1]}.`}
    `;
  };

  const Best = ({ model, scores, measure }) => {
    const known = (scores ?? []).map((score, system) => [score, system]).filter(([score]) => score != null);
    if (!known.length) return null;
    const best = Math.max(...known.map(([score]) => score));
    const leading = known.filter(([score]) => score === best);
    if (leading.length > 1) return html`${words.counted(leading.length, "system")} score highest, ${words.decimals(best)} ${measure}.`;
    return html`<${Name} text=${model.systems[leading[0][1]].name} /> scores highest, ${words.decimals(best)} ${measure}.`;
  };

  const Said = (properties) => {
    const { model, query, by, pinned, passages } = properties;
    const summary = model.summary(query, by);
    const hidden = by === null ? 0 : passages.filter(({ pair }) => model.mark(by, pair) === "?").length;
    return html`<p class="said">
      ${words.counted(summary.pairs, "passage")} in the pool
      ${by !== null && html`, ${words.number(summary.judged)} graded by <${Name} text=${model.labelers[by].name} />`},
      ${" "}${words.number(summary.disputed)} disputed${hidden > 0 && `, ${words.number(hidden)} hidden`}.
      ${" "}${pinned.length >= 2
        ? html`<${Between} ...${properties} systems=${pinned} />`
        : html`<${Best} ...${properties} />`}
    </p>`;
  };

  const Filters = ({ route, counts, shown }) => html`<nav class="filters" aria-label="Passages shown">
    ${SHOWN.map(
      ([key, label]) =>
        html`<a
          href=${route.changed({ show: key === "all" ? null : key, doc: null })}
          aria-current=${key === shown ? "true" : null}
          >${label} <b>${words.number(counts.get(key))}</b></a
        >`,
    )}
  </nav>`;

  const ScopeLink = ({ model, route, pinned, only }) => {
    if (!pinned.length) return null;
    const few = `Only ${pinned.length === 1 ? "this system" : `these ${pinned.length} systems`}`;
    return only
      ? html`<a href=${route.changed({ only: null, doc: null })}>All ${words.counted(model.systems.length, "system")}</a>`
      : html`<a href=${route.changed({ only: "1", doc: null })}>${few}</a>`;
  };

  const Grades = ({ model, route, by, measure, scored, depth, pinned, only }) => {
    const depths = [...DEPTHS.filter((one) => one < model.depth), model.depth];
    return html`<p class="choices">
      ${by !== null &&
      html`<${Choice}
        label="Grades of"
        options=${labelerOptions(model, model.labelers.map((_, labeler) => labeler))}
        value=${by}
        onChoose=${(chosen) => explorer.go(route.changed({ by: model.labelers[chosen].name, doc: null }))}
      />`}
      ${scored &&
      model.measures.length > 1 &&
      html`<${Choice}
        label="Measure"
        options=${model.measures.map((name, place) => [place, name])}
        value=${measure}
        onChoose=${(chosen) => explorer.go(route.changed({ measure: model.measures[chosen], doc: null }))}
      />`}
      <${Choice}
        label="Depth"
        options=${depths.map((one) => [one, String(one)])}
        value=${depth}
        onChoose=${(chosen) => explorer.go(route.changed({ depth: chosen, doc: null }))}
      />
      <${ScopeLink} ...${{ model, route, pinned, only }} />
    </p>`;
  };

  /** The systems in the order of their columns: those named in the address, then by the leaderboard. */
  const columnsOf = (model, by, pinned, only) => {
    const rest = only ? [] : [...model.board(by).map((row) => row.system), ...model.systems.map((_, system) => system)];
    return Array.from(new Set([...pinned, ...rest]));
  };

  const depthOf = (model, route) => {
    const asked = Number(route.get("depth") ?? FIRST);
    return Math.min(model.depth, Number.isInteger(asked) && asked > 0 ? asked : FIRST);
  };

  const Passages = ({ model, route, by, passages, target }) => {
    const shown = SHOWN.some(([key]) => key === route.get("show")) ? route.get("show") : "all";
    const order = ORDERS.has(route.get("order")) ? route.get("order") : "rank";
    const counts = new Map(SHOWN.map(([key, , keeps]) => [key, passages.filter((one) => keeps(model, by, one)).length]));
    const keeps = SHOWN.find(([key]) => key === shown)[2];
    // Whoever comes for a passage finds it, whatever is shown.
    const kept = passages.filter((one) => one.pair === target || keeps(model, by, one));
    return html`<section>
      <h2>Passages</h2>
      <div class="choices">
        <${Filters} ...${{ route, counts, shown }} />
        <${Choice}
          label="Order by"
          options=${Array.from(ORDERS, ([key, one]) => [key, one.words])}
          value=${order}
          onChoose=${(chosen) => explorer.go(route.changed({ order: chosen, doc: null }))}
        />
      </div>
      ${kept.length === 0 && html`<p>No passage of this query is ${shown === "alone" ? "here because of one system alone" : shown}.</p>`}
      ${ordered(kept, order, model, by).map(
        (passage) =>
          html`<${explorer.Passage} key=${passage.pair} ...${{ model, passage }} marked=${passage.pair === target} />`,
      )}
    </section>`;
  };

  const Query = (properties) => {
    const { model, query, data, route, by, measure, scores, pinned, target } = properties;
    const { id, text, narrative } = model.queries[query];
    const passages = useMemo(() => explorer.passagesOf(model, query, data), [data]);
    const only = pinned.length > 0 && route.get("only") === "1";
    const depth = depthOf(model, route);
    const labelerName = by === null ? null : model.labelers[by].name;
    const parameters = [["by", labelerName], ...pinned.slice(0, 1).map((system) => ["against", model.systems[system].name])];
    const doc = route.get("doc");
    const awaiting = passages.filter(({ pair }) => model.hidden.has(pair)).length;
    const compared = awaiting ? { pinned: [], scores: null } : { pinned, scores };
    return html`
      <p class="kicker">Query <${Name} text=${id} /></p>
      <h1 tabindex="-1" dir="auto">${words.visible(text)}</h1>
      ${narrative && html`<p class="subtitle" dir="auto">${words.visible(narrative)}</p>`}
      <${Said} ...${properties} ...${{ passages }} ...${compared} measure=${model.measures[measure]} />
      ${doc !== null &&
      target === null &&
      html`<p role="status">The document <${Name} text=${doc} /> is not in the pool of this query.</p>`}
      <section>
        <h2>Rankings</h2>
        <${Grades} ...${{ model, route, by, measure, depth, pinned, only }} scored=${scores !== null} />
        ${awaiting > 0
          ? html`<p class="withheld">
              The rankings are hidden while ${words.counted(awaiting, "passage")}
              ${" "}${awaiting === 1 ? "awaits" : "await"} a decision.
            </p>`
          : html`<${explorer.Rankings}
                ...${{ model, query, data, by, depth, scores, parameters }}
                measure=${model.measures[measure]}
                systems=${columnsOf(model, by, pinned, only)}
                hrefOf=${(docId) => route.changed({ doc: docId })}
              />
              <p class="note">
                A number is the grade ${by !== null && html`by <${Name} text=${labelerName} />`}; – no grade, ! asked
                without a grade, ○ not in the pool. Below a system is its score on this query.
              </p>`}
      </section>
      <${Passages} ...${{ model, route, by, passages, target }} />
    `;
  };

  /** The scores of all systems on the query, or null if there are none under this labeler. */
  const scoresOn = async (model, source, query, by, measure) => {
    if (by === null || !model.boards[by]) return null;
    const scores = await source.scores(by, measure);
    return scores.map((byQuery) => byQuery[query]);
  };

  const neighbour = (model, query, route) => {
    const found = model.queries[query];
    const kept = ["by", "measure", "depth", "show", "order", "only"].map((key) => [key, route.get(key)]);
    return found && routes.build("query", found.id, [...kept, ...route.all("system").map((name) => ["system", name])]);
  };

  explorer.pages.set("query", async ({ model, source }, route) => {
    const query = queryNamed(model, route.name);
    const by = labelerNamed(model, route.get("by"), usual(model));
    const measure = measureNamed(model, route.get("measure"));
    const pinned = Array.from(new Set(route.all("system").map((name) => systemNamed(model, name, null))));
    const [data, scores] = await Promise.all([source.query(query), scoresOn(model, source, query, by, measure)]);
    const pooled = model.first[query + 1] - model.first[query];
    const place = route.get("doc") === null ? -1 : data.docs.indexOf(route.get("doc"));
    const target = place >= 0 && place < pooled ? model.first[query] + place : null;
    const keys = { previous: neighbour(model, query - 1, route), next: neighbour(model, query + 1, route) };
    return {
      title: words.start(model.queries[query].text, 80),
      keys,
      trail: html`
        <span>Query ${query + 1} of ${words.number(model.queries.length)}</span>
        ${keys.previous && html`<a rel="prev" href=${keys.previous}>Previous</a>`}
        ${keys.next && html`<a rel="next" href=${keys.next}>Next</a>`}
      `,
      body: html`<${Query} ...${{ model, query, data, route, by, measure, scores, pinned, target }} />`,
      landing: () => target !== null && explorer.toPassage(target),
    };
  });
})();
