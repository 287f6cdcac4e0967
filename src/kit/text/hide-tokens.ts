/**
 * Hides what looks like a JSON web token: three parts separated by dots. Words without dots match too and are put back,
 * because otherwise every `eyJ` in a long word would be tried up to its end.
 */
export const hideTokens = (text: string): string =>
  text.replaceAll(/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, (word) => (word.includes('.') ? '***' : word));
