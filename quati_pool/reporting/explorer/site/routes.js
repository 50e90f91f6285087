"use strict";

(() => {
  const encode = (text) => encodeURIComponent(String(text).replace(/\p{Surrogate}/gu, "\ufffd"));

  const decode = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  /** The address of a page: `["query", "q1", [["by", "ana"]]]` is `#/query/q1?by=ana`. Values of null are left out. */
  const build = (page, name, parameters = []) => {
    const path = `#/${page}${name == null ? "" : `/${encode(name)}`}`;
    const given = parameters.filter(([, value]) => value != null);
    return given.length ? `${path}?${given.map((pair) => pair.map(encode).join("=")).join("&")}` : path;
  };

  /** What a hash says: the page ("" is the start), the name of what it shows, and parameters. */
  const parse = (hash) => {
    const [path, ...rest] = hash.replace(/^#\/?/, "").split("?");
    const [page, ...names] = path.split("/");
    const name = names.length ? decode(names.join("/")) : null;
    const parameters = Array.from(new URLSearchParams(rest.join("?")));
    const get = (key) => parameters.find(([found]) => found === key)?.[1] ?? null;
    const all = (key) => parameters.filter(([found]) => found === key).map(([, value]) => value);

    /** The address of the same page with these parameters changed; null takes one away. */
    const changed = (changes) => {
      const replaced = Object.entries(changes);
      const kept = parameters.filter(([key]) => !replaced.some(([other]) => other === key));
      return build(page, name, [...kept, ...replaced]);
    };
    return { page, name, path, get, all, changed };
  };

  explorer.routes = { build, parse };
})();
