"""A format: trials as one JSON document, as the laboratory's programs read them."""

import json

from spanlab.exchange import GivenTrial, TrialSet, TrialsFormat
from spanlab.paradigms import load_paradigm


class LabJson(TrialsFormat):
    name = "lab-json"
    help = "Trials as one JSON document, as the laboratory's programs read them."

    def read_trials(self, source, options):
        document = json.loads(source.read_text(encoding="utf-8"))
        yield TrialSet(
            load_paradigm(document["task"]), [GivenTrial(**one) for one in document["trials"]], document["generator"]
        )

    def write_trials(self, trials, output, options):
        listed = [{"name": one.name, "levels": one.levels, "draws": one.draws} for one in trials.trials]
        document = {"task": trials.paradigm.name, "generator": trials.generator, "trials": listed}
        output.write_text(json.dumps(document), encoding="utf-8")
