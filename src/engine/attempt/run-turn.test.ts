import { describe, expect, it } from 'vitest';

import { CLOSED, fakePool, run, settled } from '../../../test/support/fake-pool.ts';
import { ACCEPTED, END, messageTold } from '../../../test/support/item-events.ts';
import { CHATGPT, PROVIDER } from '../../../test/support/edited.ts';
import { engineOn } from '../../../test/support/engine.ts';
import { collect } from '../../../test/support/turn-events.ts';
import { functionTool, NO_SAMPLING, turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { ModelBudget } from '../../canonical/context/model-budget.ts';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { BackendProfile } from '../../codex/capabilities/profile.ts';
import type { Relay } from '../../codex/relay/server/relay.ts';
import { ConnectionClosed, RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';

const outcomeOf = (events: readonly TurnEvent[]): unknown => {
  const last = events.at(-1);
  return last?.type === 'turn-ended' ? last.outcome : null;
};

describe('createEngine', () => {
  it('starts a thread, injects the conversation, runs the turn, and releases the worker', async () => {
    const fake = fakePool([(thread) => thread.answer('Hel', 'lo')]);
    expect(await run(fake)).toEqual([ACCEPTED, ...messageTold('m', 'Hel', 'lo'), END]);
    // The turn has ended by itself, so there is nothing to interrupt.
    expect(fake.calls).toEqual(['thread/start', 'thread/inject_items', 'turn/start', 'thread/unsubscribe']);
    expect(fake.openLeases()).toBe(0);
  });

  it('reports parts of the request that have no effect without a relay', async () => {
    const fake = fakePool([(thread) => thread.answer('x')]);
    const sampling = { ...NO_SAMPLING, temperature: 0.5 };
    const [first] = await run(fake, { sampling, metadata: {} });
    expect(first).toEqual({
      type: 'turn-accepted',
      ignored: ['sampling.temperature'],
      limitsOutput: false,
      headers: {},
    });
  });

  it('takes images by URL only through a relay', () => {
    const { pool } = fakePool([]);
    const relayTo = (profile: BackendProfile): Relay =>
      ({ profile, refusedFor: () => new Set() }) as unknown as Relay;
    const takes = (relay: Relay | null): unknown =>
      engineOn(pool, { relay }).plan(turnRequest(), turnContext()).takesImageUrls;
    expect([takes(relayTo(PROVIDER)), takes(relayTo(CHATGPT)), takes(null)]).toEqual([true, false, false]);
  });

  it('ends at the calls of the client, and interrupts the turn', async () => {
    const fake = fakePool([
      (thread) => {
        thread.call({ tool: 'f' });
        thread.send('rawResponseItem/completed', {
          item: { type: 'function_call', id: 'fc', call_id: 'c', name: 'f', arguments: '{}' },
        });
        thread.send('rawResponse/completed', { responseId: 'r', usage: null });
      },
    ]);
    const tools = [functionTool('f')];
    const events = await run(fake, { tools });
    expect(outcomeOf(events)).toEqual({ kind: 'tool-calls' });
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases(), fake.answers]).toEqual([CLOSED, 0, []]);
  });

  it('answers a call of a tool that the client does not have', async () => {
    const fake = fakePool([
      (thread) => {
        thread.call({ tool: 'f' });
        thread.answer('x');
      },
    ]);
    await run(fake);
    expect(fake.answers).toMatchObject([{ success: false }]);
  });

  it('reports a failure as the end of a turn that was not accepted', async () => {
    const fake = fakePool([
      (thread) =>
        thread.send('turn/completed', {
          turn: {
            id: 'turn-1',
            status: 'failed',
            error: { message: '', codexErrorInfo: 'contextWindowExceeded' },
          },
        }),
    ]);
    expect(await run(fake)).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('context_length_exceeded', { param: 'input' }) },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });
});

describe('a refused call', () => {
  it('is thrown as a failure, and the worker is given back', async () => {
    const refusal = new RpcError({ code: -32_600, message: 'items[0]: no' });
    const fake = fakePool([], (method) => (method === 'thread/inject_items' ? refusal : null));
    const error: unknown = await run(fake).catch((one: unknown) => one);
    expect(error instanceof GatewayError && error.failure).toEqual(
      failure('invalid_prompt', { message: 'items[0]: no' }),
    );
    await settled();
    expect([fake.calls.at(-1), fake.openLeases()]).toEqual(['thread/unsubscribe', 0]);
  });
});

describe('a lost worker', () => {
  it('before any event: another one runs the turn', async () => {
    const fake = fakePool([(thread) => thread.close(), (thread) => thread.answer('second')]);
    const events = await run(fake);
    expect(events.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []))).toEqual(['second']);
    expect(events.filter((event) => event.type === 'turn-accepted')).toHaveLength(1);
    expect([fake.calls.filter((call) => call === 'turn/start').length, fake.openLeases()]).toEqual([2, 0]);
  });

  it.each([
    ['lost', 'thread/start', new ConnectionClosed()],
    ['lost', 'turn/start', new ConnectionClosed()],
    ['forgetful', 'thread/inject_items', new RequestTimeout('thread/inject_items', 20_000)],
    ['forgetful', 'turn/start', new RequestTimeout('turn/start', 20_000)],
  ])(
    'while the turn is being started, or one that forgets a call of it: the same (%s, %s)',
    async (_, asked, error) => {
      const fake = fakePool([() => {}, (thread) => thread.answer('second')], (method, attempt) =>
        method === asked && attempt === 1 ? error : null,
      );
      expect(outcomeOf(await run(fake))).toEqual({ kind: 'completed' });
    },
  );

  it('in every attempt: the client gets the failure', async () => {
    const fake = fakePool([(thread) => thread.close()]);
    expect(outcomeOf(await run(fake))).toEqual({ kind: 'failed', failure: failure('worker_lost') });
    expect(fake.calls.filter((call) => call === 'turn/start')).toHaveLength(3);
    expect(fake.openLeases()).toBe(0);
  });

  it('takes its retries from the budget of the answer', async () => {
    const budget = new ModelBudget(64);
    const lost = async (): Promise<number> => {
      const fake = fakePool([(thread) => thread.close()]);
      const plan = engineOn(fake.pool).plan(turnRequest(), turnContext({ budget }));
      expect(outcomeOf(await collect(plan.run(new AbortController().signal)))).toMatchObject({
        kind: 'failed',
      });
      return fake.calls.filter((call) => call === 'turn/start').length;
    };
    expect([await lost(), budget.retries]).toEqual([3, 2]);
    while (budget.retry('worker lost'));
    expect(await lost()).toBe(1);
  });

  it('after an event: the turn and its open items end', async () => {
    const fake = fakePool([
      (thread) => {
        thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
        thread.send('item/agentMessage/delta', { itemId: 'm', delta: 'half' });
        thread.close();
      },
    ]);
    expect((await run(fake)).slice(-2)).toMatchObject([
      {
        type: 'item-ended',
        item: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [{ kind: 'text', text: 'half' }],
          status: 'incomplete',
        },
      },
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('worker_lost') },
        at: 1_800_000_000_000,
      },
    ]);
    // A lost worker cannot be interrupted.
    expect([fake.calls.at(-1), fake.openLeases()]).toEqual(['turn/start', 0]);
  });
});
