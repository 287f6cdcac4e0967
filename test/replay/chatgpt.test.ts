import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { compare } from '../../scripts/replay/compare.ts';
import { play } from '../../scripts/replay/play.ts';
import { readCapture } from '../../scripts/replay/read-capture.ts';
import { startChatGptProxy } from '../chatgpt/proxy.ts';
import { capturedTrace } from '../support/captured-trace.ts';
import { hello } from '../support/scripts.ts';

const directory = await mkdtemp(path.join(tmpdir(), 'captures-'));
const proxy = await startChatGptProxy({ script: hello, env: { PROXY_CAPTURE_DIR: directory } });
afterAll(async () => {
  await proxy.close();
  await rm(directory, { recursive: true, force: true });
});

// codex's notes about a turn contain the time. The later ones find a pre-started turn, or a thread that was used before.
it.each(['first', 'second', 'third'])(
  'the %s request with a ChatGPT login is replayed without a difference',
  async (id) => {
    const body = { model: 'gpt-5.5', input: 'Hello.' };
    expect(await proxy.post('/v1/responses', body, { 'x-request-id': id })).toMatchObject({ status: 200 });
    const then = await readCapture(await capturedTrace(directory, id));
    expect(then.filter(({ kind }) => kind === 'wire-sent')).toHaveLength(1);
    expect(compare(then, await play(then))).toEqual([]);
  },
);
