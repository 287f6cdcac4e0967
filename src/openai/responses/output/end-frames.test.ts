import { describe, expect, it } from 'vitest';

import { failure } from '../../../canonical/failure/failure.ts';
import type { TurnEnded } from '../../../canonical/events/turn-event.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { responseMeta } from '../../../../test/support/response-meta.ts';
import { collect, emit } from '../../../../test/support/turn-events.ts';
import { endFrames } from './end-frames.ts';
import { renderResponse } from './render.ts';

const ended = (outcome: TurnEnded['outcome']): TurnEnded => ({
  type: 'turn-ended',
  outcome,
  usage: null,
  at: 1_800_000_000_000,
});

describe('endFrames', () => {
  it.each<[string, TurnEnded['outcome']]>([
    ['completed', { kind: 'completed' }],
    ['incomplete', { kind: 'incomplete', reason: 'max_output_tokens' }],
    ['failed', { kind: 'failed', failure: failure('server_error', { message: 'Gone.' }) }],
  ])('end a %s response as its own stream does', async (_, outcome) => {
    const meta = responseMeta({ isBackground: true });
    const frames = await collect(renderResponse(emit([ended(outcome)]), meta));
    const last = frames.at(-2)?.data as { readonly response: JsonObject };
    expect(endFrames(last.response, 2)).toEqual(frames.slice(2));
  });

  it('end a cancelled response without an event', () => {
    expect(endFrames({ status: 'cancelled' }, 7)).toEqual([{ event: 'done', data: '[DONE]' }]);
  });
});
