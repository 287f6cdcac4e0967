import { partsOf, type Item, type Part } from '../../canonical/request/item.ts';
import { allTools } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { OneOrMore } from '../../kit/collections/one-or-more.ts';
import type { RequestSummary } from '../../observe/access-log.ts';

/** The size of a request, without any content. `bytes` is what the body holds in memory, compressed and not. */
export const summaryOf = (requests: OneOrMore<TurnRequest>, bytes: number): RequestSummary => {
  const items = requests.flatMap((request) => request.items);
  const tools = allTools(requests[0]);
  return {
    items: items.length,
    tools: tools.length,
    images:
      items.reduce((sum, item) => sum + imagesIn(item), 0) +
      tools.filter((tool) => tool.kind === 'hosted' && tool.mask !== undefined).length,
    bytes,
  };
};

const imagesIn = (item: Item): number => partsOf(item).parts.filter(isImage).length;

const isImage = (part: Part): boolean =>
  part.kind === 'image' || (part.kind === 'file' && part.raw.type === 'input_image');
