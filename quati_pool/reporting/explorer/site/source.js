"use strict";

// Data files are scripts that call `explorerData`, because a page opened from the disk may not fetch files.
(() => {
  const KEPT = 64;
  const received = new Map();

  globalThis.explorerData = {
    collection: (data) => received.set("collection", data),
    query: (number, data) => received.set(`query-${number}`, data),
    scores: (labeler, measure, data) => received.set(`scores-${labeler}-${measure}`, data),
  };

  const run = (file) => {
    const script = document.createElement("script");
    script.src = file;
    const loaded = new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(`The file ${file} cannot be read.`));
    });
    document.head.append(script);
    return loaded.finally(() => script.remove());
  };

  const load = async (folder, name) => {
    const file = `${folder}${name}.js`;
    await run(file);
    if (!received.has(name)) throw new Error(`The file ${file} is damaged.`);
    const found = received.get(name);
    received.delete(name);
    return found;
  };

  let chart = null;

  /** The class Chart, of a library that takes longer to start than all others together, and which few pages need. */
  explorer.chartLibrary = async () => {
    chart ??= run("libraries/chart.js");
    await chart;
    return Chart;
  };

  /** A source of data, each of whose functions returns a promise: of the collection, of a query's rankings and
      passages, of the scores under a labeler by a measure (all by number). This one reads the files in `folder`. */
  explorer.files = (folder) => {
    const loaded = new Map();
    const once = (name) => {
      const found = loaded.get(name) ?? load(folder, name);
      // The least recently used file is forgotten, and what failed is tried again the next time.
      loaded.delete(name);
      loaded.set(name, found);
      if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value);
      found.catch(() => loaded.delete(name));
      return found;
    };
    return {
      collection: () => once("collection"),
      query: (number) => once(`query-${number}`),
      scores: (labeler, measure) => once(`scores-${labeler}-${measure}`),
      forget: () => loaded.clear(),
    };
  };
})();
