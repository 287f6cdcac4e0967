import { createHash } from 'node:crypto';

import { secretHider } from '../../kit/text/hide-secrets.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import type { Sliced } from '../../kit/async/event-loop.ts';
import { isSecretName, redactText } from '../../observe/redact.ts';

/** Longer texts, such as images, are replaced by their length and hash. */
export const MAX_TEXT_CHARS = 1024 * 1024;
/** Characters hashed per slice. */
const HASH_CHARS = 256 * 1024;
const HIDDEN = '[redacted]';

/** Encrypted for one account and never read here, so any other text works as well. */
const SEALED: ReadonlySet<string> = new Set(['encrypted_content', 'encryptedContent']);
/** Objects whose values are often secrets. */
const BAGS: ReadonlySet<string> = new Set(['headers', 'http_headers', 'env', 'env_http_headers']);
const ACCOUNT = /^(?:chatgpt[-_]?)?account[-_]?(?:user[-_]?)?id$/i;
/** The replacement for a text that is not kept. A replacement is not shortened again. */
const STAND_IN = /^\((?:cut|sealed): \d+ characters, sha256 [0-9a-f]{64}\)$/;

export type Cleaner = (value: unknown) => Sliced<unknown>;

/** A copy of a value for a capture, without secrets and overlong texts. Idempotent. */
export const cleaner = (secrets: readonly string[]): Cleaner => {
  const hide = secretHider(secrets);

  function* text(value: string): Sliced<string> {
    yield;
    if (STAND_IN.test(value)) return value;
    return value.length > MAX_TEXT_CHARS ? yield* standIn('cut', value) : redactText(hide(value));
  }

  function* member(name: string, value: unknown): Sliced<unknown> {
    if (typeof value === 'string') {
      if (SEALED.has(name)) return STAND_IN.test(value) ? value : yield* standIn('sealed', value);
      // An object of that name is part of a schema.
      if (isSecretName(name) || ACCOUNT.test(name)) return HIDDEN;
    }
    if (Array.isArray(value) && isSecretName(name)) return HIDDEN;
    return isJsonObject(value) && BAGS.has(name) ? hiddenBag(value) : yield* clean(value);
  }

  function* clean(value: unknown): Sliced<unknown> {
    if (typeof value === 'string') return yield* text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    yield;
    if (Array.isArray(value)) {
      const list: unknown[] = [];
      for (const element of value) list.push(yield* clean(element));
      return list;
    }
    const plain = value instanceof Set || value instanceof Map ? [...value] : null;
    if (plain !== null) return yield* clean(plain);
    const copy: Record<string, unknown> = {};
    for (const [name, inner] of Object.entries(value)) {
      if (inner !== undefined) copy[name] = yield* member(name, inner);
    }
    return copy;
  }

  return clean;
};

const hiddenBag = (bag: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(bag).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' ? HIDDEN : value,
    ]),
  );

function* standIn(why: 'cut' | 'sealed', text: string): Sliced<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < text.length; at += HASH_CHARS) {
    hash.update(text.slice(at, at + HASH_CHARS), 'utf8');
    yield;
  }
  return `(${why}: ${text.length} characters, sha256 ${hash.digest('hex')})`;
}
