/**
 * Some clients tell their user to check the key where they read these words, in a message or in a code,
 * and the key that they mean is the caller's own.
 */
const KEY_WORDS = /api[ _-]?key|unauthori[sz]ed|authenticat/i;

/** Words that are about no key of the caller's: whoever quotes them misleads. */
export const mentionsKeys = (words: string): boolean => KEY_WORDS.test(words);

/** The same words about a request or a server of the client's, which are worth reading, without misleading. */
export const withoutKeyWords = (words: string): string =>
  words
    .replaceAll(/\bapi[ -]?key/gi, 'credential')
    .replaceAll(/\bunauthori[sz]ed\b/gi, 'not permitted')
    .replaceAll(/\bauthentication\b/gi, 'sign-in');
