"""The papers again: the files of the WorM benchmark and of the N-back study, and the pages that
hold their results beside those of today."""
