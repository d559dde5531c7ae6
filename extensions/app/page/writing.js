// @ts-check
// A paradigm while it is written: whenever its file is saved, its faults, a trial, words and frames.
import { player } from "./app.js";
import { $, element } from "./kit.js";

const page = $("writing");
let state = "", factors = "";

/** The trial as words and frames; sliders where the factors have changed. @param {any} got */
function show(got) {
  $("heading").textContent = got.title;
  const now = JSON.stringify(got.factors);
  if (now !== factors) {
    factors = now;
    $("levels").replaceChildren(...Object.entries(got.factors).map(([name, levels]) => {
      const slider = element("input", { type: "range", name, min: "0", max: String(levels.length - 1), value: String(levels.indexOf(got.levels[name])), "data-levels": JSON.stringify(levels), "data-names": JSON.stringify(levels.map(String)), "aria-valuetext": String(got.levels[name]) });
      return element("label", {}, `${name.replaceAll("_", " ")}: `, element("output", {}, String(got.levels[name])), slider);
    }));
  }
  $("words").replaceChildren(...got.words.map((/** @type {[string, string]} */ [role, said]) => element("li", {}, element("strong", {}, role), element("pre", { tabindex: "0" }, said))));
  $("frames").replaceChildren(...got.frames.map((/** @type {string} */ source) => element("li", {}, element("img", { src: source, width: "96", height: "96", alt: "" }))));
  $("strip").replaceChildren(...got.pictures.map((/** @type {any} */ one) => element("li", { class: one.asks ? "asks" : "" }, element("img", { src: one.source, width: "144", height: "144", alt: one.words }), element("span", {}, one.phase.replaceAll("_", " ")), element("span", { class: "muted" }, one.self_paced ? page.dataset.paced || "" : `${one.ms} ms`))));
}
const load = player("/writing/trial", show);

/** The file with its faults beside their lines. */
async function faults() {
  const mine = state, found = await (await fetch("/writing/faults")).json();
  if (mine !== state) return; // it was saved again meanwhile
  $("said").replaceChildren(...[...found.said, ...found.faults.filter((/** @type {any} */ one) => !one.line).map((/** @type {any} */ one) => one.text)].map((line) => element("li", { class: found.faults.length ? "problem" : "" }, line)));
  $("lines").replaceChildren(...found.lines.map((/** @type {string} */ line, /** @type {number} */ at) => {
    const of = found.faults.filter((/** @type {any} */ one) => one.line === at + 1);
    return element("li", of.length ? { class: "faulty" } : {}, element("code", {}, line || " "), ...of.map((/** @type {any} */ one) => element("p", { class: "problem" }, one.text)));
  }));
  $("good").hidden = !!found.faults.length;
  document.querySelector(".faulty")?.scrollIntoView({ block: "nearest" });
}
async function look() {
  const answer = await fetch("/writing/state").catch(() => null);
  if (!answer?.ok) return;
  const now = (await answer.json()).state;
  if (now === state) return;
  const first = !state;
  state = now;
  await Promise.all([faults(), ...(first ? [] : [load()])]);
}
setInterval(() => { if (!document.hidden) void look(); }, 300);
void look();
