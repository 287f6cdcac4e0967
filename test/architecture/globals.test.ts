import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');

const PURE = [
  'kit',
  'canonical',
  'openai',
  'engine',
  'codex/capabilities',
  'codex/failures',
  'codex/sources',
  'codex/translate',
];

/** Where the pure layers meet the machine: everything else gets a clock, ids and bytes from here. */
const RIM: ReadonlySet<string> = new Set([
  'src/kit/ambient.ts',
  'src/kit/async/event-loop.ts',
  'src/kit/text/bytes.ts',
]);

/** Time, chance and the machine. Timers are allowed: they only decide when, not what. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'Buffer',
  'Date.now',
  'Math.random',
  'console',
  'crypto',
  'fetch',
  'new Date()',
  'performance',
  'process',
]);

/** Reads of time and chance anywhere in `src`. */
const AMBIENT: ReadonlySet<string> = new Set([
  'Date.now',
  'Math.random',
  'crypto',
  'new Date()',
  'performance',
  'randomBytes',
  'randomInt',
  'randomUUID',
]);

/** Everything else gets a `Clock` or an `IdSource`. */
const DIRECT_READS: Readonly<Record<string, string>> = {
  'src/kit/ambient.ts: Date.now': 'the clock that the others get',
  'src/kit/ambient.ts: crypto': 'the ids that the others get',
  'src/store/seal.ts: randomBytes': 'nonces: a predictable one would reveal texts',
  'src/kit/async/event-loop.ts: performance': 'measures slices of work; with a fake clock they would not end',

  'src/codex/loopback.ts: randomBytes': 'a secret',
  'src/features/console/sessions.ts: randomBytes': 'tokens and nonces',
  'src/features/keys/key-secret.ts: randomBytes': 'secrets of keys',
  'src/cli/connect/server.ts: randomBytes':
    'a nonce: a predictable one could be answered by a recorded proof',
  'src/features/agents/run/workers.ts: randomBytes': 'names of folders, by which processes are found',
  'src/features/agents/open.ts: performance': 'what is left of the time of a shutdown',
  'src/features/agents/sessions/step-writer.ts: performance':
    'measures writes, to write less often on a slow disk',
  'src/features/keys/routes.ts: randomBytes': 'a salt',
  'src/features/keys/live-keys.ts: performance': 'limits questions to the database, however a clock jumps',
  'src/http/guards/own-secrets.ts: randomBytes': 'a key, and the name of a temporary file',
  'src/compose/open-store.ts: randomBytes': 'a key',
  'src/cli/doctor/probe.ts: randomUUID': 'a key',
  'src/codex/home/prepare-home.ts: randomUUID': 'the id of this installation',
  'src/codex/relay/request/affinity.ts: randomUUID': 'the random part of an id; the time is a parameter',
  'src/cli/doctor.ts: randomUUID': 'a prompt that is in no cache',
  'src/codex/home/files.ts: randomUUID': 'the name of a temporary file',
  'src/codex/home/run-directories.ts: randomBytes': 'the name of a directory',

  'src/codex/relay/server/resends.ts: Math.random': 'jitter of a pause',
  'src/codex/rpc/peer.ts: Math.random': 'jitter of a pause',
  'src/http/answer/sse-response.ts: performance': 'the gap between two writes: decides when, not what',
  'src/http/exchange/trace-request.ts: performance': 'how long the parts of a request take',
  'src/features/state/background/event-log.ts: performance':
    'the duration of a write: decides when the next one begins',
  'src/features/state/background/response-events.ts: performance':
    'how long a reader has waited; this clock never jumps',
  'src/turns/insistently.ts: performance': 'how long something was tried; this clock never jumps',
  'src/store/operations.ts: performance': 'the duration of an operation, for a metric',
  'src/http/listen/connection-limit.ts: performance': 'the age of a connection; this clock never jumps',
  'src/cli/serve.ts: performance': 'default of a parameter: the age of a signal; this clock never jumps',
  'src/cli/doctor/probe.ts: performance': 'measures a duration that is only displayed',
  'src/codex/app-server.ts: performance': 'measures a duration for a metric',
  'src/codex/relay/transport/send-once.ts: performance': 'measures a duration for a metric',
  'src/codex/relay/transport/websocket/dial.ts: performance': 'measures a duration for a metric',
  'src/codex/relay/transport/websocket/dial.ts: randomBytes': 'the key of an upgrade, which is only returned',
  'src/codex/relay/transport/websocket/wire.ts: randomBytes':
    'the masks of frames, which must not be predictable',
  'src/features/agents/run/clean-up.ts: performance':
    'limits how long the end of a run may take, however a clock jumps',
  'src/features/agents/run/commands.ts: randomBytes': 'marks: commands must not guess those of others',
  'src/features/captures/capture.ts: performance': 'hands in the clock of a capture',
  'src/features/captures/capture.ts: new Date()': 'hands in the start of a capture',
  'src/cli/doctor.ts: new Date()': 'hands in the date',
};

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** The global that a node uses, if it is one of these. Types are not values, and names of members are not globals. */
const globalsIn = (node: Node, found: string[] = []): readonly string[] => {
  if (/^TS(?:Type|Interface)/.test(node.type)) return found;
  if (node.type === 'Identifier') found.push(String(node['name']));
  if (node.type === 'NewExpression' && isNode(node['callee']) && node['callee']['name'] === 'Date') {
    if ((node['arguments'] as readonly unknown[]).length === 0) found.push('new Date()');
  }
  const isMember = node.type === 'MemberExpression' && node['computed'] === false;
  if (isMember && isNode(node['object']) && isNode(node['property'])) {
    found.push(`${String(node['object']['name'])}.${String(node['property']['name'])}`);
  }
  for (const [field, value] of Object.entries(node)) {
    if (isMember && field === 'property') continue;
    if (node.type === 'Property' && field === 'key' && node['computed'] === false) continue;
    for (const child of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (isNode(child)) globalsIn(child, found);
    }
  }
  return found;
};

