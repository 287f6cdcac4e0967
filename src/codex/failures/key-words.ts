/**
 * Some clients tell their user to check the API key if they find these words in a message or code, meaning
 * the caller's own key.
 */
const KEY_WORDS = /api[ _-]?key|unauthori[sz]ed|authenticat/i;

/** Whether a message mentions a key. It is not about the caller's key, so quoting it would mislead. */
export const mentionsKeys = (words: string): boolean => KEY_WORDS.test(words);

/** Removes the misleading words from a message about the client's own request or server. */
export const withoutKeyWords = (words: string): string =>
  words
    .replaceAll(/\bapi[ -]?key/gi, 'credential')
    .replaceAll(/\bunauthori[sz]ed\b/gi, 'not permitted')
    .replaceAll(/\bauthentication\b/gi, 'sign-in');
