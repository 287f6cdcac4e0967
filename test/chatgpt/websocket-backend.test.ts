import { afterEach, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, inTurn, reasoningThenText, slow } from '../support/scripts.ts';
import { ask, backend, fullWithHistory, useBackend } from './ask-backend.ts';
import { type AskSocket, dial, frameOf, refusedDial, upgradeHeaders } from './ask-socket.ts';
import { codexFormatDraft } from './conforming.ts';
import type { Draft } from './conforming.ts';

/** The WebSocket of the imitation: what it accepts and how it answers. */
useBackend();

const opened: AskSocket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.close();
});

const open = async (draft: Draft): Promise<AskSocket> => {
  const socket = await dial(upgradeHeaders(draft));
  opened.push(socket);
  return socket;
};
const typesOf = (events: readonly JsonObject[]): readonly unknown[] => events.map(({ type }) => type);

describe('an upgrade', () => {
  it('that breaks no rule is a socket with the limits, a cookie and compression', async () => {
    const socket = await open(fullWithHistory());
    expect(socket.headers['x-codex-primary-used-percent']).toBe('42');
    expect(socket.headers['x-codex-plan-type']).toBe('plus');
    expect(socket.headers['set-cookie']?.[0]).toContain('__cflb=');
    expect(socket.isDeflated).toBe(true);
    expect(backend.dials).toMatchObject([{ status: 101, frames: 0, closed: null, broken: [] }]);
    expect(backend.violations('A', 'B', 'C')).toEqual([]);
  });

  it('that breaks rules is refused by the first, and recorded', async () => {
    const { 'openai-beta': _beta, ...headers } = upgradeHeaders(fullWithHistory());
    expect(await refusedDial({ ...headers, accept: 'text/event-stream' })).toMatchObject({ status: 400 });
    expect(backend.dials[0]?.broken).toEqual(['upgrade.openai-beta', 'upgrade.post-only']);
    expect(backend.violations().map(({ rule }) => rule)).toEqual(backend.dials[0]?.broken);
  });

  it('with a bad token is a 401', async () => {
    const headers = upgradeHeaders(fullWithHistory());
    backend.spoilTokens('expired');
    const { status, body } = await refusedDial(headers);
    expect([status, body.includes('token_expired')]).toEqual([401, true]);
  });

  it('with the cookie of a Cloudflare page passes', async () => {
    backend.cloudflare({ on: 'responses', passesWithCookie: true });
    const headers = upgradeHeaders(fullWithHistory());
    const blocked = await refusedDial(headers);
    expect([blocked.status, blocked.headers['cf-mitigated']]).toEqual([403, 'challenge']);
    const cookie = (blocked.headers['set-cookie']?.[0] ?? '').split(';', 1)[0] ?? '';
    const socket = await dial({ ...headers, cookie });
    opened.push(socket);
    expect(backend.dials.map(({ status }) => status)).toEqual([403, 101]);
  });
});

