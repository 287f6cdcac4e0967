import { isJsonObject, wellFormedJson, type Json, type JsonObject } from '../../../kit/json/json.ts';

/** What was wrong with an event. */
export type Repair = 'no_call_id' | 'arguments' | 'usage';

export interface RepairedEvent {
  readonly event: JsonObject;
  readonly repairs: readonly Repair[];
}

/** Input fields of calls, by the event that carries a whole input. */
const INPUT_EVENTS: Readonly<Record<string, 'arguments' | 'input'>> = {
  'response.function_call_arguments.done': 'arguments',
  'response.custom_tool_call_input.done': 'input',
};
const INPUT_FIELDS: Readonly<Record<string, 'arguments' | 'input'>> = {
  function_call: 'arguments',
  custom_tool_call: 'input',
};

/** The events that are looked at. */
const REPAIRED: ReadonlySet<string> = new Set([
  ...Object.keys(INPUT_EVENTS),
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
]);

/**
 * Repairs the events of one answer where a backend deviates from the Responses API in a way that the
 * app-server does not accept: it drops such calls, and fails an answer whose usage it cannot read.
 */
export class EventRepairs {
  readonly #mintCallId: () => string;
  /** The ids assigned to calls, by item id and by output index. */
  readonly #callIds = new Map<Json, string>();

  constructor(mintCallId: () => string) {
    this.#mintCallId = mintCallId;
  }

  /** Null: the event needs no repair. */
  repair(type: string, event: JsonObject): RepairedEvent | null {
    if (!REPAIRED.has(type)) return null;
    const repairs = new Set<Repair>();
    const repaired = this.#repaired(type, event, repairs);
    return repairs.size === 0 ? null : { event: repaired, repairs: [...repairs] };
  }

  #repaired(type: string, event: JsonObject, repairs: Set<Repair>): JsonObject {
    const inputField = INPUT_EVENTS[type];
    if (inputField !== undefined) return withTextInput(event, inputField, repairs);
    switch (type) {
      case 'response.output_item.done':
        return { ...event, item: this.#item(event['item'], event['output_index'], repairs) };
      case 'response.completed':
      case 'response.incomplete': {
        const { response } = event;
        if (!isJsonObject(response)) return event;
        const { usage, output } = response;
        const repaired = {
          ...response,
          usage: repairedUsage(usage, repairs),
          output: Array.isArray(output)
            ? (output as readonly Json[]).map((item, index) => this.#item(item, index, repairs) ?? null)
            : output,
        };
        return { ...event, response: repaired };
      }
      default:
        return event;
    }
  }

  #item(item: Json | undefined, index: Json | undefined, repairs: Set<Repair>): Json | undefined {
    const type = isJsonObject(item) ? item['type'] : undefined;
    const inputField = typeof type === 'string' ? INPUT_FIELDS[type] : undefined;
    if (!isJsonObject(item) || inputField === undefined) return item;
    const call = withTextInput(item, inputField, repairs);
    if (isName(item['call_id']) || !isName(item['name'])) return call;
    repairs.add('no_call_id');
    return { ...call, call_id: this.#callId(item['id'], index) };
  }

  #callId(itemId: Json | undefined, index: Json | undefined): string {
    const keys = [itemId, index].filter((key) => isName(key) || typeof key === 'number');
    const known = keys.map((key) => this.#callIds.get(key as Json)).find((id) => id !== undefined);
    const callId = known ?? this.#mintCallId();
    for (const key of keys) this.#callIds.set(key, callId);
    return callId;
  }
}

const isName = (value: Json | undefined): value is string => typeof value === 'string' && value !== '';

/** A missing input stays missing: it may have arrived in deltas. */
const withTextInput = (
  object: JsonObject,
  field: 'arguments' | 'input',
  repairs: Set<Repair>,
): JsonObject => {
  const value = object[field];
  if (value === undefined || typeof value === 'string') return object;
  repairs.add('arguments');
  return { ...object, [field]: wellFormedJson(value) };
};

/** Accepts the Chat API's field names. Removes usage without any count. */
const repairedUsage = (usage: Json | undefined, repairs: Set<Repair>): Json | undefined => {
  if (usage === undefined || usage === null || isReadableUsage(usage)) return usage;
  repairs.add('usage');
  if (!isJsonObject(usage)) return null;
  const input = countIn(usage, 'input_tokens') ?? countIn(usage, 'prompt_tokens');
  const output = countIn(usage, 'output_tokens') ?? countIn(usage, 'completion_tokens');
  const total = countIn(usage, 'total_tokens');
  if (input === null && output === null && total === null) return null;
  const details = (name: 'input' | 'output', chatName: 'prompt' | 'completion'): JsonObject => {
    const given = usage[`${name}_tokens_details`] ?? usage[`${chatName}_tokens_details`];
    return isJsonObject(given) ? given : {};
  };
  const inputDetails = details('input', 'prompt');
  const outputDetails = details('output', 'completion');
  const known = (input ?? 0) + (output ?? 0);
  return {
    ...usage,
    input_tokens: input ?? Math.max((total ?? 0) - (output ?? 0), 0),
    input_tokens_details: { ...inputDetails, cached_tokens: countIn(inputDetails, 'cached_tokens') ?? 0 },
    output_tokens: output ?? Math.max((total ?? 0) - (input ?? 0), 0),
    output_tokens_details: {
      ...outputDetails,
      reasoning_tokens: countIn(outputDetails, 'reasoning_tokens') ?? 0,
    },
    total_tokens: total ?? known,
  };
};

/** Whether the app-server can read it. */
const isReadableUsage = (usage: Json): boolean =>
  isJsonObject(usage) &&
  ['input_tokens', 'output_tokens', 'total_tokens'].every((name) => countIn(usage, name) !== null) &&
  hasCount(usage['input_tokens_details'], 'cached_tokens') &&
  hasCount(usage['output_tokens_details'], 'reasoning_tokens');

const hasCount = (details: Json | undefined, name: string): boolean =>
  details === undefined || details === null || (isJsonObject(details) && countIn(details, name) !== null);

const countIn = (object: JsonObject, name: string): number | null => {
  const value = object[name];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
};
