/**
 * Tries this server with other versions of codex: `npm run codex:try VERSION…`.
 *
 * Installs each exactly, in a temporary folder, runs the same checks with and without the relay against a scripted model,
 * and prints a table. Exits with 1 if a check fails. The result belongs into docs/operating.md, "Codex versions".
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { judgePrompt } from '../src/cli/doctor/codex-check.ts';
import { findCodexBinary } from '../src/codex/binary.ts';
import { createApp, type App } from '../src/compose/app.ts';
import { loadConfig } from '../src/compose/features.ts';
import { answer } from '../src/demo/answer.ts';
import { startModelServer, type ModelServer, type Script } from '../src/demo/model-server.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../src/kit/json/json.ts';
import { createLogger } from '../src/observe/log.ts';
import { PACKAGE } from './protocol/upgrade-report.ts';

const NPM_MS = 10 * 60_000;
const START_MS = 60_000;
const CHECK_MS = 60_000;
const MODEL = 'gpt-5.5';
/** codex treats newer models in another way, if it knows them. */
const NEW_MODEL = 'gpt-6.1-sol';
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TOOL = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

/** Calls a tool that it is offered, until it sees an output; otherwise it says hello. */
const script: Script = ({ body }, connection) => {
  const text = JSON.stringify(body);
  const isCall = text.includes('"get_weather"') && !text.includes('function_call_output');
  return answer(
    connection,
    isCall ? [{ call: { name: 'get_weather', arguments: {}, callId: 'call_1' } }] : [{ text: 'Hello.' }],
  );
};

interface Room {
  readonly app: App;
  readonly model: ModelServer;
  /** Sends a request to `/v1/responses`; throws unless it is answered with 200. */
  readonly ask: (body: JsonObject) => Promise<string>;
}

const expectThat = (holds: boolean, otherwise: string): void => {
  if (!holds) throw new Error(otherwise);
};

const outputOf = (text: string): readonly JsonObject[] => {
  const output = parseJsonObject(text)?.['output'];
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
};

type Check = (room: Room, version: string, wire: Wire) => Promise<void>;
type Wire = 'on' | 'off';

/** What has to work. Each throws with the reason if it does not. */
const CHECKS: Readonly<Record<string, Check>> = {
  start: async ({ app }, version) => {
    const { runs } = app.codex();
    const isReady = app.workers().some(({ state }) => state === 'ready');
    expectThat(isReady, 'codex starts no thread');
    expectThat(runs === version, `it names the version ${runs}`);
  },
  stream: async ({ ask }) => {
    const text = await ask({ model: MODEL, input: 'Hello?', stream: true });
    expectThat(text.includes('event: response.output_text.delta'), 'no text in the stream');
    expectThat(text.includes('event: response.completed'), 'the stream is not complete');
  },
  JSON: async ({ ask }) => {
    const text = await ask({ model: MODEL, input: 'Hello?' });
    expectThat(
      outputOf(text).some(({ type }) => type === 'message'),
      'no message in the answer',
    );
  },
  'tool call': async ({ ask, model }) => {
    const input = [{ role: 'user', content: 'What is the weather?' }];
    const [call] = outputOf(await ask({ model: MODEL, input, tools: [TOOL] }));
    expectThat(call?.['type'] === 'function_call', 'no call in the answer');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'snow' };
    const next = [...input, call as JsonObject, output];
    const [message] = outputOf(await ask({ model: MODEL, input: next, tools: [TOOL] }));
    expectThat(message?.['type'] === 'message', 'no answer to the output of the tool');
    expectThat(lastBody(model).includes('snow'), 'the output of the tool does not reach the model');
  },
  image: async ({ ask, model }) => {
    const content = [{ type: 'input_image', image_url: PIXEL, detail: 'low' }];
    await ask({ model: MODEL, input: [{ role: 'user', content }] });
    expectThat(lastBody(model).includes('"input_image"'), 'the image does not reach the model');
  },
  'clean prompt': async ({ ask, model }, _version, wire) => {
    for (const name of [MODEL, NEW_MODEL, 'some-model-of-tomorrow']) {
      await ask({ model: name, input: 'Hello?' });
      const { grade, says } = judgePrompt(model.requests.at(-1)?.body ?? null, wire);
      expectThat(grade === 'ok', `${name}: ${says}`);
    }
  },
};

const lastBody = (model: ModelServer): string => JSON.stringify(model.requests.at(-1)?.body ?? null);

