import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { RESPONSES_PARAMETERS } from '../../src/openai/responses/input/parameters.ts';
import { SEED } from './exact-body.ts';
import { exactRequest } from './exact-requests.ts';

/** Fields that no drawn request has, because they do not reach the model request of one turn. */
const NOT_DRAWN: Readonly<Record<string, string>> = {
  moderation: 'ignored',
  stream_options: 'ignored: the form of the stream',
  response_format: 'another name for `text.format`: `src/openai/responses/input/format.test.ts`',
  background: 'it says when the response runs, not what is sent',
  previous_response_id: 'the stored turns are compared in `test/laws/stored-conversations.test.ts`',
  conversation: 'it is read from the store as `previous_response_id` is',
  prompt: 'rejected',
};

it('every field of a Responses request is in the law of exactness, or has a reason', () => {
  const requests = fc.sample(exactRequest, { numRuns: 300, seed: SEED });
  const drawn = new Set(requests.flatMap((request) => Object.keys(request)));
  const missing = Object.keys(RESPONSES_PARAMETERS).filter((field) => !drawn.has(field));
  expect(
    missing.toSorted(),
    'A new field needs an arbitrary in test/laws/exact-requests.ts, or a row with the reason in NOT_DRAWN.',
  ).toEqual(Object.keys(NOT_DRAWN).toSorted());
});
