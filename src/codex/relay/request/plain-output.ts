import { isJsonObject, type Json } from '../../../kit/json/json.ts';

/** codex says in front of a tool's output how long the tool took. */
const TIMED = /^Wall time: [\d.]+ seconds\nOutput:$/;
/** The same in front of one text: a result with structured content, of which codex shows the model nothing else. */
const TIMED_TEXT = /^Wall time: [\d.]+ seconds\nOutput:\n/;

/** An output as the tool gave it. */
export const plainOutput = (item: Json): Json => {
  if (!isJsonObject(item)) return item;
  if (typeof item['output'] === 'string') return { ...item, output: item['output'].replace(TIMED_TEXT, '') };
  if (!Array.isArray(item['output'])) return item;
  const [first, ...rest] = item['output'] as readonly Json[];
  const isTimed = isJsonObject(first) && typeof first['text'] === 'string' && TIMED.test(first['text']);
  if (!isTimed) return item;
  const texts = rest.map((part) =>
    isJsonObject(part) && part['type'] === 'input_text' ? part['text'] : null,
  );
  // As it comes back later, in a client's history: the model is to see it the same.
  return { ...item, output: texts.every((text) => typeof text === 'string') ? texts.join('\n') : rest };
};
