/** Pages for people, which an upstream may well point to. */
const PUBLIC_HOST = /(?:^|\.)(?:openai\.com|chatgpt\.com)$/;

/** Addresses and paths are ours, not the client's. */
export const withoutInternals = (message: string): string =>
  message
    .replaceAll(/,? ?url: \S+/g, '')
    .replaceAll(/,? ?\bhttps?:\/\/[^\s),;]+/g, (link) => {
      const host = URL.parse(link.replace(/^,? ?/, ''))?.hostname ?? '';
      return PUBLIC_HOST.test(host) ? link : '';
    })
    .replaceAll(/(?<![\w.:/])\/(?:[\w.@-]+\/)+[\w.@-]+/g, '…');

const MAX_MESSAGE_CHARS = 4_000;
/** Shorter ones would also be found in ordinary words. */
const MIN_SECRET_CHARS = 6;

/**
 * The words of an upstream as a client may read them. It may quote the key that it refuses: in a form
 * that keys are known to have, or bare, which only those can tell who know the key.
 */
export const harmless = (message: string, secrets: readonly string[]): string =>
  withoutInternals(withoutSecrets(message, secrets))
    .replaceAll(/\bsk-[\w*-]{6,}/g, 'sk-***')
    .replaceAll(/\beyJ[\w-]{8,}(?:\.[\w-]*){1,2}/g, '***')
    .replaceAll(/\b(bearer\s+)[^\s"',;]+/gi, '$1***')
    .slice(0, MAX_MESSAGE_CHARS);

const withoutSecrets = (message: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .reduce((text, secret) => text.replaceAll(secret, '***'), message);
