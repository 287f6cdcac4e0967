import { z } from 'zod';

import type { HostedCall } from '../../../canonical/request/item.ts';
import { idText, jsonObject } from '../../../apis/bounds.ts';
import { parseBody } from '../../../apis/validation.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

const useSchema = z.object({ id: idText, name: z.string(), input: jsonObject });
const resultSchema = z.object({ tool_use_id: idText });

/** The id of a search that this server reported: Anthropic's prefix in front of the id of the backend's item. */
const OWN_SEARCH = /^srvtoolu_(?<id>ws_[\w-]+)$/;

/** The backend's item for a tool that Anthropic would have run; null if it is not from this server. */
export const readServerToolUse = (block: JsonObject, at: string): HostedCall | null => {
  const { id: useId, name, input } = parseBody(useSchema, block, at);
  const id = OWN_SEARCH.exec(useId)?.groups?.['id'];
  if (id === undefined || name !== 'web_search') return null;
  const action = { type: 'search', ...input };
  return { kind: 'hosted-call', id, raw: { type: 'web_search_call', status: 'completed', action } };
};

/** Whether a result belongs to a search of this server, whose item contains it. */
export const isOwnResult = (block: JsonObject, at: string): boolean =>
  OWN_SEARCH.test(parseBody(resultSchema, block, at).tool_use_id);
