// What the scripts of pages that are no Streamlit widgets share: requests, keys, time, the guide, and evidence in a
// passage.
"use strict";
const component = (() => {
  const RETRY = 2000; // milliseconds until a request without a response is sent again
  const LINE = 40; // pixels that an arrow key scrolls; a line of a passage is lower

  // The response to a request, as JSON; null if there is none, or the database cannot be reached.
  async function send(path, body) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...body, offset: -new Date().getTimezoneOffset() }),
      });
      return answer.status >= 500 ? null : await answer.json();
    } catch {
      return null;
    }
  }

  // Sends until there is a response; ``waiting`` is called each time that there is none.
  async function persist(path, body, waiting) {
    for (;;) {
      const view = await send(path, body);
      if (view) return view;
      waiting();
      body = { ...body, late: true };
      await new Promise((go) => setTimeout(go, RETRY));
    }
  }

  const writing = (target) =>
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

  // A message in a box; ``kind`` is info, good or warning.
  function notice(text, kind = "info") {
    const line = document.createElement("p");
    line.className = `notice ${kind}`;
    line.textContent = text;
    return line;
  }

  // The button of a key that is in sight, or folded away on a small screen: that one has its key all the same.
  function button_of(root, event) {
    if (event.repeat || event.key.length !== 1) return undefined;
    const buttons = root.querySelectorAll(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    return [...buttons].find((one) => !one.closest("[hidden]"));
  }

  // Calls ``begin`` with the element of this selector each time that a new one is on the page: it comes and goes with
  // Streamlit's page.
  const mounted = (selector, begin) =>
    new MutationObserver(() => {
      const mount = document.querySelector(selector);
      if (mount && !mount.firstElementChild) begin(mount);
    }).observe(document, { childList: true, subtree: true });

  // Scrolls by the keys that do so, while nothing has the focus, or what scrolls got it from a click: the page, or
  // ``inner`` in it. The browser would scroll the document, which is all in sight, or would count what lies over the
  // passage as read. Whether the key was one of them.
  function scroll(event, inner = null) {
    const main = document.querySelector("[data-testid=stMain]");
    if (![document.body, main, inner].includes(event.target)) return false;
    const steps = event.shiftKey ? SHIFTED : PLAIN;
    if (!Object.hasOwn(steps, event.key)) return false;
    const moved = inner ?? main;
    moved.scrollBy(0, steps[event.key](moved));
    event.preventDefault();
    return true;
  }

  // How many pixels a page is: what is seen between all that lies over the passage, less a line that stays in sight.
  function page(main) {
    if (!main.matches("[data-testid=stMain]")) return Math.max(main.clientHeight - LINE, LINE);
    const query = main.querySelector(":is(.pair, .head) .query");
    const over = [".stAppHeader", ".bar, .st-key-bar"].map((part) => document.querySelector(part));
    if (query && getComputedStyle(query).position === "sticky") over.push(query);
    const covered = over.reduce((sum, part) => sum + (part?.offsetHeight ?? 0), 0);
    return Math.max(main.clientHeight - covered - LINE, LINE);
  }

  // Measured only for a key that scrolls: most keys grade.
  const SHIFTED = { " ": (main) => -page(main) };
  const PLAIN = {
    PageDown: page, PageUp: (main) => -page(main), " ": page, ArrowDown: () => LINE, ArrowUp: () => -LINE,
    End: (main) => main.scrollHeight, Home: (main) => -main.scrollHeight,
  };

  // Asks before the page is left or loaded again while ``unsent`` says that something would be lost.
  const ask_before_leaving = (unsent) =>
    window.addEventListener("beforeunload", (event) => {
      if (unsent()) event.preventDefault();
    });

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

  const touch = matchMedia("(hover: none) and (pointer: coarse)");
  const small = matchMedia("(max-width: 640px)");
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  // The guide of a page: a dialog in the page's frame, next to the passage, so that both are read together; on a phone
  // there is no room for both.
  class Guide {
    constructor(desk) {
      this.dialog = desk.querySelector("dialog.guide");
      this.button = desk.querySelector(".bar [data-do=guide]");
      this.opener = null; // what had the focus
      this.left = null; // the field that a click on a button took the focus from
      this.examples = new WeakSet(); // that the search opened
      this.dialog.addEventListener("close", () => this.closed());
      this.dialog.addEventListener("input", (event) => this.search(plain(event.target.value.trim())));
      desk.addEventListener("focusin", (event) => this.unfocus(event));
      this.expanded(false);
      Guide.shown = this;
    }

    get is_open() {
      return this.dialog.open;
    }

    expanded(open) {
      this.button.setAttribute("aria-expanded", open);
    }

    // A button does not get the focus from the mouse: the space bar would press it again, on another pair.
    unfocus(event) {
      const clicked = event.target.matches("button:not(:focus-visible, .guide button)");
      this.left = clicked && writing(event.relatedTarget) ? event.relatedTarget : null;
      if (clicked) event.target.blur();
    }

    toggle() {
      if (this.is_open) this.close();
      else this.open();
    }

    open() {
      const { dialog } = this;
      if (!dialog.contains(document.activeElement)) this.opener = this.left ?? document.activeElement;
      if (small.matches) dialog.showModal();
      else dialog.show();
      // On a touch screen, the field would bring up the keyboard.
      dialog.querySelector(touch.matches ? "button" : "input").focus({ preventScroll: true });
      this.expanded(true);
    }

    // The event that says that it was closed comes later, and the next key may come before.
    close() {
      if (!this.is_open) return;
      this.dialog.close();
      this.closed();
    }

    closed() {
      if (this.is_open) return;
      this.expanded(false);
      // Until it draws again, Chromium leaves the focus in what it hid.
      if (this.dialog.contains(document.activeElement)) document.activeElement.blur();
      if (document.activeElement === document.body) this.opener.focus({ preventScroll: true });
    }

    // Whether a key was pressed in the guide: none of these is for the page behind it.
    key(event) {
      if (!this.is_open || !(this.dialog.contains(event.target) || this.dialog.matches(":modal"))) return false;
      const again = event.key === "?" && !event.target.value; // among words to search for, it is one of their characters
      if (again || (event.key === "?" && event.repeat)) event.preventDefault();
      if (event.key === "Escape" || (again && !event.repeat)) this.close();
      return true;
    }

    search(wanted) {
      const { dialog, examples } = this;
      const blocks = [...dialog.querySelectorAll(".guide-text :is(p, li, h1, h2, h3, h4, tr, pre, .shown)")];
      const hits = blocks.filter((block) =>
        block.classList.toggle("hit", wanted !== "" && plain(block.textContent).includes(wanted)),
      );
      for (const example of dialog.querySelectorAll(".example:has(details)")) {
        const [details, hit] = [example.querySelector("details"), example.querySelector(".hit") !== null];
        if (hit && !details.open) examples.add(details);
        if (hit || examples.delete(details)) details.open = hit;
      }
      const [said, text] = [dialog.querySelector(".found"), dialog.querySelector(".guide-text")];
      said.textContent = wanted === "" ? "" : hits.length ? String(hits.length) : said.dataset.none;
      // Not scrollIntoView, which would scroll the passage too.
      const top = (element) => element.getBoundingClientRect().top;
      if (hits.length) text.scrollBy(0, top(hits[0]) - top(text) - text.clientHeight / 3);
    }
  }
  Guide.shown = null;

  small.addEventListener("change", () => {
    if (!Guide.shown?.is_open) return;
    Guide.shown.dialog.close();
    Guide.shown.open();
  });

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
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  // Evidence: spans of a passage, in Unicode code points, as the server counts. ``changed`` is called with each drawing.
  class Evidence {
    constructor(passage, sentences, spans = [], changed = () => {}) {
      Object.assign(this, { sentences, spans, changed });
      this.sentence = -1; // the one that keys would mark, -1 while none is chosen
      this.picked = null; // what is selected in the passage
      this.redraw(passage);
    }

    // The same evidence in another drawing of the passage.
    redraw(passage) {
      this.passage = passage;
      // As nodes, since HTML that is parsed twice loses line ends.
      this.untouched = passage.cloneNode(true);
      this.paint();
    }

    paint() {
      this.passage.replaceChildren(...this.untouched.cloneNode(true).childNodes);
      this.spans.forEach(([start, end], number) => this.wrap(start, end, "evidence", number));
      if (this.sentence >= 0) {
        this.wrap(...this.sentences[this.sentence], "sentence", this.sentence);
        this.passage.querySelector("mark.sentence")?.scrollIntoView({ block: "nearest" });
      }
      this.changed();
    }

    wrap(start, end, name, number) {
      let at = 0;
      for (const piece of pieces(this.passage)) {
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

    offset(node, at) {
      const before = document.createRange();
      before.setStart(this.passage, 0);
      before.setEnd(node, at);
      return [...pieces(before.cloneContents())].reduce((sum, piece) => sum + size(piece), 0);
    }

    // Whether something is chosen that the evidence button would mark, or takes the mark away from.
    get choosing() {
      return this.picked !== null || this.sentence >= 0;
    }

    support(start, end) {
      const [within, apart] = [[[start, end]], []];
      for (const span of this.spans) (span[0] <= end && start <= span[1] ? within : apart).push(span);
      const merged = [Math.min(...within.map((span) => span[0])), Math.max(...within.map((span) => span[1]))];
      this.spans = [...apart, merged].sort((one, other) => one[0] - other[0]);
    }

    toggle(number) {
      const [start, end] = this.sentences[number];
      const known = this.spans.findIndex((span) => span[0] <= start && end <= span[1]);
      if (known >= 0) this.spans.splice(known, 1);
      else this.support(start, end);
    }

    // Notes which words of the passage are selected.
    pick() {
      this.picked = this.selected();
      this.changed();
    }

    // The span of the words that are selected; null if there are none. The selection may begin or end outside of the
    // passage: that of a triple click ends behind it.
    selected() {
      const selection = document.getSelection();
      if (!this.passage.contains(selection.anchorNode) && !this.passage.contains(selection.focusNode)) return null;
      const [whole, within] = [selection.getRangeAt(0), document.createRange()];
      within.selectNodeContents(this.passage);
      if (whole.compareBoundaryPoints(Range.START_TO_START, within) > 0)
        within.setStart(whole.startContainer, whole.startOffset);
      if (whole.compareBoundaryPoints(Range.END_TO_END, within) < 0) within.setEnd(whole.endContainer, whole.endOffset);
      if (!within.toString().trim()) return null;
      return [
        this.offset(within.startContainer, within.startOffset),
        this.offset(within.endContainer, within.endOffset),
      ];
    }

    // The evidence key: marks what is selected, or else begins or ends to mark sentences; whether it begins.
    press() {
      this.pick();
      if (this.picked) {
        this.support(...this.picked);
        this.picked = null;
        document.getSelection().removeAllRanges();
      } else this.sentence = this.sentence < 0 && this.sentences.length ? 0 : -1;
      this.paint();
      return this.sentence >= 0;
    }

    // Whether a key was for the sentences.
    key(key) {
      if (this.sentence < 0) return false;
      if (key in steps)
        this.sentence = Math.min(Math.max(this.sentence + steps[key], 0), this.sentences.length - 1);
      else if (key === " " || key === "Enter") this.toggle(this.sentence);
      else if (key === "Escape") this.sentence = -1;
      else return false;
      this.paint();
      return true;
    }

    // A click on marked words takes the mark away; while sentences are marked, a click marks the one under it. Whether
    // the evidence changed.
    click(event) {
      if (this.selected() || !this.passage.contains(event.target)) return false;
      const known = event.target.closest("mark.evidence");
      const under = document.caretPositionFromPoint?.(event.clientX, event.clientY);
      if (this.sentence >= 0 && under && this.passage.contains(under.offsetNode)) {
        const at = this.offset(under.offsetNode, under.offset);
        const number = this.sentences.findIndex(([start, end]) => start <= at && at <= end);
        if (number >= 0) this.toggle((this.sentence = number));
      } else if (known) this.spans.splice(Number(known.dataset.span), 1);
      else return false;
      this.paint();
      return true;
    }
  }

  return { send, persist, writing, notice, button_of, mounted, scroll, ask_before_leaving, touch, Clock, Guide, Evidence };
})();
