// The review page's keys, which press its buttons. A decision is taken once for each drawing of a dispute, and not
// before the dispute can have been read: the next one comes by itself, so that a slip would decide it. While a decision
// is on its way, no key and no press counts; while the passage is out of sight, no key that decides or takes back.
"use strict";
(() => {
  const SOONEST = 300; // milliseconds, as on the grading page
  const LOST = 10000; // milliseconds after which a decision that nothing came of may be pressed again
  const PAUSE = 600; // milliseconds without a key that end a text which was begun too early
  const BARS = ".st-key-where, .st-key-about, .st-key-decided, .st-key-decide";
  const DECISIONS = "[class*=st-key-grade-], [class*=st-key-cannot-]";
  const UNDOING = "[class*=st-key-back-], .st-key-take-last-back";

  let shown = null;
  let since = 0;
  let pressed = null; // the decision that was sent last
  let left = null; // the comment that was sent last
  // When the last key of a text came that was begun too early: its letters are not for the next dispute.
  let typed = -Infinity;

  const dispute = () => document.querySelector("[data-dispute]");
  // What was sent has been dealt with once the dispute is drawn again.
  const now_on_its_way = () => ({ drawn: dispute()?.dataset.drawn, at: performance.now() });
  const on_its_way = (sent) => sent && dispute()?.dataset.drawn === sent.drawn && performance.now() - sent.at < LOST;
  const under_way = () => on_its_way(pressed);
  const too_early = () => performance.now() - since < SOONEST;
  const typing = () => performance.now() - typed < PAUSE;
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  // Whether some of the passage is to be seen between the header and the bar.
  const in_sight = () => {
    const { top, bottom } = dispute().getBoundingClientRect();
    return bottom > box(".stAppHeader").bottom && top < Math.min(box(".st-key-bar").top, window.innerHeight);
  };
  const stop = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const say_early = (early) => {
    const line = document.querySelector("#early");
    if (line) line.hidden = !early;
  };
  const button_of = (key) =>
    [...document.querySelectorAll(`:is(${BARS}) button`)].find(
      (button) => button.querySelector("kbd")?.textContent.trim().toLowerCase() === key,
    );

  new MutationObserver(() => {
    const found = dispute()?.dataset.dispute;
    // While the page is drawn again it can be without a dispute for a moment.
    if (!found || found === shown) return;
    [shown, since] = [found, performance.now()];
    say_early(typing());
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-dispute"] });

  // A comment is sent as its field is left; a page that is left before the comment is stored would lose it.
  let field = null;
  let text = "";
  document.addEventListener("focusin", (event) => {
    field = event.target.closest(".st-key-comment textarea");
    text = field?.value;
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === field && field.value !== text) left = now_on_its_way();
  });
  component.ask_before_leaving(
    () => on_its_way(left) || (field?.isConnected && field === document.activeElement && field.value !== text),
  );

  document.addEventListener(
    "keydown",
    (event) => {
      const target = event.target;
      if (!dispute() || component.writing(target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.length !== 1) return component.scroll(event);
      const key = event.key.toLowerCase();
      if (under_way() || typing() || (key === "n" && too_early())) {
        if (typing() || !(key === " " || button_of(key))) {
          typed = performance.now();
          say_early(true);
        }
        return stop(event);
      }
      if (document.querySelector("[data-testid=stPopoverBody]")) {
        if (key !== " ") stop(event);
        return;
      }
      const button = button_of(key);
      if (button) {
        stop(event);
        if (button.closest(`${DECISIONS}, ${UNDOING}`) && !in_sight()) dispute().scrollIntoView();
        else button.click();
      } else if (key === "n") {
        stop(event);
        document.querySelector(".st-key-comment textarea")?.focus();
      } else component.scroll(event); // the space bar
    },
    true,
  );

  document.addEventListener(
    "click",
    (event) => {
      const button = event.target.closest("button");
      if (!button?.closest(BARS) || !dispute()) return;
      if (under_way()) return stop(event);
      if (!button.closest(DECISIONS)) return;
      const early = too_early();
      say_early(early);
      if (early) return stop(event);
      pressed = now_on_its_way();
    },
    true,
  );
})();
