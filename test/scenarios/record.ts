import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Agent } from 'undici';

import { turnContext } from '../support/turn-request.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { findCodexBinary } from '../../src/codex/binary.ts';
import { prepareHomes } from '../../src/codex/home/prepare-home.ts';
import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import { profileOf } from '../../src/codex/capabilities/profile.ts';
import { startRelay, type Relay } from '../../src/codex/relay/server/relay.ts';
import { httpTransport } from '../../src/codex/relay/transport/http-transport.ts';
import type { WorkerPool } from '../../src/codex/worker/supervisor.ts';
import { startModelServer } from '../../src/demo/model-server.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { parseResponse, toTurnRequest } from '../../src/openai/responses/input/to-turn.ts';
import { cacheIds } from '../support/cache-ids.ts';
import { engineOn } from '../support/engine.ts';
import { NO_LOGIN } from '../support/no-login.ts';
import { startRealPool } from '../support/real-pool.ts';
import { SCENARIOS, type Scenario } from './list.ts';
import { normalise } from './normalise.ts';
import { SCENARIO_OPTIONS, type UpstreamLine } from './replay.ts';

/**
 * Records scenarios from the real app-server: `node test/scenarios/record.ts [name…]`. Run it by hand when the pinned
 * codex changes or for a new scenario, then write the golden answers with
 * `UPDATE_GOLDEN=1 npx vitest run test/scenarios`.
 */

/** Records everything that the engine receives about a turn. */
const recordingPool = (pool: WorkerPool, write: (line: UpstreamLine) => void): WorkerPool => ({
  ...pool,
  async lease(signal) {
    const lease = await pool.lease(signal);
    const { appServer } = lease;
    return {
      ...lease,
      release: () => lease.release(),
      appServer: {
        async request(method, params, options) {
          const result = await appServer.request(method, params, options);
          if (method === 'turn/start') {
            write({ kind: 'turn', turnId: (result as { turn: { id: string } }).turn.id });
          }
          return result;
        },
        watchThread: (threadId, listener) =>
          appServer.watchThread(threadId, (one) => {
            if (one.kind === 'notification') write(one);
            listener(one);
          }),
      },
    };
  },
});

const recordingRelay = (relay: Relay, write: (line: UpstreamLine) => void): Relay => ({
  ...relay,
  expect(turn) {
    const held = relay.expect(turn);
    return {
      ...held,
      claim(ask) {
        const relayTurn = held.claim({
          ...ask,
          onUpstreamEvent(signal) {
            write({ kind: 'wire', signal });
            ask.onUpstreamEvent(signal);
          },
        });
        return {
          ...relayTurn,
          close() {
            const { ignored, limitsOutput, headers } = relayTurn.report;
            write({ kind: 'report', report: { ignored, limitsOutput, headers } });
            relayTurn.close();
          },
        };
      },
    };
  },
});

const run = async (scenario: Scenario, request: TurnRequest): Promise<readonly UpstreamLine[]> => {
  const lines: UpstreamLine[] = [];
  const write = (line: UpstreamLine): void => void lines.push(line);
  const stateDir = await mkdtemp(path.join(tmpdir(), 'record-'));
  const model = await startModelServer({ script: scenario.script });
  const dispatcher = new Agent();
  const upstream = { kind: 'upstream', baseUrl: model.baseUrl, apiKeyEnv: null } as const;
  const relay = scenario.relay
    ? await startRelay({
        clock: systemAmbient.clock,
        targets: { model: model.baseUrl, account: null, refresh: null, revoke: null, authApi: null },
        apiKey: null,
        dispatcher,
        transport: httpTransport({ dispatcher, freshDispatcher: dispatcher, cookies: null }),
        idleTimeoutMs: 60_000,
        firstEventTimeoutMs: null,
        onSending() {},
        onFirstEventLate() {},
        profile: profileOf(upstream, null),
        refusals: new Refusals(systemAmbient.clock),
        affinity: { cacheIds, cacheKeys: 'any' },
        onRetry() {},
        onLearnt() {},
        onUnplaced() {},
        onAdded() {},
        onForeignTools() {},
        onLost() {},
        login: NO_LOGIN,
        onRenewalThrottled() {},
        onFirstByte() {},
        mintCallId: () => 'call_ours',
        cookies: null,
        onBlocked() {},
        onServed() {},
        onBug(error) {
          throw error;
        },
      })
    : null;
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment: process.env });
  const workers = await startRealPool(
    homes,
    relay === null ? upstream : { ...upstream, baseUrl: relay.addresses.model },
    { worker: { reportsContent: relay === null } },
  );
  const engine = engineOn(recordingPool(workers, write), {
    relay: relay === null ? null : recordingRelay(relay, write),
    ambient: systemAmbient,
    workdir: stateDir,
  });
  try {
    for await (const _ of engine.plan(request, turnContext()).run(new AbortController().signal));
  } finally {
    await workers.drain(2_000);
    await relay?.close();
    await dispatcher.destroy();
    await model.close();
    await rm(stateDir, { recursive: true, force: true });
  }
  return lines;
};

const asked = process.argv.slice(2);
for (const [name, scenario] of Object.entries(SCENARIOS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const { request } = toTurnRequest(parseResponse(scenario.request), SCENARIO_OPTIONS);
  const lines = normalise(await run(scenario, request));
  const folder = path.join(import.meta.dirname, name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'request.json'), `${JSON.stringify(scenario.request, null, 2)}\n`);
  await writeFile(
    path.join(folder, 'upstream.jsonl'),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  );
  process.stdout.write(`${name}: ${lines.length} lines\n`);
}
