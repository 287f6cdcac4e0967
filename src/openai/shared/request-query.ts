import { z } from 'zod';

import { parseBody } from '../../apis/validation.ts';

const MAX_NAME_CHARS = 200;
const MAX_SECONDS = 10_000_000_000;

const name = z.string().max(MAX_NAME_CHARS).nullable();
const time = z.number().min(0).max(MAX_SECONDS).nullable();

const schema = z.object({
  limit: z.int().min(1).max(200).nullable(),
  after: name,
  status: z
    .string()
    .regex(/^(?:running|ok|failed|[1-5]xx|[1-5]\d\d)$/)
    .nullable(),
  error: name,
  model: name,
  key: name,
  client: name,
  from: time,
  to: time,
  q: name,
});

export type RequestQuery = z.output<typeof schema>;

export const REQUEST_QUERY_NAMES: readonly string[] = Object.keys(schema.shape);

const NUMBERS: ReadonlySet<string> = new Set(['limit', 'from', 'to']);

/** Reads which requests of the log a client asks for. Throws if a value is invalid; an empty one counts as absent. */
export const readRequestQuery = (query: URLSearchParams): RequestQuery =>
  parseBody(schema, Object.fromEntries(REQUEST_QUERY_NAMES.map((key) => [key, valueOf(query, key)])));

/** A value that is not a number stays a text, which the schema rejects. */
const valueOf = (query: URLSearchParams, key: string): number | string | null => {
  const text = query.get(key) ?? '';
  if (text === '') return null;
  return NUMBERS.has(key) && /^\d{1,12}(?:\.\d{1,6})?$/.test(text) ? Number(text) : text;
};
