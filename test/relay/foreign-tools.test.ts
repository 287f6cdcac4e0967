import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

const stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-foreign-'));
afterAll(() => rm(stateDir, { recursive: true, force: true }));
const proxy = await openProxy(hello, { PROXY_STATE_DIR: stateDir });

/** As if a release of codex had renamed its features: it reads the file for every thread. */
const forgetFeatures = async (): Promise<void> => {
  const runs = path.join(stateDir, 'run');
  const homes = (await readdir(runs)).filter((name) => name.startsWith('home-') && !name.endsWith('.lock'));
  for (const home of homes) {
    const file = path.join(runs, home, 'config.toml');
    const toml = await readFile(file, 'utf8');
    await writeFile(file, toml.replaceAll(/^goals = false\n/gm, ''));
  }
};

it('tools that codex adds for itself do not reach the model; they are counted, and named once in the log', async () => {
  await forgetFeatures();
  const isNamed = (line: Record<string, unknown>): boolean =>
    String(line['msg']).startsWith('codex offers tools');
  for (let round = 0; round < 10 && proxy.log.filter(isNamed).length === 0; round += 1) {
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
    await proxy.openai.responses.create({ model: 'gpt-5.5', input: `Round ${round}.`, tools } as never);
  }
  const asked = await proxy.openai.responses.create({ model: 'gpt-5.5', input: 'Without tools.' });
  expect(asked.status).toBe('completed');
  const offered = proxy.model.requests.flatMap(({ body }) => JSON.stringify(body['tools'] ?? []));
  for (const tools of offered) expect(tools).not.toMatch(/goal/);
  expect(proxy.log.filter(isNamed)).toMatchObject([
    { level: 'warn', tools: ['get_goal', 'create_goal', 'update_goal'] },
  ]);
  const metrics = await (await proxy.get('/metrics')).text();
  expect(metrics).toMatch(/proxy_foreign_tools_total\{tool="create_goal"\} [1-9]/);
});
