import { expect, it } from 'vitest';

import type { Part } from '../canonical/request/item.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../canonical/request/turn-request.ts';
import { estimateInput } from './estimate.ts';

const withParts = (parts: readonly Part[]): TurnRequest => ({
  ...PLAIN_REQUEST,
  model: 'm',
  items: [
    { kind: 'message', role: 'user', parts },
    { kind: 'tool-output', callId: 'c', tool: 'function', output: parts },
  ],
});

const data = 'A'.repeat(12_000);

it('estimates texts by their bytes, and what is attached by its kind', () => {
  const estimate = (part: Part, bytes: number): number => estimateInput([withParts([part])], bytes);
  expect({
    text: estimate({ kind: 'text', text: 'x' }, 301),
    image: estimate({ kind: 'image', url: data }, 24_300),
    audio: estimate({ kind: 'audio', format: 'wav', data }, 24_300),
    file: estimate({ kind: 'file', raw: { type: 'input_file', file_data: data } }, 24_300),
    pdf: estimate(
      { kind: 'file', raw: { type: 'input_file', file_data: `data:application/pdf;base64,${data}` } },
      24_356,
    ),
    byId: estimate({ kind: 'file', raw: { type: 'input_file', file_id: 'f' } }, 300),
    // Fetched meanwhile: the body was smaller.
    fetched: estimate({ kind: 'image', url: data }, 300),
  }).toEqual({
    text: 101,
    image: 100 + 2_200,
    audio: 100 + 12,
    file: 100 + 6_000,
    pdf: 100 + 2_200,
    byId: 100 + 2_200,
    fetched: 2_200,
  });
});
