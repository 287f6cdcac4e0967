import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';

import { isJsonObject } from '../kit/json/json.ts';

/** How one setting is read from its text: what is allowed, in words and as a schema. */
export interface ValueType<Output> {
  /** Completes the sentence "allowed is …". */
  readonly allowed: string;
  readonly schema: z.ZodType<Output, string>;
  /** Its values are numbers or a few known words: no secret, path or name can hide in one. */
  readonly isPlain?: true;
}

/** A longer delay overflows the timers of Node, which then fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

export const wholeNumber = (min: number, max: number): ValueType<number> => ({
  allowed: `a whole number from ${min} to ${max}`,
  schema: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max)),
  isPlain: true,
});

export const yesOrNo: ValueType<boolean> = {
  allowed: 'true, false, 1 or 0',
  schema: z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1'),
  isPlain: true,
};

export const oneOf = <const Choice extends string>(choices: readonly Choice[]): ValueType<Choice> => ({
  allowed: `one of ${choices.join(', ')}`,
  schema: z.string().pipe(z.enum(choices)),
  isPlain: true,
});

export const hostName: ValueType<string> = {
  allowed: 'a host name or an IP address (IPv6 without brackets)',
  schema: z.string().regex(/^[A-Za-z0-9._:%-]+$/),
};

const MODEL_NAME = z.string().regex(/^[\x21-\x7e]{1,200}$/);

export const modelName: ValueType<string> = {
  allowed: 'the name of a model, without spaces',
  schema: MODEL_NAME,
};

/** `~` is the home directory; a relative path is taken from the working directory of the process. */
export const directory: ValueType<string> = {
  allowed: 'a path (~ is the home directory)',
  schema: z
    .string()
    .refine((text) => !text.includes('\0') && !/^~[^/\\]/.test(text))
    .transform((text) => resolve(text.replace(/^~(?=$|[/\\])/, () => homedir()))),
};

/** A header can carry nothing else, so any other key could never match. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export const secret: ValueType<string> = {
  allowed: 'visible ASCII characters without spaces',
  schema: z.string().regex(VISIBLE_ASCII),
};

export const secretList: ValueType<readonly string[]> = {
  allowed: 'a comma-separated list of keys, each of visible ASCII characters without spaces',
  schema: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .pipe(z.array(z.string().regex(VISIBLE_ASCII))),
};

export const paramList: ValueType<readonly string[]> = {
  allowed: 'all, none, or a comma-separated list of parameter names',
  schema: z
    .string()
    .regex(/^[a-z_]+(?:\s*,\s*[a-z_]+)*$/)
    .transform((text) => text.split(',').map((entry) => entry.trim())),
};

/** What holds for the models whose names look like this; `*` stands for anything. */
export interface ModelRule<Choice extends string> {
  readonly pattern: string;
  readonly choice: Choice;
}

/** One choice for all models, or one for each pattern of names; the first pattern that fits counts. */
export const perModel = <const Choice extends string>(
  choices: readonly Choice[],
): ValueType<readonly ModelRule<Choice>[]> => ({
  allowed: `one of ${choices.join(', ')}, or a comma-separated list such as llama-*=${choices.at(-1)}, in which * stands for anything in the name of a model`,
  schema: z
    .string()
    .transform((text) => text.split(',').map((entry) => entry.trim()))
    .transform((entries) =>
      entries.length === 1 && entries[0]?.includes('=') === false ? [`*=${entries[0]}`] : entries,
    )
    .pipe(
      z.array(
        z
          .string()
          .regex(/^[^\s=]+=[^=]+$/)
          .transform((entry) => {
            const [pattern = '', choice = ''] = entry.split('=');
            return { pattern, choice };
          })
          .pipe(z.object({ pattern: z.string(), choice: z.enum(choices) })),
      ),
    ),
});

/** The origin of a page: scheme, host and port, where `*` may stand for any port. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::(?:\d{1,5}|\*))?$/;

/** Origins are compared as browsers write them: in small letters and without a path. */
export const originList: ValueType<readonly string[]> = {
  allowed: '* or a comma-separated list of origins such as https://notes.example or http://localhost:*',
  schema: z
    .string()
    .transform((text) => text.split(',').map((entry) => entry.trim().toLowerCase()))
    .pipe(z.array(z.union([z.literal('*'), z.string().regex(ORIGIN)]))),
};

/** Names of a deployment, and the names that they stand for. */
export const aliasMap: ValueType<Readonly<Record<string, string>>> = {
  allowed:
    'a JSON object whose keys and values are names of models, and in which no name leads back to itself or on to ten others',
  schema: z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'no JSON' });
        return z.NEVER;
      }
    })
    // zod leaves this name out of a record without a word.
    .refine((value) => !isJsonObject(value) || !Object.hasOwn(value, '__proto__'))
    .pipe(z.record(MODEL_NAME, MODEL_NAME))
    .refine((aliases) => {
      const map = new Map(Object.entries(aliases));
      return [...map.keys()].every((name) => hasEnd(name, map));
    }),
};

/** More than anybody needs; each step of each name is gone again for every list of models. */
const MAX_STEPS = 10;

/** Whether a name stands for something in the end, and not for itself by way of others. */
const hasEnd = (name: string, aliases: ReadonlyMap<string, string>): boolean => {
  const seen = new Set<string>();
  for (let next: string | undefined = name; next !== undefined; next = aliases.get(next)) {
    if (seen.has(next) || seen.size > MAX_STEPS) return false;
    seen.add(next);
  }
  return true;
};

/**
 * The URL is written into codex's `config.toml` and paths are appended to it: so it carries no
 * password, no query and no fragment.
 */
const isBaseUrl = (text: string): boolean => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.username === '' && url.password === '' && !/[?#]/.test(text);
};

export const baseUrl: ValueType<string> = {
  allowed: 'an http or https URL without user name, password, query or fragment',
  schema: z
    .string()
    .refine(isBaseUrl)
    .transform((text) => new URL(text).href.replace(/\/+$/, '')),
};
