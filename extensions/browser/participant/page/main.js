// @ts-check
/** The page of a participant: it connects to the server, does what that says, and plays trials. */

import { calibrate } from "./calibration.js";
import { keyName } from "./keys.js";
import { $, element } from "./kit.js";
import { keepName, Link, linkSays, whoTakesPart, whoTookPart } from "./link.js";
import { showEnd, showForm, showNotice, showPage, showText, silence } from "./pages.js";
import { allowSound, sound } from "./sound.js";
import { hit } from "./sheet.js";
import { coarse, layout, measure, refresh, screenNow, wholeStep } from "./screen.js";
import { drawSurface, surfaceState } from "./surface.js";
import { Trial } from "./trial.js";

/** @import { Absence, Ask, Colours, EndCommand, Manner, Percept, Press, ScreenChange, ScannerCommand, Start, TrialCommand, Words } from "./messages" */
/** @import { Heard } from "./link.js" */
/** @import { AnswerSheet } from "./sheet.js" */
/** @import { Step } from "./trial.js" */

const CANVAS = 96;
const canvas = /** @type {HTMLCanvasElement} */ ($("canvas"));
const writing = /** @type {HTMLTextAreaElement} */ ($("writing"));
const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));

/** said before anything is shown @type {Words} */
let words;
/** @type {Colours} */
let colours = {};
/** @type {Link} */
let link;
let secret = "";
let studyTitle = "";
/** @type {Trial | null} */
let trial = null;
/** @type {Map<string, ImageBitmap>} */
let bitmaps = new Map();
/** @type {Step | null} */
let asking = null;
let drawnState = "";
let drawnFrame = "";
let held = false;
let clearedAt = 0;
/** @type {{x: number, y: number} | null} */
let pointer = null;
/** @type {Absence[]} */
const absences = [];
/** @type {number | null} */
let awaySince = null;
let leftFullscreen = false;
/** @type {ScreenChange[]} */
let changes = [];

// -- the screen ----------------------------------------------------------------------------------------------------------------------------------------

/** Letters are as large as the page allows, on every page of it. */
function lettering() {
  document.documentElement.style.setProperty("--letter", `${layout().letter}px`);
}

/** @param {number} px width of the canvas in pixels of the screen */
function place(px) {
  const { letter, above, below, side } = layout();
  if (canvas.width !== px) [canvas.width, canvas.height, drawnState, drawnFrame] = [px, px, "", ""];
  const shown = Math.min(px / devicePixelRatio, side);
  const step = wholeStep(1);
  const top = step * Math.ceil(Math.max(above, (innerHeight - shown - below + above) / 2) / step);
  canvas.style.width = canvas.style.height = `${shown}px`;
  canvas.style.left = `${step * Math.round((innerWidth - shown) / 2 / step)}px`;
  canvas.style.top = `${top}px`;
  placeWriting();
  $("prompt").style.bottom = `${innerHeight - top + 0.25 * letter}px`;
  $("below").style.top = `${top + shown + 0.35 * letter}px`;
}

/** The box for a text lies on the canvas where the question says. */
function placeWriting() {
  const area = asking?.sheet?.surface.ordered?.written ? asking.sheet.surface.ordered.line : null;
  writing.hidden = area === null;
  if (area === null) return;
  const unit = parseFloat(canvas.style.width) / CANVAS, [left, top] = [parseFloat(canvas.style.left), parseFloat(canvas.style.top)];
  [writing.style.left, writing.style.top] = [`${left + area[0] * unit}px`, `${top + area[1] * unit}px`];
  [writing.style.width, writing.style.height] = [`${(area[2] - area[0]) * unit}px`, `${(area[3] - area[1]) * unit}px`];
}

/** How many pixels of the screen the canvas takes. */
const shownPx = () => Math.round(parseFloat(canvas.style.width) * devicePixelRatio);

/** The screen is not as it was. */
function changed() {
  const { window_px, pixel_ratio } = screenNow();
  changes.push({ at: performance.now(), window_px, pixel_ratio, shown_px: shownPx() });
}

