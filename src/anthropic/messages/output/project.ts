import type { Reply } from '../../../canonical/events/accumulate.ts';
import type { Signer } from '../reasoning/signer.ts';
import { blocksOf } from './blocks.ts';
import type { MessagesMeta } from './meta.ts';
import { hasRefused, stopFields } from './stop-reason.ts';
import { projectUsage } from './usage.ts';

/** The fields of every message, also at the start of a stream. */
export const messageHead = ({ id, model }: MessagesMeta) => ({
  id,
  type: 'message' as const,
  role: 'assistant' as const,
  model,
});

/** The edits that were made of the context, if the request asks for any. */
export const contextEdits = ({ editsContext }: MessagesMeta) =>
  editsContext === true ? { context_management: { applied_edits: [] } } : {};

/** The JSON body of an answer. */
export const projectMessage = (reply: Reply, meta: MessagesMeta, signer: Signer) => {
  const options = { thinking: meta.thinking, signer };
  return {
    ...messageHead(meta),
    content: blocksOf(reply.items, options),
    ...stopFields(reply.outcome, reply.items.some(hasRefused)),
    usage: projectUsage(reply.usage),
    ...contextEdits(meta),
  };
};
