import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { apiError, detail, firstAnswer, inputItems, inputParts, textOf, typeOf } from './rule.ts';
import type { Answer, PlacedItem, Rule } from './rule.ts';
import { tooLong } from './rules-body.ts';

const REASONING = 'reasoning';

/** An output's id may begin like its call's: codex writes `fco_…`. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fc',
};

/** Prefixes that the service itself uses; whether it requires them is unknown. */
const LIKELY_PREFIXES: Readonly<Record<string, string>> = {
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctc',
  web_search_call: 'ws',
  image_generation_call: 'ig',
};

const CALLS = new Set(['function_call', 'custom_tool_call', 'local_shell_call', 'tool_search_call']);
const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output', 'tool_search_output']);

const idPrefix =
  (prefixes: Readonly<Record<string, string>>) =>
  ({ item, at }: PlacedItem): Answer | null => {
    const id = item['id'];
    const prefix = prefixes[typeOf(item)];
    if (typeof id !== 'string' || prefix === undefined || id.startsWith(prefix)) return null;
    return apiError(`Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`, {
      param: `${at}.id`,
      code: 'invalid_value',
    });
  };

const longString =
  (key: string) =>
  ({ item, at }: PlacedItem): Answer | null => {
    const value = item[key];
    return typeof value === 'string' && value.length > 64 ? tooLong(`${at}.${key}`, value) : null;
  };

const isReasoningWith = (item: JsonObject, has: (encrypted: Json | undefined) => boolean): boolean =>
  item['type'] === REASONING && has(item['encrypted_content'] ?? undefined);

const callIds = (items: readonly PlacedItem[], types: ReadonlySet<string>): ReadonlySet<Json> =>
  new Set(items.filter(({ item }) => types.has(typeOf(item))).flatMap(({ item }) => item['call_id'] ?? []));

export const INPUT_RULES: readonly Rule[] = [
  {
    id: 'role.system',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) =>
      firstAnswer(inputItems(body), ({ item }) =>
        item['role'] === 'system' ? detail('System messages are not allowed') : null,
      ),
  },
  {
    id: 'reasoning.encrypted',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) =>
      firstAnswer(inputItems(body), ({ item }) =>
        textOf(item['id']).startsWith('rs_') && isReasoningWith(item, (encrypted) => encrypted === undefined)
          ? apiError(
              `Item with id '${textOf(item['id'])}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
              { param: 'input', status: 404 },
            )
          : null,
      ),
  },
  {
    id: 'reasoning.own',
    confidence: 'A',
    requestFormat: 'both',
    onlyFoundByTrying: true,
    breaks: ({ body, headers, memory, settings }) =>
      firstAnswer(inputItems(body), ({ item }) =>
        isReasoningWith(
          item,
          (encrypted) =>
            typeof encrypted === 'string' &&
            headers['chatgpt-account-id'] !== undefined &&
            memory.issued.get(encrypted) !== headers['chatgpt-account-id'] &&
            !settings.ownEncrypted.has(encrypted),
        )
          ? apiError(
              `The encrypted content for item ${textOf(item['id'])} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
              { code: 'invalid_encrypted_content' },
            )
          : null,
      ),
  },
  {
    id: 'reasoning.followed',
    confidence: 'C',
    requestFormat: 'both',
    breaks: ({ body }) => {
      const items = inputItems(body);
      return firstAnswer([...items.entries()], ([index, { item }]) => {
        if (item['type'] !== REASONING) return null;
        const next = items.slice(index + 1).find((other) => other.item['type'] !== REASONING)?.item;
        const follows =
          next !== undefined &&
          (next['role'] === 'assistant' || /_call$|compaction/.test(textOf(next['type'])));
        return follows
          ? null
          : apiError(
              `Item '${textOf(item['id'])}' of type 'reasoning' was provided without its required following item.`,
              { param: 'input' },
            );
      });
    },
  },
  {
    id: 'id.prefix',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) => firstAnswer(inputItems(body), idPrefix(PREFIXES)),
  },
  {
    id: 'id.likely-prefix',
    confidence: 'C',
    requestFormat: 'both',
    breaks: ({ body }) => firstAnswer(inputItems(body), idPrefix(LIKELY_PREFIXES)),
  },
  {
    id: 'id.length',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) => firstAnswer(inputItems(body), longString('id')),
  },
  {
    id: 'call_id.length',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) => firstAnswer(inputItems(body), longString('call_id')),
  },
  {
    id: 'call_id.paired',
    confidence: 'C',
    requestFormat: 'both',
    breaks: ({ body }) => {
      const items = inputItems(body);
      const [called, answered] = [callIds(items, CALLS), callIds(items, OUTPUTS)];
      const lonelyOutput = [...answered].find((id) => !called.has(id));
      if (lonelyOutput !== undefined)
        return apiError(`No tool call found for function call output with call_id ${textOf(lonelyOutput)}.`, {
          param: 'input',
        });
      const lonelyCall = [...called].find((id) => !answered.has(id));
      return lonelyCall === undefined
        ? null
        : apiError(`No tool output found for function call ${textOf(lonelyCall)}.`, { param: 'input' });
    },
  },
  {
    id: 'call.namespace',
    confidence: 'B',
    requestFormat: 'both',
    onlyFoundByTrying: true,
    breaks: ({ body, settings }) =>
      firstAnswer(settings.namespaceOnCalls === 'refused' ? inputItems(body) : [], ({ item, at }) =>
        CALLS.has(typeOf(item)) && item['namespace'] !== undefined
          ? apiError(`Unknown parameter: '${at}.namespace'.`, {
              param: `${at}.namespace`,
              code: 'unknown_parameter',
            })
          : null,
      ),
  },
  {
    id: 'part.audio',
    confidence: 'B',
    requestFormat: 'both',
    breaks: ({ body }) =>
      firstAnswer(inputParts(body), ({ item, at }) =>
        item['type'] === 'input_audio'
          ? apiError(`Invalid value: 'input_audio'. Supported values are: 'input_text' and 'input_image'.`, {
              param: `${at}.type`,
              code: 'invalid_value',
            })
          : null,
      ),
  },
  {
    id: 'part.file',
    confidence: 'C',
    requestFormat: 'both',
    breaks: ({ body }) =>
      firstAnswer(inputParts(body), ({ item, at }) =>
        item['type'] === 'input_file'
          ? apiError(`Invalid value: 'input_file'. Supported values are: 'input_text' and 'input_image'.`, {
              param: `${at}.type`,
              code: 'invalid_value',
            })
          : null,
      ),
  },
  {
    id: 'image.remote',
    confidence: 'B',
    requestFormat: 'both',
    breaks: ({ body }) =>
      firstAnswer(inputParts(body), ({ item, at }) =>
        item['type'] === 'input_image' && !textOf(item['image_url']).startsWith('data:')
          ? apiError(`Error while downloading ${textOf(item['image_url'])}.`, {
              param: `${at}.image_url`,
              code: 'invalid_value',
            })
          : null,
      ),
  },
];
