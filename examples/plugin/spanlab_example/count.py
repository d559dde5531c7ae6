"""A response kind: how people press, how models write, how networks choose, and how it is scored."""

import re
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from spanlab.paradigms.responses import ItemScore, ResponseKind, Surface


class Count(ResponseKind):
    """How many there were: one digit."""

    name: ClassVar[str] = "count"

    most: Annotated[int, Field(ge=1, le=9)] = Field(9, description="the largest number that can be the answer")

    def allows(self, value):
        return type(value) is int and 0 <= value <= self.most

    def label(self, value):
        return str(value)

    def question(self):
        return f"How many? Answer with one number from 0 to {self.most}."

    def legend(self, reader, language="en"):
        return self.question() if reader == "words" else f"Press a number from 0 to {self.most}."

    def surface(self):
        return Surface(keys=tuple((key, n) for n in range(self.most + 1) for key in (str(n), f"num_{n}")))

    def parse(self, text):
        found = {int(number) for number in re.findall(r"\d+", text)}
        return found.pop() if len(found) == 1 and self.allows(min(found)) else None

    def write(self, answer):
        return str(answer)

    def written_answers(self):
        return tuple(map(str, range(self.most + 1)))

    def from_logits(self, logits, classes=None, all_classes=False):
        allowed = list(classes or range(self.most + 1))
        best = int(np.argmax(logits)) if all_classes else allowed[int(np.argmax(logits[allowed]))]
        return allowed.index(best) if best in allowed else None

    def target(self, answer):
        return answer

    def guess(self, random):
        return int(random.randint(self.most + 1))

    def chance(self):
        return 1 / (self.most + 1)

    def score(self, answer, correct):
        return [ItemScore(answer, correct, answer == correct)]
