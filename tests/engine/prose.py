"""A plain English text of some seven hundred tokens, written for these tests."""

PROSE = """\
The ferry left the quay at ten past six, as it had every morning for forty years, and nobody on board looked back.
There was a baker with two baskets, a girl who read a book about bees, and a man in a grey coat who had paid for a
return ticket and would not use it. The captain knew all of them except the man. She knew the baker's knees, which
told her of rain before the radio did, and she knew that the girl had read the same book three times since April.

"Is it far?" asked the man in the grey coat.

"That depends," said the captain, "on whether you count the island or the way there. The island is four miles out.
The way there is longer, because of the sandbanks, and because the current turns at noon and again at dusk."

He nodded as if this were what he had wanted to hear. Then he took a small brass instrument out of his pocket, wound
it with a key, and set it on the bench beside him. It had one hand and no numbers. The hand moved a little, stopped,
and moved again, but never at the same pace, and after a while the girl put her book down to watch it.

"What does it measure?" she asked.

"Distance," he said. "But not in miles. When I was your age my grandfather told me that it shows how far you are from
the place where you will be asked a question that you cannot answer. He built it in 1887, and he carried it through
three wars, two marriages and a flood. It pointed away from home all his life, he said, and on his last evening it
turned around once and stood still."

The baker laughed. He had heard many stories on the ferry: that the lighthouse had been moved a yard each winter, that
the seals could count to seven, that there were 365 steps to the chapel and that one of them was missing. He offered
the man a roll, which was still warm, and the man ate it slowly and wiped his fingers on a clean handkerchief.

By half past seven the fog had come up from the south. It lay on the water like milk on a plate; the bell buoy rang
somewhere in front of them, then behind them, then in front of them again. The captain slowed the engine. She did not
look at the compass but at the water, where long brown ribbons of weed were drifting to the left, and she turned the
wheel by the width of one hand.

"Your grandfather's clock," she said without turning her head. "Which way does it point now?"

The man bent over the instrument. The girl and the baker bent over it too, so that their three heads nearly touched.
The hand had stopped. It did not tremble with the engine, as it had before, and it did not point at the island, nor at
the harbour, nor at the open sea. It pointed straight at the captain.

For a moment there was no sound but the water. Then she laughed, too, and reached for the rope of the horn.

"Well," she said, "I suppose that somebody had better ask me."
"""