/** @param {Manner} message */
function manner(message) {
  if (message.pulse !== undefined) pulseKey = message.pulse;
  if (message.words) words = message.words;
  if (message.language) document.documentElement.lang = message.language;
  if (message.colours) {
    colours = message.colours;
    for (const [name, value] of Object.entries(colours)) document.documentElement.style.setProperty(`--${name}`, value);
  }
}

// -- the scanner ---------------------------------------------------------------------------------------------------------------------------------------

/** The key with which a scanner sends its pulses, and when they came: they are no presses, and write nothing. */
let pulseKey = "";
/** @type {number[]} */
let pulses = [];
let counted = () => {};
document.addEventListener("keydown", (event) => {
  if (pulseKey === "" || event.isComposing || keyName(event, (name) => name === pulseKey) !== pulseKey) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.repeat) return;
  pulses.push(event.timeStamp);
  counted();
}, { capture: true });

/** Those that were not reported yet. */
function takePulses() {
  const taken = pulses;
  pulses = [];
  return taken;
}

/** A page that ends with a pulse. @param {ScannerCommand} message @param {() => void} done */
function awaitPulse(message, done) {
  const before = pulses.length;
  showText(message.title, message.texts);
  counted = () => {
    if (pulses.length - before < message.at) return;
    counted = () => {};
    done();
  };
}

// -- trials --------------------------------------------------------------------------------------------------------------------------------------------

const address = (/** @type {string} */ frame) => `frame/${secret}/${frame}.png`;

/** Everything that is drawn in a step. @param {Percept} percept */
function pictures(percept) {
  const shown = percept.displays.flatMap((display) => [display.frame, ...(display.tone ? [display.tone.ring] : [])]);
  return percept.ask?.overlay ? [...shown, percept.ask.overlay] : shown;
}

