// @ts-check
/** The assistant's page: it asks the server for the state of all sessions every few seconds. The token never leaves this page but as a header of these requests. */

import { $, button, element } from "./kit.js";

const EVERY_MS = 3000;
/** These columns come first, in this order; the others follow as `spanlab study monitor` has them. */
const FIRST = ["participant", "page", "state", "note", "group", "session", "paradigm", "trials"];
const KEPT = "spanlab-monitor-token";

/** @typedef {{state: string, standing: string, cells: string[], page: string}} Row */
/** @typedef {{participant: string, page: string, since: string}} Arriving */
/**
 * @typedef {{title: string, at: number, counts: [string, number][], pages: number, places: [number, number] | null, turned_away: number, header: string[],
 *   rows: Row[], arriving: Arriving[], messages: [number, string][]}} Now
 */

/** The token of the address; it is taken out of it, so that it is in no history and on no photograph of the screen. */
function tokenOfAddress() {
  const token = location.hash.slice(1);
  if (token) {
    sessionStorage.setItem(KEPT, token);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

/** How somebody stands whose rows are shown; empty for all. */
let only = "";
/** @type {Now | null} */
let last = null;
let heard = 0;

/** @param {number} seconds since the epoch */
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false, hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** @param {Now} now */
function show(now) {
  document.title = `${now.title} – SpanLab monitor`;
  $("title").textContent = now.title;
  const facts = [`${now.pages} ${now.pages === 1 ? "page" : "pages"} open`];
  if (now.places !== null) facts.push(`${now.places[0]} of ${now.places[1]} places taken`);
  if (now.turned_away > 0) facts.push(`${now.turned_away} found no place`);
  $("facts").textContent = facts.join(" · ");
  $("facts").className = "";
  const total = now.counts.reduce((sum, [, count]) => sum + count, 0);
  if (only !== "" && !now.counts.some(([state]) => state === only)) only = "";
  const focused = document.activeElement?.getAttribute("data-state");
  $("counts").replaceChildren(...[["", total], ...now.counts].map(([state, count]) => {
    const choose = () => { only = String(state); if (last !== null) show(last); };
    const made = button(` ${state === "" ? "in all" : state}`, choose, { "data-state": String(state), "aria-pressed": String(only === state) });
    made.prepend(element("strong", {}, String(count)));
    return made;
  }));
  if (focused !== null && focused !== undefined) /** @type {HTMLElement | null} */ ($("counts").querySelector(`[data-state="${CSS.escape(focused)}"]`))?.focus();
  showTable(now);
  list("arriving", now.arriving.map((one) => `${one.participant}: ${one.page}, came ${one.since}`));
  list("messages", now.messages.map(([at, text]) => `${clock(at)}  ${text}`));
}

/** @param {Now} now */
function showTable(now) {
  const rows = now.rows.filter((row) => only === "" || row.standing === only);
  if (now.rows.length === 0) {
    $("table").replaceChildren(element("p", { class: "empty" }, "Nobody has begun a trial or a page of consent yet."));
    return;
  }
  const header = [...FIRST, ...now.header.filter((name) => !FIRST.includes(name))].filter((name) => name === "page" || now.header.includes(name));
  const cellOf = (/** @type {Row} */ row, /** @type {string} */ name) => (name === "page" ? row.page : row.cells[now.header.indexOf(name)] ?? "");
  const head = element("thead", {}, element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name))));
  const body = element("tbody", {}, ...rows.map((row) => {
    return element("tr", { "data-state": row.state }, ...header.map((name) => {
      const cell = cellOf(row, name);
      return element(name === "participant" ? "th" : "td", { "data-name": name, ...(name === "participant" ? { scope: "row" } : {}), ...(cell === "" ? { class: "none" } : {}) }, cell);
    }));
  }));
  const scroll = $("table").querySelector(".wide")?.scrollLeft ?? 0;
  const wide = element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Sessions" }, element("table", {}, head, body));
  $("table").replaceChildren(wide);
  wide.scrollLeft = scroll;
}

/** @param {string} id @param {string[]} lines */
function list(id, lines) {
  const section = $(id);
  section.hidden = lines.length === 0;
  section.querySelector("ul")?.replaceChildren(...lines.map((line) => element("li", {}, line)));
}

/** @param {string} text @param {boolean} wrong */
function say(text, wrong) {
  $("when").textContent = text;
  $("when").className = wrong ? "wrong" : "";
}

async function follow() {
  for (;;) {
    const token = tokenOfAddress();
    try {
      const answer = await fetch("monitor/now", { headers: { authorization: `Bearer ${token}` }, cache: "no-store" });
      if (answer.status === 404) {
        sessionStorage.removeItem(KEPT);
        $("facts").textContent = "Please open the address for the assistant that spanlab serve printed when it started.";
        $("facts").className = "wrong";
        for (const id of ["counts", "table"]) $(id).replaceChildren();
        for (const id of ["arriving", "messages"]) $(id).hidden = true;
        $("title").textContent = "Monitor";
        say("", false);
        addEventListener("hashchange", () => location.reload(), { once: true });
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      last = /** @type {Now} */ (await answer.json());
      heard = Date.now();
      show(last);
      say(`as of ${clock(last.at)}`, false);
    } catch {
      say(heard === 0 ? "The server does not answer." : `The server does not answer; this is as of ${clock(heard / 1000)}.`, true);
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

addEventListener("hashchange", tokenOfAddress);
void follow();
