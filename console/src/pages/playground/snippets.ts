import type { RequestBody } from './request.ts';

export const LANGUAGES = ['curl', 'Python', 'Node'] as const;
export type Language = (typeof LANGUAGES)[number];

/** In the place of the key, which the page does not know. */
const KEY = 'YOUR_API_KEY';

/** For a POSIX shell: nothing in single quotes is special but the quote itself. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const curl = (baseUrl: string, body: RequestBody): string =>
  [
    `curl ${shellQuoted(`${baseUrl}/responses`)} --no-buffer \\`,
    `  -H 'Authorization: Bearer ${KEY}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${shellQuoted(JSON.stringify(body, null, 2))}`,
  ].join('\n');

const WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

/** A JSON value as a Python literal. Strings are the same in both, except for what JSON leaves as it is. */
const literal = (value: unknown, indent: string): string => {
  const inner = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((one) => `${inner}${literal(one, inner)},\n`).join('')}${indent}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value);
    if (fields.length === 0) return '{}';
    const lines = fields.map(([name, one]) => `${inner}${JSON.stringify(name)}: ${literal(one, inner)},\n`);
    return `{\n${lines.join('')}${indent}}`;
  }
  const json = JSON.stringify(value);
  return WORDS[json] ?? json;
};

const python = (baseUrl: string, body: RequestBody): string => {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${literal(value, '    ')},`);
  return [
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url=${JSON.stringify(baseUrl)}, api_key="${KEY}")`,
    '',
    'stream = client.responses.create(',
    ...fields,
    ')',
    'for event in stream:',
    '    if event.type == "response.output_text.delta":',
    '        print(event.delta, end="", flush=True)',
  ].join('\n');
};

const node = (baseUrl: string, body: RequestBody): string =>
  [
    "import OpenAI from 'openai';",
    '',
    `const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: '${KEY}' });`,
    '',
    `const stream = await client.responses.create(${JSON.stringify(body, null, 2)});`,
    'for await (const event of stream) {',
    "  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);",
    '}',
  ].join('\n');

const WRITERS: Readonly<Record<Language, (baseUrl: string, body: RequestBody) => string>> = {
  curl,
  Python: python,
  Node: node,
};

/** The request as code, with a placeholder for the key. */
export const snippet = (language: Language, baseUrl: string, body: RequestBody): string =>
  WRITERS[language](baseUrl, body);