const usedIn = (text: string, names = FORBIDDEN): readonly string[] => {
  const { program } = parseSync('x.ts', text);
  return globalsIn(program as unknown as Node).filter((name) => names.has(name));
};

it('sees globals, and neither types nor members of the same name', () => {
  expect(usedIn('const a = Buffer.from(x); f(Date.now()); new Date(); g(process, { crypto });')).toEqual([
    'Buffer',
    'Date.now',
    'new Date()',
    'process',
    'crypto',
  ]);
  expect(usedIn("import { randomUUID } from 'node:crypto'; const f = Date.now;", AMBIENT)).toContain(
    'randomUUID',
  );
  expect(usedIn('const a = (b: Buffer): Buffer | null => c.process({ fetch: new Date(5) });')).toEqual([]);
});

it('the pure layers read neither time nor chance nor the machine', () => {
  const files = PURE.flatMap((layer) => globSync(`src/${layer}/**/*.ts`, { cwd: ROOT })).filter(
    (file) => !file.endsWith('.test.ts') && !RIM.has(file),
  );
  expect(files.length).toBeGreaterThan(100);
  const used = files.flatMap((file) =>
    usedIn(readFileSync(path.join(ROOT, file), 'utf8')).map((name) => `${file}: ${name}`),
  );
  expect(
    used,
    'Pure layers read no time, chance or machine. Take a clock, an id generator or the value as a parameter, or move the code to the edge.',
  ).toEqual([]);
});

it('only the listed places read time or chance themselves', () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
  const reads = files.flatMap((file) =>
    usedIn(readFileSync(path.join(ROOT, file), 'utf8'), AMBIENT).map((name) => `${file}: ${name}`),
  );
  expect(
    new Set(reads),
    'Time and chance come from a Clock or an id generator that is passed in. If that makes no sense here, give the place a row with its reason in DIRECT_READS; remove the row of a place that is gone or has moved.',
  ).toEqual(new Set(Object.keys(DIRECT_READS)));
});
