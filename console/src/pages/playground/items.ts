/** Items of the Responses API, as far as this page reads them. Others are kept and sent back as they are. */
export interface Item {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  /** JSON arguments, or the text of a custom tool. */
  readonly input: string;
  /** The type of the item that answers it. */
  readonly outputType: 'custom_tool_call_output' | 'function_call_output';
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The call in an item; null: it is not one that the client answers. */
export const toolCallIn = (item: Item): ToolCall | null => {
  const call = { callId: textOf(item['call_id']), name: textOf(item['name']) };
  if (item.type === 'function_call')
    return { ...call, input: textOf(item['arguments']), outputType: 'function_call_output' };
  if (item.type === 'custom_tool_call')
    return { ...call, input: textOf(item['input']), outputType: 'custom_tool_call_output' };
  return null;
};

/** The calls that have no output yet. */
export const openCalls = (items: readonly Item[]): readonly ToolCall[] => {
  const answered = new Set(
    items.filter(({ type }) => type.endsWith('_call_output')).map((item) => item['call_id']),
  );
  return items.flatMap((item) => toolCallIn(item) ?? []).filter(({ callId }) => !answered.has(callId));
};

export const outputOf = ({ callId, outputType }: ToolCall, output: string): Item => ({
  type: outputType,
  call_id: callId,
  output,
});

/** A message of the user; images are data URLs. */
export const userMessage = (text: string, images: readonly string[]): Item => ({
  type: 'message',
  role: 'user',
  content: [
    ...(text === '' ? [] : [{ type: 'input_text', text }]),
    ...images.map((url) => ({ type: 'input_image', image_url: url })),
  ],
});

export interface ShownPart {
  /** Its place in the item, from 1. */
  readonly id: number;
  readonly kind: 'image' | 'refusal' | 'text';
  readonly value: string;
}

/** The texts and images of a message or of reasoning. */
export const partsOf = (item: Item): readonly ShownPart[] => {
  const parts = [item['content'], item['summary']].flatMap((list) => (Array.isArray(list) ? list : []));
  return parts.flatMap((part: Readonly<Record<string, unknown>>, index): ShownPart[] => {
    const id = index + 1;
    if (typeof part['text'] === 'string') return [{ id, kind: 'text', value: part['text'] }];
    if (typeof part['refusal'] === 'string') return [{ id, kind: 'refusal', value: part['refusal'] }];
    if (typeof part['image_url'] === 'string') return [{ id, kind: 'image', value: part['image_url'] }];
    return [];
  });
};

/** A generated image as a data URL; null: the item has none. */
export const generatedImage = (item: Item): string | null =>
  item.type === 'image_generation_call' && typeof item['result'] === 'string'
    ? `data:image/png;base64,${item['result']}`
    : null;
