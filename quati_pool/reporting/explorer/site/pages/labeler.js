"use strict";

(() => {
  const { html, useMemo } = htmPreact;
  const { routes, words } = explorer;
  const { Bar, Choice, LabelerLink, Name, QueryLink } = explorer.parts;
  const { labelerNamed, labelerOptions } = explorer.parts;

  /** The main labeler, or the first with whom there is a pair in common; null if there is none. */
  const otherOf = (model, labeler) => {
    const others = [model.main, ...model.labelers.keys()].filter((other) => other !== null && other !== labeler);
    return others.find((other) => model.both(labeler, other).length > 0) ?? others[0] ?? null;
  };

  const About = ({ model, labeler, distribution }) => {
    const { kind, members } = model.labelers[labeler];
    const hidden = Array.from(model.labels[labeler]).filter((mark) => mark === "?").length;
    return html`<p class="said">
      <${Name} text=${model.labelers[labeler].name} /> graded ${words.number(distribution.graded)} of
      ${" "}${words.counted(model.pairs, "pair")}${distribution.mean !== null &&
      `; the mean grade is ${words.decimals(distribution.mean, 2)}`}.
      ${hidden > 0 && ` The grades of ${words.counted(hidden, "pair")} are hidden.`}
      ${" "}Kind: ${words.kind(kind)}${members?.length > 0 &&
      html` of ${members.map((member, place) => html`${place ? ", " : ""}<${LabelerLink} ...${{ model, labeler: member }} />`)}`}.
    </p>`;
  };

  const Distribution = ({ model, labeler, distribution }) => {
    const most = Math.max(...distribution.counts, 1);
    return html`<div class="scroll">
      <table>
        <caption>Grades given</caption>
        <thead>
          <tr><th scope="col">Grade</th><th scope="col" class="number">Pairs</th><th scope="col" class="number">Share</th><th></th></tr>
        </thead>
        <tbody>
          ${model.grades.map(([grade, name], place) => {
            const count = distribution.counts[place];
            const href = routes.build("pairs", null, [["a", model.labelers[labeler].name], ["grade_a", grade]]);
            return html`<tr>
              <th scope="row">${words.grade(grade)} <${Name} text=${name} /></th>
              <td class="number">${count ? html`<a href=${href}>${words.number(count)}</a>` : "0"}</td>
              <td class="number">${words.percent(distribution.graded ? count / distribution.graded : null)}</td>
              <td><${Bar} share=${count / most} /></td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>`;
  };

  const Confusion = ({ model, a, b, both }) => {
    const counts = model.grades.map(() => model.grades.map(() => 0));
    const placeOf = new Map(model.grades.map(([grade], place) => [grade, place]));
    for (const [, one, other] of both) counts[placeOf.get(one)][placeOf.get(other)]++;
    const most = Math.max(...counts.flat(), 1);
    const names = [a, b].map((labeler) => model.labelers[labeler].name);
    const href = (one, other) =>
      routes.build("pairs", null, [["a", names[0]], ["b", names[1]], ["grade_a", one], ["grade_b", other]]);
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Grades of both">
      <table class="confusion">
        <caption>Pairs by grade of <${Name} text=${names[0]} /> (rows) and <${Name} text=${names[1]} /> (columns)</caption>
        <thead>
          <tr>
            <th></th>
            ${model.grades.map(([grade, name]) => html`<th scope="col" class="number" title=${words.visible(name)}>${words.grade(grade)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${model.grades.map(
            ([one, name], row) => html`<tr>
              <th scope="row">${words.grade(one)} <${Name} text=${name} /></th>
              ${model.grades.map(([other], column) => {
                const count = counts[row][column];
                const level = count ? Math.ceil((4 * count) / most) : 0;
                return html`<td class="number" data-level=${level} data-equal=${row === column ? "yes" : null}>
                  ${count ? html`<a href=${href(one, other)}>${words.number(count)}</a>` : "0"}
                </td>`;
              })}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  };

  /** By query: how many pairs both graded, the share of equal grades, and the mean difference. */
  const byQuery = (model, both) => {
    const found = new Map();
    for (const [pair, one, other] of both) {
      const query = model.queryOf[pair];
      if (!found.has(query)) found.set(query, []);
      found.get(query).push(one - other);
    }
    return Array.from(found, ([query, differences]) => ({
      query,
      pairs: differences.length,
      same: differences.filter((difference) => difference === 0).length / differences.length,
      difference: explorer.mean(differences),
    })).sort((one, other) => other.difference - one.difference || one.query - other.query);
  };

  const Outcome = ({ model, a, b, both }) => {
    const name = (labeler) => html`<${Name} text=${model.labelers[labeler].name} />`;
    if (!both.length) return html`<p class="said">${name(a)} and ${name(b)} graded no pair in common.</p>`;
    const equal = both.filter(([, one, other]) => one === other).length;
    const higher = both.filter(([, one, other]) => one > other).length;
    const difference = explorer.mean(both.map(([, one, other]) => one - other));
    const agreement = model.agreementOf(a, b);
    return html`<p class="said">
      ${name(a)} and ${name(b)} give the same grade to ${words.number(equal)} of the ${words.counted(both.length, "pair")} that
      both graded (${words.percent(equal / both.length)}); ${name(a)} grades ${words.number(higher)} higher and
      ${" "}${words.number(both.length - equal - higher)} lower. The mean difference is ${words.signed(difference, 2)}
      ${agreement?.kappa != null &&
      html`; Cohen’s κ${agreement.weighted && ", weighted by how the pairs were drawn,"} is ${words.decimals(agreement.kappa)}${agreement.low != null && ` (95 % interval ${words.interval(agreement.low, agreement.high)})`}`}.
    </p>`;
  };

  const Comparison = ({ model, a, b }) => {
    const both = useMemo(() => model.both(a, b), [a, b]);
    const rows = useMemo(() => byQuery(model, both), [both]);
    const names = [a, b].map((labeler) => model.labelers[labeler].name);
    const parameters = [["by", names[0]], ["show", "disputed"]];
    const pairsOf = (query) => routes.build("pairs", null, [["a", names[0]], ["b", names[1]], ["query", model.queries[query].id]]);
    const linesOf = (row) => [
      `mean difference ${words.signed(row.difference, 2)}`,
      `${words.percent(row.same)} of ${words.counted(row.pairs, "pair")} equal`,
    ];
    const columns = [
      { heading: "Query", sort: (row) => row.query, cell: ({ query }) => html`<${QueryLink} ...${{ model, query, parameters }} />` },
      { heading: "Pairs of both", number: true, sort: (row) => row.pairs, cell: (row) => html`<a href=${pairsOf(row.query)}>${words.number(row.pairs)}</a>` },
      { heading: "Equal grades", number: true, sort: (row) => row.same, cell: (row) => words.percent(row.same) },
      { heading: "Mean difference", number: true, sort: (row) => row.difference, cell: (row) => words.signed(row.difference, 2) },
    ];
    return html`
      <${Outcome} ...${{ model, a, b, both }} />
      ${both.length > 0 &&
      html`
        <p><a href=${routes.build("pairs", null, [["a", names[0]], ["b", names[1]]])}>The pairs on which they differ most</a></p>
        <${Confusion} ...${{ model, a, b, both }} />
        <h3>By query</h3>
        <${explorer.Bars}
          ...${{ model, rows, linesOf }}
          axis="Mean difference"
          label="Mean differences by query, sorted; the table below lists them"
          hrefOf=${(row) => pairsOf(row.query)}
        />
        <p class="note">
          A bar is a query: above 0 <${Name} text=${names[0]} /> gives the higher grades, below 0 <${Name} text=${names[1]} />. Press it for
          the pairs.
        </p>
        <${explorer.Table} caption="Agreement by query" noun="query" columns=${columns} rows=${rows} />
      `}
    `;
  };

  const Labeler = ({ model, route, labeler, against }) => {
    const distribution = useMemo(() => model.distribution(labeler), []);
    const others = [...model.labelers.keys()].filter((other) => other !== labeler);
    return html`
      <p class="kicker">Labeler</p>
      <h1 tabindex="-1"><${Name} text=${model.labelers[labeler].name} /></h1>
      <${About} ...${{ model, labeler, distribution }} />
      <${Distribution} ...${{ model, labeler, distribution }} />
      <${explorer.Audit} ...${{ model, labeler }} />
      ${against !== null &&
      html`<section>
        <h2>Against another labeler</h2>
        <p class="choices">
          <${Choice}
            label="Against"
            options=${labelerOptions(model, others)}
            value=${against}
            onChoose=${(chosen) => explorer.go(route.changed({ against: model.labelers[chosen].name }))}
          />
        </p>
        <${Comparison} key=${against} ...${{ model, a: labeler, b: against }} />
      </section>`}
    `;
  };

  explorer.pages.set("labeler", async ({ model }, route) => {
    if (route.name === null) throw new explorer.Missing("The address names no labeler.");
    const labeler = labelerNamed(model, route.name, null);
    const against = labelerNamed(model, route.get("against"), otherOf(model, labeler));
    return {
      title: model.labelers[labeler].name,
      trail: true,
      body: html`<${Labeler} ...${{ model, route, labeler, against }} />`,
    };
  });
})();
