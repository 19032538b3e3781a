"""What may be typed in a conversation in place of a turn."""

HELP = "/reset starts anew, /exit or ctrl-D leaves, ctrl-C stops an answer, /help shows this"
LEAVE, RESET, SHOW_HELP = "/exit", "/reset", "/help"
