/** Shorter ones would match ordinary words. */
const MIN_SECRET_CHARS = 6;

/** Hides these secrets in text, also in their JSON, URL and base64 forms. */
export const secretHider = (secrets: readonly string[]): ((text: string) => string) => {
  const forms = new Set(secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(formsOf));
  // Longest first: one secret may contain another.
  const all = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => all.reduce((rest, form) => rest.replaceAll(form, '***'), text);
};

const formsOf = (secret: string): readonly string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret.toWellFormed()),
  btoa(binaryOf(secret)).replace(/=+$/, ''),
];

/** `btoa` takes bytes. */
const binaryOf = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join('');

/**
 * Hides what looks like a JSON web token: three parts separated by dots. Words without dots match too and are put back,
 * because otherwise every `eyJ` in a long word would be tried up to its end.
 */
export const hideTokens = (text: string): string =>
  text.replaceAll(/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, (word) => (word.includes('.') ? '***' : word));
