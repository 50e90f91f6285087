"use strict";

(() => {
  const SAME = 1e-9;
  const LEVELS = 4;

  const numbers = (items, name) => new Map(items.map((item, place) => [name(item), place]));

  const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);

  /** Questions to the collection's data. Queries, systems, labelers and pairs are meant by their numbers. */
  class Model {
    constructor(data) {
      if (data.version !== 1) throw new Error("The data were written for another version of the explorer.");
      Object.assign(this, data);
      this.pairs = data.first[data.queries.length];
      this.queryNumbers = numbers(data.queries, (query) => query.id);
      this.systemNumbers = numbers(data.systems, (system) => system.name);
      this.labelerNumbers = numbers(data.labelers, (labeler) => labeler.name);
      this.queryOf = new Int32Array(this.pairs);
      for (let query = 0; query < data.queries.length; query++)
        this.queryOf.fill(query, data.first[query], data.first[query + 1]);
      this.hidden = new Set(data.hidden ?? []);
      this.places = new Int8Array(128).fill(-1);
      data.grades.forEach((_, place) => (this.places[place.toString(36).charCodeAt(0)] = place));
    }

    /** Whether the leaderboard under the labeler `by` rests on a judge alone, while people grade a sample. */
    isAlone(by) {
      return this.boards[by]?.alone ?? false;
    }

    /** "-": no label; "!": asked without a grade; "?": hidden; otherwise there is a grade. */
    mark(labeler, pair) {
      return this.labels[labeler][pair] ?? "-";
    }

    /** The grade as a number, or null. */
    grade(labeler, pair) {
      const place = this.places[this.labels[labeler].charCodeAt(pair)] ?? -1;
      return place < 0 ? null : this.grades[place][0];
    }

    gradeName(grade) {
      return this.grades.find(([value]) => value === grade)?.[1] ?? "";
    }

    /** How strongly a grade is tinted: 0 for grades that are not relevant, up to 4. */
    level(grade) {
      if (grade == null || grade <= 0) return 0;
      const positive = this.grades.filter(([value]) => value > 0);
      return Math.ceil((LEVELS * (positive.findIndex(([value]) => value === grade) + 1)) / positive.length);
    }

    /** The highest grade less the lowest; null unless two labelers graded the pair. */
    spread(pair) {
      let count = 0;
      let low = Infinity;
      let high = -Infinity;
      for (let labeler = 0; labeler < this.labelers.length; labeler++) {
        const grade = this.grade(labeler, pair);
        if (grade === null) continue;
        count++;
        low = Math.min(low, grade);
        high = Math.max(high, grade);
      }
      return count < 2 ? null : high - low;
    }

    /** The numbers of all pairs, or of a query's. */
    pairNumbers(query = null) {
      const first = query === null ? 0 : this.first[query];
      const last = query === null ? this.pairs : this.first[query + 1];
      return Array.from({ length: last - first }, (_, place) => first + place);
    }

    /** Counts of a query's pairs, those judged by the labeler `by`, and by how much labelers disagree. */
    summary(query, by) {
      const pairs = this.pairNumbers(query);
      const spreads = pairs.map((pair) => this.spread(pair)).filter((spread) => spread !== null);
      return {
        pairs: pairs.length,
        judged: by === null ? null : pairs.filter((pair) => this.grade(by, pair) !== null).length,
        disputed: spreads.filter((spread) => spread > 0).length,
        disagreement: mean(spreads),
        ungraded: pairs.filter((pair) => this.labelers.every((_, labeler) => "-!".includes(this.mark(labeler, pair))))
          .length,
      };
    }

    /** How often a labeler gave each grade, in the order of the scale, with their number and mean. */
    distribution(labeler) {
      const counts = this.grades.map(() => 0);
      for (let pair = 0; pair < this.pairs; pair++) {
        const place = this.places[this.labels[labeler].charCodeAt(pair)] ?? -1;
        if (place >= 0) counts[place]++;
      }
      const graded = counts.reduce((sum, count) => sum + count, 0);
      const total = counts.reduce((sum, count, place) => sum + count * this.grades[place][0], 0);
      return { counts, graded, mean: graded ? total / graded : null };
    }

    /** The pairs that both labelers graded: `[pair, grade of a, grade of b]`. */
    both(a, b, query = null) {
      const found = [];
      for (const pair of this.pairNumbers(query)) {
        const grades = [this.grade(a, pair), this.grade(b, pair)];
        if (!grades.includes(null)) found.push([pair, ...grades]);
      }
      return found;
    }

    /** The agreement of two labelers as it was computed, seen from `a`; undefined if it was not. */
    agreementOf(a, b) {
      const found = this.agreement.find((one) => (one.a === a && one.b === b) || (one.a === b && one.b === a));
      if (!found || found.a === a) return found;
      return { ...found, a, b, difference: found.difference == null ? null : -found.difference };
    }

    /** The systems' leaderboard under a labeler, best first; empty if there is none. */
    board(labeler) {
      return labeler === null ? [] : (this.boards[labeler]?.rows ?? []);
    }

    /** The labelers that have a leaderboard. */
    boarded() {
      return this.labelers.map((_, labeler) => labeler).filter((labeler) => this.boards[labeler]);
    }

    /** The pairs that only this system brought into the pool. */
    alonePairs(system) {
      return this.pairNumbers().filter((pair) => this.alone[pair] === system);
    }

    /** Per system: how many pairs it alone brought into the pool. */
    aloneCounts() {
      const counts = this.systems.map(() => 0);
      for (const system of this.alone) if (system >= 0) counts[system]++;
      return counts;
    }
  }

  /** Two systems' scores by query: who is ahead how often, and by how much; queries without scores do not count. */
  const compare = (mine, theirs) => {
    const rows = [];
    mine.forEach((score, query) => {
      if (score == null || theirs[query] == null) return;
      rows.push({ query, score, other: theirs[query], difference: score - theirs[query] });
    });
    return {
      rows,
      ahead: rows.filter((row) => row.difference > SAME).length,
      behind: rows.filter((row) => row.difference < -SAME).length,
      equal: rows.filter((row) => Math.abs(row.difference) <= SAME).length,
      mean: mean(rows.map((row) => row.difference)),
    };
  };

  /** A query's passages from its data: ranks by system (null where rankings are hidden), grades and details together. */
  const passagesOf = (model, query, data) => {
    const first = model.first[query];
    const withheld = model.pairNumbers(query).some((pair) => model.hidden.has(pair));
    const passages = Array.from({ length: model.first[query + 1] - first }, (_, place) => ({
      place,
      pair: first + place,
      doc: data.docs[place],
      text: data.texts?.[place],
      ranks: withheld ? null : [],
      details: [],
      spread: model.spread(first + place),
    }));
    data.rankings.forEach((ranking, system) =>
      ranking.forEach((doc, rank) => passages[doc]?.ranks?.push([system, rank + 1])),
    );
    for (const [place, labeler, detail] of data.details ?? []) passages[place]?.details.push([labeler, detail]);
    for (const passage of passages) passage.ranks?.sort((one, other) => one[1] - other[1] || one[0] - other[0]);
    return passages;
  };

  explorer.Model = Model;
  explorer.compare = compare;
  explorer.mean = mean;
  explorer.passagesOf = passagesOf;
})();
