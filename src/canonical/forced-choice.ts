import type { Produced } from './item.ts';
import { refKey, type ToolChoice, type ToolRef } from './tool.ts';

/** The tools of which a forced choice wants one called; null: any. */
const wantedBy = (choice: ToolChoice): readonly ToolRef[] | null => {
  if (choice.mode === 'named') return [choice.tool];
  return choice.mode === 'allowed' ? choice.tools : null;
};

/** Says of an item of the answer whether it is a call that a forced choice wants. */
export const meetsChoice = (choice: ToolChoice): ((item: Produced) => boolean) => {
  const wanted = wantedBy(choice);
  const called = new Set(wanted?.map(refKey));
  const hosted = wanted?.flatMap((ref) => (ref.kind === 'hosted' ? [ref.raw.type] : [])) ?? [];
  return (item) => {
    if (item.kind === 'tool-call') {
      const { tool: kind, name, namespace } = item;
      const ref = { kind, name, ...(namespace === undefined ? {} : { namespace }) };
      return wanted === null || called.has(refKey(ref));
    }
    if (item.kind !== 'hosted-call') return false;
    // The calls of `web_search_preview` are named `web_search_call`.
    const [ran] = item.raw.type.split(/_call$/);
    return wanted === null || hosted.some((type) => type.startsWith(ran ?? type));
  };
};

/** A forced choice as the model is told it where no field of its request says it. */
export const choiceInWords = (choice: ToolChoice): string => {
  const wanted = wantedBy(choice)?.map(shown);
  if (wanted === undefined)
    return 'Answer this turn by calling one of your tools. Do not answer in text only.';
  const tools =
    wanted.length === 1 ? `the tool ${wanted.join('')}` : `one of these tools: ${wanted.join(', ')}`;
  return `Answer this turn by calling ${tools}. Call no other tool, and do not answer in text only.`;
};

const shown = (ref: ToolRef): string =>
  JSON.stringify(
    ref.kind === 'hosted'
      ? ref.raw.type
      : ref.namespace === undefined
        ? ref.name
        : `${ref.namespace}.${ref.name}`,
  );
