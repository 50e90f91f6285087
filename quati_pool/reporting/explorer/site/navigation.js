"use strict";

(() => {
  const { html, render, useState } = htmPreact;
  const { routes, words } = explorer;

  // What a page is to remember while its entry in the browser's history lasts: how far it was scrolled, what was open.
  const entries = new Map();
  let entry = null;

  /** A state that is restored when the reader comes back to this entry of the history. */
  const useKept = (name, initial) => {
    const here = entry;
    const [value, change] = useState(here.kept.has(name) ? here.kept.get(name) : initial);
    const keep = (changed) => {
      entry.kept.set(name, changed);
      change(changed);
    };
    return [value, keep];
  };

  const entered = () => {
    const key = history.state?.explorer ?? `${Date.now()}-${entries.size}`;
    history.replaceState({ explorer: key }, "");
    if (!entries.has(key)) entries.set(key, { kept: new Map(), scrolled: null });
    return entries.get(key);
  };

  /** Where the reader is: how far the page is scrolled, and which passage is at the top, because the heights of
      passages above are not known before they are drawn. */
  const whereabouts = () => {
    const passage = Array.from(document.querySelectorAll(".passage")).find((one) => one.getBoundingClientRect().bottom > 0);
    const top = passage?.getBoundingClientRect().top;
    return { y: scrollY, passage: top < innerHeight ? passage.id : null, top };
  };

  const goBackTo = ({ y, passage, top }) => {
    scrollTo(0, y);
    const found = passage && document.getElementById(passage);
    if (!found) return;
    found.scrollIntoView();
    scrollBy(0, found.getBoundingClientRect().top - top);
  };

  /** What is not in the collection: shown as a message, not as a fault. */
  class Missing extends Error {}

  const Message = ({ heading, text }) => html`
    <h1 tabindex="-1">${heading}</h1>
    <p dir="auto">${text}</p>
    <p><a href="#/">All queries, systems and labelers</a></p>
  `;

  const Page = ({ site, report, body, trail }) => html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    ${trail &&
    html`<header class="site">
      <nav aria-label="Site"><a href="#/" dir="auto">${words.visible(site)}</a>${trail}</nav>
    </header>`}
    <main id="main" tabindex="-1">${body}</main>
    <footer class="site">
      <p class="note">Keys: <kbd>/</kbd> search, <kbd>?</kbd> all keys.${report && html` <a href="../report.html">The report</a>`}</p>
    </footer>
    <${explorer.Keys} />
  `;

  const skip = (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  };

  /** Shows the site in the element `root`, with data from `source`, and follows the address after `#`. */
  explorer.start = async (root, source) => {
    let model = null;
    let shown = null;
    let latest = 0;

    const pageAt = async (route) => {
      try {
        model ??= new explorer.Model(await source.collection());
        const page = explorer.pages.get(route.page);
        if (!page) throw new Missing("This address leads nowhere.");
        return await page({ model, source }, route);
      } catch (error) {
        const heading = error instanceof Missing ? "Not found" : "This page cannot be shown";
        return { title: heading, trail: true, body: html`<${Message} heading=${heading} text=${error.message} />` };
      }
    };

    const draw = (page, route) => {
      const site = model?.title || model?.name || "Explorer";
      const view = (body) => html`<${Page} site=${site} report=${model?.report} trail=${page.trail} body=${body} />`;
      try {
        // A page of its own for each path, so that no state is carried from one query to the next.
        render(view(html`<${Keyed} key=${route.path} body=${page.body} />`), root);
      } catch (error) {
        render(null, root);
        render(view(html`<${Message} heading="This page cannot be shown" text=${error.message} />`), root);
      }
      document.title = words.visible(page.title === site ? site : `${page.title} – ${site}`);
      explorer.shortcuts = page.keys ?? {};
    };

    const arrive = async () => {
      const hash = location.hash || "#/";
      // Other fragments belong to the page.
      if (!hash.startsWith("#/")) return;
      if (entry) entry.scrolled = whereabouts();
      const called = ++latest;
      const route = routes.parse(hash);
      const coming = entered();
      const page = await pageAt(route);
      if (called !== latest) return;
      const first = shown === null;
      const same = shown?.path === route.path;
      const returned = coming !== entry && coming.scrolled !== null;
      entry = coming;
      draw(page, route);
      const moved = page.landing && !returned && page.landing();
      if (returned) goBackTo(coming.scrolled);
      else if (!same && !moved) scrollTo(0, 0);
      if (!same && !first && !moved) root.querySelector("h1")?.focus({ preventScroll: true });
      shown = route;
      root.dataset.shown = hash;
    };

    /** Goes to an address; with `replace`, without a new entry in the history. */
    explorer.go = (hash, { replace = false } = {}) => {
      if (!replace && hash !== location.hash) {
        location.hash = hash;
        return;
      }
      history.replaceState(history.state, "", hash);
      arrive();
    };

    /** Draws the page again with data that the source has anew. */
    explorer.refresh = async () => {
      model = null;
      await arrive();
    };

    history.scrollRestoration = "manual";
    addEventListener("hashchange", arrive);
    explorer.listenToKeys();
    // A link to where one is does not change the address, but leads to its passage again.
    root.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='#/']");
      if (link && link.getAttribute("href") === location.hash) arrive();
    });
    await arrive();
  };

  const Keyed = ({ body }) => body;

  explorer.useKept = useKept;
  explorer.Missing = Missing;
})();
