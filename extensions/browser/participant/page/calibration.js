// @ts-check
/** How large the screen is, by a card that is held against it; and how far away the eyes are, by the blind spot. */

import { button, element } from "./kit.js";
import { onKeys, put, silence } from "./pages.js";

/** @import { CalibrateCommand, CalibrationReport } from "./messages" */

/** Width and height of a bank card in mm, and the radius of its corners. */
const CARD = [85.6, 53.98, 3.18];
/** So often the distance is measured; the dot moves by so many CSS pixels a second, and after so many runs in vain there is a way out. */
const TIMES = 5, SPEED = 90, IN_VAIN = 2;

/** @param {CalibrateCommand} message @param {(report: CalibrationReport) => void} done */
export function calibrate(message, done) {
  const report = (/** @type {number} */ card_px, /** @type {number[]} */ travels_px) => {
    silence();
    done({ card_px, travels_px, pixel_ratio: devicePixelRatio });
  };
  card(message, (px) => (message.measures.includes("distance") ? distance(message, (travels) => report(px, travels)) : report(px, [])));
}

/** @param {CalibrateCommand} message @param {(px: number) => void} done */
function card(message, done) {
  const says = message.calibration;
  // on a phone there is room for the card on end alone
  const room = Math.min(innerWidth - 32, 900), upright = room < 400;
  const most = upright ? room * (CARD[0] / CARD[1]) : Math.min(room, innerHeight * 0.55 * (CARD[0] / CARD[1]));
  const drawn = element("div", { class: "card", role: "img", "aria-label": says.card_size });
  const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: "120", max: String(Math.round(most)), step: "1", id: "card-size" }));
  const draw = () => {
    const long = slider.valueAsNumber, short = (long * CARD[1]) / CARD[0];
    [drawn.style.width, drawn.style.height] = upright ? [`${short}px`, `${long}px`] : [`${long}px`, `${short}px`];
    drawn.style.borderRadius = `${(long * CARD[2]) / CARD[0]}px`;
  };
  slider.value = String(Math.round((120 + most) / 2));
  slider.addEventListener("input", draw);
  silence();
  put([
    element("h1", {}, message.title), element("p", {}, says.card), drawn, element("label", { for: "card-size" }, says.card_size), slider,
    element("div", { class: "row" }, button(says.card_done, () => done(slider.valueAsNumber), { class: "main", "data-name": "on" })),
  ]);
  draw();
}

/** @param {CalibrateCommand} message @param {(travels: number[]) => void} done */
function distance(message, done) {
  const says = message.calibration;
  /** @type {number[]} */
  const travels = [];
  const field = element("div", { class: "blind-spot", role: "img", "aria-label": says.distance });
  const mark = element("div", { class: "mark" }), dot = element("div", { class: "dot" });
  field.append(mark, dot);
  const go = button(says.distance_start, () => press(), { class: "main", "data-name": "on" });
  const skip = button(says.distance_skip, () => done([]), { "data-name": "other", hidden: "" });
  const left = element("p", { class: "muted", "aria-live": "polite" }, says.distance_again.replace("{n}", String(TIMES)));
  /** when the dot began to move, and how often it has reached the edge @type {number | null} */
  let since = null;
  let inVain = 0;
  const gone = (/** @type {number} */ now) => (since === null ? 0 : ((now - since) / 1000) * SPEED);
  const move = (/** @type {number} */ now) => {
    if (since === null || !field.isConnected) return;
    const room = field.clientWidth - mark.offsetWidth - dot.offsetWidth;
    if (gone(now) > room) {
      inVain += 1;
      since = now;
      if (inVain >= IN_VAIN) skip.hidden = false;
    }
    dot.style.transform = `translateX(${-gone(now)}px)`;
    requestAnimationFrame(move);
  };
  const press = () => {
    const now = performance.now();
    if (since === null) {
      since = now;
      go.textContent = says.distance_gone;
      requestAnimationFrame(move);
      return;
    }
    if (gone(now) < 20) return; // the press that started it
    travels.push(gone(now) + (mark.offsetWidth + dot.offsetWidth) / 2); // from centre to centre
    since = null;
    dot.style.transform = "";
    left.textContent = says.distance_again.replace("{n}", String(TIMES - travels.length));
    go.textContent = says.distance_start;
    if (travels.length === TIMES) done(travels);
  };
  put([element("h1", {}, message.title), element("p", {}, says.distance), field, left, element("div", { class: "row" }, go, skip)]);
  onKeys((event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    press();
  });
}
