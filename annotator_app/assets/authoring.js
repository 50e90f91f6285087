// The page where people write. The server draws (annotator_app/authoring_view.py), this script puts the pieces in place,
// takes keys and presses, and sends one request for each. What did not reach the database stays on the page, also when it
// is loaded again, and is sent again, as the same, until it did.
"use strict";
(() => {
  const SOONEST = 300; // milliseconds in which nobody can have read anything: an earlier press was meant for the last step
  const WORDS = /\s*\S+|\s+$/g; // each with the white space before it
  const LONGEST_COMPARED = 1e6; // pairs of words: longer texts would be felt with each key
  const UNSENT = "writing, unsent"; // where a request is kept until there is a response to it
  const { send, persist, writing, notice, button_of, mounted, scroll, ask_before_leaving, touch, Clock, Guide, Evidence } = component;

  let desk = null; // the frame on the page
  let words = {};
  let clock = null;
  let guide = null;
  let shown = { stage: "begin" };
  let busy = false;
  let marked = new Map(); // the evidence of each language of the text
  let doubted = null; // what was sent and is doubtful: sent again unchanged, it is confirmed
  let warned = null; // what would be dropped, once that was said
  let machine = new Map(); // by field: under which request a model filled it, with what (null: edited since), if checked
  let translating = false;

  const place = (name) => desk.querySelector(`.${name}`);
  const all = (selector) => [...desk.querySelectorAll(selector)];
  const field = (name) => desk.querySelector(`.field[data-field="${CSS.escape(name)}"]`);
  const fields = () => all(".form .field");
  const text_of = (part) => part.querySelector("textarea");
  const plain = (text) => text.split(/\s+/).filter(Boolean).join(" ");
  const rows = () => all(".form .field.row");
  const options = (row) => [...row.querySelectorAll("[role=radio]")];
  const chosen = (row) => row.querySelector("[aria-checked=true]");
  const mark = () => clock?.mark();
  const at_work = () => shown.stage === "write" && desk.dataset.stage === "write";

  // Requests

  // Sends until there is a response, and keeps what was sent until then.
  async function ask(step, body) {
    if (busy) return;
    busy = true;
    try {
      if (body.nonce) sessionStorage.setItem(UNSENT, JSON.stringify({ step, body }));
      const view = await persist(`/authoring/${step}`, body, () => waiting(body.nonce ? words.not_stored : words.unreachable));
      if (body.nonce) sessionStorage.removeItem(UNSENT);
      show(view, body);
    } finally {
      busy = false;
    }
  }

  // What is shown

  const say = (text, kind) => place("said").replaceChildren(notice(text, kind));

  function waiting(text) {
    say(text, "warning");
    stage("pending");
  }

  function stage(name) {
    desk.dataset.stage = name;
    place("pair-place").inert = name === "pending";
    for (const part of all("[data-stages]")) part.hidden = !part.dataset.stages.split(" ").includes(name);
    if (place("bar")) place("bar").hidden = name === "pending";
  }

  function begin(view) {
    desk.innerHTML = view.frame;
    desk = desk.firstElementChild;
    [words, desk.idle] = [view.words, view.idle];
    place("bar").innerHTML = view.bar;
    for (const kind of ["pointerdown", "wheel", "input"]) desk.addEventListener(kind, mark, { passive: true });
    desk.addEventListener("click", pressed);
    desk.addEventListener("input", typed);
    desk.addEventListener("focusin", point);
    desk.addEventListener("focusout", point);
    desk.addEventListener("submit", (event) => event.preventDefault());
    guide = new Guide(desk);
  }

  function show(view, body) {
    // What is stored needs no draft; what was put off, or is not wanted any more, keeps it.
    if (["given", "ended", "refused"].includes(view.stored)) sessionStorage.removeItem(draft(body));
    if (view.frame) begin(view);
    if (view.stage === "signed-out" || view.stage === "fault") return over(view);
    if (!place("bar")) return; // Streamlit drew the page again meanwhile: it is being opened
    if (view.notice !== undefined) place("said").innerHTML = view.notice;
    if (!view.stage) return unsaid(view, body);
    shown = { ...view, since: performance.now() };
    [doubted, warned] = [null, null];
    place("where").innerHTML = view.where;
    place("bar").innerHTML = view.bar;
    place("pair-place").innerHTML = view.pair;
    guide.button = place("bar").querySelector("[data-do=guide]");
    guide.expanded(guide.is_open);
    clock = new Clock(desk.idle);
    stage(view.stage);
    fill(view);
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    if (view.stage === "end") delete desk.dataset.item;
    else desk.dataset.item = view.nonce;
  }

  // Nothing more can be done here.
  function over(view) {
    for (const name of ["where", "pair-place", "bar"]) place(name)?.replaceChildren();
    const said = view.pair ?? view.notice;
    if (place("said") && said !== undefined) place("said").innerHTML = said;
    delete desk.dataset.item;
    shown = { stage: view.stage };
    desk.dataset.stage = view.stage;
  }

  // A form that was not stored: the reason is at the field, and everything stays.
  function unsaid(view, body) {
    if (desk.dataset.stage === "pending") stage(body.reason === undefined ? "write" : "reasons");
    for (const part of all(".field")) complain(part, "");
    if (view.doubts) {
      doubted = { sent: JSON.stringify(body.content), reasons: view.doubts.map((one) => one.reason) };
      const about = Map.groupBy(view.doubts, (one) => one.field);
      for (const part of fields()) {
        const texts = about.get(part.dataset.field)?.map((one) => one.text);
        if (texts) complain(part, texts.join(" "), false);
      }
      go_says(words.confirm);
      place("form").querySelector(".doubtful")?.scrollIntoView({ block: "nearest" });
    } else if (view.refused) {
      const part = view.refused.field === null ? null : field(view.refused.field);
      if (!part || part.closest("[hidden]")) return say(view.refused.text, "warning");
      place("said").replaceChildren();
      complain(part, view.refused.text);
      const to = text_of(part) ?? part.querySelector("[tabindex='0']") ?? part;
      to.focus();
    } else if (view.notice === undefined) say(words.try_again, "warning");
  }

  // Says at a field what is wrong with it, or doubtful; "" takes it away.
  function complain(part, text, wrong = true) {
    const said = part.querySelector(".field-said");
    if (!said) return;
    said.textContent = text;
    said.hidden = !text;
    part.classList.toggle("wrong", text !== "" && wrong);
    part.classList.toggle("doubtful", text !== "" && !wrong);
    text_of(part)?.setAttribute("aria-invalid", text !== "" && wrong);
  }

  function go_says(text) {
    const button = place("bar").querySelector("[data-do=go]");
    if (!button) return;
    const label = button.querySelector("span bdi") ?? button.querySelector("span");
    button.usual ??= label.textContent;
    label.textContent = text ?? button.usual;
    button.classList.toggle("doubtful", text !== undefined);
  }

  // Fields, and what was written in them, which survives a reload in this tab

  const draft = (of) => `writing ${of.item} ${of.number}`; // the item's reference is this person's

  function value(part) {
    const { kind } = part.dataset;
    if (kind === "line" || kind === "prose") return text_of(part).value;
    if (kind === "spans")
      return [...marked].flatMap(([language, { spans }]) =>
        spans.map(([start, end]) => ({ language: language || null, start, end })),
      );
    const found = chosen(part)?.dataset.value;
    if (found === undefined) return null;
    return kind === "yes_no" ? found === "true" : kind === "scale" ? Number(found) : found;
  }

  const content = () => Object.fromEntries(fields().map((part) => [part.dataset.field, value(part)]));
  const changed = (part) => JSON.stringify(value(part)) !== part.begun;

  function keep() {
    if (shown.stage !== "write") return;
    const written = Object.fromEntries(fields().filter(changed).map((part) => [part.dataset.field, value(part)]));
    const comment = field("comment") && text_of(field("comment")).value;
    const kept = { sha: shown.sha, written, comment, machine: Object.fromEntries(machine) };
    if (Object.keys(written).length || comment) sessionStorage.setItem(draft(shown), JSON.stringify(kept));
    else sessionStorage.removeItem(draft(shown));
  }

  let filling = false; // what is put into fields then is no draft

  function fill(view) {
    filling = true;
    [marked, machine] = [new Map(), new Map()];
    const parts = fields();
    const spans = parts.find((part) => part.dataset.kind === "spans");
    if (spans)
      for (const source of all(".source")) {
        const { language } = source.dataset;
        const passage = source.querySelector(".passage");
        marked.set(language, new Evidence(passage, view.sentences[language] ?? [], [], () => marking_changed(spans)));
      }
    for (const part of parts) {
      put(part, view.prefilled?.[part.dataset.field]);
      part.begun = JSON.stringify(value(part));
    }
    let kept = null;
    try {
      kept = JSON.parse(sessionStorage.getItem(draft(view)));
    } catch {
      sessionStorage.removeItem(draft(view));
    }
    const written = kept?.written ?? view.filled ?? {};
    for (const [name, { request, edited }] of Object.entries(view.machine ?? {}))
      machine.set(name, { request, text: edited ? null : view.filled[name], checked: true });
    if (kept?.machine) machine = new Map(Object.entries(kept.machine));
    for (const part of parts) {
      const name = part.dataset.field;
      // Evidence in another text would be of other words.
      if (name in written && !(part.dataset.kind === "spans" && kept && kept.sha !== view.sha)) put(part, written[name]);
      compare(part);
      translated(part);
    }
    offer();
    if (kept?.comment && field("comment")) text_of(field("comment")).value = kept.comment;
    filling = false;
    keep();
    point();
  }

  function put(part, to) {
    const { kind } = part.dataset;
    if (kind === "line" || kind === "prose") text_of(part).value = to ?? "";
    else if (kind === "spans") {
      for (const [language, evidence] of marked) {
        const own = (to ?? []).filter((one) => (one.language ?? "") === language);
        evidence.spans = own.map(({ start, end }) => [start, end]);
        evidence.paint();
      }
    } else choose(part, String(to));
  }

  function typed(event) {
    const part = event.target.closest(".field");
    if (!part) return;
    if (event.target.type === "checkbox") machine.get(part.dataset.field).checked = event.target.checked;
    else if (part.dataset.kind === "line" && /[\r\n]/.test(event.target.value)) {
      const at = event.target.selectionStart;
      event.target.value = event.target.value.replace(/\s*[\r\n]+\s*/g, " ");
      event.target.setSelectionRange(at, at);
    }
    touched(part);
  }

  function touched(part) {
    complain(part, "");
    compare(part);
    translated(part);
    offer();
    if (doubted && JSON.stringify(content()) !== doubted.sent) {
      doubted = null;
      go_says();
      all(".field.doubtful").forEach((one) => complain(one, ""));
      place("said").replaceChildren();
    }
    warned = null;
    keep();
  }

  // What a model translated

  // Under a field: that a model filled it, and whether that was checked. A field that was emptied is the person's again.
  function translated(part) {
    const line = part.querySelector(".machine");
    if (!line) return;
    const text = value(part);
    if (!text.trim()) machine.delete(part.dataset.field);
    const found = machine.get(part.dataset.field);
    line.hidden = !found;
    if (!found) return;
    const edited = plain(text) !== plain(found.text ?? "");
    line.querySelector(".badge").textContent = edited ? words.machine_edited : words.machine;
    line.querySelector("label").hidden = edited;
    line.querySelector("input").checked = found.checked;
  }

  // A button for each language with an empty field that has a text in another one.
  function offer() {
    const parts = all(".field[data-of]");
    const has_text = (part) => value(part).trim() !== "";
    const lacks = (part) =>
      !has_text(part) && parts.some((other) => other.dataset.of === part.dataset.of && has_text(other));
    for (const place of all(".translate")) {
      place.hidden = !parts.some((part) => part.dataset.in === place.dataset.into && lacks(part));
      place.querySelector("button").disabled = translating;
    }
  }

  // Asks once, next to everything else: meanwhile the person can write by hand, and what they wrote stays.
  async function translate(language) {
    if (translating || early()) return;
    const { nonce } = shown;
    translating = true;
    offer();
    say(words.translating);
    const view = await send("/authoring/translate", { ...task(), language, content: content() });
    translating = false;
    if (!desk?.isConnected) return;
    offer();
    if (shown.nonce !== nonce || !at_work()) return;
    if (view?.stage) return busy ? undefined : show(view, {});
    if (view?.refused) return unsaid(view, {});
    let first = null;
    for (const [name, one] of Object.entries(view?.translated ?? {})) {
      const part = field(name);
      if (!part || value(part).trim()) continue;
      machine.set(name, { ...one, checked: false });
      put(part, one.text);
      touched(part);
      first ??= part;
    }
    const failed = view?.failed ?? [words.not_translated];
    if (failed.length) say(failed.join(" "), "warning");
    else if (first) say(words.translated);
    else place("said").replaceChildren();
    // Not the text: a key that is meant for the form would be typed into it, and taken for a correction.
    if (first && document.activeElement === document.body) first.querySelector(".machine input").focus();
  }

  // Under a field that began with a text: which of its words are no longer there.
  function compare(part) {
    const was = part.querySelector(".was");
    if (!was) return;
    const before = JSON.parse(part.begun ?? '""');
    was.hidden = !before || before === text_of(part).value;
    if (was.hidden) return;
    const pieces = kept_words(before.match(WORDS), text_of(part).value.match(WORDS) ?? []).map(([word, stays]) => {
      if (stays) return word;
      const gone = document.createElement("del");
      gone.textContent = word;
      return gone;
    });
    was.replaceChildren(`${words.was} `, ...pieces);
  }

  // The words of one text in pieces, each with whether it is in the longest subsequence that the other text has too.
  function kept_words(one, other) {
    if (one.length * other.length > LONGEST_COMPARED) return [[one.join(""), true]];
    const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
    for (let i = one.length - 1; i >= 0; i--)
      for (let j = other.length - 1; j >= 0; j--)
        lengths[i][j] =
          one[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    const found = [];
    const add = (word, stays) => {
      if (found.at(-1)?.[1] === stays) found.at(-1)[0] += word;
      else found.push([word, stays]);
    };
    for (let [i, j] = [0, 0]; i < one.length; ) {
      if (j < other.length && one[i] === other[j]) {
        add(one[i++], true);
        j++;
      } else if (j < other.length && lengths[i][j + 1] >= lengths[i + 1][j]) j++;
      else add(one[i++], false);
    }
    return found;
  }

  // Rows of which one value is chosen

  const choose = (row, value) =>
    options(row).forEach((one) => one.setAttribute("aria-checked", one.dataset.value === value));

  // The row that keys answer: the one that has the focus, or else the first without an answer.
  function current_row() {
    const focused = document.activeElement?.closest?.(".field.row");
    if (focused && desk.contains(focused)) return focused;
    return writing(document.activeElement) ? null : (rows().find((row) => !chosen(row)) ?? null);
  }

  function point() {
    if (!desk?.isConnected || shown.stage !== "write") return;
    const current = current_row();
    for (const row of rows()) {
      row.classList.toggle("current", row === current);
      const stop = chosen(row) ?? options(row)[0];
      options(row).forEach((one) => (one.tabIndex = one === stop ? 0 : -1));
    }
  }

  const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  // Whether a key was for a row: it chooses a value, and the row after it is the next.
  function row_key(event) {
    const row = at_work() ? current_row() : null;
    if (!row) return false;
    const values = options(row);
    const focused = row.contains(document.activeElement);
    if (focused && event.key in ARROWS) {
      const at = values.indexOf(document.activeElement);
      const to = values[(at + ARROWS[event.key] + values.length) % values.length];
      choose(row, to.dataset.value);
      touched(row);
      point();
      to.focus();
      return true;
    }
    const key = event.key.toLowerCase();
    const option =
      values.find((one) => one.dataset.choice === key) ??
      (row.dataset.kind === "yes_no" && /^[12]$/.test(key) ? values[key - 1] : undefined);
    if (!option || event.repeat) return option !== undefined;
    choose(row, option.dataset.value);
    touched(row);
    if (focused) {
      const after = rows()[rows().indexOf(row) + 1];
      if (after) (chosen(after) ?? options(after)[0]).focus();
      else document.activeElement.blur();
    }
    point();
    (current_row() ?? row).scrollIntoView({ block: "nearest" });
    return true;
  }

  // Evidence, and the languages of the text

  const language_shown = () => all(".source").find((one) => !one.hidden)?.dataset.language;
  const evidence = () => (at_work() ? marked.get(language_shown()) : undefined);

  function marking_changed(part) {
    const quotes = [...marked].flatMap(([language, { passage, spans }]) =>
      spans.map((_, number) => {
        const quote = document.createElement("li");
        if (language) quote.lang = language;
        const pieces = passage.querySelectorAll(`mark.evidence[data-span="${number}"]`);
        quote.textContent = [...pieces].map((piece) => piece.textContent).join("");
        return quote;
      }),
    );
    const none = document.createElement("li");
    none.className = "quiet";
    none.textContent = words.nothing_marked;
    part.querySelector(".quotes").replaceChildren(...(quotes.length ? quotes : [none]));
    const choosing = marked.get(language_shown())?.choosing ?? false;
    place("bar").querySelector("[data-do=evidence]")?.classList.toggle("primary", choosing);
    if (!filling) touched(part);
  }
  document.addEventListener("selectionchange", () => desk?.isConnected && evidence()?.pick());

  function read_in(language) {
    for (const source of all(".source")) source.hidden = source.dataset.language !== language;
    for (const button of all("[data-do=language]")) button.setAttribute("aria-pressed", button.dataset.value === language);
  }

  const scroller = () => {
    const found = desk.querySelector(".scroller");
    return found && found.scrollHeight > found.clientHeight ? found : null;
  };

  // What is pressed

  function early() {
    if (performance.now() - shown.since >= SOONEST) return false;
    say(words.too_quick);
    return true;
  }
  const task = () => ({ item: shown.item, number: shown.number, sha: shown.sha, nonce: shown.nonce });

  // Whether something is written here that would be dropped; says so once, and not again until it is changed.
  function unstored() {
    const written = JSON.stringify(content());
    if (!fields().some(changed) || warned === written) return false;
    warned = written;
    say(words.drop_unsent, "warning");
    return true;
  }

  const acts = {
    go: () => {
      if (!at_work() || early()) return;
      mark();
      const written = content();
      const confirmed = doubted?.sent === JSON.stringify(written) ? doubted.reasons : [];
      const of_model = [...machine].map(([name, { request, checked }]) => [name, { request, checked }]);
      const times = { active: clock.active, elapsed: clock.elapsed };
      ask("send", { ...task(), content: written, machine: Object.fromEntries(of_model), confirmed, ...times });
    },
    end: () => early() || unstored() || ask("end", task()),
    later: () => early() || ask("later", task()),
    next: () => ask("next", {}),
    undo: () => ask("undo", { seq: shown.undoable, nonce: shown.nonce }),
    take_back: (seq) => ask("undo", { seq: Number(seq), nonce: shown.nonce }),
    cannot: () => {
      place("said").replaceChildren();
      stage(desk.dataset.stage === "write" ? "reasons" : "write");
    },
    because: (reason) => {
      if (early()) return;
      ask("refuse", { ...task(), reason, comment: text_of(field("comment")).value || null });
    },
    choose: (value, button) => {
      const row = button.closest(".row");
      choose(row, value);
      touched(row);
      point();
    },
    language: (language) => read_in(language),
    translate: (language) => translate(language),
    evidence: () => {
      const begun = evidence()?.press();
      if (!begun) return;
      document.activeElement.blur();
      say(touch.matches ? words.evidence_touch : words.evidence_keys);
    },
    guide: () => guide.toggle(),
  };

  function pressed(event) {
    const button = event.target.closest("button[data-do]");
    if (!button) return evidence()?.click(event);
    if (event.detail) button.blur();
    else guide.left = null;
    if (busy && button.dataset.do !== "guide") return;
    mark();
    acts[button.dataset.do](button.dataset.value, button);
  }

  // Enter in a field of one line goes to the next field; where nothing has the focus, to the first that is empty.
  function field_key(event) {
    const part = event.target.closest(".field[data-kind=line]");
    if (event.key !== "Enter" || event.isComposing || !part || !desk.contains(part)) return;
    event.preventDefault();
    const inputs = all(".form textarea, .form [role=radio][tabindex='0']");
    inputs[inputs.indexOf(event.target) + 1]?.focus();
  }

  function begin_writing(event) {
    if (event.key !== "Enter" || event.target !== document.body || !at_work()) return false;
    const empty = all(".form textarea").find((input) => !input.value) ?? desk.querySelector(".form textarea");
    empty?.focus();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (!desk?.isConnected) return;
    const sends = (event.ctrlKey || event.metaKey) && event.key === "Enter" && !guide?.dialog.contains(event.target);
    if (sends && !busy && !event.repeat) {
      event.preventDefault();
      return acts.go();
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    mark();
    if (guide?.key(event)) return; // no key that is pressed in the guide is for the form
    if (writing(event.target) && event.target.type !== "checkbox") return field_key(event);
    if (event.repeat && event.key === "Enter") return event.preventDefault();
    const focused = event.target.matches?.(":is(button, a, summary, input):focus-visible");
    const pressing = focused && [" ", "Enter"].includes(event.key);
    if (!pressing && evidence()?.key(event.key)) return event.preventDefault();
    if (event.key === "Escape") {
      if (guide?.is_open) return guide.close();
      if (desk.dataset.stage === "reasons") acts.cannot();
      return;
    }
    if (!pressing && (row_key(event) || begin_writing(event))) return event.preventDefault();
    if (scroll(event, scroller())) return;
    if (event.key === "t" && !event.repeat) return next_language();
    const button = button_of(desk, event);
    if (!button) return;
    event.preventDefault();
    button.click();
  });

  function next_language() {
    const languages = all("[data-do=language]").map((button) => button.dataset.value);
    if (languages.length) read_in(languages[(languages.indexOf(language_shown()) + 1) % languages.length]);
  }

  // What has not been stored yet would be lost with the tab.
  ask_before_leaving(() => desk?.isConnected && desk.dataset.stage === "pending");

  // The place for all this may go while a request is on its way.

  async function open() {
    while (busy) await new Promise((go) => setTimeout(go, 50));
    shown = { stage: "begin" };
    await ask("open", {});
    await send_again();
  }

  // A request that the page was left with.
  async function send_again() {
    let unsent = null;
    try {
      unsent = JSON.parse(sessionStorage.getItem(UNSENT));
    } catch {
      sessionStorage.removeItem(UNSENT);
    }
    if (unsent && ["write", "end"].includes(shown.stage)) await ask(unsent.step, { ...unsent.body, late: true });
  }

  mounted("#writing", (mount) => {
    desk = document.createElement("div");
    desk.className = "opening";
    desk.innerHTML = '<div class="said"></div><div class="pair-place"></div>';
    mount.append(desk);
    marked = new Map();
    words = JSON.parse(mount.dataset.words);
    open();
  });
})();
