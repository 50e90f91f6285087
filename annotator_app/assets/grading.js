// The grading page. The server draws (annotator_app/grading_view.py), this script puts the pieces in place, takes keys
// and presses, and sends one request for each. An answer that did not reach the database stays on the page and is sent
// again, as the same answer, until it did.
"use strict";
(() => {
  const SOONEST = 300; // milliseconds in which nobody can have read anything: an earlier press was meant for the last pair
  const { send: request, persist, writing, notice, button_of, mounted, scroll, touch, Clock, Guide, Evidence } = component;

  let desk = null; // the frame on the page
  let words = {};
  let clock = null;
  let guide = null;
  let shown = { stage: "begin", nonce: null, item: null, sha: null, since: 0 };
  let busy = false;

  const place = (name) => desk.querySelector(`.${name}`);
  const note = () => desk.querySelector("#note");
  const question = () => desk.querySelector("#question");

  const mark = () => clock?.mark();

  // Requests

  const send = (step, body) => request(`/grading/${step}`, body);

  // Sends until there is a response; says meanwhile that there is none, and what was chosen.
  async function ask(step, body, chosen = null) {
    if (busy) return;
    busy = true;
    try {
      show(await persist(`/grading/${step}`, body, () => waiting(chosen)), "status" in body);
    } finally {
      busy = false;
    }
  }

  // What is shown

  const say = (text, kind) => place("said").replaceChildren(notice(text, kind));

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

  // Shows a response; ``answered`` says whether it is one to an answer.
  function show(view, answered = false) {
    if (view.frame) {
      desk.innerHTML = view.frame;
      desk = desk.firstElementChild;
      words = view.words;
      for (const kind of ["pointerdown", "wheel", "input"]) desk.addEventListener(kind, mark, { passive: true });
      desk.addEventListener("click", pressed);
      desk.addEventListener("input", keep);
      guide = new Guide(desk);
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
      evidence = null;
      return stage(view.stage);
    }
    if (view.asking) shown.asking = view.asking;
    if (!view.stage) {
      // The answer was refused, and can be changed; or something else was asked for.
      if (desk.dataset.stage === "pending") stage(shown.stage);
      if (!["notice", "asking", "answers"].some((name) => name in view)) say(words.try_again, "warning");
      return;
    }
    const another = view.pair !== undefined;
    if (answered) sessionStorage.removeItem(draft());
    shown = { ...shown, ...view, warned: null, since: performance.now() };
    if (another) {
      restore();
      document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    }
    clock = new Clock(desk.idle);
    stage(view.stage);
    if (view.stage === "end" && !view.undoable) desk.querySelector("[data-do=undo]").hidden = true;
    if (view.stage === "end") delete desk.dataset.item;
    else desk.dataset.item = view.nonce;
  }

  // What was written and marked for the pair that is shown, which survives a reload and an undo in this tab

  let evidence = null; // of the passage that is shown
  const passage = () => desk?.querySelector(".pair .passage");
  const markable = () => evidence !== null && shown.stage === "ask" && shown.evidence !== "off";
  const draft = () => `draft ${shown.item} ${shown.sha}`; // the item's reference is this person's

  function keep() {
    if (evidence === null) return;
    const kept = { note: note().value, question: question().value, spans: evidence.spans };
    if (kept.note || kept.question || kept.spans.length) sessionStorage.setItem(draft(), JSON.stringify(kept));
    else sessionStorage.removeItem(draft());
  }

  function restore() {
    const kept = JSON.parse(sessionStorage.getItem(draft())) ?? { note: "", question: "", spans: [] };
    for (const [field, text] of [[note(), kept.note], [question(), kept.question]]) {
      field.value = text;
      field.closest(".note").hidden = !text;
    }
    evidence = null; // the spans that are kept are another's until there are new ones
    const spans = shown.evidence === "off" ? [] : kept.spans;
    evidence = passage() ? new Evidence(passage(), shown.sentences, spans, changed) : null;
    changed();
  }

  function changed() {
    desk.querySelector("[data-do=evidence]")?.classList.toggle("primary", evidence?.choosing ?? false);
    keep();
  }
  document.addEventListener("selectionchange", () => markable() && evidence.pick());

  function open_field(field) {
    field.closest(".note").hidden = false;
    field.focus();
  }

  // What is pressed

  function early() {
    if (performance.now() - shown.since >= SOONEST) return false;
    say(words.too_quick);
    return true;
  }

  // Whether a question was written and not sent; says so once, and not again until it is changed.
  function unsent() {
    const text = question().value;
    if (!text.trim() || shown.warned === text) return false;
    shown.warned = text;
    say(words.ask_unsent, "warning");
    return true;
  }

  function answer(fields, chosen) {
    if (unsent()) return;
    mark();
    const step = shown.stage === "reveal" ? "second" : "answer";
    const { item, sha, nonce } = shown;
    const times = { active: clock.active, elapsed: clock.elapsed };
    const justified = fields.status === "skipped" ? [] : evidence.spans;
    return ask(step, { item, sha, nonce, note: note().value || null, evidence: justified, ...times, ...fields }, chosen);
  }

  // Whether sentences are marked from now on: by arrow keys and the space bar, which are for no button then.
  function marking() {
    const begun = evidence.press();
    if (begun) document.activeElement.blur();
    return begun;
  }

  const acts = {
    grade: (value, text) => {
      if (early()) return;
      const lowest = desk.querySelector("[data-do=grade]").dataset.value;
      if (shown.evidence === "required" && !evidence.spans.length && value !== lowest) {
        if (evidence.sentence < 0 || evidence.selected()) marking();
        if (!evidence.spans.length) return say(touch.matches ? words.evidence_needed_touch : words.evidence_needed);
      }
      answer({ status: "ok", relevance: Number(value) }, `${value} ${text}`);
    },
    evidence: () => marking() && say(touch.matches ? words.evidence_touch : words.evidence_keys),
    more: () => place("bar").classList.toggle("unfolded"),
    later: (_, text) => early() || answer({ status: "skipped" }, text),
    cannot: () => {
      place("said").replaceChildren();
      shown.stage = shown.stage === "ask" ? "reasons" : "ask";
      stage(shown.stage);
    },
    because: (reason, text) => {
      if (reason === "other" && !note().value.trim()) {
        open_field(note());
        return say(words.note_needed);
      }
      return answer({ status: "unsure", reason }, text);
    },
    note: () => open_field(note()),
    undo: () => ask("undo", { nonce: shown.nonce }),
    go_on: () => unsent() || ask("next", {}),
    highlight: async (value) => {
      const { item, sha } = shown;
      const reply = await send("highlight", { on: value === "on", item, sha });
      if (reply === null) return say(words.try_again, "warning");
      if (reply.stage) return show(reply);
      place("bar").dataset.highlight = value;
      stage(shown.stage);
      if (!reply.drawn || shown.item !== item) return;
      place("pair-place").innerHTML = reply.drawn;
      evidence.redraw(passage());
    },
    ask: () => open_field(question()),
    send: async () => {
      const { item, sha, asking } = shown;
      const reply = await send("ask", { item, sha, text: question().value, nonce: asking });
      if (reply === null) return say(words.try_again, "warning");
      show(reply);
      if (!reply.asking) return;
      question().value = "";
      place("question").hidden = true;
      keep();
    },
    read: async (value) => {
      const reply = await send("read", { seen: Number(value) });
      if (reply) show(reply);
    },
    guide: () => guide.toggle(),
  };

  function pressed(event) {
    const button = event.target.closest("button[data-do]");
    if (!button) {
      event.target.closest(".query")?.classList.toggle("unfolded");
      return markable() && evidence.click(event);
    }
    if (event.detail) button.blur();
    else guide.left = null;
    if (busy && button.dataset.do !== "guide") return;
    mark();
    acts[button.dataset.do](button.dataset.value, button.querySelector("span")?.textContent ?? "");
  }

  document.addEventListener("keydown", (event) => {
    if (!desk?.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
    mark();
    if (guide?.key(event)) return; // no key that is pressed in the guide grades
    if (writing(event.target)) return;
    if (event.repeat && event.key === "Enter") return event.preventDefault();
    const focused = event.target.matches?.(":is(button, a, summary):focus-visible");
    const pressing = focused && [" ", "Enter"].includes(event.key);
    if (!pressing && markable() && evidence.key(event.key)) return event.preventDefault();
    if (event.key === "Escape") return guide?.close();
    if (scroll(event)) return;
    const button = button_of(desk, event);
    if (!button) return;
    event.preventDefault();
    button.click();
  });

  // The place for all this may go while an answer is on its way.

  async function open() {
    while (busy) await new Promise((go) => setTimeout(go, 50));
    shown = { stage: "begin", since: 0 };
    await ask("open", {});
  }

  mounted("#grading", (mount) => {
    desk = document.createElement("div");
    desk.className = "opening";
    desk.innerHTML = '<div class="said"></div><div class="pair-place"></div>';
    mount.append(desk);
    evidence = null;
    words = JSON.parse(mount.dataset.words);
    open();
  });
})();
