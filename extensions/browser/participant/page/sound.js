// @ts-check
/** Tones: as sounds where the browser plays any, else the page shows a ring. */

/** @type {AudioContext | null} */
let audio = null;

/** Browsers play sounds from the moment on at which somebody has pressed something. */
export function allowSound() {
  try {
    audio = new AudioContext({ latencyHint: "interactive" });
    void audio.resume();
  } catch {
    audio = null;
  }
}

/** Begin a tone; returns how it is given. @param {import("./messages").Tone} tone @returns {string} */
export function sound(tone) {
  if (audio === null || audio.state !== "running") return "ring";
  const source = new OscillatorNode(audio, { frequency: tone.hz });
  const volume = new GainNode(audio, { gain: 0.5 });
  source.connect(volume).connect(audio.destination);
  source.start();
  source.stop(audio.currentTime + tone.ms / 1000);
  return "sound (Web Audio)";
}
