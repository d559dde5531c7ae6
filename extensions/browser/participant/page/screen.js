// @ts-check
/** The screen of the page: how large its parts are, and how often it is refreshed. */

export const coarse = matchMedia("(pointer: coarse)").matches;
/** The time from one frame to the next, in ms, as it was measured; and whether it was. */
export const refresh = { period: 1000 / 60, measured: false };

/**
 * The fewest CSS pixels that are a whole number of the screen's pixels, and a multiple of `multiple`; 1 pixel of the screen where there are none below 25. A picture
 * whose place and size are multiples of these lies on whole pixels whether a browser rounds in CSS pixels or in those of the screen.
 * @param {number} multiple
 */
export function wholeStep(multiple) {
  for (let step = 1; step < 25; step += 1) {
    const many = (step * devicePixelRatio) / multiple;
    if (Math.abs(many - Math.round(many)) < 1e-3) return step;
  }
  return multiple / devicePixelRatio;
}

/** The size of letters, and the largest canvas with room for a line above it and the answer below it, in CSS pixels. */
export function layout() {
  const [wide, high] = [innerWidth, innerHeight];
  const letter = Math.round(Math.max(14, Math.min(26, high / 42, wide / 22)));
  const above = 1.7 * letter, below = 6.6 * letter;
  const side = Math.max(96, Math.min(wide - 8, high - above - below));
  return { letter, above, below, side: wholeStep(2) * Math.floor(side / wholeStep(2) + 1e-6) };
}

/** @import { ScreenReport } from "./messages" */

/** @returns {ScreenReport} */
export function screenNow() {
  const { side, letter } = layout();
  const ratio = devicePixelRatio;
  return {
    canvas_px: Math.round(side * ratio),
    column_px: Math.round(Math.min(innerWidth - 2.2 * letter, 38 * letter) * ratio),
    high_px: Math.round(innerHeight * ratio),
    letter_px: Math.round(letter * ratio),
    window_px: [Math.round(innerWidth * ratio), Math.round(innerHeight * ratio)],
    screen_px: [Math.round(screen.width * ratio), Math.round(screen.height * ratio)],
    pixel_ratio: ratio,
    hz: 1000 / refresh.period,
    measured: refresh.measured,
    touch: coarse,
    fullscreen: !!document.fullscreenElement,
    isolated: globalThis.crossOriginIsolated === true,
    browser: navigator.userAgent.slice(0, 300),
  };
}

/** No screen has refreshes nearer to each other, or farther apart, in ms: what seems to be one is a browser that tells no time, or has none. */
const SHORTEST = 1, LONGEST = 100;

/** The time from one frame to the next: over many frames, those that were late counted as several. */
export function measure() {
  return /** @type {Promise<void>} */ (new Promise((resolve) => {
    /** @type {number[]} */
    const times = [];
    const look = (/** @type {number} */ at) => {
      times.push(at);
      if (times.length < 61) requestAnimationFrame(look);
      else {
        const gaps = times.slice(1).map((time, number) => time - times[number]).sort((one, other) => one - other);
        // short gaps are those of frames in time: of a busy browser most may be late
        const one = gaps[10];
        refresh.measured = one > SHORTEST && one < LONGEST;
        // over all frames, so that it does not depend on how finely the browser tells the time
        if (refresh.measured) refresh.period = (times[60] - times[0]) / gaps.reduce((sum, gap) => sum + Math.max(1, Math.round(gap / one)), 0);
        resolve();
      }
    };
    requestAnimationFrame(look);
  }));
}

