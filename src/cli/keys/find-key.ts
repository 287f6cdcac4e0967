import { statusOf, type ApiKey } from '../../features/keys/key.ts';
import { PlainError } from '../explain.ts';

/**
 * The key with this id or name. Throws if there is none, or if several have the name: of those, a key that was revoked does
 * not count if another was not.
 */
export const findKey = (keys: readonly ApiKey[], wanted: string, now: number): ApiKey => {
  const byId = keys.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const named = keys.filter(({ name }) => name === wanted);
  const usable = named.filter((key) => statusOf(key, now) !== 'revoked');
  const candidates = usable.length > 0 ? usable : named;
  const [only] = candidates;
  if (only === undefined)
    throw new PlainError(`There is no key with the id or name ${JSON.stringify(wanted)}. See keys list.`);
  if (candidates.length > 1) {
    const ids = candidates.map(({ id }) => id).join(', ');
    throw new PlainError(`Several keys have the name ${JSON.stringify(wanted)}: use one of the ids ${ids}.`);
  }
  return only;
};
