import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { objectsIn } from '../../src/kit/json/json.ts';
import { hello } from '../support/scripts.ts';
import { startChatGptProxy } from './proxy.ts';

const proxy = await startChatGptProxy({ script: hello });
afterAll(() => proxy.close());

/** As if a release of codex had renamed its features: it reads the file for every thread. */
const forgetFeatures = async (): Promise<void> => {
  const runs = path.join(path.dirname(proxy.ownHome), 'run');
  for (const home of (await readdir(runs)).filter((name) => /^home-\w+$/.test(name))) {
    const file = path.join(runs, home, 'config.toml');
    const toml = await readFile(file, 'utf8');
    await writeFile(file, toml.replaceAll(/^(?:goals|sleep_tool|view_image|shell_tool) = false\n/gm, ''));
  }
};

const isNamed = ({ msg }: { readonly msg?: unknown }): boolean =>
  String(msg).startsWith('codex offers tools');

it('tools that codex adds to the item with the tools do not reach the model either', async () => {
  await forgetFeatures();
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
  // Turns that were started before still have their features: more are needed at once than wait.
  const asked = Array.from({ length: 12 }, (_, nth) =>
    proxy.post('/v1/responses', { model: 'gpt-6.1-sol', input: `Round ${nth}.`, tools }),
  );
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
  expect(proxy.log.filter(isNamed)).toMatchObject([
    { level: 'warn', tools: expect.arrayContaining(['get_goal']) },
  ]);
  const held = proxy.backend.modelRequests.flatMap(({ body }) =>
    objectsIn(body, 'input').filter(({ type }) => type === 'additional_tools'),
  );
  expect(held.length).toBeGreaterThan(0);
  for (const item of held) {
    expect(JSON.stringify(item)).toContain('get_weather');
    expect(JSON.stringify(item)).not.toMatch(/goal|"sleep|view_image|shell|exec_command/);
  }
  expect((await proxy.get('/metrics')).text).toMatch(/proxy_foreign_tools_total\{tool="get_goal"\} [1-9]/);
});
