import { isJsonObject, type JsonObject } from '../../../../kit/json/json.ts';

const WINDOWS = ['primary', 'secondary'] as const;
const FIELDS = ['used_percent', 'window_minutes', 'reset_at'] as const;
const CREDITS = ['has_credits', 'unlimited', 'balance'] as const;
const LIMIT_NAME = /^[a-z0-9_-]{1,64}$/i;

/** The limits in a `codex.rate_limits` message, under the names of the headers of a POST's answer. */
export const limitHeaders = (event: JsonObject): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {};
  const name = [event['metered_limit_name'], event['limit_name']].find((one) => typeof one === 'string');
  const limit = dashed(typeof name === 'string' && LIMIT_NAME.test(name) ? name.toLowerCase() : 'codex');
  const add = (prefix: string, values: JsonObject, fields: readonly string[]): void => {
    for (const field of fields) {
      const value = values[field];
      const header = `x-${prefix}-${dashed(field)}`;
      if (typeof value === 'number' || isHeaderValue(value)) headers[header] = String(value);
      // The backend's own headers have this spelling.
      else if (typeof value === 'boolean') headers[header] = value ? 'True' : 'False';
    }
  };
  const limits = objectIn(event, 'rate_limits');
  for (const window of WINDOWS) add(`${limit}-${window}`, objectIn(limits, window), FIELDS);
  add('codex-credits', objectIn(event, 'credits'), CREDITS);
  add('codex', event, ['plan_type']);
  return headers;
};

/** Whether a text can be sent as the value of a header. */
export const isHeaderValue = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);

const dashed = (name: string): string => name.replaceAll('_', '-');

const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};
