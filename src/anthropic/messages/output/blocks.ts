import {
  isMessage,
  wordsOf,
  type Message,
  type Produced,
  type ToolCall,
} from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import type { Signer } from '../reasoning/signer.ts';
import { projectReasoning, type ThinkingDisplay } from '../reasoning/thinking-block.ts';
import { citationsOf } from './citations.ts';
import { isMcpCall, mcpCallBlocks } from './mcp-call.ts';
import { toolInput } from './tool-input.ts';
import { isWebSearch, searchHead, searchInput, SearchResults } from './web-search.ts';

/** One block of a message, as it is in JSON. */
export type Block = Readonly<Record<string, unknown>> & { readonly type: string };

export interface BlockOptions {
  readonly thinking: ThinkingDisplay | null;
  readonly signer: Signer;
}

/** The blocks of an answer. Empty texts have none, and neither has a call whose arguments are cut. */
export const blocksOf = (items: readonly Produced[], options: BlockOptions): readonly Block[] => {
  const results = new SearchResults();
  const blocks = items.flatMap((item): readonly Block[] => {
    if (isMessage(item)) results.cited(item);
    if (!isWebSearch(item)) return blocksOfItem(item, options);
    return [...results.rest(), { ...searchHead(item), input: searchInput(item) }, ...results.searched(item)];
  });
  return [...blocks, ...results.rest()];
};

const blocksOfItem = (item: Produced, { thinking, signer }: BlockOptions): readonly Block[] => {
  switch (item.kind) {
    case 'message':
      return textsOf(item);
    case 'reasoning':
      return thinking === null ? [] : [{ ...projectReasoning(item, thinking, signer) }];
    case 'tool-call': {
      const input = toolInput(item);
      return input === null ? [] : [{ ...callHead(item), input }];
    }
    case 'hosted-call':
      return isMcpCall(item) ? mcpCallBlocks(item) : [];
    case 'compaction':
    case 'opaque':
      // They are not shown: `arrange` leaves them out.
      return [];
    default:
      return assertNever(item);
  }
};

/** A text and a refusal are blocks of their own. */
const textsOf = (message: Message): readonly Block[] => {
  const [text, refusal] = [wordsOf(message, 'text'), wordsOf(message, 'refusal')];
  const citations = citationsOf(message);
  return [
    ...(text === '' ? [] : [{ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }]),
    ...(refusal === '' ? [] : [{ type: 'text', text: refusal }]),
  ];
};

/** A call without its arguments. */
export const callHead = ({ callId, name }: Pick<ToolCall, 'callId' | 'name'>) => ({
  type: 'tool_use' as const,
  id: callId,
  name,
});
