import { itemFacts } from '../../canonical/request/item-facts.ts';
import { allTools } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { OneOrMore } from '../../kit/collections/lists.ts';
import type { RequestSummary } from '../../observe/request-end.ts';

/** The size of a request, without any content. `bytes` is what the body holds in memory, compressed and not. */
export const summaryOf = (requests: OneOrMore<TurnRequest>, bytes: number): RequestSummary => {
  const tools = allTools(requests[0]);
  return {
    items: requests.reduce((sum, { items }) => sum + items.length, 0),
    tools: tools.length,
    images:
      requests.reduce((sum, { items }) => sum + itemFacts(items).images, 0) +
      tools.filter((tool) => tool.kind === 'hosted' && tool.mask !== undefined).length,
    bytes,
  };
};