/** Fetch a picture, again and again while the line is cut; null when its trial is no longer wanted. @param {string} name @param {Trial} mine */
async function fetchPicture(name, mine) {
  for (let wait = 200; ; wait = Math.min(3000, 2 * wait)) {
    try {
      const answer = await fetch(address(name));
      if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
    } catch { /* the line is cut: it is asked for again */ }
    if (trial !== mine) return null;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** @param {Uint8Array} one @param {Uint8Array} other */
const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

/** Every picture has a name of its own, also where two are alike: those are decoded once. @param {TrialCommand} message @param {Trial} mine */
async function load(message, mine) {
  const names = [...new Set(message.steps.flat().flatMap(pictures))];
  const missing = names.filter((name) => !bitmaps.has(name));
  /** @type {{bytes: Uint8Array<ArrayBuffer>, bitmap: Promise<ImageBitmap>}[]} */
  const decoded = [];
  const fetched = await Promise.all(missing.map(async (name) => {
    const bytes = await fetchPicture(name, mine);
    if (bytes === null) return null;
    let picture = decoded.find((one) => same(one.bytes, bytes));
    if (picture === undefined) {
      const file = new Blob([bytes], { type: "image/png" });
      decoded.push(picture = { bytes, bitmap: createImageBitmap(file, { colorSpaceConversion: "none" }) });
    }
    return /** @type {[string, ImageBitmap]} */ ([name, await picture.bitmap]);
  }));
  if (trial !== mine) return; // another one is running, with pictures of its own
  const there = new Map(fetched.filter((one) => one !== null));
  for (const name of names) if (bitmaps.has(name)) there.set(name, /** @type {ImageBitmap} */ (bitmaps.get(name)));
  const kept = new Set(there.values());
  for (const bitmap of bitmaps.values()) if (!kept.has(bitmap)) bitmap.close();
  bitmaps = there;
}

/** @param {TrialCommand} message */
async function beginTrial(message) {
  const before = trial;
  silence();
  const endedBy = before !== null && before.state !== "cut" ? before.endedBy : null;
  const mine = new Trial(message, {
    period: refresh.period,
    show: (display) => {
      const tone = display.tone === undefined ? null : sound(display.tone);
      drawnFrame = display.tone !== undefined && tone === "ring" ? display.tone.ring : display.frame;
      drawnState = "";
      draw(performance.now());
      return tone;
    },
    clear: () => { drawnFrame = ""; drawnState = ""; draw(performance.now()); },
    asks,
    send: (kind, body, step) => link.send(message.c, kind, body, step),
    absences: (from, to) => absent().filter((one) => one.until > from && one.at < to),
    leftFullscreen: () => { const left = leftFullscreen; leftFullscreen = false; return left; },
    pulses: takePulses,
    changes: (until) => {
      const before = changes.filter((one) => one.at < until);
      changes = changes.filter((one) => one.at >= until);
      return before;
    },
  }, Math.max(before?.cleared ?? 0, clearedAt), endedBy);
  if (before !== null) mine.aside = before.state === "over" ? before.aside : [];
  trial = mine;
  $("sheet").hidden = true;
  $("stage").hidden = false;
  asks(null, 0);
  drawnFrame = "";
  place(message.canvas_px);
  changes = [];
  if (shownPx() !== message.canvas_px) changed(); // the window has become smaller since the server was told its size
  draw(performance.now());
  await load(message, mine);
  mine.ready = true;
}

/** What is asked now, and what is said beside the canvas. @param {Step | null} step @param {number} number */
function asks(step, number) {
  asking = step;
  const ask = step?.percept.ask ?? null;
  const waits = step !== null && ask === null && step.percept.displays[Math.max(0, step.shown.length - 1)].ms === null;
  $("stage").classList.toggle("blind", ask === null && !waits);
  $("prompt").textContent = ask?.prompt ?? "";
  const byFinger = coarse && ask !== null && ask.buttons.length > 0; // the buttons say it, and there may be no keys
  $("legend").textContent = byFinger ? "" : ask !== null ? ask.legend : waits ? words.go_on : "";
  $("line").textContent = ask !== null && ask.prompt === null && number > 1 && !ask.surface.several ? ask.which[number - 2] ?? "" : "";
  buttons(ask);
  write(step);
  $("stage").dataset.waits = step === null ? "" : `${ask !== null ? "answer" : waits ? "on" : "shows"} ${trial?.c}:${step.place}`;
}

/** The step whose answer is being written. @type {Step | null} */
let writes = null;

/** Open the box for a text, where one is asked for. @param {Step | null} step */
function write(step) {
  const ordered = step?.sheet?.surface.ordered;
  if (!ordered?.written) writes = null;
  else if (step !== writes) {
    [writes, writing.value, writing.maxLength] = [step, "", ordered.most];
    writing.setAttribute("aria-label", step?.percept.ask?.prompt ?? words.done);
  }
  placeWriting();
  if (writes !== null) writing.focus({ preventScroll: true });
}
const written = () => { if (writes?.sheet) [writes.sheet.text, drawnState] = [writing.value, ""]; };
writing.addEventListener("input", written);
writing.addEventListener("pointerdown", (event) => event.stopPropagation());

/** Buttons below the canvas. @param {Ask | null} ask */
function buttons(ask) {
  /** @type {HTMLElement[]} */
  const made = [];
  const add = (/** @type {string} */ name, /** @type {string} */ label, /** @type {(event: PointerEvent) => void} */ act, main = false) => {
    const free = ask?.surface.ordered?.written === true;
    const button = element("button", { type: "button", "data-name": name, tabindex: free ? "0" : "-1", class: main ? "main" : "" }, label);
    button.addEventListener("pointerdown", act);
    if (free) button.addEventListener("keydown", (event) => { if (!event.repeat && (event.key === "Enter" || event.key === " ")) press("click", event, { button: name }); });
    made.push(button);
  };
  if (ask !== null && ask.surface.several) {
    const { ordered } = ask.surface;
    if (ordered !== null && !ordered.written) add("undo", words.undo, (event) => click(event, "undo"));
    add("done", words.done, (event) => click(event, "done"), true);
    if (ordered?.unknown) add("unknown", ordered.written ? words.nothing : words.unknown, (event) => click(event, "unknown"));
  } else if (ask !== null && coarse) {
    for (const { key, label } of ask.buttons) add(key, label, (event) => press("key", event, { key, touch: true }));
  } else if (ask === null && coarse && asking !== null && $("legend").textContent) add("space", words.next, (event) => click(event, ""));
  $("buttons").replaceChildren(...made);
}

/** Say on the done button what is missing. @param {AnswerSheet} sheet */
function count(sheet) {
  if (!sheet.surface.several) return;
  const { take, ordered } = sheet.surface;
  const done = /** @type {HTMLElement | null} */ ($("buttons").querySelector("[data-name=done]"));
  if (done !== null) {
    const missing = Math.max(0, (take ?? 0) - sheet.marks.length);
    const [last, more] = ordered !== null ? [words.enter_one, words.enter_more] : [words.mark_one, words.mark_more];
    done.textContent = !missing ? words.done : missing === 1 ? last : more.replace("{n}", String(missing));
    done.classList.toggle("main", sheet.mayFinish);
    done.setAttribute("aria-disabled", String(!sheet.mayFinish));
  }
  if (take === null && (ordered === null || ordered.line === null)) $("line").textContent = words.marked_any.replace("{n}", String(sheet.marks.length));
}

/** Draw what is on the canvas, where it differs from what is there. @param {number} now */
function draw(now) {
  const sheet = asking?.sheet ?? null;
  const state = `${drawnFrame} ${sheet === null ? "" : surfaceState(sheet, pointer, now)}`;
  if (state === drawnState) return;
  drawnState = state;
  const bitmap = bitmaps.get(drawnFrame);
  if (bitmap === undefined) {
    ctx.fillStyle = colours.background ?? "#d6d6d6";
    ctx.fillRect(0, 0, canvas.width, canvas.height);
  } else ctx.drawImage(bitmap, 0, 0);
  if (sheet !== null && bitmap !== undefined) {
    const overlay = bitmaps.get(sheet.ask.overlay ?? "");
    if (overlay !== undefined) ctx.drawImage(overlay, 0, 0);
    drawSurface(ctx, canvas.width, sheet, pointer, now, colours);
    count(sheet);
    given(sheet, now);
  }
}

/** What was answered, where it has no place of its own on the canvas. @param {AnswerSheet} sheet @param {number} now */
function given(sheet, now) {
  if (sheet.surface.several || sheet.surface.dial !== null || sheet.surface.regions.length) return;
  const seen = sheet.acknowledged !== null && now - sheet.acknowledged[1] < 300;
  if (seen) $("line").textContent = sheet.ask.labels.find(([value]) => value === sheet.acknowledged?.[0])?.[1] ?? "";
  else if (sheet.acknowledged !== null) $("line").textContent = "";
}

/**
 * The last refresh before now: what is drawn now comes on after it. The stamp of a frame is an older one where the browser is busy and calls late.
 * @param {number} stamp
 */
const lastRefresh = (stamp) => stamp + refresh.period * Math.max(0, Math.floor((performance.now() - stamp) / refresh.period));

function loop(/** @type {number} */ stamp) {
  const at = lastRefresh(stamp);
  if (trial !== null && !held) {
    trial.frame(at);
    if (trial.state !== "over" && trial.state !== "rest" && trial.state !== "cut") draw(at);
  }
  requestAnimationFrame(loop);
}

// -- presses -------------------------------------------------------------------------------------------------------------------------------------------

/** @param {"key" | "click"} device @param {Event} event @param {Partial<Press>} what */
function press(device, event, what) {
  event.preventDefault();
  if (trial === null || held || trial.state === "cut") return;
  trial.press({ device, t: event.timeStamp, heard: performance.now(), key: "", x: 0, y: 0, button: "", held: false, touch: false, display: 0, ...what });
}

/** @param {PointerEvent} event @param {string} button */
function click(event, button) {
  event.stopPropagation();
  if (event.button !== 0 || !event.isPrimary) return;
  press("click", event, { ...onCanvas(event), button, touch: event.pointerType === "touch" });
}

/** @param {MouseEvent} event */
function onCanvas(event) {
  const box = canvas.getBoundingClientRect();
  const within = (/** @type {number} */ value) => Math.max(-9999, Math.min(9999, value));
  return { x: within(((event.clientX - box.left) / box.width) * CANVAS), y: within(((event.clientY - box.top) / box.height) * CANVAS) };
}

$("stage").addEventListener("pointerdown", (event) => {
  const sign = writes?.sheet && event.target === canvas ? hit(writes.sheet.surface.regions, onCanvas(event).x, onCanvas(event).y) : null;
  click(event, "");
  if (sign !== null) {
    writing.setRangeText(String(sign[0]), writing.selectionStart, writing.selectionEnd, "end");
    written();
  }
});
$("stage").addEventListener("pointermove", (event) => { pointer = event.pointerType === "mouse" ? onCanvas(event) : null; });
$("stage").addEventListener("contextmenu", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if ($("stage").hidden || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const asked = asking?.sheet?.surface.keys ?? [];
  const key = keyName(event, (name) => asked.some(([one]) => one === name));
  if (!$("notice").hidden) return;
  if (key === "escape") pause();
  else if (key && writes === null) press("key", event, { key, held: event.repeat });
});

/** Escape: go on, or leave. */
function pause() {
  if (trial === null || trial.state === "cut" || trial.state === "over") return;
  const c = trial.c;
  const cut = trial.cuts && trial.exposed ? trial.cut(performance.now()) : undefined;
  if (!trial.cuts) trial.pause(performance.now());
  held = true;
  const texts = cut === undefined ? [words.pause_more] : [words.pause_replaces, words.pause_more];
  if (cut !== undefined) blank();
  showNotice(words.pause, texts, [
    [" ", words.continue, () => {
      goOn();
      if (cut !== undefined) link.send(c, "cut", { why: "paused", report: cut });
    }],
    ["l", words.leave, () => link.send(c, "leave", { why: "the participant left the session; every finished trial is saved, and the session can be resumed" })],
  ]);
}

/** After an interruption: the empty screen before the trial begins anew. */
function goOn() {
  held = false;
  trial?.goOn(performance.now());
  if (trial !== null && trial.state === "rest") trial.restedFrom = performance.now();
  clearedAt = performance.now();
  if (writes !== null) writing.focus({ preventScroll: true });
}

/** Nothing of a trial is on the screen any more. */
function blank() {
  asks(null, 0);
  [drawnFrame, drawnState] = ["", ""];
  draw(performance.now());
}

/** The page was hidden: who has seen an item has had time to rehearse it, and no display has kept its time. A questionnaire goes on when it is seen again. */
function hidden() {
  if (trial === null || held) return;
  if (!trial.cuts) trial.pause(performance.now());
  if (!trial.cuts || !trial.exposed) return;
  const report = trial.cut(performance.now());
  held = true;
  blank();
  link.send(trial.c, "cut", { why: "hidden", report });
  showNotice(words.pause, [words.interrupted, words.pause_replaces], [[" ", words.continue, goOn]]);
}

/** When the page had no focus. */
const absent = () => (awaySince === null ? absences : [...absences, { at: awaySince, until: performance.now() }]);
const away = () => { awaySince ??= performance.now(); };
const back = () => {
  if (awaySince !== null) absences.push({ at: awaySince, until: performance.now() });
  awaySince = null;
};
addEventListener("blur", away);
addEventListener("focus", back);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") { away(); hidden(); } else {
    back();
    if (!held) trial?.goOn(performance.now());
  }
});
document.addEventListener("fullscreenchange", () => {
  if (document.fullscreenElement === null && trial !== null) leftFullscreen = true;
});
addEventListener("resize", () => {
  lettering();
  link?.mention({ type: "screen", screen: screenNow() });
  if (!$("stage").hidden) {
    place(canvas.width);
    changed();
  }
});

