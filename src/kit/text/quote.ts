/** How much of what a client sent is said back to it. */
const MAX_QUOTED = 100;

/** A quotation of foreign text in our messages: enough to recognise it, never all of a long text. */
export const quoted = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED).toWellFormed()}…` : text;
