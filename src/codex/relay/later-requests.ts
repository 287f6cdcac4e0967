import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';

/** What codex keeps of an answer when it asks the model again in the same turn. All else it drops. */
const KEPT: ReadonlySet<string> = new Set([
  'message',
  'reasoning',
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'tool_search_call',
  'compaction',
]);

/** The answers of one turn so far, as far as codex does not send them back by itself. */
export class PastAnswers {
  readonly #answers: { type: string; raw: JsonObject | null }[][] = [];

  begin(): void {
    this.#answers.push([]);
  }

  add(item: JsonObject): void {
    const type = typeOf(item);
    this.#answers.at(-1)?.push({ type, raw: KEPT.has(type) ? null : item });
  }

  /**
   * What stands behind our own items in a later request of a turn: the answers and the outputs of their calls.
   * What codex dropped of an answer is back at its place, and outputs are the tools' own.
   */
  restore(behind: readonly Json[]): readonly Json[] {
    const restored: Json[] = [];
    let rest = behind;
    for (const answer of this.#answers) {
      const firstOutput = rest.findIndex(isOutput);
      const own = firstOutput === -1 ? rest : rest.slice(0, firstOutput);
      const next = rest.findIndex((item, index) => index >= own.length && !isOutput(item));
      for (const item of merged(own, answer)) restored.push(item);
      for (const item of rest.slice(own.length, next === -1 ? rest.length : next))
        restored.push(plainOutput(item));
      rest = next === -1 ? [] : rest.slice(next);
    }
    return [...restored, ...rest];
  }
}

const typeOf = (item: Json | undefined): string =>
  isJsonObject(item) && typeof item['type'] === 'string' ? item['type'] : '';

const isOutput = (item: Json): boolean => typeOf(item).endsWith('_output');

const merged = (
  own: readonly Json[],
  answer: readonly { readonly type: string; readonly raw: JsonObject | null }[],
): readonly Json[] => {
  const all: Json[] = [];
  let at = 0;
  for (const { type, raw } of answer) {
    const item = own[at];
    const isThere = item !== undefined && typeOf(item) === type;
    if (isThere) at += 1;
    if (raw !== null) all.push(raw);
    else if (isThere) all.push(item);
  }
  return [...all, ...own.slice(at)];
};

/** codex says in front of a tool's output how long the tool took. */
const TIMED = /^Wall time: [\d.]+ seconds\nOutput:$/;

const plainOutput = (item: Json): Json => {
  if (!isJsonObject(item) || !Array.isArray(item['output'])) return item;
  const [first, ...rest] = item['output'] as readonly Json[];
  const isTimed = isJsonObject(first) && typeof first['text'] === 'string' && TIMED.test(first['text']);
  if (!isTimed) return item;
  const texts = rest.map((part) =>
    isJsonObject(part) && part['type'] === 'input_text' ? part['text'] : null,
  );
  // As it comes back later, in a client's history: the model is to see it the same.
  return { ...item, output: texts.every((text) => typeof text === 'string') ? texts.join('\n') : rest };
};
