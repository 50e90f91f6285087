// The page with a person's own labels. The server draws (annotator_app/own_labels_view.py), this script puts the pieces
// in place and sends changes, one after the other; one that did not reach the database stays on the page and is sent
// again, as the same change, until it did.
"use strict";
(() => {
  const { persist, writing, notice, mounted, scroll, ask_before_leaving, Clock, Evidence } = component;
  const TYPING = 250; // milliseconds after the last key until a search is sent

  let root = null;
  let words = {};
  let clock = null;
  let state = {}; // what is listed and opened; survives a reload
  let nonce = null; // of the next change of many labels
  let queue = Promise.resolve();
  let pending = 0; // changes that are not stored yet
  let lists = 0;
  let replacing = false;
  let kept = null; // under which name the state is kept: others may use this tab later

  const place = (name) => root.querySelector(`.${name}`);
  const rows = () => [...root.querySelectorAll(".row")];
  const cards = () => [...root.querySelectorAll("article")];
  const current = () => root.querySelector("article.current");
  const card_of = (slot) => cards().find((card) => card.dataset.slot === slot);
  const selected = () => cards().filter((card) => card.querySelector("header input:checked"));
  const dialog = () => root.querySelector("dialog.confirm");
  const listed = () => root.dataset.stage === "list";
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const counted = (key, count, grade = "") => fill(words[`${key}.${count === 1 ? "one" : "other"}`], { count, grade });

  // What is done after what was asked before is done; a change needs the label that the one before has written.
  const then = (work) => (queue = queue.then(work, work));
  const changing = (work) => {
    pending += 1;
    return then(() => work().finally(() => (pending -= 1)));
  };

  function say(where, text, kind = "warning") {
    const line = notice(text, kind);
    where.replaceChildren(line);
    line.scrollIntoView({ block: "nearest" });
  }

  // What survives a reload, for this person in this tab

  const keep = () => root.isConnected && sessionStorage.setItem(kept, JSON.stringify(state));
  function restore() {
    state = { filter: {}, start: 0, query: null, slot: null, row: null };
    try {
      state = { ...state, ...JSON.parse(sessionStorage.getItem(kept)) };
    } catch {
      sessionStorage.removeItem(kept);
    }
  }

  // What is shown

  const reading = (step, body) => persist(`/own-labels/${step}`, body, () => say(place("said"), words.unreachable));

  function stage(name) {
    root.dataset.stage = name;
    for (const part of root.querySelectorAll("[data-stages]")) part.hidden = part.dataset.stages !== name;
  }

  function show(view) {
    if (view.frame) {
      root.innerHTML = view.frame;
      root = root.firstElementChild;
      words = view.words;
      Object.assign(root, { idle: view.idle, required: view.required });
      listen();
    }
    place("said").innerHTML = view.notice ?? "";
    if (view.stage === "list") {
      stage("list");
      place("count").textContent = view.count;
      for (const name of ["rows", "pages"]) place(name).innerHTML = view[name];
      root.querySelector("[name=query]").innerHTML = view.queries;
      state = { ...state, start: view.start, query: null };
      place("cards").replaceChildren();
    } else if (view.stage === "query") {
      stage("query");
      nonce = view.nonce;
      state.query = view.query;
      place("head").innerHTML = view.head;
      place("cards").innerHTML = view.cards_of_query;
      cards().forEach(drawn);
      chosen();
      clock = new Clock(root.idle);
      const wanted = card_of(state.slot);
      if (wanted) go(wanted);
      else say(place("said"), words.passage_gone); // a key must not change another one
    } else if (view.pair) {
      root.querySelectorAll("[data-stages]").forEach((part) => (part.hidden = true));
      place("said").innerHTML = view.pair; // signed out
    }
    keep();
  }

  const filter = () => Object.fromEntries(new FormData(place("filters")));

  // Of several lists that are asked for while a person types, the last one is shown.
  async function list(start = 0) {
    Object.assign(state, { filter: filter(), start });
    const number = ++lists;
    const view = await reading("list", { filter: state.filter, start });
    if (number === lists && listed()) show(view);
  }

  // Shows a query's passages as they are now. What was begun and not stored, because the label had changed, is kept.
  async function redraw(query) {
    const view = await reading("query", { query, filter: state.filter, start: state.start });
    const [before, focused] = [cards(), document.activeElement];
    replacing = true;
    show(view);
    replacing = false;
    for (const was of before) {
      const card = card_of(was.dataset.slot);
      if (card && card !== was) carry(was, card, was.untouched, focused);
    }
  }

  const open = (query, slot) =>
    then(() => {
      state.slot = slot;
      return redraw(query);
    });

  const back = () =>
    then(async () => {
      show(await reading("list", { filter: state.filter, start: state.start }));
      (rows().find((row) => row.dataset.value === state.slot) ?? rows()[state.row ?? 0])?.focus();
    });

  // Cards

  function drawn(card) {
    card.answer = JSON.parse(card.dataset.answer);
    card.evidence = new Evidence(
      card.querySelector(".passage"),
      JSON.parse(card.dataset.sentences),
      card.answer?.evidence ?? [],
      () => card.querySelector("[data-do=evidence]")?.classList.toggle("primary", card.evidence?.choosing ?? false),
    );
    for (const button of card.querySelectorAll("[data-do=grade]"))
      if (Number(button.dataset.value) === card.answer?.relevance) button.classList.add("now");
    const note = card.querySelector("textarea");
    if (!note) return;
    note.value = card.answer?.note ?? "";
    card.untouched = snapshot(card);
  }

  function go(card, scrolled = true) {
    if (card !== current()) {
      current()?.classList.remove("current");
      card.classList.add("current");
      clock = new Clock(root.idle);
    }
    if (!selected().length) chosen();
    state.slot = card.dataset.slot;
    keep();
    card.focus({ preventScroll: true });
    if (!scrolled) return;
    const fits = card.offsetHeight < window.innerHeight - 200;
    card.scrollIntoView({ block: fits ? "nearest" : "start" });
  }

  // The bar: what many labels can be changed to, and what became of it.
  function chosen(said = "") {
    const count = selected().length;
    place("bar-said").innerHTML = said;
    place("bar").hidden = count === 0 && said === "";
    place("choices").hidden = count === 0;
    place("selected").textContent = counted("selected", count);
  }

  function select(card, on) {
    const box = card.querySelector("header input");
    if (box) box.checked = on;
  }

  // What the person has said of a card's passage so far, with what they changed in the note and the evidence.
  function draft(card) {
    const note = card.querySelector("textarea");
    const said = card.answer ?? { status: "ok", relevance: null, reason: null, note: null };
    // A note that was not touched is sent as it is stored: a field changes line ends.
    const written = unstored(card) ? note.value.trim() && note.value : said.note;
    return { ...said, note: written || null, evidence: card.evidence.spans };
  }

  const snapshot = (card) => ({
    note: card.querySelector("textarea").value,
    spans: JSON.stringify(card.evidence.spans),
  });
  const unstored = (card) => card.untouched !== undefined && snapshot(card).note !== card.untouched.note;
  const begun = (card) => card.untouched !== undefined && !same(snapshot(card), card.untouched);

  const text_of = (button) => button?.querySelector("span").textContent ?? "";
  const name_of = (card, value) => {
    const button = card.querySelector(`[data-do=grade][data-value="${CSS.escape(value)}"]`);
    const name = text_of(button);
    return name.startsWith(`${value} `) ? name : `${value} ${name}`;
  };

  // Changes

  // What was begun on a card since it was as in ``sent`` goes on on the one that replaces it.
  function carry(before, card, sent, focused) {
    const [was, note] = [before.querySelector("textarea"), card.querySelector("textarea")];
    if (!was || !note) return;
    const now = snapshot(before);
    if (now.note !== sent.note) note.value = now.note;
    card.querySelector(".note").hidden = focused !== was && !unstored(card);
    if (focused === was) {
      note.focus({ preventScroll: true });
      note.setSelectionRange(was.selectionStart, was.selectionEnd);
    }
    const of_this_text = before.dataset.sha === card.dataset.sha;
    if (of_this_text && (before.evidence.sentence >= 0 || now.spans !== sent.spans)) {
      Object.assign(card.evidence, { spans: before.evidence.spans, sentence: before.evidence.sentence });
      card.evidence.paint();
    }
    if (!before.querySelector(".reasons").hidden) acts.cannot(null, null, card);
  }

  // Puts new cards in the place of others; ``said`` is what is said in each, given the card before.
  function replace(found, said) {
    for (const [ref, markup] of Object.entries(found)) {
      const before = root.querySelector(`article[data-ref="${CSS.escape(ref)}"]`);
      if (!before) continue;
      const shell = document.createElement("template");
      shell.innerHTML = markup;
      const card = shell.content.firstElementChild;
      const [was_current, focused] = [before === current(), document.activeElement];
      replacing = true; // the field that goes with it is not left
      before.replaceWith(card);
      replacing = false;
      drawn(card);
      select(card, before.querySelector("header input:checked") !== null);
      if (was_current) {
        card.classList.add("current");
        clock = new Clock(root.idle);
        if (!dialog().open && !(writing(focused) && focused.isConnected)) card.focus({ preventScroll: true });
      }
      carry(before, card, before.sent, focused);
      card.former = before.answer;
      card.querySelector(".stored").hidden = false;
      card.querySelector(".stored span").textContent = said(before, card);
      card.querySelector("[data-do=undo]").hidden = !before.answer;
    }
    keep();
  }

  function waiting(where, name) {
    say(where, fill(words.chosen, { grade: name }));
    const line = document.createElement("p");
    line.textContent = words.not_stored;
    where.firstElementChild.append(line);
  }

  const times = () => {
    clock.mark();
    return { active: clock.active, elapsed: clock.elapsed };
  };

  // The card of the same passage, which is another one once it was changed. The one that was seen, for the server to
  // refuse if it is outdated, if there is none with the same text.
  const now_of = (seen) => {
    const card = card_of(seen.dataset.slot);
    return card?.dataset.sha === seen.dataset.sha ? card : seen;
  };

  // Sends what ``given`` says of a card's passage.
  function change(seen, given, name, said) {
    const [spent, { query }] = [times(), state];
    return changing(async () => {
      const card = now_of(seen);
      const answer = given(card);
      if (!answer) return;
      card.sent = snapshot(card);
      const { ref, sha, nonce } = card.dataset;
      const step = card.answer ? "change" : "grade";
      const body = { query, ref, sha, nonce, ...answer, ...spent };
      const where = card.querySelector(".card-said");
      const view = await persist(`/own-labels/${step}`, body, () => waiting(where, name));
      if (view.cards && !(ref in view.cards)) return card.isConnected && redraw(query);
      if (view.cards) replace(view.cards, said);
      else {
        where.innerHTML = view.notice ?? view.pair ?? "";
        where.scrollIntoView({ block: "nearest" });
      }
    });
  }

  const stored = (before, card) =>
    before.answer && before.dataset.name !== card.dataset.name
      ? fill(words.stored, { grade: card.dataset.name, was: before.dataset.name })
      : fill(words.stored_first, { grade: card.dataset.name });

  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  // A note or evidence that was changed is stored with the grade that is there; without one, with the first grade.
  function store_draft(card, said) {
    if (!card.answer) return;
    const given = (now) => (same(draft(now), now.answer) ? null : draft(now));
    change(card, given, card.dataset.name, () => said);
  }

  function answer(card, fields, name) {
    const said = card.querySelector(".card-said");
    const lowest = card.querySelector("[data-do=grade]").dataset.value;
    if (root.required && fields.status === "ok" && String(fields.relevance) !== lowest && !card.evidence.spans.length) {
      if (card.evidence.sentence < 0) card.evidence.press();
      return say(said, words.evidence_needed);
    }
    card.evidence.sentence = -1;
    card.evidence.paint();
    const given = { reason: null, relevance: null, ...fields };
    if (card.answer && same({ ...draft(card), ...given }, card.answer))
      return say(said, fill(words.same, { grade: name }));
    change(card, (now) => ({ ...draft(now), ...given }), name, stored);
  }

  function ask(value, button) {
    const grade = Number(value);
    const some = selected().filter((card) => card.answer.relevance !== grade);
    const name = name_of(selected()[0], value);
    if (!some.length) return say(place("bar-said"), fill(words.same, { grade: name }));
    dialog().querySelector("h2").textContent = counted("confirm", some.length, name);
    dialog().querySelector(".former").replaceChildren(
      ...some.map((card) => {
        const line = document.createElement("li");
        line.append(card.querySelector(".badge").cloneNode(true), card.querySelector(".passage").cloneNode(true));
        return line;
      }),
    );
    Object.assign(dialog(), { grade, name, seen: some });
    dialog().showModal();
    dialog().querySelector("[data-do=confirm]").focus(); // the list before it can be scrolled, so it would get the focus
  }

  function change_many() {
    const { grade, name, seen } = dialog();
    dialog().close();
    const [spent, { query }] = [times(), state];
    changing(async () => {
      const some = seen.map(now_of);
      for (const card of some) card.sent = snapshot(card);
      const labels = some.map((card) => [card.dataset.ref, card.dataset.sha]);
      const body = { query, labels, nonce, status: "ok", relevance: grade, ...spent };
      const view = await persist("/own-labels/change-many", body, () => waiting(place("bar-said"), name));
      if (!view.cards) return chosen(view.notice ?? view.pair);
      nonce = view.nonce;
      replace(view.cards, stored);
      selected().forEach((card) => select(card, false));
      chosen(" ");
      say(place("bar-said"), counted("changed", labels.length, name), "good");
    });
  }

  // What is pressed

  const acts = {
    open: (value, button) => {
      state.row = rows().indexOf(button);
      open(button.dataset.query, value);
    },
    page: async (value) => {
      await list(Number(value));
      rows()[0]?.focus();
    },
    clear: () => {
      place("filters").reset();
      root.querySelector("[name=query]").value = "";
      list();
    },
    back,
    reload: () => open(state.query, state.slot),
    grade: (value, button, card) => answer(card, { status: "ok", relevance: Number(value) }, name_of(card, value)),
    cannot: (_, button, card) => {
      const reasons = card.querySelector(".reasons");
      reasons.hidden = !reasons.hidden;
      reasons.previousElementSibling.hidden = !reasons.hidden;
      card.querySelector(".moves").hidden = !reasons.hidden;
    },
    because: (reason, button, card) => {
      if (reason === "other" && !draft(card).note) {
        acts.cannot(null, null, card);
        acts.note(null, null, card);
        return say(card.querySelector(".card-said"), words.note_needed);
      }
      acts.cannot(null, null, card);
      answer(card, { status: "unsure", reason }, text_of(button));
    },
    note: (_, button, card) => {
      card.querySelector(".note").hidden = false;
      card.querySelector("textarea").focus();
    },
    evidence: (_, button, card) => {
      const marking = card.evidence.press();
      if (marking) say(card.querySelector(".card-said"), words.evidence_keys);
      else store_draft(card, words.stored_evidence);
    },
    undo: (_, button, card) => change(card, (now) => now.former, card.dataset.name, stored),
    select_all: () => (cards().forEach((card) => select(card, true)), chosen()),
    unselect: () => (cards().forEach((card) => select(card, false)), chosen()),
    many: (value, button) => ask(value, button),
    confirm: change_many,
    cancel: () => dialog().close(),
  };

  function pressed(event) {
    const card = event.target.closest("article");
    const button = event.target.closest("button[data-do]");
    if (card && card !== current()) go(card, false);
    clock?.mark();
    event.target.closest(".head .query")?.classList.toggle("unfolded");
    if (button) acts[button.dataset.do](button.dataset.value, button, card);
    else if (event.target.matches("article header input")) chosen();
    else if (card?.evidence.sentence >= 0) card.evidence.click(event);
  }

  // The field of a note is left: for a grade of the same card, the note goes with it.
  function left(event) {
    const card = event.target.closest("article");
    if (replacing || !card || event.target.tagName !== "TEXTAREA") return;
    const to = event.relatedTarget?.closest?.("[data-do=grade], [data-do=because]");
    if (card.contains(to)) return;
    store_draft(card, words.stored_note);
    if (!unstored(card)) card.querySelector(".note").hidden = true;
  }

  function listen() {
    root.addEventListener("click", pressed);
    root.addEventListener("focusout", left);
    for (const kind of ["pointerdown", "wheel", "input"])
      root.addEventListener(kind, () => clock?.mark(), { passive: true });
    const filters = place("filters");
    for (const field of filters.elements) if (field.name in state.filter) field.value = state.filter[field.name];
    let typing = null;
    filters.addEventListener("input", (event) => {
      clearTimeout(typing);
      if (event.target.type === "search") typing = setTimeout(list, TYPING);
      else list();
    });
    filters.addEventListener("submit", (event) => {
      event.preventDefault();
      rows()[0]?.focus();
    });
  }

  // Moves the focus in a list by one, from its beginning if it is nowhere.
  function next(all, at, step) {
    const now = all.indexOf(at);
    return all[now < 0 ? 0 : Math.min(Math.max(now + step, 0), all.length - 1)];
  }

  const STEPS = { j: 1, k: -1 };
  const ROW_STEPS = { ...STEPS, ArrowDown: 1, ArrowUp: -1 };

  // Whether a key was one of the list's.
  function list_key(key, target) {
    if (key === "/") root.querySelector("[type=search]").focus();
    else if (key in ROW_STEPS) next(rows(), target.closest?.(".row"), ROW_STEPS[key])?.focus();
    else if (key === "ArrowLeft" || key === "ArrowRight")
      root.querySelector(`.pages [data-key="${key === "ArrowLeft" ? "←" : "→"}"]`)?.click();
    else return false;
    return true;
  }

  // Whether a key was one of the query's passages'.
  function query_key(key) {
    const card = current();
    if (card?.evidence.sentence >= 0 && card.evidence.key(key)) {
      if (card.evidence.sentence < 0) store_draft(card, words.stored_evidence);
      return true;
    }
    if (key in STEPS) {
      go(next(cards(), card, STEPS[key]));
      return true;
    }
    if (key === " " && card) {
      const box = card.querySelector("header input");
      if (box) {
        select(card, !box.checked);
        chosen();
      } else say(card.querySelector(".card-said"), words.cannot_select);
      return true;
    }
    const reasons = card?.querySelector(".reasons");
    const asked = reasons && !reasons.hidden;
    if (key === "Escape" && asked) acts.cannot(null, null, card);
    else if (key === "Escape") acts.unselect();
    const [bar, head] = [place("bar"), place("head")];
    const parts = selected().length && !asked ? [bar, card, head] : [card, head, bar];
    const buttons = parts.flatMap((part) =>
      part ? [...part.querySelectorAll(`button[data-key="${CSS.escape(key)}"]`)] : [],
    );
    const button = buttons.find((one) => !one.closest("[hidden]"));
    button?.click();
    return button !== undefined;
  }

  document.addEventListener("keydown", (event) => {
    if (!root?.isConnected || !root.dataset.stage || event.ctrlKey || event.metaKey || event.altKey) return;
    clock?.mark();
    if (dialog()?.open) return;
    if (writing(event.target) && event.target.type !== "checkbox") {
      if (event.key === "ArrowDown" && event.target.type === "search") rows()[0]?.focus();
      return;
    }
    if (event.target.closest?.("button, a") && [" ", "Enter"].includes(event.key)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (listed() ? list_key(key, event.target) : query_key(key)) event.preventDefault();
    else scroll(event);
  });

  document.addEventListener("selectionchange", () => {
    const card = root?.isConnected ? current() : null;
    if (card && card.querySelector("[data-do=evidence]")) card.evidence.pick();
  });

  ask_before_leaving(() => pending > 0 || (root?.isConnected && cards().some(begun)));

  // The place for all this may go while a change is on its way.
  mounted("#own-labels", (mount) => {
    root = document.createElement("div");
    root.innerHTML = '<div class="said"></div>';
    mount.append(root);
    words = JSON.parse(mount.dataset.words);
    kept = `own labels of ${mount.dataset.person}`;
    restore();
    then(async () => {
      const { filter, start, query } = state;
      show(await reading("open", { filter, start, query }));
    });
  });
})();
