import { isIP } from 'node:net';
import { z } from 'zod';

import { isJsonObject } from '../kit/json/json.ts';

/** The type of one setting: the same schema checks it in the environment and in the config file. */
export interface ValueType<Output> {
  /** Completes the sentence "allowed is …" for the environment. */
  readonly allowed: string;
  /** The same for the config file, where it differs. */
  readonly allowedInFile?: string;
  /** The value as JSON. `docs/config.schema.json` is printed from it. */
  readonly schema: z.ZodType<Output>;
  /** Turns the text of an environment variable into JSON; text that it cannot read stays a string. */
  readonly decode?: (text: string) => unknown;
  /** A relative path: taken from the working directory, or from the folder of the config file. */
  readonly isPath?: true;
  readonly unit?: string;
  /** Its values are numbers or known words, which cannot contain a secret, a path or a name. */
  readonly isPlain?: true;
}

/** Node's timers overflow above this and fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

export const wholeNumber = (min: number, max: number, unit?: string): ValueType<number> => ({
  allowed: `a whole number from ${min} to ${max}`,
  schema: z.int().min(min).max(max),
  decode: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : text),
  ...(unit === undefined ? {} : { unit }),
  isPlain: true,
});

/** A number that may have a fraction, written with digits and one dot. */
export const decimalNumber = (min: number, max: number, unit: string): ValueType<number> => ({
  allowed: `a number from ${min} to ${max}, such as 0.5`,
  schema: z.number().min(min).max(max),
  decode: (text) => (/^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : text),
  unit,
  isPlain: true,
});

const YES_OR_NO: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

export const yesOrNo: ValueType<boolean> = {
  allowed: 'true, false, 1 or 0',
  allowedInFile: 'true or false',
  schema: z.boolean(),
  decode: (text) => (Object.hasOwn(YES_OR_NO, text) ? YES_OR_NO[text] : text),
  isPlain: true,
};

