import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startModelServer, type ModelServer, type RecordedRequest } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { expectedOf, printed } from '../laws/exact-body.ts';
import { PROVIDER_DIFFERENCES } from '../laws/exact-differences.ts';
import { openProviderRoom, type CodexRoom, type ExecResult } from '../support/codex-exec.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { startRecordingProxy, type RecordingHop } from '../support/recording-proxy.ts';
import { SCENARIOS, scenarioOf, scenarioScript, type Scenario } from './codex-scenarios.ts';

/** A real `codex exec`, once with us as its provider, and once with the model itself. */
let proxy: TestProxy;
let hop: RecordingHop;
let direct: ModelServer;
/** By name of the scenario. */
const [ours, theirs] = [new Map<string, Run>(), new Map<string, Run>()];
beforeAll(async () => {
  [proxy, direct] = await Promise.all([
    startProxy(scenarioScript),
    startModelServer({ script: scenarioScript, keepRequests: 100 }),
  ]);
  hop = await startRecordingProxy(proxy.url);
  await Promise.all(
    SCENARIOS.flatMap((scenario) => [
      runScenario(scenario, `${hop.url}/v1`).then((done) => ours.set(scenario.name, done)),
      runScenario(scenario, direct.baseUrl).then((done) => theirs.set(scenario.name, done)),
    ]),
  );
});
afterAll(async () => {
  await Promise.all([...ours.values(), ...theirs.values()].map(({ room }) => room.close()));
  await hop.close();
  await Promise.all([proxy.close(), direct.close()]);
});

interface Run {
  readonly room: CodexRoom;
  readonly results: readonly ExecResult[];
}

const runScenario = async (scenario: Scenario, baseUrl: string): Promise<Run> => {
  const { provider: name = 'mine', model, settings = '' } = scenario;
  const room = await openProviderRoom({ baseUrl, key: proxy.key, name, model, settings });
  const results: ExecResult[] = [];
  for (const words of (await scenario.runs?.(room)) ?? [[scenario.name]]) {
    results.push(await room.exec(...words));
  }
  return { room, results };
};

const bodiesOf = (name: string, requests: readonly Pick<RecordedRequest, 'body'>[]): readonly JsonObject[] =>
  requests
    .filter(({ body }) => body['input'] !== undefined && scenarioOf(body).name === name)
    .map(({ body }) => body);

/** What must arrive for a request of codex: the same, except for what `docs/parameters.md` lists. */
const toArrive = (sent: readonly JsonObject[], arrived: readonly JsonObject[]): readonly JsonObject[] =>
  sent.map((body, index) => expectedOf(body, arrived[index] ?? {}, PROVIDER_DIFFERENCES));

describe.each(SCENARIOS)('codex exec: $name', (scenario) => {
  const { name } = scenario;

  it('sends us what it sends to the model, and we pass it on', () => {
    const sent = bodiesOf(name, hop.seen);
    const arrived = bodiesOf(name, proxy.model.requests);
    const without = bodiesOf(name, direct.requests);
    expect(sent).toHaveLength(scenario.rounds.length);
    expect(arrived.map(printed)).toEqual(toArrive(sent, arrived).map(printed));
    expect(comparable(arrived, ours.get(name))).toEqual(
      comparable(toArrive(without, without), theirs.get(name)),
    );
  });

  it("gets the model's answer", async () => {
    const told = (run: Run | undefined) => run?.results.map(({ code, out }) => ({ code, out }));
    expect(told(ours.get(name))).toEqual(told(theirs.get(name)));
    expect(told(ours.get(name))?.at(-1)?.code).toBe(0);
  });
});

it('sends nothing that has no effect', () => {
  expect(hop.seen.length).toBeGreaterThan(SCENARIOS.length);
  expect(hop.seen.map(({ status, answered }) => [status, answered.get('x-proxy-ignored-params')])).toEqual(
    hop.seen.map(() => [200, null]),
  );
});

it('a patch changes the file', async () => {
  const room = ours.get('tools')?.room;
  expect(await readFile(path.join(room?.work ?? '', 'hello.txt'), 'utf8')).toBe('from the model\n');
});

/** Two runs differ in their folders, ids and times. */
const comparable = (bodies: readonly JsonObject[], run: Run | undefined): string => {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const known = names.get(id) ?? `id-${names.size}`;
    names.set(id, known);
    return known;
  };
  return bodies
    .map(printed)
    .join('\n')
    .replaceAll(run?.room.home.replace(/\/home$/, '') ?? '', 'ROOM')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, nameOf)
    .replaceAll(/(Chunk ID: )[\da-f]+/g, '$1x')
    .replaceAll(/(Wall time:? )[\d.]+/g, '$1x')
    .replaceAll(/((?:_at_unix_ms\\?"|"create_time"):\s?)[\d.]+/g, '$1x');
};
