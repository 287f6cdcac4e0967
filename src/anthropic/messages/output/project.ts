import type { Reply } from '../../../canonical/events/accumulate.ts';
import { isMessage, wordsOf } from '../../../canonical/request/item.ts';
import type { MessagesMeta } from './meta.ts';
import { stopFields } from './stop-reason.ts';
import { projectUsage } from './usage.ts';

/** The fields of every message, also at the start of a stream. */
export const messageHead = ({ id, model }: MessagesMeta) => ({
  id,
  type: 'message' as const,
  role: 'assistant' as const,
  model,
});

/** The JSON body of an answer. */
export const projectMessage = (reply: Reply, meta: MessagesMeta) => ({
  ...messageHead(meta),
  content: reply.items.filter(isMessage).map((message) => ({ type: 'text', text: wordsOf(message, 'text') })),
  ...stopFields(reply.outcome),
  usage: projectUsage(reply.usage),
});