export const oneOf = <const Choice extends string>(choices: readonly Choice[]): ValueType<Choice> => ({
  allowed: `one of ${choices.join(', ')}`,
  schema: z.enum(choices),
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

/** A file or a folder. `~` is the home directory. */
export const filePath: ValueType<string> = {
  allowed: 'a path (~ is the home directory)',
  schema: z
    .string()
    .min(1)
    .refine((text) => !text.includes('\0') && !/^~[^/\\]/.test(text)),
  isPath: true,
};

/** HTTP headers can carry nothing else. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** Without the comma, which separates keys in the environment. */
const LISTED_KEY = /^[\x21-\x2b\x2d-\x7e]+$/;

export const secret: ValueType<string> = {
  allowed: 'visible ASCII characters without spaces',
  schema: z.string().regex(VISIBLE_ASCII),
};

/** Commas in the environment, an array in the file, where one entry may also be a plain string. */
const listOf = (item: z.ZodType<string>): z.ZodType<readonly string[]> =>
  z.union([item, z.array(item)]).transform((value) => (typeof value === 'string' ? [value] : value));

const splitAtCommas = (text: string): string[] => text.split(',').map((entry) => entry.trim());

/** A personal access token, or a JSON web token: codex accepts nothing else. */
export const accessToken: ValueType<string> = {
  allowed: 'an access token of ChatGPT, which begins with at- or eyJ',
  schema: z.string().regex(/^(?:at-[\x21-\x7e]+|eyJ[\w-]*\.[\w-]+\.[\w-]+)$/),
};

export const secretList: ValueType<readonly string[]> = {
  allowed: 'a comma-separated list of keys, each of visible ASCII characters without spaces',
  allowedInFile: 'an array of keys, each of visible ASCII characters without spaces and commas',
  schema: listOf(z.string().regex(LISTED_KEY)),
  decode: (text) => splitAtCommas(text).filter((entry) => entry !== ''),
};

/** 32 bytes: 64 hexadecimal digits, or base64 in either alphabet. The last digit of base64 has two unused bits. */
const STORE_KEY =
  /^(?:[0-9a-fA-F]{64}|[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=|[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]=?)$/;

/** Random keys only: a password would need a slow derivation, and a stored file can be guessed at for ever. */
export const storeKeyList: ValueType<readonly string[]> = {
  allowed: 'a comma-separated list of keys of 32 bytes, each as 64 hexadecimal digits or as base64',
  allowedInFile: 'an array of keys of 32 bytes, each as 64 hexadecimal digits or as base64',
  schema: listOf(z.string().regex(STORE_KEY)),
  decode: (text) => (text === '' ? [] : splitAtCommas(text)),
};

export const paramList: ValueType<readonly string[]> = {
  allowed: 'all, none, or a comma-separated list of parameter names',
  allowedInFile: '"all", "none", or an array of parameter names',
  schema: listOf(z.string().regex(/^[a-z_]+$/)),
  decode: splitAtCommas,
};

/** The choice for models whose names match the pattern; `*` matches any characters. */
export interface ModelRule<Choice extends string> {
  readonly pattern: string;
  readonly choice: Choice;
}

/** One choice for all models, or a list of `pattern=choice`; the first matching pattern counts. */
export const perModel = <const Choice extends string>(
  choices: readonly Choice[],
): ValueType<readonly ModelRule<Choice>[]> => ({
  allowed: `one of ${choices.join(', ')}, or a comma-separated list such as llama-*=${choices.at(-1)}, in which * matches any characters in the name of a model`,
  allowedInFile: `one of ${choices.join(', ')}, or an array such as ["llama-*=${choices.at(-1)}"], in which * matches any characters in the name of a model`,
  schema: z
    .union([z.enum(choices), z.array(z.string().regex(new RegExp(`^[^\\s=]+=(?:${choices.join('|')})$`)))])
    .transform((value) =>
      (typeof value === 'string' ? [`*=${value}`] : value).map((entry) => {
        const [pattern = '', choice] = entry.split('=');
        return { pattern, choice: choice as Choice };
      }),
    ),
  decode: (text) => (text.includes('=') || text.includes(',') ? splitAtCommas(text) : text),
});

/** The origin of a page: scheme, host and port; `*` as port matches any port. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::(?:\d{1,5}|\*))?$/;

/** Origins are compared as browsers write them: in lower case and without a path. */
export const originList: ValueType<readonly string[]> = {
  allowed: '* or a comma-separated list of origins such as https://notes.example or http://localhost:*',
  allowedInFile: '"*" or an array of origins such as "https://notes.example" or "http://localhost:*"',
  schema: listOf(
    z
      .string()
      .toLowerCase()
      .refine((text) => text === '*' || ORIGIN.test(text)),
  ),
  decode: splitAtCommas,
};

/** An address, or a range in CIDR form. */
const isRange = (text: string): boolean => {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && (bits === undefined || Number(bits) <= (version === 4 ? 32 : 128));
};

export const addressList: ValueType<readonly string[]> = {
  allowed: 'a comma-separated list of IP addresses, or ranges such as 10.0.0.0/8',
  allowedInFile: 'an array of IP addresses, or ranges such as "10.0.0.0/8"',
  schema: listOf(z.string().refine(isRange)),
  decode: (text) => splitAtCommas(text).filter((entry) => entry !== ''),
};

/** Names that a deployment gives to models. */
export const aliasMap: ValueType<Readonly<Record<string, string>>> = {
  allowed:
    'a JSON object whose keys and values are names of models, without circles and without chains of more than ten names',
  schema: z.record(MODEL_NAME, MODEL_NAME).refine((aliases) => {
    const map = new Map(Object.entries(aliases));
    return [...map.keys()].every((name) => hasEnd(name, map));
  }),
  decode: (text) => {
    try {
      const value: unknown = JSON.parse(text);
      // zod drops this key from a record.
      return isJsonObject(value) && Object.hasOwn(value, '__proto__') ? text : value;
    } catch {
      return text;
    }
  },
};

/** Every alias is followed for every list of models. */
const MAX_STEPS = 10;

/** Whether following the aliases of a name comes to an end. */
const hasEnd = (name: string, aliases: ReadonlyMap<string, string>): boolean => {
  const seen = new Set<string>();
  for (let next: string | undefined = name; next !== undefined; next = aliases.get(next)) {
    if (seen.has(next) || seen.size > MAX_STEPS) return false;
    seen.add(next);
  }
  return true;
};

/**
 * The URL is written into codex's `config.toml` and paths are appended to it, so it must not contain a
 * password, a query or a fragment.
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

const isDatabaseUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.pathname.length > 1;
};

export const databaseUrl: ValueType<string> = {
  allowed: 'a postgres:// or postgresql:// URL with the name of a database',
  schema: z.string().refine(isDatabaseUrl),
};
