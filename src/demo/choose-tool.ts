import type { Json } from '../kit/json/json.ts';
import { sampleArguments } from '../schemas/sample-value.ts';
import type { DeclaredTool, ToolWish } from './read-request.ts';
import { hintsOf, topicWords } from './words.ts';

/** Coding agents describe a tool with pages of rules. Its topic is in the first sentences, the rest has every word. */
const TOPIC_CHARS = 200;

/** The tool that shares most words with the text; a word of the name counts double. */
export const chooseTool = (
  tools: readonly DeclaredTool[],
  wish: ToolWish,
  text: string,
): DeclaredTool | null => {
  if (wish.mode === 'never') return null;
  const open = tools.filter((tool) => wish.names === null || wish.names.includes(tool.name));
  const asked = topicWords(text);
  const shared = (words: string): number => [...topicWords(words)].filter((word) => asked.has(word)).length;
  const scored = open.map((tool) => ({
    tool,
    score: 2 * shared(tool.name) + shared(tool.description.slice(0, TOPIC_CHARS)),
  }));
  const best = scored.toSorted((a, b) => b.score - a.score)[0];
  if (best === undefined || (best.score === 0 && wish.mode !== 'always')) return null;
  return best.tool;
};

/** Arguments that fit the tool's schema, as far as they can be told from the text. */
export const argumentsFor = ({ parameters }: DeclaredTool, text: string): Json =>
  sampleArguments(parameters, hintsOf(text)) ?? {};
