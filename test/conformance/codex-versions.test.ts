import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { findCodexBinary } from '../../src/codex/binary.ts';
import { prepareHomes } from '../../src/codex/home/prepare-home.ts';
import { createWorkerSpawner } from '../../src/codex/worker/spawn-worker.ts';
import { probed } from '../../src/engine/attempt/probe-worker.ts';
import { TESTED_CODEX } from '../../src/version.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { hello, http400 } from '../support/scripts.ts';

/** Other versions of codex, imitated by scripts around the real one. */

const directory = await mkdtemp(path.join(tmpdir(), 'codex-versions-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const start = freshProxies();

/** A codex whose app-server is run by these lines; `$CODEX` is the real binary. */
const imitation = async (name: string, lines: string): Promise<string> => {
  const file = path.join(directory, name);
  const script = `#!/bin/sh\nCODEX='${findCodexBinary().path}'\nif [ "$1" = app-server ]; then\n${lines}\nfi\nexec "$CODEX" "$@"\n`;
  await writeFile(file, script);
  await chmod(file, 0o755);
  return file;
};

const WITH_LINE = (line: string): string =>
  `{ echo '${line}'; cat "$CODEX_HOME/config.toml"; } > "$CODEX_HOME/new" && mv "$CODEX_HOME/new" "$CODEX_HOME/config.toml"`;

const ask = { model: 'gpt-5.5', input: 'Hello?' };
const isWarning = ({ msg }: Record<string, unknown>): boolean => msg === 'codex has a warning';
/** It is there only on machines without bubblewrap. */
const isHarmless = (warning: string): boolean => warning.startsWith('Codex could not find bubblewrap');

describe('a codex that does not fit', () => {
  it('is not ready, and is named in the log and to clients, as a fault of this server', async () => {
    const binary = await imitation('strict', WITH_LINE('model_verbosity = 3'));
    const proxy = await start(hello, { PROXY_CODEX_BINARY: binary });
    const ready = await proxy.get('/readyz');
    const answered = await proxy.post('/v1/responses', ask);
    const body = await answered.text();
    expect([ready.status, answered.status, answered.headers.get('x-should-retry')]).toEqual([
      503,
      503,
      'false',
    ]);
    expect(JSON.parse(body)).toMatchObject({
      error: { code: 'codex_incompatible', type: 'server_error', param: null },
    });
    expect(body).not.toContain(directory);
    const warnings = proxy.app.codex().warnings.filter((text) => !text.includes('bubblewrap'));
    expect(warnings).toEqual([
      'Invalid configuration; using defaults. CODEX_HOME/config.toml:1:19: wanted string or table',
      'failed to load configuration: CODEX_HOME/config.toml:1:19: wanted string or table',
    ]);
    expect(proxy.log.filter(isWarning).map(({ level, warning }) => [level, warning])).toEqual(
      proxy.app.codex().warnings.map((warning) => [isHarmless(warning) ? 'info' : 'warn', warning]),
    );
  });

  it('is a fault of this server also if it stops fitting while the server runs', async () => {
    const stateDir = path.join(directory, 'state');
    const proxy = await start(hello, { PROXY_WIRE: 'off', PROXY_STATE_DIR: stateDir });
    expect((await proxy.get('/readyz')).status).toBe(200);
    const runs = path.join(stateDir, 'run');
    const home = (await readdir(runs)).find((name) => /^home-\w+$/.test(name)) ?? '';
    const file = path.join(runs, home, 'config.toml');
    await writeFile(file, 'model_verbosity = 3\n');
    const answered = await proxy.post('/v1/responses', ask);
    expect([answered.status, await answered.json()]).toMatchObject([
      503,
      { error: { code: 'codex_incompatible', message: expect.stringContaining('cannot load') } },
    ]);
  });

  it('is named with the version that was tested, if it is another one', async () => {
    const renamed = `"$CODEX" "$@" | sed -u 's#proxy/${TESTED_CODEX} #proxy/0.99.1-beta #'; exit`;
    const proxy = await start(hello, { PROXY_CODEX_BINARY: await imitation('other', renamed) });
    expect(proxy.app.codex()).toMatchObject({ tested: TESTED_CODEX, runs: '0.99.1-beta' });
    expect(proxy.log.filter(({ runs }) => runs !== undefined)).toMatchObject([
      { level: 'warn', msg: `tested with codex ${TESTED_CODEX}, runs 0.99.1-beta` },
    ]);
    expect((await proxy.post('/v1/responses', ask)).status).toBe(200);
  });

  it('has its warnings in the log, each once', async () => {
    const binary = await imitation('talkative', WITH_LINE('frobnicate = 3'));
    const proxy = await start(hello, { PROXY_CODEX_BINARY: binary, PROXY_WORKERS: '2' });
    await expect.poll(() => proxy.app.workers().length, { timeout: 30_000 }).toBe(2);
    const about = proxy.log.filter(isWarning).filter(({ warning }) => String(warning).includes('frobnicate'));
    expect(about).toMatchObject([
      { level: 'warn', warning: expect.stringContaining('CODEX_HOME/config.toml') },
    ]);
  });
});

describe.each(['on', 'off'])('a backend that requires a newer codex, PROXY_WIRE=%s', (wire) => {
  it('is a fault of this server, which its operator finds in the log', async () => {
    const words = "The 'gpt-5.5' model requires a newer version of Codex. Please upgrade.";
    const proxy = await start(http400(words, null, null), { PROXY_WIRE: wire });
    const answered = await proxy.post('/v1/responses', ask);
    expect([answered.status, answered.headers.get('x-should-retry'), await answered.json()]).toEqual([
      503,
      'false',
      {
        error: {
          message: `The backend requires a newer codex than this server has: its operator has to update it. It said: ${words}`,
          type: 'server_error',
          param: null,
          code: 'codex_incompatible',
        },
      },
    ]);
    await proxy.post('/v1/responses', ask);
    const told = proxy.log.filter(isWarning).filter(({ warning }) => String(warning).includes('newer codex'));
    expect(told).toMatchObject([{ level: 'warn', warning: expect.stringMatching(/^Update this server/) }]);
  });
});

it('a worker has no thread and no file of the one that it has tried', async () => {
  const stateDir = path.join(directory, 'probe');
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment: process.env });
  const spawn = createWorkerSpawner({
    homes,
    backend: { kind: 'upstream', baseUrl: 'http://127.0.0.1:9/v1', apiKeyEnv: null },
    clientInfo: { name: 'test', title: null, version: '1' },
    onStderr: () => {},
    onListenerError: () => {},
  });
  const worker = await probed({ isLogin: false, spawn, workdir: directory, whyRejected: null })();
  try {
    await expect.poll(async () => (await worker.vitals()).threads, { timeout: 30_000 }).toBe(0);
    const home = (await readdir(path.join(stateDir, 'run'))).find((name) => /^home-\w+$/.test(name)) ?? '';
    const names = await readdir(path.join(stateDir, 'run', home), { recursive: true });
    expect(names.filter((name) => /rollout|sessions\//.test(name))).toEqual([]);
  } finally {
    await worker.stop();
  }
});
