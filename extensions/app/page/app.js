// @ts-check
// The wall's filters, the player, what the buttons start, and curves that grow.

import { $, element, redraw } from "./kit.js";

/** @template {Element} T @param {string} name @param {new () => T} kind @returns {T} */
export function part(name, kind) {
  const found = document.querySelector(name);
  if (!(found instanceof kind)) throw new Error(`the page has no ${name}`);
  return found;
}

/** @param {string} address @param {object} asked */
export async function send(address, asked) {
  const answer = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked) });
  const said = await answer.json().catch(() => ({ problem: `${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(said.problem || `${answer.status}`), { server: said.server });
  return said;
}

function filterWall() {
  const form = part("#filters", HTMLFormElement), found = part("#found", HTMLElement);
  const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".wall li")]);
  const show = () => {
    const wanted = new FormData(form);
    const words = String(wanted.get("search") || "").toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const card of cards) {
      const data = card.dataset;
      const fits = words.every((word) => (data.words || "").includes(word))
        && ["domains", "functions"].every((kind) => !wanted.get(kind) || (data[kind] || "").split("|").includes(String(wanted.get(kind))))
        && ["people", "network"].every((kind) => !wanted.get(kind) || data[kind]);
      card.hidden = !fits;
      count += Number(fits);
    }
    found.textContent = (found.dataset.says || "").replace("{n}", String(count));
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}

/** @typedef {{source: string, ms: number, self_paced: boolean, phase: string, asks: boolean, words: string}} Picture */

/** A trial, played at the time that it takes; what loads it anew. @param {string} address @param {(got: any) => void} then */
export function player(address, then = () => {}) {
  const display = part("#display", HTMLImageElement), moment = part("#moment", HTMLInputElement), button = part("#play", HTMLButtonElement);
  const phase = part("#phase", HTMLElement), levels = part("#levels", HTMLFormElement);
  /** @type {Picture[]} */
  let pictures = [];
  let number = 0, at = 0, due = 0, playing = false;

  const show = (/** @type {number} */ wanted) => {
    at = wanted;
    const picture = pictures[at];
    if (!picture) return;
    display.src = picture.source;
    display.alt = picture.words;
    moment.value = String(at);
    const says = [picture.phase, picture.self_paced ? phase.dataset.paced : `${picture.ms} ms`, ...(picture.asks ? [phase.dataset.asks] : [])];
    phase.textContent = says.join(" · ");
    moment.setAttribute("aria-valuetext", phase.textContent);
  };
  const label = () => { button.textContent = (playing ? button.dataset.pause : button.dataset.play) || ""; };
  const step = (/** @type {number} */ now) => {
    if (!playing) return;
    while (playing && now >= due) {
      if (at + 1 < pictures.length) {
        show(at + 1);
        due += pictures[at]?.ms ?? 0;
      } else {
        playing = false;
        label();
      }
    }
    requestAnimationFrame(step);
  };
  const load = async () => {
    const wanted = new URLSearchParams({ number: String(number) });
    for (const [name, level] of Object.entries(levelsShown())) wanted.set(name, JSON.stringify(level));
    for (const slider of levels.querySelectorAll("input")) {
      const name = JSON.parse(slider.dataset.names || "[]")[Number(slider.value)];
      /** @type {HTMLOutputElement} */ (slider.parentElement?.querySelector("output")).textContent = name;
      slider.setAttribute("aria-valuetext", name);
    }
    const answer = await fetch(`${address}?${wanted}`);
    if (!answer.ok) return;
    const got = await answer.json();
    pictures = Array.isArray(got) ? got : got.pictures;
    then(got);
    moment.max = String(pictures.length - 1);
    playing = false;
    label();
    show(0);
  };
  button.addEventListener("click", () => {
    playing = !playing;
    label();
    if (!playing) return;
    show(at + 1 < pictures.length ? at : 0);
    due = performance.now() + (pictures[at]?.ms ?? 0);
    requestAnimationFrame(step);
  });
  part("#another", HTMLButtonElement).addEventListener("click", () => { number += 1; void load(); });
  moment.addEventListener("input", () => { playing = false; label(); show(Number(moment.value)); });
  levels.addEventListener("input", () => void load());
  void load();
  return load;
}

/** The levels of the trial on the page. @returns {Record<string, unknown>} */
function levelsShown() {
  const sliders = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("#levels input")]);
  return Object.fromEntries(sliders.map((slider) => [slider.name, JSON.parse(slider.dataset.levels || "[]")[Number(slider.value)]]));
}

/** What a form asks for. @param {HTMLFormElement} form @param {string} paradigm @param {HTMLElement | null} by */
function asked(form, paradigm, by = null) {
  const values = new FormData(form, by);
  return { ...Object.fromEntries(values), agents: values.getAll("agents"), sessions: values.getAll("sessions"), levels: levelsShown(), paradigm };
}

/** Forms that start commands. @param {string} paradigm @param {() => void} look */
export function starting(paradigm, look) {
  for (const form of /** @type {HTMLFormElement[]} */ ([...document.querySelectorAll("form.start[data-kind]")])) {
    const command = form.querySelector(".command code"), problem = /** @type {HTMLElement} */ (form.querySelector(".problem"));
    const tell = (/** @type {unknown} */ error) => {
      problem.textContent = error instanceof Error ? error.message : "";
      problem.hidden = !problem.textContent;
    };
    const preview = () => {
      send(`/jobs/${form.dataset.kind}`, { ...asked(form, paradigm), only_command: true }).then(
        (said) => { if (command) command.textContent = said.command; tell(null); },
        (error) => { if (command) command.textContent = ""; tell(error); },
      );
    };
    if (!form.dataset.quiet) {
      form.addEventListener("change", preview);
      document.querySelector("#levels")?.addEventListener("change", preview);
      preview();
    }
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = /** @type {HTMLButtonElement} */ (event.submitter), wanted = asked(form, paradigm, button);
      button.disabled = true; // and says nothing from now on
      try {
        const said = await send(`/jobs/${button.dataset.kind}`, wanted);
        if (said.report) {
          const address = `/reports/${encodeURIComponent(said.report)}`;
          if (location.pathname === address) location.reload();
          else location.href = address;
          return;
        }
        if (command) command.textContent = said.command;
        tell(null);
        look();
      } catch (error) {
        tell(error);
        const server = /** @type {{server?: string}} */ (error).server; // of a record: to be looked at before a key is sent there
        if (server) for (const [name, value] of Object.entries({ key: "", server })) fill(/** @type {HTMLInputElement} */ (form.elements.namedItem(name)), value);
      }
      button.disabled = false;
    });
  }
}

/** Fill a field that somebody is to look at. @param {HTMLInputElement} field @param {string} value */
function fill(field, value) {
  field.value = value;
  for (const folded of document.querySelectorAll("details")) folded.open ||= folded.contains(field);
  field.focus();
}

/** What machines are going to take. @param {string} paradigm */
function estimating(paradigm) {
  const form = part("#replay", HTMLFormElement), said = part("#said", HTMLElement);
  part("#estimate", HTMLButtonElement).addEventListener("click", async () => {
    said.replaceChildren(item("…"));
    const found = await send("/jobs/estimate", asked(form, paradigm)).catch((error) => ({ said: [error.message] }));
    said.replaceChildren(...found.said.map(item));
  });
}

/** @param {string} text */
const item = (text) => element("li", {}, text);

/** A drawing as a part of the page; null where there is none. @param {string} address @returns {Promise<Element | null>} */
async function drawn(address) {
  const answer = await fetch(address);
  return answer.ok ? document.importNode(new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement, true) : null;
}

/** Parts of the page as the server says that they are now, each by its name. The next question follows the answer. @param {string} address @param {number} ms @param {() => void} then */
export function following(address, ms, then = () => {}) {
  const shown = new Map();
  let timer = 0, looking = false, again = false;
  async function look() {
    again = looking;
    if (looking) return;
    clearTimeout(timer);
    looking = true;
    const answer = document.hidden ? null : await fetch(address).catch(() => null);
    if (answer?.ok) {
      for (const part of /** @type {HTMLCollectionOf<HTMLElement>} */ (new DOMParser().parseFromString(await answer.text(), "text/html").body.children)) {
        if (shown.get(part.id) !== part.outerHTML) replace(part); // whoever has just reached a button keeps it
        shown.set(part.id, part.outerHTML);
      }
      then();
    }
    looking = false;
    timer = window.setTimeout(look, again ? 0 : ms);
  }
  addEventListener("click", (event) => {
    const address = event.target instanceof HTMLElement && event.target.dataset.post;
    if (address) void send(address, {}).then(look);
  });
  void look();
  return () => void look();
}

/** A part of the page, as it is now; what was opened and chosen in it stays. @param {HTMLElement} part */
function replace(part) {
  const place = $(part.id), opened = Array.from(place.querySelectorAll("details[open]"), (one) => one.id), chosen = place instanceof HTMLSelectElement ? place.value : "";
  redraw(place, () => { place.innerHTML = part.innerHTML; }); // options that were moved would each be chosen in turn
  place.hidden = part.hidden;
  Object.assign(place.dataset, part.dataset);
  for (const one of place.querySelectorAll("details")) one.open ||= opened.includes(one.id);
  if (!(place instanceof HTMLSelectElement)) return;
  if ((chosen || place.dataset.touched) && Array.from(place.options).some((option) => option.value === chosen)) place.value = chosen;
}

/** Sessions and curves while they grow. @param {string} paradigm @returns {() => void} */
function watching(paradigm) {
  const figures = part("#figures", HTMLSelectElement), figure = part("#figure", HTMLElement), command = part("#figure-command", HTMLElement);
  let shown = "";
  const drawFigure = () => {
    const name = figures.value, state = figures.dataset.state || "";
    if (!name || shown === `${name} ${state}`) return;
    const wanted = `${name} ${state}`;
    shown = wanted;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    void drawn(`/paradigms/${paradigm}/${name}.svg?theme=${dark ? "dark" : "light"}&state=${encodeURIComponent(state)}`).then((picture) => {
      if (!picture || shown !== wanted) return;
      picture.setAttribute("role", "group"); // its points are links to their trials
      picture.setAttribute("aria-label", (figure.dataset.says || "").replace("{name}", name.replaceAll("_", " ")));
      figure.replaceChildren(picture);
      figure.hidden = false;
      part("#points-hint", HTMLElement).hidden = !picture.querySelector("a");
    });
    command.textContent = `spanlab figure ${name} ${command.dataset.folder} --paradigm ${paradigm} -o ${name}.svg`;
    if (command.parentElement) command.parentElement.hidden = false;
  };
  part("#like", HTMLSelectElement).addEventListener("change", (event) => { /** @type {HTMLElement} */ (event.target).dataset.touched = "yes"; });
  figures.addEventListener("change", drawFigure);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { shown = ""; drawFigure(); });
  return following(`/paradigms/${paradigm}/live`, 1500, drawFigure);
}

/** A report that is being made, or the one that is made, in its frame. @param {HTMLElement} report @param {string} name */
function reporting(report, name) {
  const address = `/reports/${encodeURIComponent(name)}`;
  if (report.dataset.state === "runs") {
    following(`${address}/state`, 1000, () => { if ($("printed").dataset.state !== "runs") location.reload(); });
    return;
  }
  const frame = document.querySelector("#inside");
  if (!(frame instanceof HTMLIFrameElement)) return;
  frame.src = `${address}/page${location.hash}`;
  // What the report says comes from a sandbox: it may name one of its marks or files, and nothing else.
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow) return;
    const said = /** @type {{figure?: unknown, mark?: unknown, file?: unknown}} */ (event.data ?? {});
    if (typeof said.figure === "string" && Number.isInteger(said.mark)) {
      history.replaceState(null, "", `#${encodeURIComponent(said.figure)}`); // to come back to this figure
      location.href = `${address}/points?${new URLSearchParams({ figure: said.figure, mark: String(said.mark) })}`;
    } else if (typeof said.file === "string") {
      open(`${address}/files/${said.file.split("/").map((part) => encodeURIComponent(decodeURIComponent(part))).join("/")}`, "_blank", "noopener");
    }
  });
}

if (document.querySelector("#filters")) filterWall();
const paradigm = document.querySelector("#paradigm");
if (paradigm instanceof HTMLElement && paradigm.dataset.name) {
  player(`/paradigms/${paradigm.dataset.name}/play`);
  starting(paradigm.dataset.name, watching(paradigm.dataset.name));
  estimating(paradigm.dataset.name);
}
if (document.querySelector("#compare")) starting("", () => {});
const report = document.querySelector("#report");
if (report instanceof HTMLElement && report.dataset.name) {
  starting("", () => {});
  reporting(report, report.dataset.name);
}
