import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'test', 'golden', 'payloads');

/** One recorded request, as `test/golden/payloads.test.ts` writes it. */
interface Recorded {
  readonly request: { readonly endpoint: string; readonly body: unknown };
  readonly calls: readonly { readonly method: string; readonly params: unknown }[];
  readonly 'model request': unknown;
}

const recorded = (name: string, driver: 'wire-on' | 'wire-off'): Recorded =>
  JSON.parse(readFileSync(path.join(FOLDER, `${name}.${driver}.json`), 'utf8')) as Recorded;

const block = (title: string, value: unknown): readonly string[] => [
  `${title}:`,
  '',
  '```json',
  JSON.stringify(value, null, 2),
  '```',
  '',
];

/** The calls of one request and the model request that codex makes of them. */
const exchange = ({ calls, 'model request': sent }: Recorded): readonly string[] => [
  ...calls.flatMap(({ method, params }) => block(`\`${method}\``, params)),
  ...block('The model request that reaches the backend', sent),
];

const section = (name: string): readonly string[] => {
  const off = recorded(name, 'wire-off');
  return [
    `## ${name.replaceAll('-', ' ')}`,
    '',
    ...block(`\`POST ${off.request.endpoint}\``, off.request.body),
    '### Over JSON-RPC alone',
    '',
    ...exchange(off),
    '### With the relay',
    '',
    ...exchange(recorded(name, 'wire-on')),
  ];
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
    '(`test/golden/payloads.test.ts` compares them to the byte). Over JSON-RPC alone (`PROXY_WIRE=off`) the calls contain the whole request.',
    'With the relay they contain a placeholder, and the relay writes the request into the model request. `UUID`, `WORKDIR`, `PLACEHOLDER` and',
    '`CONVERSATION` replace what differs between runs; of `client_metadata` only the names are shown.',
    '',
    'Which field goes where: [Responses](responses-to-jsonrpc.md) and [Chat](chat-completions-to-jsonrpc.md) to JSON-RPC.',
    '',
    ...names.flatMap(section),
  ].join('\n');
};
