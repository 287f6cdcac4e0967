import { describe, expect, it } from 'vitest';
import {
  completed,
  note,
  rawCall,
  rawDone,
  rawMessage,
  start,
  started,
  text,
  USAGE,
} from '../../../test/support/rpc-notes.ts';
import { messageEnded } from '../../../test/support/item-events.ts';
import { failure } from '../../canonical/failure/failure.ts';
describe('usage', () => {
  it('is the sum over all answers of the model in the turn', () => {
    const { run } = start();
    const events = run(rawCall('x', 'nope'), rawDone(), rawMessage('m', 'a'), rawDone(), completed());
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 } });
  });

  it('of an incomplete answer is that of the thread', () => {
    const { run } = start();
    const total = { ...USAGE, totalTokens: 99 };
    const error = {
      message: 'Incomplete response returned, reason: max_output_tokens',
      codexErrorInfo: 'other',
    };
    const events = run(
      note('thread/tokenUsage/updated', { tokenUsage: { total, last: total } }),
      completed('failed', error),
    );
    expect(events).toMatchObject([
      {
        type: 'turn-ended',
        outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
        usage: { totalTokens: 99 },
        at: 1_800_000_000_000,
      },
    ]);
  });
});
describe('the end', () => {
  it('completes or aborts open items', () => {
    const open = [started('agentMessage', 'm'), text('m', 'half')];
    const failed = completed('failed', {
      message: 'stream disconnected before completion: closed',
      codexErrorInfo: 'other',
    });
    expect(
      start()
        .run(...open, completed())
        .at(-2),
    ).toEqual(messageEnded('m', 'half'));
    expect(
      start()
        .run(...open, failed)
        .slice(-2),
    ).toEqual([
      messageEnded('m', 'half', { status: 'incomplete' }),
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('upstream_error') },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });

  it('is reported once, whichever side ends the turn first', () => {
    const { one, run } = start();
    const lost = { kind: 'failed', failure: failure('worker_lost') } as const;
    expect(one.end(lost)).toEqual([
      { type: 'turn-ended', outcome: lost, usage: null, at: 1_800_000_000_000 },
    ]);
    expect([one.end({ kind: 'completed' }), run(completed())]).toEqual([[], []]);
  });

  it('follows a failure that codex wants to retry: nothing is sent twice', () => {
    const { one, run } = start();
    const error = {
      message: 'Reconnecting... waiting for network',
      codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: null } },
      additionalDetails: 'Connection failed: error sending request',
    };
    expect(run(note('error', { error, willRetry: true }))).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('upstream_unreachable') },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
    expect(one.ended).toBe(true);
  });
});
