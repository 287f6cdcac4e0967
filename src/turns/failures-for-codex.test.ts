import { describe, expect, it } from 'vitest';

import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import type { DetectedClient } from '../apis/clients/detect-client.ts';
import { collect } from '../../test/support/turn-events.ts';
import { inWordsOfCodex } from './failures-for-codex.ts';

const clock = { now: () => 1_800_000_000_000 };
const client = (name: DetectedClient['name']): DetectedClient => ({ name, source: 'header', reasons: [] });
const record = (error: unknown, name: DetectedClient['name'] = 'codex', stream = true): unknown => {
  try {
    return inWordsOfCodex({ client: client(name), stream }, clock)(error);
  } catch (thrown) {
    return thrown;
  }
};
const USED_UP = gatewayError('insufficient_quota', { message: 'Used up.', retryAfterSeconds: 60 });
const TOO_LONG = gatewayError('context_length_exceeded');

describe('inWordsOfCodex', () => {
  it('includes the time when a limit resets', () => {
    const told = record(USED_UP) as GatewayError;
    expect(told.failure).toEqual({
      ...USED_UP.failure,
      type: 'usage_limit_reached',
      more: { resets_at: 1_800_000_060 },
    });
    expect((record(gatewayError('insufficient_quota')) as GatewayError).failure).not.toHaveProperty('more');
  });

  it('reports a conversation that is too long in the stream', async () => {
    const [told] = record(TOO_LONG) as readonly [{ readonly events: AsyncIterable<unknown> }];
    expect(await collect(told.events as never)).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: TOO_LONG.failure },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });

  it('leaves other failures unchanged', () => {
    const other = gatewayError('upstream_error');
    expect(record(other)).toBe(other);
    expect(record(USED_UP, 'other')).toBe(USED_UP);
    expect(record(TOO_LONG, 'other')).toBe(TOO_LONG);
    expect(record(TOO_LONG, 'codex', false)).toBe(TOO_LONG);
  });
});