// -- what the server says --------------------------------------------------------------------------------------------------------------------------------

/** @param {Heard} message */
function receive(message) {
  manner(message);
  if (message.type === "welcome") {
    secret = message.secret;
    document.title = studyTitle;
    if (message.anew && trial !== null) leaveStage();
    return;
  }
  if (message.type === "refused") {
    leaveStage();
    showText(message.title, message.texts);
    document.title = message.title;
    document.body.dataset.ended = String(message.final);
    return;
  }
  const c = message.c;
  switch (message.what) {
    case "page": leaveStage(); showPage(message, words, address, () => { clearedAt = performance.now(); link.send(c, "done"); waiting(); }); break;
    case "choose": leaveStage(); showPage(message, words, address, (name) => { clearedAt = performance.now(); link.send(c, "choice", { name }); waiting(); }); break;
    case "scanner": leaveStage(); awaitPulse(message, () => { clearedAt = performance.now(); link.send(c, "pulses", { pulses: takePulses() }); waiting(); }); break;
    case "calibrate": leaveStage(); calibrate(message, (report) => { link.send(c, "calibrated", report); waiting(); }); break;
    case "form": leaveStage(); showForm(message, words, (typed) => { link.send(c, "form", { typed }); waiting(); }); break;
    case "trial": void beginTrial(message); break;
    case "begin": if (trial !== null && trial.c === message.trial) trial.begun = true; break;
    case "verdict": if (trial !== null && trial.c === message.trial) trial.judged(message.step, message.show); break;
    case "end": finish(message); break;
    default: break;
  }
}

