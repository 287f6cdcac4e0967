import { describe, expect, it } from 'vitest';

import { askedTurn, functionTool } from '../../../test/support/turn-request.ts';
import type { Item, Role } from '../../canonical/item.ts';
import type { AskedTurn } from '../../canonical/turn-request.ts';
import { sideRequestOf } from './side-request.ts';

const message = (role: Role, text: string): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});

const TITLE =
  'Generate a concise title (max 5 words) for this conversation based on its content. Return only the title.';
const SUMMARY =
  'Your task is to analyze a conversation and generate both a title and a summary.\n\n# OUTPUT FORMAT\n…';
const THREAD = 'You are a title generator. You output ONLY a thread title. Nothing else.\n\n<task>…';
const hi = message('user', 'hi');

const kindOf = (different: Partial<AskedTurn>, choices = 1): string | null =>
  sideRequestOf(askedTurn(different), choices)?.kind ?? null;

describe('a request that only wants a name for a conversation', () => {
  it.each<readonly [string, Partial<AskedTurn>]>([
    ['title', { items: [message('user', TITLE)] }],
    ['title', { items: [message('user', TITLE)], instructions: '' }],
    ['title-and-summary', { items: [message('developer', SUMMARY), hi] }],
    ['title-and-summary', { items: [message('system', SUMMARY), hi] }],
    ['title-and-summary', { items: [hi], instructions: SUMMARY }],
    ['title-and-summary', { items: [message('system', SUMMARY), hi], format: { kind: 'json-object' } }],
    ['thread-title', { items: [message('system', THREAD), message('user', 'Generate a title …'), hi] }],
    ['thread-title', { items: [message('system', THREAD), message('system', 'x'), hi] }],
    ['thread-title', { items: [hi], instructions: THREAD }],
  ])('is a %s: %#', (kind, request) => {
    expect(kindOf(request)).toBe(kind);
  });

  it.each<readonly [string, Partial<AskedTurn>]>([
    ['words in front of it', { items: [message('user', ` ${TITLE}`)] }],
    ['the words in other letters', { items: [message('user', TITLE.toLowerCase())] }],
    [
      'a conversation in which it is said',
      { items: [hi, message('assistant', 'x'), message('user', TITLE)] },
    ],
    ['a prompt beside it', { items: [message('system', 'Be brief.'), message('user', TITLE)] }],
    ['instructions beside it', { items: [message('user', TITLE)], instructions: 'Be brief.' }],
    ['the words of a user in a prompt', { items: [message('system', TITLE), hi] }],
    ['the words of a prompt from a user', { items: [message('user', SUMMARY), hi] }],
    ['the words of a prompt from an assistant', { items: [message('assistant', THREAD), hi] }],
    ['a prompt that is not the first', { items: [message('system', 'x'), message('system', SUMMARY), hi] }],
    ['instructions in front of the prompt', { items: [message('system', THREAD), hi], instructions: 'x' }],
    ['a summary of nothing', { items: [message('system', SUMMARY)] }],
    ['a summary of several messages', { items: [message('system', SUMMARY), hi, hi] }],
    ['tools', { items: [message('user', TITLE)], tools: [functionTool('look')] }],
    [
      'an output of a tool',
      {
        items: [
          message('system', THREAD),
          { kind: 'tool-output', tool: 'function', callId: 'c', output: '' },
        ],
      },
    ],
    [
      'a schema',
      {
        items: [message('system', SUMMARY), hi],
        format: { kind: 'json-schema', name: 'n', description: null, schema: {}, strict: null },
      },
    ],
    ['a title as JSON', { items: [message('user', TITLE)], format: { kind: 'json-object' } }],
    ['log probabilities', { items: [message('user', TITLE)], include: ['message.output_text.logprobs'] }],
    ['an image first', { items: [{ kind: 'message', role: 'user', parts: [{ kind: 'image', url: 'x' }] }] }],
    ['no message', { items: [] }],
    [
      'query expansion',
      { items: [message('user', 'Given the following query, generate a concise title …')] },
    ],
  ])('is none with %s', (_, request) => {
    expect(kindOf(request)).toBeNull();
  });

  it('is none with several choices', () => {
    expect(kindOf({ items: [message('user', TITLE)] }, 2)).toBeNull();
  });
});
