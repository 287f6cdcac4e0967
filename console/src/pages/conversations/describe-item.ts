import { indented } from '../../format/indented.ts';
import type { Item } from './conversation-answers.ts';

/** A piece of an item as people read it. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  /** Only data URLs: the page loads nothing from elsewhere. */
  | { readonly kind: 'image'; readonly url: string };

export interface DescribedItem {
  /** `User`, `Assistant`, `Tool call: get_weather`. */
  readonly title: string;
  readonly tone: 'assistant' | 'system' | 'tool' | 'user';
  readonly pieces: readonly Piece[];
  /** Shown only when it is opened. */
  readonly isFolded: boolean;
}

const ROLES: Readonly<Record<string, Pick<DescribedItem, 'title' | 'tone'>>> = {
  user: { title: 'User', tone: 'user' },
  assistant: { title: 'Assistant', tone: 'assistant' },
  system: { title: 'System', tone: 'system' },
  developer: { title: 'Developer', tone: 'system' },
};

/** Turns an item of the API into text, code and images. An unknown item is shown as JSON. */
export const describeItem = (item: Item): DescribedItem => {
  const tool = { tone: 'tool', isFolded: false } as const;
  switch (item.type) {
    case 'message': {
      const role = String(item['role']);
      const known = ROLES[role] ?? { title: role, tone: 'system' };
      return { ...known, pieces: partsOf(item['content']), isFolded: known.tone === 'system' };
    }
    case 'reasoning':
      return {
        title: 'Reasoning',
        tone: 'assistant',
        pieces: orElse([...partsOf(item['summary']), ...partsOf(item['content'])], 'No summary.'),
        isFolded: true,
      };
    case 'function_call':
      return { ...tool, title: `Tool call: ${nameOf(item)}`, pieces: codeOf(item['arguments']) };
    case 'custom_tool_call':
      return { ...tool, title: `Tool call: ${nameOf(item)}`, pieces: codeOf(item['input']) };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { ...tool, title: 'Tool output', pieces: outputOf(item['output']) };
    case 'web_search_call':
      return { ...tool, title: 'Web search', pieces: codeOf(item['action']) };
    case 'image_generation_call':
      return { ...tool, title: 'Generated image', pieces: generatedImage(item['result']) };
    case 'compaction':
      return {
        ...tool,
        title: 'Compaction',
        pieces: [{ kind: 'text', text: 'Everything before was summarized.' }],
      };
    default:
      return { ...tool, title: item.type.replaceAll('_', ' '), pieces: codeOf(item), isFolded: true };
  }
};

const nameOf = (item: Item): string => (typeof item['name'] === 'string' ? item['name'] : 'unknown');

const orElse = (pieces: readonly Piece[], text: string): readonly Piece[] =>
  pieces.length === 0 ? [{ kind: 'text', text }] : pieces;

/** The parts of a message, of a tool output, or of reasoning. */
const partsOf = (content: unknown): readonly Piece[] => {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return Array.isArray(content) ? content.map(pieceOf) : [];
};

const pieceOf = (part: unknown): Piece => {
  const fields = (typeof part === 'object' && part !== null ? part : {}) as Readonly<Record<string, unknown>>;
  for (const name of ['text', 'refusal']) {
    const text = fields[name];
    if (typeof text === 'string') return { kind: 'text', text };
  }
  if (fields['type'] === 'input_image') return imageOf(fields['image_url']);
  if (fields['type'] === 'input_file') return { kind: 'text', text: `[File: ${fileName(fields)}]` };
  return { kind: 'code', text: printed(part) };
};

const fileName = (fields: Readonly<Record<string, unknown>>): string => {
  const name = fields['filename'] ?? fields['file_url'] ?? fields['file_id'];
  return typeof name === 'string' ? name : 'without a name';
};

const imageOf = (url: unknown): Piece => {
  if (typeof url !== 'string') return { kind: 'text', text: '[Image]' };
  return url.startsWith('data:image/') ? { kind: 'image', url } : { kind: 'text', text: `[Image: ${url}]` };
};

const generatedImage = (result: unknown): readonly Piece[] =>
  typeof result === 'string' && result !== ''
    ? [{ kind: 'image', url: `data:image/png;base64,${result}` }]
    : [{ kind: 'text', text: 'No image.' }];

const outputOf = (output: unknown): readonly Piece[] =>
  typeof output === 'string' ? codeOf(output) : partsOf(output);

/** JSON is indented. */
const codeOf = (value: unknown): readonly Piece[] => [{ kind: 'code', text: printed(value) }];

const printed = (value: unknown): string =>
  typeof value === 'string' ? indented(value) : (JSON.stringify(value, null, 2) ?? '');
