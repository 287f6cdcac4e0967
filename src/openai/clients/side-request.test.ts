import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';

import { turnRequest, functionTool } from '../../../test/support/turn-request.ts';
import type { Item, Role } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { DetectedClient } from '../../apis/clients/detect-client.ts';
import { sideRequestOf, cleanSummary, cleanTitle } from './side-request.ts';

const message = (role: Role, text: string): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});

const textOf = (item: Item): string => {
  const part = item.kind === 'message' ? item.parts[0] : undefined;
  return part?.kind === 'text' ? part.text : '';
};

/** Prompts as the clients send them. */
const TITLE =
  'Generate a concise title (max 5 words) for this conversation based on its content. Return only the title without any explanation or quotes.\n\nConversation:\nuser: hi\nAI: Hello.';
const SUMMARY =
  'Your task is to analyze a conversation and generate both a title and a summary.\n\n# OUTPUT FORMAT\nJSON\n\n# RULES\n* Use the same language as the conversation';
const CONVERSATION = message(
  'user',
  '<conversation_text>\nuser: hi\n</conversation_text>\n\nGenerate a title and summary for this conversation:',
);
const THREAD =
  'You are a title generator. You output ONLY a thread title. Nothing else.\n\n<task>\n…\n</task>\n\n<examples>\n…\n</examples>\n';
const GENERATE = message('user', 'Generate a title for this conversation:\n');
const hi = message('user', 'hi');

const COPILOT = { name: 'obsidian-copilot', source: 'header' } as const;
const OPENCODE = { name: 'opencode', source: 'header' } as const;
type Client = Pick<DetectedClient, 'name' | 'source'>;

const kindOf = (different: Partial<TurnRequest>, client: Client = COPILOT, choices = 1): string | null =>
  sideRequestOf(turnRequest(different), choices, client)?.kind ?? null;

describe('sideRequestOf', () => {
  it.each<readonly [string, Partial<TurnRequest>]>([
    ['title', { items: [message('user', TITLE)] }],
    ['title', { items: [message('user', TITLE)], instructions: '' }],
    ['title-and-summary', { items: [message('developer', SUMMARY), CONVERSATION] }],
    ['title-and-summary', { items: [message('system', SUMMARY), CONVERSATION] }],
    ['title-and-summary', { items: [CONVERSATION], instructions: SUMMARY }],
    [
      'title-and-summary',
      { items: [message('system', SUMMARY), CONVERSATION], format: { kind: 'json-object' } },
    ],
    ['thread-title', { items: [message('system', THREAD), GENERATE, hi] }],
    ['thread-title', { items: [GENERATE, hi, hi], instructions: THREAD }],
  ])('detects a %s request: %#', (kind, request) => {
    expect(kindOf(request)).toBe(kind);
  });

  it('ignores requests of other clients', () => {
    const items = [message('user', TITLE)];
    const thread = [message('system', THREAD), GENERATE, hi];
    const others: readonly Client[] = [
      OPENCODE,
      { name: 'openai-sdk', source: 'header' },
      { name: 'other', source: 'none' },
      // Detected by text that a user may have written.
      { name: 'obsidian-copilot', source: 'body' },
    ];
    expect(others.map((client) => kindOf({ items }, client))).toEqual(others.map(() => null));
    expect(others.map((client) => kindOf({ items: thread }, client))).toEqual([
      'thread-title',
      ...others.slice(1).map(() => null),
    ]);
  });

  it.each<readonly [string, Partial<TurnRequest>]>([
    [
      'more to do behind the first words',
      {
        items: [
          message(
            'user',
            'Generate a concise title (max 5 words) for this conversation, and then write 300 words about it.',
          ),
        ],
      },
    ],
    [
      'more to do behind the prompt',
      { items: [message('user', TITLE.replace('Conversation:\nuser: ', ''))] },
    ],
    ['a title for a long text', { items: [message('user', TITLE + 'x'.repeat(2_000))] }],
    [
      'more in the prompt of a summary',
      { items: [message('system', `${SUMMARY}\n* Write an essay.`), CONVERSATION] },
    ],
    ['a summary prompt with another message', { items: [message('system', SUMMARY), hi] }],
    [
      'more to do behind the conversation',
      { items: [message('system', SUMMARY), message('user', `${textOf(CONVERSATION)} And an essay.`)] },
    ],
    [
      'more in the prompt of a thread title',
      { items: [message('system', `${THREAD}And an essay.`), GENERATE, hi] },
    ],
    ['a thread title prompt without a conversation', { items: [message('system', THREAD), GENERATE] }],
    ['a thread title prompt without its question', { items: [message('system', THREAD), hi] }],
    ['text before the prompt', { items: [message('user', ` ${TITLE}`)] }],
    ['the prompt in lower case', { items: [message('user', TITLE.toLowerCase())] }],
    [
      'a conversation in which it is said',
      { items: [hi, message('assistant', 'x'), message('user', TITLE)] },
    ],
    ['another system prompt', { items: [message('system', 'Be brief.'), message('user', TITLE)] }],
    ['additional instructions', { items: [message('user', TITLE)], instructions: 'Be brief.' }],
    ['the user prompt in a system message', { items: [message('system', TITLE), hi] }],
    ['the system prompt in a user message', { items: [message('user', SUMMARY), CONVERSATION] }],
    ['the system prompt in an assistant message', { items: [message('assistant', THREAD), GENERATE, hi] }],
    [
      'a prompt that is not the first',
      { items: [message('system', 'x'), message('system', SUMMARY), CONVERSATION] },
    ],
    [
      'instructions in front of the prompt',
      { items: [message('system', THREAD), GENERATE, hi], instructions: 'x' },
    ],
    ['a summary prompt without a conversation', { items: [message('system', SUMMARY)] }],
    ['a summary prompt with more messages', { items: [message('system', SUMMARY), CONVERSATION, hi] }],
    ['tools', { items: [message('user', TITLE)], tools: [functionTool('look')] }],
    [
      'an output of a tool',
      {
        items: [
          message('system', THREAD),
          GENERATE,
          { kind: 'tool-output', tool: 'function', callId: 'c', output: '' },
        ],
      },
    ],
    [
      'a schema',
      {
        items: [message('system', SUMMARY), CONVERSATION],
        format: { kind: 'json-schema', name: 'n', description: null, schema: {}, strict: null },
      },
    ],
    ['a title as JSON', { items: [message('user', TITLE)], format: { kind: 'json-object' } }],
    ['log probabilities', { items: [message('user', TITLE)], include: ['message.output_text.logprobs'] }],
    [
      'an additional image',
      {
        items: [
          {
            kind: 'message',
            role: 'user',
            parts: [
              { kind: 'text', text: TITLE },
              { kind: 'image', url: 'x' },
            ],
          },
        ],
      },
    ],
    ['no message', { items: [] }],
  ])('ignores a request with %s', (_, request) => {
    expect(kindOf(request)).toBeNull();
  });

  it('ignores a request for several choices', () => {
    expect(kindOf({ items: [message('user', TITLE)] }, COPILOT, 2)).toBeNull();
  });
});

