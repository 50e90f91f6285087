"use strict";

// Starts the explorer in the app, where a lead may ask to see what is hidden on a pair.
(() => {
  const source = explorer.files("data/");

  explorer.reveal = async (query, doc) => {
    const answer = await fetch(`reveal?${new URLSearchParams({ query, doc })}`, { method: "POST" });
    if (!answer.ok) throw new Error(await answer.text());
    source.forget();
    await explorer.refresh();
  };

  explorer.start(document.getElementById("root"), source);
})();
