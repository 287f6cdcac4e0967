import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'test', 'golden', 'payloads');
/** A value that fits is on one line. */
const WIDTH = 120;

/** One recorded request, as `test/golden/payloads.test.ts` writes it. */
interface Recorded {
  readonly request: { readonly endpoint: string; readonly body: unknown };
  readonly calls: readonly { readonly method: string; readonly params: unknown }[];
  readonly 'model request': unknown;
}

const recorded = (name: string, driver: 'wire-on' | 'wire-off'): Recorded =>
  JSON.parse(readFileSync(path.join(FOLDER, `${name}.${driver}.json`), 'utf8')) as Recorded;

/** JSON with as few lines as fit. `before`: the indentation, and `used`: the characters in front of it on its line. */
const compact = (value: unknown, before = '', used = 0): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(([name, one]) => {
    const key = isList ? '' : `${JSON.stringify(name)}: `;
    return { key, one };
  });
  const short = members.map(({ key, one }) => key + compact(one)).join(', ');
  const [open, close] = isList ? ['[', ']'] : ['{ ', ' }'];
  if (members.length === 0) return isList ? '[]' : '{}';
  const isShort = before.length + used + short.length + open.length + close.length <= WIDTH;
  if (isShort && !short.includes('\n')) return `${open}${short}${close}`;
  const inner = `${before}  `;
  const lines = members.map(({ key, one }) => `${inner}${key}${compact(one, inner, key.length)}`);
  return `${open.trim()}\n${lines.join(',\n')}\n${before}${close.trim()}`;
};

const block = (title: string, value: unknown): readonly string[] => [
  `${title}:`,
  '',
  '```json',
  compact(value),
  '```',
  '',
];

const calls = (all: Recorded['calls']): readonly string[] =>
  all.flatMap(({ method, params }) => block(`\`${method}\``, params));

const section = (name: string): readonly string[] => {
  const [off, on] = [recorded(name, 'wire-off'), recorded(name, 'wire-on')];
  return [
    `### ${name.replaceAll('-', ' ')}`,
    '',
    ...block(`\`POST ${off.request.endpoint}\``, off.request.body),
    ...calls(off.calls),
    ...block('The model request that codex makes of them', off['model request']),
    ...block('The model request with the relay', on['model request']),
  ];
};

/** With the relay the calls are the same for every request. */
const relayCalls = (names: readonly string[]): Recorded['calls'] => {
  const [first = [], ...others] = names.map((name) => recorded(name, 'wire-on').calls);
  if (!others.every((one) => isDeepStrictEqual(one, first)))
    throw new Error('with the relay the calls of two requests differ: show them for each');
  return first;
};

/** The recorded JSON-RPC payloads of the golden files. */
export const describePayloads = (): string => {
  const names = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.wire-off.json'))
    .map((file) => file.replace('.wire-off.json', ''))
    .toSorted();
  return [
    '# JSON-RPC payloads',
    '',
    'Every call that this server makes to the app-server for a request, and the model request that results, recorded with the real binary',
    '(`test/golden/payloads.test.ts` compares them to the byte). `UUID`, `WORKDIR`, `PLACEHOLDER` and `CONVERSATION` replace what differs between',
    'runs; of `client_metadata` only the names are shown.',
    '',
    'Which field goes where: [Responses](responses-to-jsonrpc.md) and [Chat](chat-completions-to-jsonrpc.md) to JSON-RPC.',
    '',
    '## With the relay',
    '',
    'The usual way: the calls are the same for every request with this model, and the relay writes the request into the model request in place of',
    'the placeholder. So below only the model request is shown for it.',
    '',
    ...calls(relayCalls(names)),
    '## Requests',
    '',
    'The calls are those over JSON-RPC alone (`PROXY_WIRE=off`), which contain the whole request.',
    '',
    ...names.flatMap(section),
  ].join('\n');
};
