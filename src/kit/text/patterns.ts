/**
 * Whether an id looks random: 16 letters and digits in a row, or a UUID. Some backends number ids per answer, so that
 * they repeat in every conversation.
 */
export const isRandomId = (id: string): boolean =>
  /(?=[a-z]*\d)[a-z\d]{16}|[a-f\d]{8}(?:-[a-f\d]{4}){3}-[a-f\d]{12}/i.test(id.slice(0, 128));

/** Whether a text is an http or https URL without leading text or characters that a parser would drop. */
export const isPlainWebUrl = (text: string): boolean =>
  // eslint-disable-next-line no-control-regex -- exactly those
  /^https?:\/\/[^/\\]/i.test(text) && !/[\u0000-\u001F\u007F]/.test(text) && URL.canParse(text);

/** Whether a text matches a pattern, in which `*` matches anything. */
export const fitsWildcard = (pattern: string, text: string): boolean => {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
};
