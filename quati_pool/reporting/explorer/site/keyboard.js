"use strict";

(() => {
  const { html } = htmPreact;

  const KEYS = [
    ["/", "search queries"],
    ["j or →", "next query"],
    ["k or ←", "previous query"],
    ["u", "all queries, systems and labelers"],
    ["arrows", "within the rankings: another document"],
    ["?", "these keys"],
    ["Esc", "close"],
  ];

  /** The list of keys, opened by `?`. */
  explorer.Keys = () => html`
    <dialog id="keys" aria-labelledby="keys-heading">
      <h2 id="keys-heading">Keys</h2>
      <dl>${KEYS.map(([key, meaning]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${meaning}</dd></div>`)}</dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>
  `;

  const ACTIONS = new Map([
    ["/", () => search()],
    ["?", () => document.getElementById("keys").showModal()],
    ["u", () => explorer.go("#/")],
    ["j", () => follow(explorer.shortcuts.next)],
    ["ArrowRight", () => follow(explorer.shortcuts.next)],
    ["k", () => follow(explorer.shortcuts.previous)],
    ["ArrowLeft", () => follow(explorer.shortcuts.previous)],
  ]);

  const follow = (hash) => {
    if (hash) explorer.go(hash);
  };

  const search = () => {
    const field = document.getElementById("search");
    if (field) field.focus();
    else explorer.go("#/?q=");
  };

  // Where keys write, choose or scroll, they are not shortcuts.
  const TAKEN = "input, select, textarea, dialog, [contenteditable], .scroll, canvas";

  explorer.listenToKeys = () => {
    addEventListener("keydown", (event) => {
      const action = ACTIONS.get(event.key);
      if (!action || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]")) return;
      const arrow = event.key.startsWith("Arrow");
      const taken = event.target.closest?.(arrow ? TAKEN : "input, select, textarea, [contenteditable]");
      if (taken) return;
      event.preventDefault();
      action();
    });
  };
})();
