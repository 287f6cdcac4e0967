import { secretHider, hideTokens } from '../../kit/text/hide-secrets.ts';

/** Public pages that an upstream may link to. */
const PUBLIC_HOST = /(?:^|\.)(?:openai\.com|chatgpt\.com)$/;

/** Removes internal addresses and paths. */
export const withoutInternals = (message: string): string =>
  message
    .replaceAll(/,? ?url: \S+/g, '')
    .replaceAll(/,? ?\bhttps?:\/\/[^\s),;]+/g, (link) => {
      const host = URL.parse(link.replace(/^,? ?/, ''))?.hostname ?? '';
      return PUBLIC_HOST.test(host) ? link : '';
    })
    .replaceAll(/(?<![\w.:/])\/(?:[\w.@-]+\/)+[\w.@-]+/g, '…');

const MAX_MESSAGE_CHARS = 4_000;
/** Enough to shorten from, whatever is removed. */
const MAX_READ_CHARS = 64_000;

/**
 * An upstream message that is safe to show to clients. An upstream may quote the key that it rejects: in a
 * known key format, or as one of `secrets`.
 */
export const safeMessage = (message: string, secrets: readonly string[]): string =>
  hideTokens(withoutInternals(secretHider(secrets)(message).slice(0, MAX_READ_CHARS)))
    .replaceAll(/\bsk-[\w*-]{6,}/g, 'sk-***')
    .replaceAll(/\b(bearer\s+)[^\s"',;]+/gi, '$1***')
    .slice(0, MAX_MESSAGE_CHARS);
