import { setImmediate } from 'node:timers/promises';

import { describe, expect, it, vi } from 'vitest';

import { connectAppServer, type AppServerOptions, type ThreadSignal } from './app-server.ts';
import { IGNORED_NOTIFICATIONS, KNOWN_NOTIFICATIONS, WARNING_NOTIFICATIONS } from './protocol/methods.ts';
import { ConnectionClosed, RequestTimeout, RpcError } from './rpc/errors.ts';
import { linkedTransports } from '../../test/support/memory-transport.ts';

const clientInfo = { name: 'test', title: null, version: '1.0.0' };

interface Line {
  readonly id?: number | string;
  readonly method?: string;
}

const isLine = (value: unknown): value is Line => typeof value === 'object' && value !== null;

/** A server that answers `initialize` and records all other messages. */
const connect = async (options: Partial<AppServerOptions> = {}, result: object = {}) => {
  const [ours, server] = linkedTransports();
  const received: Line[] = [];
  const reports: unknown[] = [];
  server.onMessage((text) => {
    const line: unknown = JSON.parse(text);
    if (!isLine(line)) throw new Error('not a message');
    received.push(line);
    if (line.method === 'initialize') server.send(JSON.stringify({ id: line.id, result }));
  });
  const appServer = await connectAppServer(ours, {
    clientInfo,
    onUnknownNotification: (method) => reports.push({ unknown: method }),
    onMalformedLine: (reason) => reports.push({ malformed: reason }),
    onListenerError: (error) => reports.push({ threw: error }),
    onUnanswered: (method) => reports.push({ unanswered: method }),
    ...options,
  });
  const say = async (...lines: readonly unknown[]): Promise<void> => {
    for (const line of lines) server.send(JSON.stringify(line));
    await setImmediate();
  };
  await setImmediate();
  return { appServer, server, received, reports, say };
};

const delta = (threadId: string, text: string) => ({
  method: 'item/agentMessage/delta',
  params: { threadId, turnId: 't', itemId: 'i', delta: text },
});

/** A signal as data, without functions. */
const plain = (signal: ThreadSignal): unknown => JSON.parse(JSON.stringify(signal));

