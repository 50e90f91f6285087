"use strict";

// What several pages are made of. Texts reach the page as text nodes only.
(() => {
  const { html } = htmPreact;
  const { routes, words } = explorer;

  /** The name of somebody or something, which cannot act on the text around it. */
  const Name = ({ text }) => html`<bdi>${words.visible(text)}</bdi>`;

  const SystemLink = ({ model, system, parameters = [] }) =>
    html`<a href=${routes.build("system", model.systems[system].name, parameters)}
      ><${Name} text=${model.systems[system].name}
    /></a>`;

  const LabelerLink = ({ model, labeler }) =>
    html`<a href=${routes.build("labeler", model.labelers[labeler].name)}
      ><${Name} text=${model.labelers[labeler].name}
    /></a>`;

  /** A query's id and text, leading to its page. */
  const QueryLink = ({ model, query, parameters = [] }) => {
    const { id, text } = model.queries[query];
    return html`<a class="query" href=${routes.build("query", id, parameters)} dir="auto"
      ><span class="id"><${Name} text=${id} /></span> ${words.visible(text)}</a
    >`;
  };

  /** A choice among `options`, `[value, words]`; the chosen value is given to `onChoose`. */
  const Choice = ({ label, options, value, onChoose }) => html`
    <label class="choice">
      ${label}
      <select onChange=${(event) => onChoose(options[event.target.selectedIndex][0])}>
        ${options.map(
          ([option, shown], place) =>
            html`<option value=${place} selected=${option === value}>${words.start(shown, 60)}</option>`,
        )}
      </select>
    </label>
  `;

  const labelerOptions = (model, labelers) => labelers.map((labeler) => [labeler, model.labelers[labeler].name]);
  const systemOptions = (model, systems) => systems.map((system) => [system, model.systems[system].name]);

  const NO_GRADE = new Map([
    ["-", ["–", "no grade"]],
    ["!", ["!", "asked, but no grade"]],
    ["?", ["?", "hidden"]],
  ]);

  /** What is shown for a labeler's grade of a pair: a sign, its meaning and the strength of its tint. */
  const gradeShown = (model, labeler, pair) => {
    const grade = model.grade(labeler, pair);
    if (grade !== null)
      return { sign: words.grade(grade), meaning: model.gradeName(grade), level: model.level(grade) };
    const [sign, meaning] = NO_GRADE.get(model.mark(labeler, pair)) ?? NO_GRADE.get("-");
    return { sign, meaning, level: "none" };
  };

  /** A bar of a share's length, for the eye only: the number is written next to it. */
  const Bar = ({ share }) =>
    html`<span class="bar" aria-hidden="true"
      ><span style=${{ width: `${Math.max(0, Math.min(1, share ?? 0)) * 100}%` }}></span
    ></span>`;

  /** The labeler that `name` means, the default if there is no name; throws Missing if nobody is called that. */
  const labelerNamed = (model, name, otherwise) => {
    if (name === null) return otherwise;
    const found = model.labelerNumbers.get(name);
    if (found === undefined) throw new explorer.Missing(`There is no labeler ${quoted(name)} in this collection.`);
    return found;
  };

  const systemNamed = (model, name, otherwise) => {
    if (name === null) return otherwise;
    const found = model.systemNumbers.get(name);
    if (found === undefined) throw new explorer.Missing(`There is no system ${quoted(name)} in this collection.`);
    return found;
  };

  const queryNamed = (model, id) => {
    const found = model.queryNumbers.get(id);
    if (found === undefined) throw new explorer.Missing(`There is no query ${quoted(id ?? "")} in this collection.`);
    return found;
  };

  const quoted = (text) => `“${words.start(text, 80)}”`;

  /** The labeler whose grades are used where the address names none: the main one, or the first. */
  const usual = (model) => model.main ?? (model.labelers.length ? 0 : null);

  /** The labeler with a leaderboard that `name` means; without a name the usual one; null if there is none. */
  const scoredBy = (model, name) => {
    const boarded = model.boarded();
    const found = labelerNamed(model, name, usual(model));
    if (name !== null && found !== null && !boarded.includes(found))
      throw new explorer.Missing(`There are no scores under ${quoted(name)}.`);
    return boarded.includes(found) ? found : (boarded[0] ?? null);
  };

  /** The number of the measure that `name` means, the first without a name. */
  const measureNamed = (model, name) => {
    const found = name === null ? 0 : model.measures.indexOf(name);
    if (found < 0) throw new explorer.Missing(`The measure ${quoted(name)} is not in this collection.`);
    return found;
  };

  explorer.parts = {
    Name, SystemLink, LabelerLink, QueryLink, Choice, Bar,
    labelerOptions, systemOptions, gradeShown, labelerNamed, systemNamed, queryNamed, usual, scoredBy, measureNamed,
  };
})();
