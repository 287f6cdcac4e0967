import { describe, expect, it } from 'vitest';

import { sseBlocks, sseName } from './sse-blocks.ts';

const NAMED = 'event: response.created\ndata: {"a":"event: b"}\n\n';
const NOTED = ': x-proxy-usage: counted\n\nevent: response.completed\ndata: {}\n\n';
const DONE = 'data: [DONE]\n\n';

describe('sseBlocks', () => {
  it.each([
    ['no text', '', []],
    ['one event', NAMED, [NAMED]],
    ['several, and a comment with the event after it', NAMED + NOTED + DONE, [NAMED, NOTED, DONE]],
    ['a comment at the end', `${NAMED}: end\n\n`, [NAMED, ': end\n\n']],
  ])('finds the events in %s', (_, text, blocks) => {
    expect(sseBlocks(text)).toEqual(blocks);
  });
});

describe('sseName', () => {
  it.each([
    [NAMED, 'response.created'],
    [NOTED, 'response.completed'],
    [DONE, null],
  ])('of %j', (block, name) => {
    expect(sseName(block)).toBe(name);
  });
});
