import { hideSecrets } from '../../kit/text/hide-secrets.ts';
import { hideTokens } from '../../kit/text/hide-tokens.ts';

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
/** Enough to be cut from, whatever is taken out of it. */
const MAX_READ_CHARS = 64_000;

/**
 * The words of an upstream as a client may read them. It may quote the key that it refuses: in a form
 * that keys are known to have, or bare, which only those can tell who know the key.
 */
export const safeMessage = (message: string, secrets: readonly string[]): string =>
  hideTokens(withoutInternals(hideSecrets(secrets)(message).slice(0, MAX_READ_CHARS)))
    .replaceAll(/\bsk-[\w*-]{6,}/g, 'sk-***')
    .replaceAll(/\b(bearer\s+)[^\s"',;]+/gi, '$1***')
    .slice(0, MAX_MESSAGE_CHARS);