const openRoom = async (
  binary: string,
  wire: Wire,
  folder: string,
): Promise<Room & { close(): Promise<void> }> => {
  const model = await startModelServer({ script, keepRequests: 10 });
  const key = randomUUID();
  const config = loadConfig({
    PROXY_CODEX_BINARY: binary,
    PROXY_WIRE: wire,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_API_KEY: key,
    PROXY_STATE_DIR: path.join(folder, `state-${wire}`),
    PROXY_CODEX_WORKDIR: path.join(folder, 'work'),
    PROXY_STORE: 'off',
  });
  const { PATH, HOME } = process.env;
  try {
    const app = await within(
      createApp(config, { environment: { PATH, HOME }, logger: createLogger({ level: 'silent' }) }),
      START_MS,
    );
    return {
      app,
      model,
      ask: async (body) => {
        const response = await app.fetch(
          new Request('http://127.0.0.1/v1/responses', {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify(body),
            signal: AbortSignal.timeout(CHECK_MS),
          }),
        );
        const text = await response.text();
        expectThat(response.ok, `${response.status}: ${text}`);
        return text;
      },
      async close() {
        await app.stop(0);
        await model.close();
      },
    };
  } catch (error) {
    await model.close();
    throw error;
  }
};

const within = <T>(promise: Promise<T>, ms: number): Promise<T> =>
  Promise.race([
    promise,
    new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`not within ${ms / 1000} s`)), ms).unref();
    }),
  ]);

/** The reason of each check that failed, by its name; the warnings of codex are for information. */
interface Result {
  readonly failed: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const tryWire = async (binary: string, version: string, wire: Wire, folder: string): Promise<Result> => {
  const failed = new Map<string, string>();
  try {
    const room = await openRoom(binary, wire, folder);
    try {
      for (const [name, check] of Object.entries(CHECKS)) {
        await check(room, version, wire).catch((error: unknown) => failed.set(name, reasonOf(error)));
        // Without a thread all others fail for the same reason.
        if (failed.has('start')) break;
      }
      const warnings = room.app.codex().warnings.filter((text) => !text.includes('bubblewrap'));
      return { failed, warnings };
    } finally {
      await room.close();
    }
  } catch (error) {
    return { failed: new Map([['start', reasonOf(error)]]), warnings: [] };
  }
};

const install = async (version: string, folder: string): Promise<string> => {
  await writeFile(path.join(folder, 'package.json'), '{"private":true}');
  const flags = ['--save-exact', '--ignore-scripts', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['install', ...flags, `${PACKAGE}@${version}`], {
    cwd: folder,
    timeout: NPM_MS,
  });
  const found = findCodexBinary(process, path.join(folder, 'package.json'));
  expectThat(found.version === version, `npm installed ${found.version}, not ${version}`);
  return found.path;
};

const versions = process.argv.slice(2);
if (versions.length === 0 || versions.some((version) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))) {
  console.error('Which versions? For example: npm run codex:try 0.147.0 0.169.0');
  process.exit(2);
}

const names = Object.keys(CHECKS);
const rows = [['codex', 'PROXY_WIRE', ...names, 'warnings']];
const reasons: string[] = [];
for (const version of versions) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'codex-try-'));
  try {
    const binary = await install(version, folder).catch((error: unknown) => {
      reasons.push(`${version}: cannot be installed. ${reasonOf(error)}`);
      return null;
    });
    if (binary === null) {
      process.exitCode = 1;
      continue;
    }
    for (const wire of ['on', 'off'] as const) {
      const { failed, warnings } = await tryWire(binary, version, wire, folder);
      const cells = names.map((name) =>
        failed.has('start') && name !== 'start' ? '–' : failed.has(name) ? '✗' : '✓',
      );
      rows.push([version, wire, ...cells, String(warnings.length)]);
      const told = [
        ...[...failed].map(([name, why]) => `✗ ${name}: ${why}`),
        ...warnings.map((text) => `! ${text}`),
      ];
      reasons.push(...told.map((line) => `${version}, PROXY_WIRE=${wire}: ${line}`));
      if (failed.size > 0) process.exitCode = 1;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
if (rows.length > 1)
  console.log(
    rows
      .map((row) => `| ${row.join(' | ')} |`)
      .join('\n')
      .replace('\n', `\n|${'---|'.repeat(rows[0]?.length ?? 0)}\n`),
  );
if (reasons.length > 0) console.log(`${rows.length > 1 ? '\n' : ''}${reasons.join('\n')}`);
