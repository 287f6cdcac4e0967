import { itemFacts } from '../../canonical/request/item-facts.ts';
import { partsOf, type ImageDetail } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { allTools, type Tool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';

/**
 * Whether a request needs the Responses format: a tool choice, parallel calls, a hosted tool, an image
 * detail, or a reasoning context of `current_turn`.
 */
export const needsResponsesFormat = (request: TurnRequest): boolean =>
  allTools(request).some(isResponsesOnly) ||
  (allTools(request).length > 0 &&
    (request.toolChoice.mode !== 'auto' || request.parallelToolCalls === true)) ||
  itemFacts(request.items).hasImageDetail ||
  request.reasoning.context === 'current_turn';

/**
 * Whether a tool exists only in the Responses format. Hosted tools do; MCP servers that run here are
 * namespaces, which both formats have.
 */
export const isResponsesOnly = (tool: Tool): boolean =>
  tool.kind === 'hosted' && tool.raw.type !== 'tool_search' && tool.raw.type !== 'mcp';

/**
 * Settings that a request format cannot express, besides fields of the model request. `lostDetails`: image details
 * that are lost in every format.
 */
export const lostInFormat = (
  request: TurnRequest,
  requestFormat: RequestFormat,
  lostDetails: ReadonlySet<ImageDetail>,
): readonly Path[] => {
  const isCodexFormat = requestFormat === 'codex';
  const isParallelLost = isCodexFormat && request.parallelToolCalls === true && allTools(request).length > 0;
  return [
    ...(isParallelLost ? (['parallelToolCalls'] as const) : []),
    ...(isCodexFormat && request.reasoning.context === 'current_turn'
      ? (['reasoning.context'] as const)
      : []),
    ...imageDetails(request, (detail) => isCodexFormat || lostDetails.has(detail)),
  ];
};

/** The paths of image details; `auto` does not count. */
const imageDetails = ({ items }: TurnRequest, isMeant: (detail: ImageDetail) => boolean): readonly Path[] => {
  if (!itemFacts(items).hasImageDetail) return [];
  return items.flatMap((item, index) => {
    const { field, parts } = partsOf(item);
    return parts.flatMap((part, at): readonly Path[] => {
      const detail = part.kind === 'image' ? (part.detail ?? 'auto') : 'auto';
      return detail === 'auto' || !isMeant(detail)
        ? []
        : [{ imageDetail: { item: index, of: field, part: at } }];
    });
  });
};
