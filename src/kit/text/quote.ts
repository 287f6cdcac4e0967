/** Limit for quoting a client's text. */
const MAX_QUOTED = 100;

/** Quotes foreign text in a message, truncated. */
export const quoted = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED).toWellFormed()}…` : text;
