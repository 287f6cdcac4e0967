import { expect, it } from 'vitest';

import { fold } from '../../canonical/events/accumulate.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { emit } from '../../../test/support/turn-events.ts';
import { separateMessages } from './separate-messages.ts';

const cited = (at: number) => ({ type: 'url_citation', start_index: at, end_index: at + 1 });

const message = (id: string, text: string): readonly TurnEvent[] => {
  const head = { kind: 'message', id, role: 'assistant', parts: [] } as const;
  return [
    { type: 'item-started', item: head },
    ...Array.from(text).map((delta): TurnEvent => ({ type: 'item-delta', itemId: id, at: 'text', delta })),
    { type: 'item-delta', itemId: id, at: 'text', delta: '', annotation: cited(0) },
    {
      type: 'item-ended',
      item: { ...head, parts: [{ kind: 'text', text, annotations: [cited(0)] }], status: 'completed' },
    },
  ];
};

it('puts a blank line between messages with text, and shifts the positions of citations', async () => {
  const turn = [...message('a', ''), ...message('b', 'One.'), ...message('c', 'Two.'), ...message('d', '3')];
  const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 };
  const { items } = await fold(separateMessages(emit([...turn, end])));
  expect(items.map((item) => (item.kind === 'message' ? item.parts : []))).toEqual([
    [{ kind: 'text', text: '', annotations: [cited(0)] }],
    [{ kind: 'text', text: 'One.', annotations: [cited(0)] }],
    [{ kind: 'text', text: '\n\nTwo.', annotations: [cited(2)] }],
    [{ kind: 'text', text: '\n\n3', annotations: [cited(2)] }],
  ]);
});
