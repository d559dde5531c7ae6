"""A format: trials as one JSON document, as the laboratory's programs write them."""

import json

from spanlab.exchange import Format, Options, Side, TrialSet, counted, given_trial, import_sets
from spanlab.paradigms import load_paradigm


class LabJson(Format):
    name = "lab-json"
    reads = Side("trials", "Trials as one JSON document, as the laboratory's programs write them.", Options)

    def read(self, sources, output, options, report):
        document = json.loads(sources[0].read_text(encoding="utf-8"))
        paradigm = load_paradigm(document["task"])
        trials = [given_trial(paradigm, **one) for one in document["trials"]]
        (done,) = import_sets(sources[0], output, [TrialSet(paradigm, trials, document["generator"])])
        report.done(f"{done.file}: {counted(done.trials, 'trial')}")