describe('titleOf', () => {
  it.each([
    ['Cats and dogs', 'Cats and dogs'],
    ['\n\n  "Cats and dogs"  \n', 'Cats and dogs'],
    ['“Cats and dogs”', 'Cats and dogs'],
    ['## **Cats** and `dogs`', 'Cats and dogs'],
    ['**Title:** "Cats and dogs"', 'Cats and dogs'],
    ['*Cats and dogs*\n\nBecause they are animals.', 'Cats and dogs'],
    ['```\nCats\n```', 'Cats'],
    ['- Cats', 'Cats'],
    ['<think>\nHm.\n</think>\n\nCats', 'Cats'],
    ['Cats\tand\u00a0 dogs', 'Cats and dogs'],
    // Text that only resembles decoration stays.
    ['"Cats" and "dogs"', '"Cats" and "dogs"'],
    ['Fix __init__.py', 'Fix __init__.py'],
    ['2. Weltkrieg', '2. Weltkrieg'],
    ['#hashtag', '#hashtag'],
    ['a * b * c', 'a * b * c'],
    [
      'Understanding asynchronous iteration, and generators in JavaScript',
      'Understanding asynchronous iteration, and',
    ],
    [`${'a'.repeat(49)}, b`, 'a'.repeat(49)],
    ['x'.repeat(80), 'x'.repeat(50)],
    [`${'x'.repeat(49)}👩‍👩‍👧 and more`, 'x'.repeat(49)],
    ['漢'.repeat(80), '漢'.repeat(50)],
  ])('%j', (text, title) => {
    expect(cleanTitle(text)).toBe(title);
  });

  it.each(['', ' \n ', '```\n```', '<think>and so on'])('returns null for %j', (text) => {
    expect(cleanTitle(text)).toBeNull();
  });

  it('always returns one line of at most 50 characters', () => {
    const written = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.string({ unit: fc.constantFrom('"', '*', '`', '#', ' ', '\n', 'a', '_', '>'), maxLength: 200 }),
    );
    fc.assert(
      fc.property(written, (text) => {
        const title = cleanTitle(text) ?? 'x';
        expect(title).toMatch(/^\S.{0,49}$/su);
        expect([title.length <= 50, title.trim() === title, /[\r\n]/.test(title)]).toEqual([
          true,
          true,
          false,
        ]);
      }),
    );
  });
});

describe('summaryOf', () => {
  const whole = { title: 'Cats', summary: 'They {purr}.\nOften.' };

  it.each([
    JSON.stringify(whole),
    `\`\`\`json\n${JSON.stringify(whole, null, 2)}\n\`\`\``,
    `Here you are: ${JSON.stringify({ ...whole, title: '"Cats"', mood: 'good' })} Anything else?`,
    `<think>{}</think>${JSON.stringify(whole)}`,
  ])('finds the JSON in %j', (text) => {
    expect(JSON.parse(cleanSummary(text) ?? '')).toEqual(whole);
  });

  it('limits the length of its title', () => {
    const long = JSON.stringify({ title: 'word '.repeat(30), summary: 'x' });
    expect(JSON.parse(cleanSummary(long) ?? '')).toEqual({ title: 'word '.repeat(10).trim(), summary: 'x' });
  });

  it.each([
    '',
    'Cats',
    '{"title": "Cats"}',
    '{"title": "", "summary": "x"}',
    '{"title": 1, "summary": "x"}',
    '[1]',
    '}{',
  ])('returns null for %j', (text) => {
    expect(cleanSummary(text)).toBeNull();
  });
});
