import { describe, expect, it } from 'vitest';

import { arrangeMessage } from '../../src/anthropic/messages/api.ts';
import { type MessagesMeta, projectMessage } from '../../src/anthropic/messages/output/project.ts';
import { renderMessage } from '../../src/anthropic/messages/output/render.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import { fold } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { failure } from '../../src/canonical/failure/failure.ts';
import { TextSigner } from '../../src/store/text-signer.ts';
import { ACCEPTED, callTold, END, messageTold } from '../support/item-events.ts';
import { HELLO_USAGE } from '../support/scripts.ts';
import { collect, emit } from '../support/turn-events.ts';

/** Answers of the Messages API, byte for byte, as JSON and as a stream. */

const signer = new TextSigner([new Uint8Array(32)]);
const META: MessagesMeta = { id: 'msg_1', model: 'claude-opus-5-5', thinking: 'summarized' };

const thought = (summary: readonly string[]): TurnEvent[] => [
  { type: 'item-started', item: { kind: 'reasoning', id: 'rs_1', summary: [] } },
  ...summary.map((delta, index): TurnEvent => ({
    type: 'item-delta',
    itemId: 'rs_1',
    at: { list: 'summary', index },
    delta,
  })),
  {
    type: 'item-ended',
    item: { kind: 'reasoning', id: 'rs_1', summary, encryptedContent: 'gAAA', status: 'completed' },
  },
];

const searched: TurnEvent[] = [
  { type: 'item-started', item: { kind: 'hosted-call', id: 'ws_1', raw: { type: 'web_search_call' } } },
  {
    type: 'item-ended',
    item: {
      kind: 'hosted-call',
      id: 'ws_1',
      raw: {
        type: 'web_search_call',
        action: { type: 'search', query: 'rain', sources: [{ type: 'url', url: 'https://a.b/' }] },
      },
      status: 'completed',
    },
  },
];

const ANSWERS: Readonly<Record<string, readonly TurnEvent[]>> = {
  'reasoning, text and two calls': [
    ACCEPTED,
    ...thought(['One.', 'Two.']),
    ...messageTold('m', 'Look', ' there.'),
    ...callTold('a', '{"city":', '"Paris"}'),
    ...callTold('b'),
    { ...END, outcome: { kind: 'tool-calls' }, usage: HELLO_USAGE },
  ],
  'reasoning without a summary, a search and a stop sequence': [
    ACCEPTED,
    ...thought([]),
    ...searched,
    ...messageTold('m', 'Rain.'),
    { ...END, outcome: { kind: 'completed', stop: 'END' }, usage: { ...HELLO_USAGE, isCounted: true } },
  ],
  nothing: [ACCEPTED, END],
};

const stream = async (events: readonly TurnEvent[]): Promise<string> =>
  (await collect(renderMessage(arrangeMessage(emit(events), META), META, signer))).map(encodeFrame).join('');

describe.each(Object.entries(ANSWERS))('an answer of %s', (_, events) => {
  it('is this JSON', async () => {
    expect(projectMessage(await fold(arrangeMessage(emit(events), META)), META, signer)).toMatchSnapshot();
  });

  it('is this stream', async () => {
    expect(await stream(events)).toMatchSnapshot();
  });
});

it('a failure after the first text is this stream', async () => {
  const failed = failure('upstream_overloaded', { message: 'Too busy.' });
  expect(
    await stream([
      ACCEPTED,
      ...messageTold('m', 'Loo'),
      { ...END, outcome: { kind: 'failed', failure: failed } },
    ]),
  ).toMatchSnapshot();
});
