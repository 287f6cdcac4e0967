import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { isJsonObject } from '../../src/kit/json/json.ts';
import { readCapture, type TraceRecord } from '../../scripts/replay/read-capture.ts';
import { capturedTrace } from '../support/captured-trace.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { PAYLOAD_REQUESTS } from './payload-requests.ts';

/**
 * The exact payloads for a request: what is sent to the real app-server over JSON-RPC, and what reaches the backend;
 * with the relay, which writes the model request, and over JSON-RPC alone.
 * `npx vitest run test/golden --update` rewrites the files.
 */
const directory = await mkdtemp(path.join(tmpdir(), 'payloads-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Calls at the end of a turn depend on timing; they contain only ids. */
const ENDING = new Set(['turn/interrupt', 'thread/unsubscribe']);

const callsOf = (record: readonly TraceRecord[]): readonly unknown[] =>
  record.flatMap(({ kind, facts }) =>
    kind === 'rpc-sent' && typeof facts['method'] === 'string' && !ENDING.has(facts['method'])
      ? [{ method: facts['method'], params: facts['params'] }]
      : [],
  );

/** Without the relay, codex adds turn metadata in any order: only the names are kept. */
const withNotesNamed = (body: unknown): unknown => {
  if (!isJsonObject(body) || !isJsonObject(body['client_metadata'])) return body;
  return { ...body, client_metadata: Object.keys(body['client_metadata']).toSorted() };
};

/** Replaces ids and paths of this run with names. */
const named = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
      .replaceAll(/"px_[0-9a-f]{32}"/g, '"PLACEHOLDER"')
      .replaceAll(/"cwd":"[^"]*"/g, '"cwd":"WORKDIR"')
      .replaceAll(/("prompt_cache_key":")[^"]*"/g, '$1CONVERSATION"'),
  );

describe.each(['on', 'off'] as const)('with PROXY_WIRE=%s', async (wire) => {
  const captures = path.join(directory, wire);
  const proxy = await openProxy(hello, { PROXY_CAPTURE_DIR: captures, PROXY_WIRE: wire });

  it.each(Object.entries(PAYLOAD_REQUESTS))('%s', async (name, { endpoint, body }) => {
    const answer = await proxy.post(endpoint, body);
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    const record = await readCapture(await capturedTrace(captures, answer.headers.get('x-request-id') ?? ''));
    const payloads = {
      request: { endpoint, body },
      calls: callsOf(record),
      'model request': withNotesNamed(proxy.model.requests.at(-1)?.body),
    };
    await expect(`${JSON.stringify(named(payloads), null, 2)}\n`).toMatchFileSnapshot(
      path.join(import.meta.dirname, 'payloads', `${name.replaceAll(/\W+/g, '-')}.wire-${wire}.json`),
    );
  });
});
