import { isJsonObject, type Json } from '../../../kit/json/json.ts';

/** codex prepends the duration to a tool's output. */
const TIMED = /^Wall time: [\d.]+ seconds\nOutput:$/;
/** The same before a single text: a result with structured content, which is all that codex shows the model. */
const TIMED_TEXT = /^Wall time: [\d.]+ seconds\nOutput:\n/;

/** Restores the output that the tool returned. */
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
  // In the same form as in a client's history later, so that the model sees the same.
  return { ...item, output: texts.every((text) => typeof text === 'string') ? texts.join('\n') : rest };
};
