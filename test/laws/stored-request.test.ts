import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { parseResponse, toTurnRequest } from '../../src/openai/responses/input/to-turn.ts';
import { knownModel, modelList } from '../support/models.ts';
import { sentFor, type Sent } from '../support/read-and-sent.ts';
import { EXACT_EXAMPLES } from './exact-examples.ts';
import { exactRequest } from './exact-requests.ts';

/** A turn request is plain data: after a JSON round trip, in any process, it gives the same model request. */
const OPTIONS = {
  models: createModelNames(modelList([knownModel('gpt-5.5'), knownModel('gpt-6.1-sol')])),
  ignoreClientPrompt: false,
};

const stored = (request: TurnRequest): TurnRequest => JSON.parse(JSON.stringify(request)) as TurnRequest;

const sentTwice = (body: object): readonly [Sent, Sent] => {
  const read = toTurnRequest(parseResponse(body), OPTIONS);
  const again = stored(read.request);
  expect(again).toEqual(read.request);
  return [sentFor(() => read), sentFor(() => ({ ...read, request: again }))];
};

describe('a stored request', () => {
  it('gives the same model request, byte for byte', () => {
    let sent = 0;
    const check = (body: object): void => {
      const [first, second] = sentTwice(body);
      expect(JSON.stringify(second)).toBe(JSON.stringify(first));
      if (first.kind === 'sent') sent += 1;
    };
    for (const body of EXACT_EXAMPLES) check(body);
    fc.assert(fc.property(exactRequest, check), { numRuns: 300 });
    expect(sent).toBeGreaterThan(200);
  });
});
