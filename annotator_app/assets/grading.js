// The grading page. The server draws (annotator_app/grading_view.py), this script puts the pieces in place, takes keys
// and presses, and sends one request for each. An answer that did not reach the database stays on the page and is sent
// again, as the same answer, until it did.
"use strict";
(() => {
  const SOONEST = 300; // milliseconds in which nobody can have read anything: an earlier press was meant for the last pair
  const RETRY = 2000;

  let desk = null; // the frame on the page
  let words = {};
  let clock = null;
  let shown = { stage: "begin", nonce: null, item: null, sha: null, since: 0 };
  let busy = false;

  const place = (name) => desk.querySelector(`.${name}`);
  const note = () => desk.querySelector("#note");
  const question = () => desk.querySelector("#question");

  // Time: gaps between signs of activity count up to ``idle`` seconds.

  class Clock {
    constructor(idle) {
      [this.idle, this.active, this.elapsed, this.last] = [idle, 0, 0, performance.now()];
    }
    mark() {
      const now = performance.now();
      const gap = Math.max((now - this.last) / 1000, 0);
      this.active += Math.min(gap, this.idle);
      this.elapsed += gap;
      this.last = now;
    }
  }
  const mark = () => clock?.mark();

  // Requests

  async function send(step, body) {
    const answer = await fetch(`/grading/${step}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...body, offset: -new Date().getTimezoneOffset() }),
    });
    return answer.status >= 500 ? null : answer.json();
  }

  // Sends until there is a response; says meanwhile that there is none, and what was chosen.
  async function ask(step, body, chosen = null) {
    if (busy) return;
    busy = true;
    try {
      for (;;) {
        const view = await send(step, body).catch(() => null);
        if (view) return show(view);
        waiting(chosen);
        body = { ...body, late: true };
        await new Promise((go) => setTimeout(go, RETRY));
      }
    } finally {
      busy = false;
    }
  }

  // What is shown

  function say(text, kind = "info") {
    const line = document.createElement("p");
    line.className = `notice ${kind}`;
    line.textContent = text;
    place("said").replaceChildren(line);
  }

  function waiting(chosen) {
    const box = document.createElement("div");
    box.className = "notice warning pending";
    const texts = chosen === null ? [words.unreachable] : [words.chosen.replace("{grade}", chosen), words.not_stored];
    for (const text of texts) {
      const line = document.createElement("p");
      line.textContent = text;
      box.append(line);
    }
    place("said").replaceChildren(box);
    stage("pending");
  }

  function stage(name) {
    desk.dataset.stage = name;
    for (const part of desk.querySelectorAll("[data-stages]")) part.hidden = !part.dataset.stages.split(" ").includes(name);
    for (const switched of desk.querySelectorAll("[data-do=highlight]"))
      switched.hidden ||= switched.dataset.value === place("bar").dataset.highlight;
  }

  function show(view) {
    if (view.frame) {
      desk.innerHTML = view.frame;
      desk = desk.firstElementChild;
      words = view.words;
      for (const kind of ["pointerdown", "wheel", "input"]) desk.addEventListener(kind, mark, { passive: true });
      desk.addEventListener("click", pressed);
      desk.idle = view.idle;
    }
    for (const [name, piece] of [["said", view.notice], ["where", view.where], ["feedback-place", view.feedback], ["answers", view.answers]])
      if (piece !== undefined && place(name)) place(name).innerHTML = piece;
    if (view.pair !== undefined) place("pair-place").innerHTML = view.pair;
    if (!place("bar")) return; // Streamlit drew the page again meanwhile: it is being opened
    if (view.stage === "signed-out" || view.stage === "fault") {
      for (const name of ["where", "feedback-place", "said"].slice(0, view.stage === "fault" ? 2 : 3))
        place(name).replaceChildren();
      if (view.stage === "fault") place("pair-place").replaceChildren();
      delete desk.dataset.item;
      shown = { stage: view.stage };
      return stage(view.stage);
    }
    if (view.asking) shown.asking = view.asking;
    if (!view.stage) return; // the answer was refused, and can be changed; or something else was asked for
    const another = view.pair !== undefined;
    shown = { ...shown, ...view, since: performance.now() };
    if (another) {
      note().value = "";
      open_note(false);
      open_question(false);
      forget_evidence();
      paint();
      document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    }
    clock = new Clock(desk.idle);
    stage(view.stage);
    if (view.stage === "end" && !view.undoable) desk.querySelector("[data-do=undo]").hidden = true;
    if (view.stage === "end") delete desk.dataset.item;
    else desk.dataset.item = view.nonce;
  }

  // Evidence: spans of the passage, in Unicode code points, as the server counts

  let spans = [];
  let sentence = -1; // the one that keys would mark, -1 while none is chosen
  let picked = null; // what is selected in the passage
  let untouched = null; // the passage without spans; as nodes, since HTML that is parsed twice loses line ends

  const passage = () => desk?.querySelector(".pair .passage");
  const points = (text) => [...text].length;
  const units = (text, count) => [...text].slice(0, count).join("").length;
  const atomic = (node) => node.nodeType === Node.ELEMENT_NODE && node.classList.contains("hidden-character");

  // The text nodes below ``node``, and the marks that each stand for one character.
  function* pieces(node) {
    for (const child of [...node.childNodes]) {
      if (child.nodeType === Node.TEXT_NODE || atomic(child)) yield child;
      else yield* pieces(child);
    }
  }
  const size = (piece) => (atomic(piece) ? 1 : points(piece.data));

  function offset(node, at) {
    const before = document.createRange();
    before.setStart(passage(), 0);
    before.setEnd(node, at);
    return [...pieces(before.cloneContents())].reduce((sum, piece) => sum + size(piece), 0);
  }

  function wrap(start, end, name, number) {
    let at = 0;
    for (const piece of pieces(passage())) {
      const length = size(piece);
      const [from, to] = [Math.max(start - at, 0), Math.min(end - at, length)];
      at += length;
      if (from >= to) continue;
      const mark = document.createElement("mark");
      mark.className = name;
      mark.dataset.span = number;
      let inside = piece;
      if (!atomic(piece)) {
        const [first, last] = [units(piece.data, from), units(piece.data, to)];
        inside = piece.splitText(first);
        inside.splitText(last - first);
      }
      inside.replaceWith(mark);
      mark.append(inside);
    }
  }

  function paint() {
    if (!passage()) return;
    passage().replaceChildren(...untouched.cloneNode(true).childNodes);
    spans.forEach(([start, end], number) => wrap(start, end, "evidence", number));
    if (sentence >= 0) {
      wrap(...shown.sentences[sentence], "sentence", sentence);
      passage().querySelector("mark.sentence")?.scrollIntoView({ block: "nearest" });
    }
    desk.querySelector("[data-do=evidence]")?.classList.toggle("primary", picked !== null || sentence >= 0);
  }

  function support(start, end) {
    const [within, apart] = [[[start, end]], []];
    for (const span of spans) (span[0] <= end && start <= span[1] ? within : apart).push(span);
    const merged = [Math.min(...within.map((span) => span[0])), Math.max(...within.map((span) => span[1]))];
    spans = [...apart, merged].sort((one, other) => one[0] - other[0]);
  }

  function toggle(number) {
    const [start, end] = shown.sentences[number];
    const known = spans.findIndex((span) => span[0] <= start && end <= span[1]);
    if (known >= 0) spans.splice(known, 1);
    else support(start, end);
  }

  function pick() {
    const selection = document.getSelection();
    const inside = passage()?.contains(selection.anchorNode) && passage().contains(selection.focusNode);
    if (!inside || shown.stage !== "ask" || shown.evidence === "off") return;
    const range = selection.getRangeAt(0);
    const found = [
      offset(range.startContainer, range.startOffset),
      offset(range.endContainer, range.endOffset),
    ];
    picked = found[0] < found[1] ? found : null;
    desk.querySelector("[data-do=evidence]").classList.toggle("primary", picked !== null || sentence >= 0);
  }
  document.addEventListener("selectionchange", pick);

  // A click on marked words takes the mark away; while sentences are marked, a click marks the one under it.
  function clicked(event) {
    if (picked || !passage()?.contains(event.target) || shown.stage !== "ask") return;
    const known = event.target.closest("mark.evidence");
    const under = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    if (sentence >= 0 && under && passage().contains(under.offsetNode)) {
      const at = offset(under.offsetNode, under.offset);
      const number = shown.sentences.findIndex(([start, end]) => start <= at && at <= end);
      if (number >= 0) toggle((sentence = number));
    } else if (known) spans.splice(Number(known.dataset.span), 1);
    else return;
    paint();
  }

  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  // Whether a key was for the sentences.
  function sentences(key) {
    if (sentence < 0 || shown.stage !== "ask") return false;
    if (key in steps) sentence = Math.min(Math.max(sentence + steps[key], 0), shown.sentences.length - 1);
    else if (key === " " || key === "Enter") toggle(sentence);
    else if (key === "Escape") sentence = -1;
    else return false;
    paint();
    return true;
  }

  function forget_evidence() {
    [spans, sentence, picked, untouched] = [[], -1, null, passage()?.cloneNode(true)];
  }

  function open_note(opened) {
    place("note").hidden = !opened;
    if (opened) note().focus();
  }

  function open_question(opened) {
    place("question").hidden = !opened;
    if (opened) question().focus();
    else question().value = "";
  }

  // What is pressed

  function early() {
    if (performance.now() - shown.since >= SOONEST) return false;
    say(words.too_quick);
    return true;
  }

  function answer(fields, chosen) {
    mark();
    const step = shown.stage === "reveal" ? "second" : "answer";
    const { item, sha, nonce } = shown;
    const times = { active: clock.active, elapsed: clock.elapsed };
    const evidence = fields.status === "skipped" ? [] : spans;
    return ask(step, { item, sha, nonce, note: note().value || null, evidence, ...times, ...fields }, chosen);
  }

  const acts = {
    grade: (value, text) => {
      if (early()) return;
      const lowest = desk.querySelector("[data-do=grade]").dataset.value;
      if (shown.evidence === "required" && !spans.length && value !== lowest) {
        acts.evidence();
        return say(words.evidence_needed);
      }
      answer({ status: "ok", relevance: Number(value) }, `${value} ${text}`);
    },
    evidence: () => {
      pick();
      if (picked) {
        support(...picked);
        picked = null;
        document.getSelection().removeAllRanges();
      } else {
        sentence = sentence < 0 && shown.sentences.length ? 0 : -1;
        if (sentence >= 0) say(words.evidence_keys);
      }
      paint();
    },
    more: () => place("bar").classList.toggle("unfolded"),
    later: (_, text) => early() || answer({ status: "skipped" }, text),
    cannot: () => {
      place("said").replaceChildren();
      shown.stage = shown.stage === "ask" ? "reasons" : "ask";
      stage(shown.stage);
    },
    because: (reason, text) => {
      if (reason === "other" && !note().value.trim()) {
        open_note(true);
        return say(words.note_needed);
      }
      return answer({ status: "unsure", reason }, text);
    },
    note: () => open_note(true),
    undo: () => ask("undo", { nonce: shown.nonce }),
    go_on: () => ask("next", {}),
    highlight: async (value) => {
      const on = value === "on";
      place("bar").dataset.highlight = value;
      stage(shown.stage);
      const { item, sha } = shown;
      const reply = await send("highlight", { on, item, sha }).catch(() => null);
      if (!reply?.drawn || shown.item !== item) return;
      place("pair-place").innerHTML = reply.drawn;
      untouched = passage().cloneNode(true);
      paint();
    },
    ask: () => open_question(true),
    send: async () => {
      const { item, sha, asking } = shown;
      const reply = await send("ask", { item, sha, text: question().value, nonce: asking }).catch(() => null);
      if (reply === null) return say(words.try_again, "warning");
      show(reply);
      if (reply.asking) open_question(false);
    },
    read: async (value) => {
      const reply = await send("read", { seen: Number(value) }).catch(() => null);
      if (reply) show(reply);
    },
    guide: () => guide().showModal(),
    "close-guide": () => guide().close(),
  };

  function pressed(event) {
    const button = event.target.closest("button[data-do]");
    if (!button) {
      event.target.closest(".query")?.classList.toggle("unfolded");
      return clicked(event);
    }
    if (busy && !button.dataset.do.includes("guide")) return;
    mark();
    acts[button.dataset.do](button.dataset.value, button.querySelector("span")?.textContent ?? "");
  }

  const writing = (target) =>
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

  document.addEventListener("keydown", (event) => {
    if (!desk?.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
    mark();
    if (guide()?.open) {
      if (event.key === "Escape" || (event.key === "?" && !writing(event.target))) guide().close();
      return;
    }
    if (writing(event.target)) return;
    const pressing = event.target.closest?.("button, a, summary") && [" ", "Enter"].includes(event.key);
    if (!pressing && sentences(event.key)) return event.preventDefault();
    if (event.repeat || event.key.length !== 1) return;
    const key = event.key.toLowerCase();
    // Those that are folded away on a small screen have their keys all the same.
    const button = [...desk.querySelectorAll(`button[data-key="${CSS.escape(key)}"]`)].find((one) => !one.closest("[hidden]"));
    if (!button) return;
    event.preventDefault();
    button.click();
  });

  // The guide

  const guide = () => desk?.querySelector("dialog.guide");
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  document.addEventListener("input", (event) => {
    if (!event.target.closest?.("dialog.guide")) return;
    const wanted = plain(event.target.value.trim());
    let found = 0;
    for (const block of guide().querySelectorAll(".guide-text :is(p, li, h1, h2, h3, h4, tr, pre, .shown)")) {
      const has = wanted !== "" && plain(block.textContent).includes(wanted);
      block.classList.toggle("hit", has);
      if (has && ++found === 1) block.scrollIntoView({ block: "center" });
    }
    const said = guide().querySelector(".found");
    said.textContent = wanted === "" ? "" : found ? String(found) : said.dataset.none;
  });

  // The place for all this comes and goes with Streamlit's page, perhaps while an answer is on its way.

  async function open() {
    while (busy) await new Promise((go) => setTimeout(go, 50));
    shown = { stage: "begin", since: 0 };
    await ask("open", {});
  }

  new MutationObserver(() => {
    const mount = document.querySelector("#grading");
    if (!mount || mount.firstElementChild) return;
    desk = document.createElement("div");
    desk.className = "opening";
    desk.innerHTML = '<div class="said"></div><div class="pair-place"></div>';
    mount.append(desk);
    words = JSON.parse(mount.dataset.words);
    open();
  }).observe(document, { childList: true, subtree: true });
})();
