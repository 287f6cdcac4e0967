/**
 * Text in which what looks like a JSON web token is hidden: three parts with points between them.
 *
 * A word without a point is not a token, but it is matched anyway and put back. Otherwise every `eyJ` in a
 * long word would be tried, each of them to the end of the word.
 */
export const hideTokens = (text: string): string =>
  text.replaceAll(/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, (word) => (word.includes('.') ? '***' : word));
