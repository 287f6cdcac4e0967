import type { Json } from '../kit/json/json.ts';
import { sampleArguments } from '../schemas/sample-value.ts';
import type { DeclaredTool, ToolPolicy } from './read-request.ts';
import { hintsOf, topicWords } from './text-hints.ts';

/** Coding agents write very long tool descriptions. Only the first sentences identify the topic. */
const TOPIC_CHARS = 200;

/** Coding agents that ask for a summary of the conversation send their tools with it. */
const FORBIDS_TOOLS = /\bdo not (?:call|use) any tools?\b/i;

/** Chooses the tool that shares the most words with the text; words of its name count double. */
export const chooseTool = (
  tools: readonly DeclaredTool[],
  policy: ToolPolicy,
  text: string,
): DeclaredTool | null => {
  if (policy.mode === 'never') return null;
  if (policy.mode !== 'always' && FORBIDS_TOOLS.test(text)) return null;
  const open = tools.filter((tool) => policy.names === null || policy.names.includes(tool.name));
  const queryWords = topicWords(text);
  const shared = (words: string): number =>
    [...topicWords(words)].filter((word) => queryWords.has(word)).length;
  const scored = open.map((tool) => ({
    tool,
    score: 2 * shared(tool.name) + shared(tool.description.slice(0, TOPIC_CHARS)),
  }));
  const best = scored.toSorted((a, b) => b.score - a.score)[0];
  if (best === undefined || (best.score === 0 && policy.mode !== 'always')) return null;
  return best.tool;
};

/** Arguments that match the tool's schema, with values from the text where possible. */
export const argumentsFor = ({ parameters }: DeclaredTool, text: string): Json =>
  sampleArguments(parameters, hintsOf(text)) ?? {};
