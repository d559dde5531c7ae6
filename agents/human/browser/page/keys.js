// @ts-check
/** What keys are called: by the signs on them, as the window calls them (PsychoPy's names). */

/** @type {Record<string, string>} */
const SIGNS = {
  "-": "minus", "+": "plus", "=": "equal", ",": "comma", ".": "period", "/": "slash", ";": "semicolon", "'": "apostrophe",
  "[": "bracketleft", "]": "bracketright", "\\": "backslash", " ": "space",
};
/** @type {Record<string, string>} */
const NAMED = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", Enter: "return", Tab: "tab", Backspace: "backspace", Escape: "escape",
  Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown", Insert: "insert", Delete: "delete",
};
/** @type {Record<string, string>} */
const PLACES = {
  NumpadAdd: "num_add", NumpadSubtract: "num_subtract", NumpadMultiply: "num_multiply", NumpadDivide: "num_divide", NumpadDecimal: "num_decimal",
  NumpadEnter: "num_enter", ShiftLeft: "lshift", ShiftRight: "rshift", ControlLeft: "lctrl", ControlRight: "rctrl", AltLeft: "lalt", AltRight: "ralt",
};

/**
 * The name of a key; empty where it has none. A key of the upper row that has a digit with the shift key counts as that digit (French keyboards).
 * @param {{key: string, code: string}} event
 */
export function keyName(event) {
  if (event.code in PLACES) return PLACES[event.code];
  const digit = /^(Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit) return digit[1] === "Numpad" ? `num_${digit[2]}` : digit[2];
  if (event.key in NAMED) return NAMED[event.key];
  if (/^[a-z0-9]$/i.test(event.key)) return event.key.toLowerCase();
  if (/^F([1-9]|1[0-2])$/.test(event.key)) return event.key.toLowerCase();
  return SIGNS[event.key] ?? "";
}
