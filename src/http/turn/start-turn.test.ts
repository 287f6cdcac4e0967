import { describe, expect, it } from 'vitest';

import { turnRequest, functionTool } from '../../../test/support/turn-request.ts';
import { summaryOf } from './start-turn.ts';

describe('summaryOf', () => {
  it('summaryOf counts the parts of a request', () => {
    const image = { kind: 'image', url: 'data:x' } as const;
    const first = turnRequest({
      items: [
        { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'secret' }, image, image] },
        { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{}' },
        {
          kind: 'tool-output',
          tool: 'function',
          callId: 'c',
          output: [
            image,
            { kind: 'file', raw: { type: 'input_image', file_id: 'file-1' } },
            { kind: 'file', raw: { type: 'input_file', file_id: 'file-2' } },
          ],
        },
        { kind: 'loaded-tools', raw: { type: 'additional_tools' }, tools: [functionTool('g')] },
      ],
      tools: [functionTool('f'), { kind: 'hosted', raw: { type: 'image_generation' }, mask: image }],
    });
    expect(summaryOf([first], 1234)).toEqual({ items: 4, tools: 3, images: 5, bytes: 1234 });
    expect(summaryOf([turnRequest(), turnRequest()], 0)).toEqual({ items: 2, tools: 0, images: 0, bytes: 0 });
  });
});