function leaveStage() {
  if (trial !== null) clearedAt = trial.cleared ?? performance.now();
  trial = null;
  asking = null;
  held = false;
  $("stage").hidden = true;
  $("notice").hidden = true;
}

/** Until the server says what comes. */
function waiting() {
  if (trial === null) showText("", [words.connecting]);
}

/** @param {EndCommand} message */
function finish(message) {
  leaveStage();
  showText(message.title, [words.saving]);
  const look = () => {
    if (!link.settled) { setTimeout(look, 200); return; }
    link.stop();
    if (document.fullscreenElement) void document.exitFullscreen(); // undefined on phones that have none
    showEnd(message, words);
    document.body.dataset.ended = "true";
    if (message.redirect && message.at_once) setTimeout(() => location.assign(message.redirect), 10000);
  };
  look();
}

// -- the beginning ---------------------------------------------------------------------------------------------------------------------------------------

async function begin() {
  lettering();
  const answer = await fetch(`start${location.search}`);
  /** @type {Start} */
  const start = await answer.json();
  manner(start);
  document.title = studyTitle = start.title;
  if (typeof CanvasRenderingContext2D.prototype.roundRect !== "function" || typeof WebSocket !== "function") {
    showText(start.title, [words.unfit]);
    return;
  }
  const named = whoTakesPart(start.identifiers);
  const before = whoTookPart();
  const open = (/** @type {string} */ participant) => () => void opened(participant, linkSays(start.keep));
  if (!named && start.needed) {
    showText(words.refused_title, [words.refused]);
    document.body.dataset.ended = "true";
  } else if (named) showText(start.title, [words.start_body], [{ label: words.start, act: open(named) }]);
  else if (before === "") showText(start.title, [words.start_body], [{ label: words.start, act: open(keepName("")) }]);
  else {
    showText(start.title, [words.start_body, words.again], [
      { label: words.again_yes, act: () => open(keepName(before))() },
      { label: words.again_no, act: () => open(keepName(""))() },
    ]);
  }
}

/** @param {string} participant @param {Record<string, string>} says what the link says besides */
async function opened(participant, says) {
  allowSound();
  showText("", [words.connecting]);
  try { await document.documentElement.requestFullscreen?.({ navigationUI: "hide" }); } catch { /* refused, or not possible here: the record says so */ }
  await measure();
  await Promise.allSettled([document.fonts.load("600 20px SpanLab"), document.fonts.load("400 20px SpanLab")]);
  const session = new URLSearchParams(location.search).get("session") ?? "";
  link = new Link(participant, session, says, () => ({ screen: screenNow() }), receive, (state) => {
    const status = $("status");
    status.textContent = words.lost;
    status.hidden = state === "open";
  });
  requestAnimationFrame(loop);
  await link.open();
}

void begin();
