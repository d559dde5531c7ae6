// @ts-check
// A study: its file as a form and as text, its people and sessions, and what follows.
import { following, send, starting } from "./app.js";
import { $, button, element, redraw } from "./kit.js";

const fresh = document.querySelector("#new-study");
if (fresh instanceof HTMLFormElement) asks(fresh, "/studies", () => ({}), (said) => { location.href = said.address; });
const page = document.querySelector("#study");
if (page instanceof HTMLElement) study(page, `/studies/${page.dataset.name}`);

/** A form that asks for something at once. @param {HTMLFormElement} form @param {string} address @param {() => object} more @param {(said: any) => void} then */
function asks(form, address, more, then) {
  const problem = /** @type {HTMLElement} */ (form.querySelector(".problem"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const act = /** @type {HTMLButtonElement | null} */ (event.submitter)?.value;
    send(address, { ...Object.fromEntries(new FormData(form)), ...more(), ...(act ? { what: act } : {}) }).then(
      (said) => { problem.hidden = true; then(said); },
      (error) => { problem.textContent = error.message; problem.hidden = false; },
    );
  });
}

/** @param {HTMLElement} page @param {string} address */
function study(page, address) {
  const form = /** @type {HTMLFormElement} */ ($("form")), text = /** @type {HTMLTextAreaElement} */ ($("text"));
  const save = /** @type {HTMLButtonElement} */ ($("save")), rows = $("tasks"), tell = $("told");
  /** @type {any} */
  let data = {};
  /** @type {Record<string, Record<string, string>>} */
  const texts = {}; // of pages, by language; a language that is taken out keeps its texts here, and may come back
  let asked = 0, timer = 0, unsaved = false, inForm = false; // which of the two was changed last
  /** @param {string} name @returns {any} */
  const control = (name) => form.elements.namedItem(name);
  const languages = () => /** @type {string[]} */ ([data.languages ?? "en"].flat());
  const levels = (/** @type {Record<string, any>} */ chosen) => Object.entries(chosen || {}).map(([name, level]) => `${name}=${[level].flat().join(",")}`).join("; ");
  /** @param {string} typed */
  const read = (typed) => Object.fromEntries(typed.split(";").map((one) => one.trim()).filter(Boolean).map((one) => {
    const [name = "", values = ""] = one.split("=");
    const found = values.split(",").map((value) => { try { return JSON.parse(value); } catch { return value.trim(); } });
    return [name.trim(), found.length > 1 ? found : found[0]];
  }));

  /** @param {any} entry @param {number} at */
  function task(entry, at) {
    const one = typeof entry === "string" ? { paradigm: entry } : entry, label = one.as || one.paradigm;
    const field = (/** @type {string} */ name, /** @type {string} */ value, /** @type {Record<string, string>} */ more = {}) => element("label", {}, page.dataset[name] || "", " ", element("input", { name: `${name}-${at}`, value, autocomplete: "off", "aria-label": `${label}: ${page.dataset[name]}`, ...more }));
    const practice = element("input", { type: "checkbox", name: `practice-${at}`, ...(one.practice === false ? {} : { checked: "" }) });
    const move = (/** @type {number} */ by) => { const list = [...gathered().paradigms]; list.splice(at + by, 0, ...list.splice(at, 1)); void change({ paradigms: list }); };
    return element("li", {}, element("strong", {}, label), field("trials", String(one.trials ?? ""), { inputmode: "numeric" }), field("levels", levels(one.set), { placeholder: "list_length=3,4" }),
      element("label", { class: "check" }, practice, " ", page.dataset.practice || ""),
      element("span", { class: "buttons" }, ...(at ? [button("↑", () => move(-1), { "aria-label": `${page.dataset.up}: ${label}` })] : []), button("×", () => void change({ paradigms: gathered().paradigms.filter((/** @type {any} */ _, /** @type {number} */ number) => number !== at) }), { "aria-label": `${page.dataset.remove}: ${label}` })));
  }
  function fill() {
    for (const name of ["title", "people"]) control(name).value = data[name] ?? "";
    control("languages").value = languages().join(", ");
    control("sessions").value = Array.isArray(data.sessions) ? "" : (data.sessions ?? 1);
    control("sessions").disabled = Array.isArray(data.sessions);
    control("order").value = data.order ?? "fixed";
    control("fields").value = (data.fields || []).filter((/** @type {any} */ one) => typeof one === "string").join(", ");
    control("phones").value = data.online?.require?.phones ?? "allowed";
    control("admission").value = data.online?.admission ?? "open";
    control("allow").value = data.online?.allow ?? "";
    redraw(rows, () => rows.replaceChildren(...(data.paradigms || []).map(task)));
  }
  /** A box for each page in each language; those of the form stay while it is typed in. @param {typeof texts} found */
  function drawTexts(found) {
    for (const [name, said] of Object.entries(found)) {
      const own = texts[name] = { ...texts[name], ...said }, place = $(name);
      if (inForm && place.dataset.languages === languages().join()) continue;
      place.dataset.languages = languages().join();
      place.replaceChildren(...languages().map((lang) => element("label", {}, `${place.dataset.says} (${lang}) `, element("textarea", { lang, "data-page": name, rows: "3" }, own[lang] ?? ""))));
    }
  }
  /** The file as the form has it. */
  function gathered() {
    const words = (/** @type {string} */ name) => control(name).value.split(",").map((/** @type {string} */ one) => one.trim()).filter(Boolean);
    const made = { ...data, title: control("title").value, languages: words("languages"), order: control("order").value };
    const keep = (/** @type {string} */ name, /** @type {any} */ value, /** @type {any} */ usual) => { if (value === usual || value === "") delete made[name]; else made[name] = value; };
    const number = (/** @type {string} */ typed) => (/^ *\d+ *$/.test(typed) ? Number(typed) : typed); // what is none is refused in a sentence
    if (!control("sessions").disabled) keep("sessions", number(control("sessions").value) || 1, undefined);
    keep("people", number(control("people").value), "");
    const own = (data.fields || []).filter((/** @type {any} */ one) => typeof one !== "string"), fields = [...words("fields"), ...own];
    keep("fields", fields.length ? fields : "", "");
    for (const box of form.querySelectorAll("textarea")) Object.assign(texts[box.dataset.page || ""] || {}, { [box.lang]: box.value });
    const online = { ...data.online, require: { ...data.online?.require, phones: control("phones").value }, admission: control("admission").value, allow: control("allow").value.trim() };
    if (!online.allow) delete online.allow;
    if (data.online || online.require.phones !== "allowed" || online.admission !== "open") made.online = online;
    made.paradigms = (data.paradigms || []).map((/** @type {any} */ entry, /** @type {number} */ at) => {
      const one = typeof entry === "string" ? { paradigm: entry } : { ...entry };
      const trials = control(`trials-${at}`)?.value, chosen = read(control(`levels-${at}`)?.value || "");
      if (trials) one.trials = number(trials); else delete one.trials;
      if (Object.keys(chosen).length) one.set = chosen; else delete one.set;
      if (control(`practice-${at}`)?.checked) delete one.practice; else one.practice = false;
      return Object.keys(one).length === 1 ? one.paradigm : one;
    });
    return made;
  }
  /** @param {object} wanted */
  async function draft(wanted) {
    const mine = ++asked;
    const said = await send(`${address}/draft`, { ...wanted, since: page.dataset.since }).catch((error) => ({ wrong: [error.message], said: [] }));
    const saved = "save" in wanted && !said.wrong.length;
    if (saved) [page.dataset.since, unsaved] = [said.since, unsaved && mine !== asked];
    if (mine !== asked) return said;
    if ("data" in wanted) text.value = said.text ?? text.value;
    else if (said.data?.study) { data = said.data; fill(); }
    // what is changed in a form that does not show the file would take the file's place
    if (!("data" in wanted)) /** @type {HTMLElement} */ (form.parentElement).inert = !said.data?.study;
    if (said.data?.study) drawTexts(said.texts);
    tell.replaceChildren(...[...said.wrong, ...said.said].map((line) => element("li", { class: said.wrong.length ? "problem" : "" }, line)));
    save.disabled = !!said.wrong.length;
    save.textContent = (saved ? save.dataset.saved : save.dataset.save) || "";
    return said;
  }
  const change = (/** @type {object} */ changes) => { // at once, so that nothing that is typed meanwhile undoes it
    clearTimeout(timer);
    [inForm, unsaved] = [true, true];
    data = { ...gathered(), ...changes };
    if (Object.keys(changes).length) fill(); // and not while somebody types
    return draft({ data, texts });
  };
  const soon = (/** @type {() => void} */ act) => { clearTimeout(timer); unsaved = true; asked += 1; timer = window.setTimeout(act, 350); save.textContent = save.dataset.save || ""; };
  text.addEventListener("input", () => { inForm = false; soon(() => void draft({ text: text.value })); });
  form.addEventListener("input", (event) => { if (event.target === control("add")) return; inForm = true; soon(() => void change({})); });
  form.addEventListener("submit", (event) => event.preventDefault());
  $("add-task").addEventListener("click", () => {
    const name = control("add").value, listed = gathered().paradigms;
    const twice = listed.some((/** @type {any} */ one) => (one.paradigm ?? one) === name); // each needs a name of its own
    if (name) void change({ paradigms: [...listed, twice ? { paradigm: name, as: `${name.replace(/\W/g, "_")}_${1 + Math.max(listed.length, ...listed.map((/** @type {any} */ one) => Number(/_(\d+)$/.exec(one.as ?? "")?.[1] ?? 0)))}` } : name] });
    control("add").value = "";
  });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  // What is started, served or linked is what was saved.
  page.addEventListener("submit", (event) => {
    const begins = /** @type {HTMLFormElement} */ (event.target);
    if (!unsaved || !(begins.id === "links" || ["study-run", "study-serve"].includes(begins.dataset.kind || ""))) return;
    event.preventDefault();
    event.stopPropagation();
    tell.querySelector(".unsaved")?.remove();
    tell.prepend(element("li", { class: "problem unsaved" }, page.dataset.unsaved || "")); // above why it cannot be saved
    save.focus();
  }, true);
  save.addEventListener("click", async () => {
    clearTimeout(timer);
    const said = await draft({ ...(inForm ? { data: gathered(), texts } : { text: text.value }), save: "yes" });
    if (!said.wrong.length) look();
  });

  /** @param {string} id @param {string} what @param {(said: any) => void} then */
  const does = (id, what, then) => asks(/** @type {HTMLFormElement} */ ($(id)), `${address}/${what}`, () => ({ languages: languages() }), then);
  does("questions", "questions", (said) => void change({ paradigms: [...gathered().paradigms, said.file] }));
  const kept = /** @type {HTMLElement} */ ($("exclusions").querySelector("button"));
  does("exclusions", "exclusions", () => { kept.textContent = save.dataset.saved || ""; });
  $("exclusions").addEventListener("input", () => { kept.textContent = save.dataset.save || ""; });
  does("care", "act", (said) => { $("said-of-people").replaceChildren(...said.said.map((/** @type {string} */ line) => element("li", {}, line))); look(); });
  does("links", "links", (said) => $("links-made").replaceChildren(...said.links.map((/** @type {{link: string, picture: string}} */ one) =>
    element("li", {}, element("img", { src: one.picture, alt: "", width: "120" }), element("a", { href: one.link }, one.link)))));

  const look = following(`${address}/live`, 2000);
  starting("", look);
  void draft({ text: text.value });
}
