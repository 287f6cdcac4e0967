/**
 * Text in which what looks like a JSON web token is hidden: three parts with points between them.
 *
 * A word without a point is none, but it is matched all the same and put back. Otherwise every `eyJ` in a
 * long word would be tried, each of them to the word's end.
 */
export const hideTokens = (text: string): string =>
  text.replaceAll(/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, (word) => (word.includes('.') ? '***' : word));
