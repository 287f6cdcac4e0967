import type { Produced } from './item.ts';
import { refKey, refOfCall, titleOf, type ToolChoice, type ToolRef } from './tool.ts';

/** The tools that satisfy a forced choice; null: any tool. */
const wantedBy = (choice: ToolChoice): readonly ToolRef[] | null => {
  if (choice.mode === 'named') return [choice.tool];
  return choice.mode === 'allowed' ? choice.tools : null;
};

/** Returns a predicate: whether an output item satisfies a forced choice. */
export const meetsChoice = (choice: ToolChoice): ((item: Produced) => boolean) => {
  const wanted = wantedBy(choice);
  const called = new Set(wanted?.map(refKey));
  const hosted = wanted?.flatMap((ref) => (ref.kind === 'hosted' ? [ref.raw] : [])) ?? [];
  return (item) => {
    if (item.kind === 'tool-call') return wanted === null || called.has(refKey(refOfCall(item)));
    const ran = 'raw' in item ? CALLING.exec(item.raw.type)?.[1] : undefined;
    if (!('raw' in item) || ran === undefined) return false;
    const { server_label: label } = item.raw;
    // The calls of `web_search_preview` are named `web_search_call`.
    return (
      wanted === null ||
      hosted.some((tool) => tool.type.startsWith(ran) && (ran !== 'mcp' || tool['server_label'] === label))
    );
  };
};

/** Item types of hosted tool calls, including calls that wait for approval. */
const CALLING = /^(\w+?)_(?:call|approval_request)$/;

/** A forced choice as an instruction, for backends without `tool_choice`. */
export const choiceInstruction = (choice: ToolChoice): string => {
  const wanted = wantedBy(choice)?.map(shown);
  if (wanted === undefined)
    return 'Answer this turn by calling one of your tools. Do not answer in text only.';
  const tools =
    wanted.length === 1 ? `the tool ${wanted.join('')}` : `one of these tools: ${wanted.join(', ')}`;
  return `Answer this turn by calling ${tools}. Call no other tool, and do not answer in text only.`;
};

const shown = (ref: ToolRef): string => JSON.stringify(ref.kind === 'hosted' ? ref.raw.type : titleOf(ref));
