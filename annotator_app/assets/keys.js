// Additions to Streamlit's page: a key that is held down counts once, a button copies what is before it, a page whose
// connection was refused because its sign-in has ended redirects to the sign-in page, one whose server does not respond
// says so, and the document's language is the page's.
"use strict";
// Streamlit's page need not search for its base path: the app is at the root.
window.__streamlit = { BACKEND_BASE_URL: window.location.origin + "/" };
(() => {
  const { writing } = component;

  document.addEventListener(
    "keydown",
    (event) => {
      if (writing(event.target)) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      if (event.repeat && event.key.length === 1) event.stopImmediatePropagation();
    },
    true,
  );

  // The clipboard is only there over HTTPS and on this machine; elsewhere the text is selected, and copied as by hand.
  async function copied(element) {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch {
      window.getSelection().selectAllChildren(element);
      return document.execCommand("copy");
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element && event.target.closest("button.copy");
    if (button && (await copied(button.previousElementSibling))) button.textContent = button.dataset.copied;
  });

  // The page connects again by itself; a restart of the server, or a short gap, needs no words.
  const GAP = 1500;
  let gap = null;

  // Streamlit's own dialog about it, which is not shown, makes everything but its "top layer" inert: a note that is being
  // typed would lose the focus, and its letters would be keys.
  function keep_alive(kept) {
    const root = document.querySelector("#root");
    if (root && kept) root.dataset.reactAriaTopLayer = "true";
    else delete root?.dataset.reactAriaTopLayer;
  }

  function disconnected() {
    keep_alive(true);
    gap ??= setTimeout(() => {
      const said = document.createElement("div");
      said.id = "disconnected";
      said.setAttribute("role", "alert");
      said.dataset.reactAriaTopLayer = "true";
      const words = JSON.parse(document.querySelector("meta[name=disconnected]").content);
      said.textContent = words[document.documentElement.lang];
      document.body.append(said);
      document.documentElement.style.setProperty("--disconnected", `${said.offsetHeight}px`);
    }, GAP);
  }

  function connected() {
    clearTimeout(gap);
    gap = null;
    keep_alive(false);
    document.querySelector("#disconnected")?.remove();
  }

  window.WebSocket = class extends window.WebSocket {
    constructor(...given) {
      super(...given);
      let opened = false;
      this.addEventListener("open", () => {
        opened = true;
        connected();
      });
      this.addEventListener("close", () => {
        disconnected();
        if (opened) return;
        fetch("/", { method: "HEAD", redirect: "manual" }).then(
          (answer) => answer.type === "opaqueredirect" && window.location.assign("/sign-in"),
          () => {}, // no server
        );
      });
    }
  };

  new MutationObserver(() => {
    const language = document.querySelector("#frame")?.dataset.language;
    if (language) document.documentElement.lang = language;
  }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-language"] });
})();
