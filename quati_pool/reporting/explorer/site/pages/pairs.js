"use strict";

(() => {
  const { html } = htmPreact;
  const { words } = explorer;
  const { Choice, Name, QueryLink } = explorer.parts;
  const { labelerNamed, labelerOptions, queryNamed, systemNamed, systemOptions, usual } = explorer.parts;
  const AT_ONCE = 20;

  const gradeNamed = (model, text) => {
    if (text === null) return null;
    const found = model.grades.find(([grade]) => String(grade) === text);
    if (!found) throw new explorer.Missing(`“${words.start(text, 20)}” is not a grade of this collection.`);
    return found[0];
  };

  /** What the address asks for, with numbers instead of names. */
  const wanted = (model, route) => {
    const query = route.get("query") === null ? null : queryNamed(model, route.get("query"));
    if (route.get("alone") !== null) {
      const by = labelerNamed(model, route.get("by"), usual(model));
      return { query, alone: systemNamed(model, route.get("alone")), by, relevant: by !== null && route.get("relevant") === "1" };
    }
    const a = labelerNamed(model, route.get("a"), usual(model));
    if (a === null) throw new explorer.Missing("Nobody graded pairs of this collection.");
    const given = route.get("a") !== null || route.get("b") !== null;
    // Who names nobody sees the main labeler with the first of the others.
    const other = given ? null : ([...model.labelers.keys()].find((labeler) => labeler !== a) ?? null);
    const b = labelerNamed(model, route.get("b"), other);
    return { query, a, b, gradeA: gradeNamed(model, route.get("grade_a")), gradeB: gradeNamed(model, route.get("grade_b")) };
  };

  /** The numbers of the pairs, the widest difference first where two labelers are compared. */
  const found = (model, wish) => {
    if (wish.alone !== undefined) {
      const pairs = model.pairNumbers(wish.query).filter((pair) => model.alone[pair] === wish.alone);
      return wish.relevant ? pairs.filter((pair) => model.grade(wish.by, pair) > 0) : pairs;
    }
    if (wish.b === null)
      return model.pairNumbers(wish.query).filter((pair) => {
        const grade = model.grade(wish.a, pair);
        return grade !== null && (wish.gradeA === null || grade === wish.gradeA);
      });
    return model
      .both(wish.a, wish.b, wish.query)
      .filter(([, one, other]) => (wish.gradeA ?? one) === one && (wish.gradeB ?? other) === other)
      .sort(([pair, a, b], [next, c, d]) => Math.abs(c - d) - Math.abs(a - b) || pair - next)
      .map(([pair]) => pair);
  };

  const Said = ({ model, wish, count }) => {
    const labeler = (number) => html`<${Name} text=${model.labelers[number].name} />`;
    const inQuery = wish.query !== null && html` of query <${Name} text=${model.queries[wish.query].id} />`;
    if (wish.alone !== undefined)
      return html`<p class="said">
        ${words.counted(count, "pair")}${inQuery}
        ${" "}that only <${Name} text=${model.systems[wish.alone].name} /> brought into the pool${wish.relevant &&
        html`, graded above 0 by ${labeler(wish.by)}`}.
      </p>`;
    const graded = (number, grade) => html`${grade !== null && `${words.grade(grade)} `}by ${labeler(number)}`;
    return html`<p class="said">
      ${words.counted(count, "pair")}${inQuery} graded ${graded(wish.a, wish.gradeA)}${wish.b !== null &&
      html` and ${graded(wish.b, wish.gradeB)}; the widest difference comes first`}.
    </p>`;
  };

  const ANY = [null, "any"];

  const Choices = ({ model, route, wish }) => {
    const change = (changes) => explorer.go(route.changed({ ...changes, n: null }));
    const labelers = labelerOptions(model, [...model.labelers.keys()]);
    const nameOf = (labeler) => (labeler === null ? null : model.labelers[labeler].name);
    const grades = [ANY, ...model.grades.map(([grade, name]) => [grade, `${words.grade(grade)} ${name}`])];
    const queries = [ANY, ...model.queries.map(({ id, text }, query) => [query, `${id} ${text}`])];
    const ofQuery = html`<${Choice}
      label="Query"
      options=${queries}
      value=${wish.query}
      onChoose=${(query) => change({ query: query === null ? null : model.queries[query].id })}
    />`;
    if (wish.alone !== undefined)
      return html`<p class="choices">
        <${Choice}
          label="Brought by"
          options=${systemOptions(model, [...model.systems.keys()])}
          value=${wish.alone}
          onChoose=${(system) => change({ alone: model.systems[system].name })}
        />
        ${wish.by !== null &&
        html`
          <${Choice} label="Grades of" options=${labelers} value=${wish.by} onChoose=${(by) => change({ by: nameOf(by) })} />
          <${Choice}
            label="Grade"
            options=${[[false, "any"], [true, "above 0"]]}
            value=${wish.relevant}
            onChoose=${(relevant) => change({ relevant: relevant ? "1" : null })}
          />
        `}
        ${ofQuery}
      </p>`;
    const a = model.labelers[wish.a].name;
    const b = nameOf(wish.b);
    return html`<p class="choices">
      <${Choice} label="Graded by" options=${labelers} value=${wish.a} onChoose=${(one) => change({ a: nameOf(one), b: one === wish.b ? null : b })} />
      <${Choice} label="as" options=${grades} value=${wish.gradeA} onChoose=${(grade) => change({ a, b, grade_a: grade })} />
      <${Choice}
        label="and by"
        options=${[[null, "anybody or nobody"], ...labelers.filter(([one]) => one !== wish.a)]}
        value=${wish.b}
        onChoose=${(other) => change({ a, b: nameOf(other), ...(other === null ? { grade_b: null } : {}) })}
      />
      ${wish.b !== null &&
      html`<${Choice} label="as" options=${grades} value=${wish.gradeB} onChoose=${(grade) => change({ a, b, grade_b: grade })} />`}
      ${ofQuery}
    </p>`;
  };

  const Pairs = ({ model, route, wish, pairs, passages }) => {
    const by = wish.alone === undefined ? wish.a : wish.by;
    const leading = (passage) => [
      ["by", by === null ? null : model.labelers[by].name],
      ["doc", passage.doc],
    ];
    return html`
      <h1 tabindex="-1">Pairs</h1>
      <${Said} ...${{ model, wish }} count=${pairs.length} />
      <${Choices} ...${{ model, route, wish }} />
      ${passages.map((passage) => {
        const query = model.queryOf[passage.pair];
        const link = html`<p class="of-query"><${QueryLink} ...${{ model, query }} parameters=${leading(passage)} /></p>`;
        return html`<${explorer.Passage} key=${passage.pair} ...${{ model, passage }} level=${2} lead=${link} />`;
      })}
      ${passages.length < pairs.length &&
      html`<p class="more">
        <button
          type="button"
          onClick=${() => explorer.go(route.changed({ n: passages.length + AT_ONCE }), { replace: true })}
        >
          Show ${words.number(Math.min(AT_ONCE, pairs.length - passages.length))} more
        </button>
        <span class="quiet"> ${words.number(passages.length)} of ${words.number(pairs.length)}</span>
      </p>`}
    `;
  };

  const passagesFor = async (model, source, pairs) => {
    const queries = Array.from(new Set(pairs.map((pair) => model.queryOf[pair])));
    const loaded = await Promise.all(
      queries.map(async (query) => [query, explorer.passagesOf(model, query, await source.query(query))]),
    );
    const passages = new Map(loaded);
    return pairs.map((pair) => passages.get(model.queryOf[pair])[pair - model.first[model.queryOf[pair]]]);
  };

  explorer.pages.set("pairs", async ({ model, source }, route) => {
    const wish = wanted(model, route);
    const pairs = found(model, wish);
    const asked = Number(route.get("n") ?? AT_ONCE);
    const shown = pairs.slice(0, Number.isInteger(asked) && asked > 0 ? asked : AT_ONCE);
    const passages = await passagesFor(model, source, shown);
    return {
      title: "Pairs",
      trail: true,
      body: html`<${Pairs} ...${{ model, route, wish, pairs, passages }} />`,
    };
  });
})();
