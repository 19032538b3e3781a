"""The state of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truedraw.errors import BadPrompt
from truedraw.generate.generation import Generation
from truedraw.generate.model import Model
from truedraw.generate.result import Result
from truedraw.generate.speculation import Speculation
from truedraw.text.question import instructed, question


class Conversation:
    """What was said so far, by whom. `messages` are those of a chat template."""

    def __init__(
        self, model: Model, sampling: Mapping[str, Any], speculation: Speculation, system: str | None = None
    ) -> None:
        self._model, self._speculation = model, speculation
        self._params = model.params(**{"max_tokens": model.engine.context_length, **sampling})
        self._system = instructed(system)
        self.messages = list(self._system)

    def reset(self) -> None:
        """Forget everything but the system prompt."""
        self.messages = list(self._system)

    def ask(self, said: str) -> Generation:
        """The answer, about to be drawn; raises BadPrompt where the context is full. Nothing is remembered yet."""
        ids = self._model.chat_prompt([*self.messages, *question(said)])
        limit = self._model.engine.context_length
        if len(ids) >= limit:
            raise BadPrompt(
                f"the conversation now has {len(ids)} tokens and the model's context {limit}; {self._advice()}"
            )
        return self._model.start(ids, self._params, speculative=self._speculation)

    def _advice(self) -> str:
        if len(self.messages) > len(self._system):
            return "/reset starts anew, or ask something shorter"
        return "ask something shorter" + (", or start with a shorter system prompt" if self._system else "")

    def remember(self, said: str, result: Result) -> None:
        """A question and as much of its answer as was given."""
        self.messages += [*question(said), {"role": "assistant", "content": result.text}]

    def is_full(self, result: Result) -> bool:
        """Whether the last answer ended because the context did."""
        return len(result.prompt_tokens) + result.stats.tokens >= self._model.engine.context_length
