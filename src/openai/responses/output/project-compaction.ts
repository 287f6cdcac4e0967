import type { Reply } from '../../../canonical/events/accumulate.ts';
import { isKeptByCompaction } from '../../../canonical/request/compaction.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import { rawOf, type Item, type Message } from '../../../canonical/request/item.ts';
import type { IdSource } from '../../../kit/ambient.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { projectInputPart } from './project-part.ts';
import { projectItem, projectUsage, type ResponseMeta } from './project.ts';

/** What a compacted conversation needs besides the reply. */
export interface CompactionMeta extends Pick<ResponseMeta, 'id' | 'createdAt' | 'usagePolicy'> {
  /** The conversation from the request. */
  readonly items: readonly Item[];
}

/** The compacted conversation. Clients send it as the input of the next request. */
export const projectCompaction = (reply: Reply, meta: CompactionMeta, ids: IdSource) => {
  const compactions = reply.items.filter(({ kind }) => kind === 'compaction');
  if (reply.outcome.kind === 'incomplete' || compactions.length === 0) throw unfinished(reply);
  return {
    id: meta.id,
    object: 'response.compaction' as const,
    created_at: meta.createdAt,
    output: [
      ...meta.items.filter(isKeptByCompaction).flatMap((item) => projectKept(item, ids)),
      ...compactions.map((item) => projectItem(item, { includeEncryptedReasoning: false })),
    ],
    usage: projectUsage(reply.usage, meta.usagePolicy),
  };
};

/** This API has no status for an incomplete answer, so it fails. */
const unfinished = ({ outcome }: Reply) =>
  gatewayError('upstream_error', {
    message:
      outcome.kind === 'incomplete'
        ? `The compaction is incomplete (${outcome.reason}).`
        : 'The conversation was not compacted.',
  });

const projectKept = (item: Item, ids: IdSource): readonly JsonObject[] => {
  if (item.kind === 'message') return [projectMessage(item, item.id ?? ids.mint('msg'))];
  return item.kind === 'loaded-tools' ? [rawOf({ ...item, id: item.id ?? ids.mint('at') })] : [];
};

const projectMessage = ({ role, parts }: Message, id: string): JsonObject => ({
  id,
  type: 'message',
  status: 'completed',
  role,
  content: parts.map(projectInputPart),
});