describe('connectAppServer', () => {
  it('reports how each call ended', async () => {
    const calls: unknown[] = [];
    const { appServer, server, say } = await connect({
      onCall: ({ method, error }) => calls.push([method, error]),
    });
    const asked = Promise.allSettled([1, 2, 3].map(() => appServer.request('server/diagnostics', {})));
    const late = appServer.request('server/diagnostics', {}, { timeoutMs: 1 });
    await expect(late).rejects.toBeInstanceOf(RequestTimeout);
    await say({ id: 2, result: {} }, { id: 3, error: { code: -32_600, message: 'no' } });
    server.close();
    await asked;
    expect(calls).toEqual([
      ['initialize', null],
      ...['timeout', null, -32_600, 'closed'].map((error) => ['server/diagnostics', error]),
    ]);
  });

  it('does not report an interrupt as failed if the turn has already ended', async () => {
    const calls: unknown[] = [];
    const { appServer, say } = await connect({
      onCall: ({ method, error }) => calls.push([method, error]),
    });
    const running = { threadId: 'a', turnId: 't' };
    const asked = Promise.allSettled([1, 2].map(() => appServer.request('turn/interrupt', running)));
    await say(
      { id: 2, error: { code: -32_600, message: 'no active turn to interrupt' } },
      { id: 3, error: { code: -32_603, message: 'broken' } },
    );
    expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(calls).toEqual([
      ['initialize', null],
      ['turn/interrupt', null],
      ['turn/interrupt', -32_603],
    ]);
  });

  it.each([
    [{ userAgent: 'test/0.169.0 (Debian 12.0.0; x86_64) unknown (test; 1)' }, '0.169.0'],
    [{ userAgent: 'test/0.170.0-alpha.3 (Mac OS 15)' }, '0.170.0-alpha.3'],
    [{ userAgent: 'nonsense' }, null],
    [{ userAgent: `test/${'1'.repeat(1_000)} (Debian)` }, null],
    [{}, null],
  ])('reads the version of codex from %j', async (answer, version) => {
    const versions: unknown[] = [];
    await connect({ onVersion: (one) => versions.push(one) }, answer);
    expect(versions).toEqual([version]);
  });

  it('passes on what codex tells its user, and what is wrong with a configuration', async () => {
    const warnings: string[] = [];
    const { appServer, received, reports, say } = await connect({ onWarning: (text) => warnings.push(text) });
    const asked = appServer.request('thread/start', {}).catch(String);
    await say(
      { method: 'configWarning', params: { summary: 'Ignored.', details: null } },
      { method: 'warning', params: { threadId: 't', message: 'Beware.' } },
      { id: 2, error: { code: -32_600, message: 'failed to load configuration: x' } },
    );
    await asked;
    expect([warnings, reports]).toEqual([['Ignored.', 'Beware.', 'failed to load configuration: x'], []]);
    expect(JSON.stringify(received[0])).not.toContain('configWarning');
  });

  it('initializes, opts out of ignored notifications, and confirms', async () => {
    const { received } = await connect();
    expect(received).toEqual([
      {
        id: 1,
        method: 'initialize',
        params: {
          clientInfo,
          capabilities: {
            experimentalApi: true,
            requestAttestation: false,
            optOutNotificationMethods: [...IGNORED_NOTIFICATIONS, 'item/completed', ...WARNING_NOTIFICATIONS],
          },
        },
      },
      { method: 'initialized' },
    ]);
  });

  it('opts out of model output with a relay, and subscribes to tool results on request', async () => {
    const { received } = await connect({ reportsContent: false, reportsTools: true });
    const lifecycle = new Set(['error', 'turn/completed', 'item/completed']);
    const read = KNOWN_NOTIFICATIONS.filter((method) => !lifecycle.has(method));
    expect(received[0]).toMatchObject({
      params: {
        capabilities: {
          optOutNotificationMethods: [...IGNORED_NOTIFICATIONS, ...read, ...WARNING_NOTIFICATIONS],
        },
      },
    });
  });

  it('closes the transport when the server refuses', async () => {
    const [ours, server] = linkedTransports();
    const closed: unknown[] = [];
    server.onMessage(() => server.send('{"id":1,"error":{"code":-32600,"message":"no"}}'));
    server.onClose((cause) => closed.push(cause));
    const connecting = connectAppServer(ours, { clientInfo, onListenerError: (error) => closed.push(error) });
    await expect(connecting).rejects.toThrow(RpcError);
    await setImmediate();
    expect(closed).toEqual([null]);
  });

  it('delivers the signals of a thread in order until it is no longer watched', async () => {
    const { appServer, reports, say } = await connect();
    const signals: unknown[] = [];
    const unwatch = appServer.watchThread('a', (signal) => signals.push(plain(signal)));
    await say(delta('a', '1'), delta('b', 'other'), {
      id: 'q',
      method: 'item/tool/call',
      params: { threadId: 'a' },
    });
    await say(delta('a', '2'));
    unwatch();
    unwatch();
    await say(delta('a', '3'));
    expect([signals, reports]).toEqual([
      [
        { kind: 'notification', ...delta('a', '1') },
        { kind: 'tool-call', params: { threadId: 'a' } },
        { kind: 'notification', ...delta('a', '2') },
      ],
      [],
    ]);
  });

  it('lets the watcher answer a tool call', async () => {
    const { appServer, received, say } = await connect();
    appServer.watchThread('a', (signal) => {
      if (signal.kind !== 'tool-call') return;
      signal.respond({ contentItems: [], success: true });
      signal.respond('twice');
    });
    await say({ id: 5, method: 'item/tool/call', params: { threadId: 'a' } });
    expect(received.slice(2)).toEqual([{ id: 5, result: { contentItems: [], success: true } }]);
  });

  it('answers tool calls of unwatched threads, and every approval', async () => {
    const { appServer, received, say } = await connect();
    const signals: ThreadSignal[] = [];
    appServer.watchThread('a', (signal) => signals.push(signal));
    await say(
      { id: 1, method: 'item/tool/call', params: { threadId: 'gone' } },
      { id: 2, method: 'item/tool/call', params: null },
      { id: 3, method: 'item/commandExecution/requestApproval', params: { threadId: 'a' } },
      { id: 4, method: 'item/tool/requestUserInput', params: { threadId: 'a' } },
      { id: 5, method: 'brand/new', params: {} },
    );
    const noTurn = { code: -32_603, message: 'no turn answers the tool calls of this thread' };
    expect([received.slice(2), signals]).toEqual([
      [
        { id: 1, error: noTurn },
        { id: 2, error: noTurn },
        { id: 3, result: { decision: 'decline' } },
        { id: 4, error: { code: -32_601, message: 'there is no user to ask' } },
        { id: 5, error: { code: -32_601, message: 'unknown request: brand/new' } },
      ],
      [],
    ]);
  });

  it('reports unknown notifications but not ignored ones', async () => {
    const { reports, say } = await connect();
    await say({ method: 'turn/started', params: {} }, { method: 'turn/reconsidered', params: {} }, 7);
    expect(reports).toEqual([{ unknown: 'turn/reconsidered' }, { malformed: 'not an object' }]);
  });

  it('asks who answers for a thread about its requests, and declines the others', async () => {
    const { appServer, received, reports, say } = await connect();
    const asked: unknown[] = [];
    const method = 'item/commandExecution/requestApproval';
    const ask = (id: string, threadId: string, what = 'x') => ({ id, method, params: { threadId, what } });
    const stop = appServer.watchThread(
      'a',
      () => {},
      (...request) => {
        asked.push(request);
        const [, params] = request;
        const { what } = params as { readonly what: string };
        if (what === 'bug') throw new Error('bug');
        return what === 'yes' ? { decision: 'accept' } : null;
      },
    );
    appServer.watchThread('b', () => {});
    await say(ask('1', 'a', 'yes'), ask('2', 'a', 'no'), ask('3', 'b', 'yes'), ask('4', 'a', 'bug'));
    stop();
    await say(ask('5', 'a', 'yes'));
    const decisions = received.flatMap((message) => ('result' in message ? [message.result] : []));
    expect(decisions).toEqual(
      ['accept', ...Array<string>(4).fill('decline')].map((decision) => ({ decision })),
    );
    expect([asked.length, reports]).toEqual([3, [{ threw: new Error('bug') }]]);
  });

  it('isolates the other listeners from an error of one', async () => {
    const { appServer, reports, say } = await connect();
    const signals: unknown[] = [];
    const bug = new Error('bug');
    appServer.watchThread('a', () => {
      throw bug;
    });
    appServer.watchThread('a', (signal) => signals.push(plain(signal)));
    await say(delta('a', '1'));
    expect([signals, reports]).toEqual([[{ kind: 'notification', ...delta('a', '1') }], [{ threw: bug }]]);
  });

  it('times out calls that a turn waits for, and reports them', async () => {
    const { appServer, reports } = await connect();
    vi.useFakeTimers();
    try {
      const failed = async (call: Promise<unknown>): Promise<unknown> =>
        call.catch((error: unknown) => (error instanceof RequestTimeout ? error.message : error));
      const calls = Promise.all([
        failed(appServer.request('thread/start', {})),
        failed(appServer.request('turn/interrupt', { threadId: 'a', turnId: 't' })),
        failed(appServer.request('server/diagnostics', {}, { timeoutMs: 5 })),
        failed(appServer.request('server/diagnostics', {})),
      ]);
      await vi.advanceTimersByTimeAsync(20_000);
      const early = [...reports];
      await vi.advanceTimersByTimeAsync(40_000);
      expect([await calls, early, reports]).toEqual([
        [
          'the app-server did not answer thread/start within 20000 ms',
          'the app-server did not answer turn/interrupt within 60000 ms',
          'the app-server did not answer server/diagnostics within 5 ms',
          'the app-server did not answer server/diagnostics within 60000 ms',
        ],
        [{ unanswered: 'thread/start' }],
        [{ unanswered: 'thread/start' }],
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('notifies every watcher and caller when the connection ends', async () => {
    const { appServer, server } = await connect();
    const signals: ThreadSignal[] = [];
    appServer.watchThread('a', (signal) => signals.push(signal));
    const call = appServer.request('thread/start', {});
    server.close();
    await expect(call).rejects.toThrow(ConnectionClosed);
    appServer.watchThread('late', (signal) => signals.push(signal));
    expect(signals).toEqual([{ kind: 'closed' }, { kind: 'closed' }]);
  });
});
