import { describe, expect, it } from 'vitest';

import { rendered } from '../../../../test/support/rendered.ts';
import { END } from '../../../../test/support/item-events.ts';
import { failure } from '../../../canonical/failure/failure.ts';
import { DONE } from '../../../apis/sse.ts';

/** The exact frames around the items. Properties for any turn are in test/laws. */

describe('the frame of the stream', () => {
  it('starts with the initial response, and ends with the complete one and [DONE]', async () => {
    const all = await rendered([END]);
    expect(all.map(({ event }) => event)).toEqual([
      'response.created',
      'response.in_progress',
      'response.completed',
      'done',
    ]);
    expect(
      all.map(({ data }) => (data === DONE ? data : (data as { sequence_number: number }).sequence_number)),
    ).toEqual([0, 1, 2, DONE]);
    expect(all[0]?.data).toMatchObject({ response: { id: 'resp_1', status: 'in_progress', usage: null } });
    expect(all[2]?.data).toMatchObject({ response: { id: 'resp_1', status: 'completed', output: [] } });
  });

  it('a limit: response.incomplete', async () => {
    const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
    const all = await rendered([{ type: 'turn-ended', outcome, usage: null, at: 1_800_000_000_000 }]);
    expect(all.at(-2)).toMatchObject({
      event: 'response.incomplete',
      data: { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } },
    });
  });

  it('a failure: the error in both forms, then response.failed', async () => {
    const failed = failure('rate_limit_exceeded', { message: 'Slow down.' });
    const outcome = { kind: 'failed', failure: failed } as const;
    const all = await rendered([{ type: 'turn-ended', outcome, usage: null, at: 1_800_000_000_000 }]);
    expect(all.slice(2)).toEqual([
      {
        event: 'error',
        data: {
          type: 'error',
          sequence_number: 2,
          code: 'rate_limit_exceeded',
          message: 'Slow down.',
          param: null,
          error: {
            type: 'rate_limit_error',
            code: 'rate_limit_exceeded',
            message: 'Slow down.',
            param: null,
          },
        },
      },
      {
        event: 'response.failed',
        data: expect.objectContaining({
          response: expect.objectContaining({
            status: 'failed',
            error: { code: 'rate_limit_exceeded', message: 'Slow down.' },
          }),
        }),
      },
      { event: 'done', data: DONE },
    ]);
  });
});
