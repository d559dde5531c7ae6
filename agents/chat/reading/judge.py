"""A second model as the reader of last resort: it is shown a question and a reply in which no
answer could be read, and says which answer the reply gives."""

from __future__ import annotations

from dataclasses import replace

from ....core.errors import SpanLabError
from ....paradigms import Answer, ResponseKind
from ..cost.account import Account
from ..messages import Message, Reply, Request, Text, chained
from ..providers import Serving, serving
from ..settings import ChatSettings
from ..transport.client import Client
from ..transport.endpoint import Endpoint
from ..transport.paid_replies import PaidReplies
from ..transport.request_limits import RequestLimits
from .extraction import LONGEST, bare_answer, split_reasoning

_ASKED = (
    "Somebody was asked a question and replied. The question:\n{question}\n\nThe reply stands between the two lines of"
    " equals signs.\n==========\n{reply}\n==========\n\nWhich answer does this reply give to the question? Write that"
    " answer alone, in the form that was asked for. Where it gives no answer, more than one, or one that it doubts,"
    " write the word none. Do not answer the question yourself."
)


class Judge:
    """Reads replies of one model by another.

    Parameters
    ----------
    settings : with the model's name
    endpoint : where the model that is judged is served, and the judge as well, where its name has
        no provider
    request_limits : how servers are treated; limits hold for both models together
    account : of the model that is judged

    Raises
    ------
    SpanLabError
        when a limit of cost cannot be kept, since the judge's price is not known.
    """

    def __init__(
        self, settings: ChatSettings, endpoint: Endpoint, request_limits: RequestLimits, account: Account
    ) -> None:
        served = serving(settings.judge)
        if served.provider is None and served.hook is None:
            served = Serving(settings.judge, endpoint)
        if request_limits.max_cost is not None and served.prices is None:
            raise SpanLabError(
                f"needs the price of the judge {settings.judge}, too: give it in a file of providers, and"
                " name it MODEL@PROVIDER",
                option="max_cost",
            )
        self.name = settings.judge
        self.account = Account(request_limits, served.prices)
        account.share(self.account)
        self._settings, self.model = settings, served.model
        self.where = served.endpoint.public
        self.client = Client(
            served.endpoint,
            served.model,
            request_limits,
            account=self.account,
            repeat=settings.repeat,
            hook=served.hook,
        )

    def paid(self) -> PaidReplies:
        """Its requests of one trial."""
        return PaidReplies(self.client.ask, judge=self.name)

    def request(self, kind: ResponseKind, reply: str, asked: Request) -> Request:
        """Return what it is asked about a reply.

        Parameters
        ----------
        asked : what the reply answers; a judge sees nothing of it but the question
        """
        shown = reply[-LONGEST:] if self._settings.reasoning == "before" else reply[:LONGEST]
        message = Message("user", (Text(_ASKED.format(question=kind.question(), reply=shown)),))
        return replace(
            asked,
            messages=(message,),
            options={},
            identity=chained(chained("", ["judge", self.model, asked.identity]), message.stored()),
        )

    def read(self, kind: ResponseKind, verdict: Reply) -> Answer | None:
        """The answer that it names; None where it names none."""
        _, said = split_reasoning(verdict)
        return None if said.strip().strip(".").lower() == "none" else bare_answer(kind, said.strip())