describe('a frame', () => {
  it('is answered by the scripted model, with what only this service sends', async () => {
    const draft = fullWithHistory();
    const socket = await open(draft);
    backend.settings.primaryUsedPercent = 50;
    const events = await socket.answer(draft);
    expect(typesOf(events).slice(0, 5)).toEqual([
      'response.created',
      'response.metadata',
      'codex.rate_limits',
      'response.in_progress',
      'keepalive',
    ]);
    expect(events[1]).toMatchObject({
      headers: { 'x-codex-turn-state': expect.stringMatching(/^turn-state/) },
    });
    expect(events[2]).toMatchObject({ rate_limits: { primary: { used_percent: 50 } } });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [] } });
    expect(backend.modelRequests).toMatchObject([
      { transport: 'websocket', requestFormat: 'responses', broken: [], frame: { type: 'response.create' } },
    ]);
    expect(backend.violations('A', 'B', 'C')).toEqual([]);
  });

  it('of the codex format says so in its metadata', async () => {
    const draft = codexFormatDraft();
    backend.settings.ownEncrypted = new Set(['reasoning-of-this-backend']);
    const socket = await open(draft);
    await socket.answer(draft);
    expect(backend.modelRequests).toMatchObject([{ requestFormat: 'codex', broken: [] }]);
  });

  it('that breaks a rule is an error frame, and the socket goes on', async () => {
    const draft = fullWithHistory();
    const socket = await open(draft);
    expect(await socket.answer(draft, { temperature: 1 })).toMatchObject([
      { type: 'error', status: 400, error: { message: 'Unsupported parameter: temperature' }, headers: {} },
    ]);
    expect(typesOf(await socket.answer(draft)).at(-1)).toBe('response.completed');
    expect(backend.violations().map(({ rule }) => rule)).toEqual(['parameter.temperature']);
    expect(backend.dials).toMatchObject([{ frames: 2 }]);
  });

  it('that is not JSON, or of another type, is an error frame', async () => {
    const socket = await open(fullWithHistory());
    socket.send('hello');
    expect(await socket.next()).toMatchObject({ type: 'error', status: 400 });
    expect(await socket.answer(fullWithHistory(), { type: 'response.cancel' })).toMatchObject([
      { type: 'error', status: 400, error: { param: 'type' } },
    ]);
  });

  it('waits for the end of the answer before it, and that is a violation', async () => {
    backend.use(inTurn(slow(20), hello));
    const draft = fullWithHistory();
    const socket = await open(draft);
    socket.send(frameOf(draft));
    const second = socket.answer(draft);
    expect(typesOf(await second).at(-1)).toBe('response.completed');
    expect(typesOf(await socket.rest()).at(-1)).toBe('response.completed');
    expect(backend.violations().map(({ rule }) => rule)).toEqual(['frame.one-at-a-time']);
  });

  it('may continue the last answer of its socket, and no other', async () => {
    backend.use(reasoningThenText);
    const draft = codexFormatDraft();
    draft.body.input.splice(1);
    const socket = await open(draft);
    const warm = await socket.answer(draft, { generate: false });
    expect(typesOf(warm)).toEqual([
      'response.created',
      'response.metadata',
      'codex.rate_limits',
      'response.completed',
    ]);
    const idOf = (events: readonly JsonObject[]): string =>
      (events.at(-1) as { response: { id: string } }).response.id;
    const question = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello?' }] };
    const first = await socket.answer(draft, { previous_response_id: idOf(warm), input: [question] });
    const second = await socket.answer(draft, { previous_response_id: idOf(first), input: [question] });
    expect(typesOf(second).at(-1)).toBe('response.completed');
    const input = backend.modelRequests[2]?.body['input'] as readonly JsonObject[];
    expect(typesOf(input)).toEqual(['additional_tools', 'message', 'reasoning', 'message', 'message']);
    expect(await socket.answer(draft, { previous_response_id: idOf(warm), input: [] })).toMatchObject([
      { status: 400, error: { code: 'previous_response_not_found' } },
    ]);
    expect(backend.violations('A', 'B', 'C')).toEqual([]);
  });

  it('may bring a turn state of its own turn, from either transport', async () => {
    const draft = fullWithHistory();
    draft.headers['x-codex-turn-metadata'] = '{"turn_id":"turn-1"}';
    const socket = await open(draft);
    const [, metadata] = await socket.answer(draft);
    const state = (metadata as { headers: Record<string, string> }).headers['x-codex-turn-state'] ?? '';
    draft.headers['x-codex-turn-state'] = state;
    await socket.answer(draft);
    await (await ask(draft)).text();
    expect(backend.violations()).toEqual([]);
    draft.headers['x-codex-turn-metadata'] = '{"turn_id":"turn-2"}';
    await socket.answer(draft);
    expect(backend.violations().map(({ rule }) => rule)).toEqual(['header.x-codex-turn-state']);
  });

  it('of 16 MiB closes the socket before any event', async () => {
    const draft = fullWithHistory();
    const socket = await open(draft);
    const frame = JSON.stringify(frameOf(draft));
    backend.settings.websocketMaxBytes = frame.length + 1;
    socket.send(frame);
    expect(typesOf(await socket.rest()).at(-1)).toBe('response.completed');
    socket.send(`${frame} `);
    expect(await socket.next()).toBeNull();
    expect(await socket.closed).toBe('1009 message too big');
    expect(backend.modelRequests).toHaveLength(1);
    await expect.poll(() => backend.dials[0]?.closed?.code).toBe(1009);
    expect(backend.dials).toMatchObject([{ frames: 2 }]);
    backend.reset();
    expect(backend.settings.websocketMaxBytes).toBe(16_777_216);
  });
});

describe('a socket', () => {
  it('gets pings, and is closed if it does not answer them', async () => {
    backend.settings.pingEveryMs = 5;
    await open(fullWithHistory());
    await expect.poll(() => backend.dials[0]?.pongs).toBeGreaterThan(2);
    expect(backend.dials[0]?.closed).toBeNull();
    backend.settings.pongWithinMs = 0;
    backend.settings.pingEveryMs = 1;
    const late = await open(fullWithHistory());
    expect(await late.closed).toBe('1011 keepalive ping timeout');
  });

  it('ends after its time, between answers', async () => {
    const draft = fullWithHistory();
    backend.settings.websocketMinutes = 1 / 60;
    backend.use(slow(250));
    const socket = await open(draft);
    expect(typesOf(await socket.answer(draft)).at(-1)).toBe('response.completed');
    expect(await socket.next()).toMatchObject({
      type: 'error',
      error: { code: 'websocket_connection_limit_reached' },
    });
    expect(await socket.closed).toBe('1000 connection limit reached');
  });

  it('whose answer has no end is closed', async () => {
    backend.use((_, connection) => connection.event({ type: 'response.created' }));
    const socket = await open(fullWithHistory());
    expect(typesOf(await socket.answer(fullWithHistory()))[0]).toBe('response.created');
    expect(await socket.closed).toContain('1011');
  });
});
