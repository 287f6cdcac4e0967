import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import { isMessage } from '../../../canonical/request/item.ts';
import { storeNote, usageNote } from '../../../apis/sse.ts';
import type { Frame } from '../../../turns/api.ts';
import { anthropicErrorBody } from '../../errors.ts';
import type { MessagesMeta } from './meta.ts';
import { messageHead } from './project.ts';
import { stopFields } from './stop-reason.ts';
import { projectUsage } from './usage.ts';

type Data = Readonly<Record<string, unknown>> & { readonly type: string };

const frame = (data: Data): Frame => ({ event: data.type, data });

/** Sent while the stream is silent. */
export const PING: Frame = frame({ type: 'ping' });

/** Renders the events of a turn, whose items follow each other, as the events of a message. */
export async function* renderMessage(
  events: AsyncIterable<TurnEvent>,
  meta: MessagesMeta,
): AsyncGenerator<Frame> {
  const message = { ...messageHead(meta), content: [], stop_reason: null, stop_sequence: null };
  yield frame({ type: 'message_start', message: { ...message, usage: projectUsage(null) } });
  let index = -1;
  for await (const event of events) {
    switch (event.type) {
      case 'item-started':
        if (!isMessage(event.item)) break;
        index += 1;
        yield frame({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } });
        break;
      case 'item-delta':
        if (event.at !== 'text' || event.delta === '') break;
        yield frame({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: event.delta } });
        break;
      case 'item-ended':
        if (isMessage(event.item)) yield frame({ type: 'content_block_stop', index });
        break;
      case 'turn-ended':
        if (event.outcome.kind === 'failed') {
          yield frame(anthropicErrorBody(event.outcome.failure));
          return;
        }
        yield {
          ...frame({
            type: 'message_delta',
            delta: stopFields(event.outcome),
            usage: projectUsage(event.usage),
          }),
          ...usageNote([event]),
        };
        yield { ...frame({ type: 'message_stop' }), ...storeNote([event]) };
        break;
      case 'turn-accepted':
      case 'item-status':
        break;
    }
  }
}
