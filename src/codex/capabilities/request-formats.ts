import { partsOf, type ImageDetail } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { allTools, type Tool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';

/** A choice among the tools, several calls at once, a tool that the backend runs, how closely an image is looked at, less reasoning. */
export const needsResponsesFormat = (request: TurnRequest): boolean =>
  allTools(request).some(isResponsesOnly) ||
  (allTools(request).length > 0 &&
    (request.toolChoice.mode !== 'auto' || request.parallelToolCalls === true)) ||
  imageDetails(request, () => true).length > 0 ||
  request.reasoning.context === 'current_turn';

/** A tool that the backend runs has no place in the codex format. An MCP server that is run here is a namespace, which is on both. */
export const isResponsesOnly = (tool: Tool): boolean =>
  tool.kind === 'hosted' && tool.raw.type !== 'tool_search' && tool.raw.type !== 'mcp';

/**
 * What a request format has no place for, besides fields of the backend's request. Without the relay the
 * app-server would put a sentence in the place of an image of low detail, so it goes without its detail.
 */
export const lostInFormat = (
  request: TurnRequest,
  requestFormat: RequestFormat,
  hasRelay: boolean,
): readonly Path[] => {
  const isCodexFormat = requestFormat === 'codex';
  const isParallelLost = isCodexFormat && request.parallelToolCalls === true && allTools(request).length > 0;
  return [
    ...(isParallelLost ? (['parallelToolCalls'] as const) : []),
    ...(isCodexFormat && request.reasoning.context === 'current_turn'
      ? (['reasoning.context'] as const)
      : []),
    ...imageDetails(request, (detail) => isCodexFormat || (!hasRelay && detail === 'low')),
  ];
};

/** Where a caller says how closely an image is to be looked at; `auto` says nothing. */
const imageDetails = ({ items }: TurnRequest, isMeant: (detail: ImageDetail) => boolean): readonly Path[] =>
  items.flatMap((item, index) => {
    const { field, parts } = partsOf(item);
    return parts.flatMap((part, at): readonly Path[] => {
      const detail = part.kind === 'image' ? (part.detail ?? 'auto') : 'auto';
      return detail === 'auto' || !isMeant(detail)
        ? []
        : [{ imageDetail: { item: index, of: field, part: at } }];
    });
  });
