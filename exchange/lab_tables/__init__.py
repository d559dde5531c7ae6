"""Tables that PsychoPy and jsPsych write, as response tables that figures and tests read."""
