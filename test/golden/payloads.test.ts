import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { isJsonObject } from '../../src/kit/json/json.ts';
import { readStory, type Told } from '../../scripts/replay/read-story.ts';
import { keptStory } from '../support/kept-story.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { PAYLOAD_REQUESTS } from './payload-requests.ts';

/**
 * The exact payload of every call for a request: what the real app-server is sent over JSON-RPC, and what then
 * reaches the backend. Both ways: with the relay, which writes the model request, and over JSON-RPC alone.
 * `npx vitest run test/golden --update` writes the files anew.
 */
const directory = await mkdtemp(path.join(tmpdir(), 'payloads-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Calls that end a turn depend on when it ends; they carry ids only. */
const ENDING = new Set(['turn/interrupt', 'thread/unsubscribe']);

const callsOf = (told: readonly Told[]): readonly unknown[] =>
  told.flatMap(({ kind, facts }) =>
    kind === 'rpc-sent' && typeof facts['method'] === 'string' && !ENDING.has(facts['method'])
      ? [{ method: facts['method'], params: facts['params'] }]
      : [],
  );

/** Without the relay codex adds notes about its turn, in any order: their names are kept. */
const withNotesNamed = (body: unknown): unknown => {
  if (!isJsonObject(body) || !isJsonObject(body['client_metadata'])) return body;
  return { ...body, client_metadata: Object.keys(body['client_metadata']).toSorted() };
};

/** Ids and paths of this run become names. */
const named = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
      .replaceAll(/"cwd":"[^"]*"/g, '"cwd":"WORKDIR"')
      .replaceAll(/("prompt_cache_key":")[^"]*"/g, '$1CONVERSATION"'),
  );

describe.each(['on', 'off'] as const)('with PROXY_WIRE=%s', async (wire) => {
  const captures = path.join(directory, wire);
  const proxy = await openProxy(hello, { PROXY_CAPTURE_DIR: captures, PROXY_WIRE: wire });

  it.each(Object.entries(PAYLOAD_REQUESTS))('%s', async (name, { endpoint, body }) => {
    const answer = await proxy.post(endpoint, body);
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    const told = await readStory(await keptStory(captures, answer.headers.get('x-request-id') ?? ''));
    const payloads = {
      request: { endpoint, body },
      calls: callsOf(told),
      'model request': withNotesNamed(proxy.model.requests.at(-1)?.body),
    };
    await expect(`${JSON.stringify(named(payloads), null, 2)}\n`).toMatchFileSnapshot(
      path.join(import.meta.dirname, 'payloads', `${name.replaceAll(/\W+/g, '-')}.wire-${wire}.json`),
    );
  });
});
