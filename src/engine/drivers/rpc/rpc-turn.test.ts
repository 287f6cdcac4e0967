import { describe, expect, it } from 'vitest';

import { fakeWorker } from '../../../../test/support/carriers.ts';
import { SHAPE } from '../../../../test/support/edited.ts';
import { never } from '../../../../test/support/fake-pool.ts';
import { threadSettings } from '../../../../test/support/thread-settings.ts';
import { functionTool, turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import { CallableTools } from '../../../canonical/request/tool.ts';
import type { Draft } from '../../plan/draft-turn.ts';
import type { TurnSignal } from '../driver.ts';
import { answerCall, RpcTurn, type RpcTurnDeps } from './rpc-turn.ts';

const answersTo = (params: unknown): readonly unknown[] => {
  const said: unknown[] = [];
  const call = { kind: 'tool-call', params, respond: (result: unknown) => void said.push(result) } as const;
  answerCall(call, new CallableTools([functionTool('f')]));
  return said;
};
const unsupported = (text: string): unknown => ({
  contentItems: [{ type: 'inputText', text }],
  success: false,
});

describe('a tool call of the app-server', () => {
  it('is not answered if the client runs the tool', () => {
    expect(answersTo({ tool: 'f' })).toEqual([]);
  });

  it('is answered as unsupported otherwise', () => {
    expect(answersTo({ tool: 'g' })).toEqual([unsupported('unsupported call: "g"')]);
    expect(answersTo({ tool: 'f', namespace: 'n' })).toEqual([unsupported('unsupported call: "f"')]);
    expect(answersTo(null)).toEqual([unsupported('unsupported call: null')]);
  });
});

describe('a turn over JSON-RPC that has ended', () => {
  it('leaves a late tool call open until its thread is closed: after a refusal the model would be asked again', async () => {
    const worker = fakeWorker();
    const deps = { settings: threadSettings(), preStarted: { take: () => null, prepare: async () => {} } };
    const turn = new RpcTurn(deps as unknown as RpcTurnDeps, worker.lease, {
      draft: { strategy: SHAPE.strategy, request: turnRequest({ tools: [] }) } as unknown as Draft,
      context: turnContext({}),
      signal: never,
      mayRetry: () => false,
      approved: new Map(),
    });
    const signals: TurnSignal[] = [];
    await turn.start(null, (signal) => signals.push(signal));
    const closing = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'thread/unsubscribe' ? closing.promise : Promise.resolve());
    const ended = turn.end({ usage: null, isComplete: true });
    expect(worker.watched()).toEqual(['thread-1']);
    const answers: unknown[] = [];
    const respond = (result: unknown): void => void answers.push(result);
    worker.send('thread-1', { kind: 'tool-call', params: { tool: 'any' }, respond });
    expect([answers, signals]).toEqual([[], []]);
    closing.resolve();
    await ended;
    expect(worker.watched()).toEqual([]);
  });
});
