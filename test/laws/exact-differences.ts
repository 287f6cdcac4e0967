import { createHash } from 'node:crypto';

import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';

/**
 * Where the body that reaches a provider differs from the client's own Responses body. The table is printed into
 * `docs/parameters.md`; the law in `exactness.test.ts` checks that nothing else differs.
 */
export interface Difference {
  /** The part of the client's body. */
  readonly field: string;
  /** What arrives instead. */
  readonly arrives: string;
  readonly why: string;
  /** The expected body because of this row; `arrived` is for values that cannot be predicted. */
  apply(own: JsonObject, arrived: JsonObject): JsonObject;
}

export const PROVIDER_DIFFERENCES: readonly Difference[] = [
  {
    field: '`model` with an alias of this server',
    arrives: 'the model, and the effort or the tier of the alias',
    why: 'The request may name another effort or tier.',
    apply(own) {
      const [, model, effort] = /^(.+)-(low|high)$/.exec(textOf(own['model'])) ?? [];
      if (model === undefined || effort === undefined) return own;
      const said = isJsonObject(own['reasoning']) ? withoutNulls(own['reasoning']) : {};
      return { ...own, model, reasoning: { effort, ...said } };
    },
  },
  {
    field: '`output` of a call as an object with `content` and `success`',
    arrives:
      'its content; for a `success` of `false`, `Error: The tool call failed.` and a line break come first',
    why: 'No backend has a field for `success`.',
    apply: (own) =>
      mapItems(own, (item) => {
        const { output } = item;
        if (!isJsonObject(output) || isCarried(item)) return item;
        const content = output['content'] ?? '';
        const isFailed = output['success'] === false && typeof content === 'string';
        return { ...item, output: isFailed ? `Error: The tool call failed.\n${content}` : content };
      }),
  },
  {
    field: 'an item of type `tool_output`',
    arrives: '`function_call_output`',
    why: 'It is another name for it.',
    apply: (own) =>
      mapItems(own, (item) =>
        item['type'] === 'tool_output' ? { ...item, type: 'function_call_output' } : item,
      ),
  },
  {
    field: '`null`',
    arrives: 'nothing',
    why: 'A field that is `null` says as much as one that is absent.',
    apply(own) {
      const body = withoutNulls(own);
      const inner = (name: string): JsonObject => {
        const value = body[name];
        return isJsonObject(value) ? { [name]: withoutNulls(value) } : {};
      };
      const text = isJsonObject(body['text']) ? withoutNulls(body['text']) : null;
      const format = isJsonObject(text?.['format']) ? { format: withoutNulls(text['format']) } : {};
      return mapItems(
        {
          ...body,
          ...inner('reasoning'),
          ...(text === null ? {} : { text: { ...text, ...format } }),
          ...(Array.isArray(body['tools'])
            ? { tools: objects(body['tools']).map((tool) => (isClients(tool) ? withoutNulls(tool) : tool)) }
            : {}),
        },
        (item) => (isCarried(item) ? item : mapParts(withoutNulls(item), withoutNulls)),
      );
    },
  },
  {
    field: '`stream`, `stream_options`',
    arrives: '`stream: true`',
    why: 'Streaming is the only path; a JSON answer is the fold of it.',
    apply: (own) => ({ ...without(own, 'stream_options'), stream: true }),
  },
  {
    field: '`store`',
    arrives: '`store: false`',
    why: 'This server stores, not the backend.',
    apply: (own) => ({ ...own, store: false }),
  },
  {
    field: '`include`',
    arrives: '`reasoning.encrypted_content` first, then the values of the client, each once',
    why: 'codex asks for it: where nothing is stored, reasoning can come back in no other way. A model that refuses it is asked again without it.',
    apply(own) {
      const values = Array.isArray(own['include']) ? (own['include'] as readonly Json[]) : [];
      return { ...own, include: [...new Set<Json>(['reasoning.encrypted_content', ...values])] };
    },
  },
  {
    field: '`prompt_cache_key`',
    arrives: 'a key of the conversation, where the client sent none; the SHA-256 of a key over 64 characters',
    why: 'The prompt cache stays warm from request to request. Backends refuse longer keys.',
    apply(own, arrived) {
      const key = own['prompt_cache_key'];
      if (typeof key !== 'string') {
        const made = arrived['prompt_cache_key'];
        return {
          ...own,
          prompt_cache_key: typeof made === 'string' && UUID_V7.test(made) ? made : 'a UUIDv7',
        };
      }
      if (key.length <= 64) return own;
      return { ...own, prompt_cache_key: createHash('sha256').update(key).digest('hex') };
    },
  },
  {
    field: '`truncation: disabled`, `top_logprobs: 0`, a penalty of 0, `text.format` of type `text`',
    arrives: 'nothing',
    why: 'They ask for what happens anyway.',
    apply(own) {
      const usual = { truncation: 'disabled', top_logprobs: 0, presence_penalty: 0, frequency_penalty: 0 };
      const names = Object.entries(usual).flatMap(([name, value]) => (own[name] === value ? [name] : []));
      const body = without(own, ...names);
      const text = body['text'];
      const isText = isJsonObject(text) && isJsonObject(text['format']) && text['format']['type'] === 'text';
      return isText ? { ...body, text: without(text, 'format') } : body;
    },
  },
  {
    field: '`text`, `reasoning`, `client_metadata`, `context_management` and `tools` with nothing in them',
    arrives: 'nothing',
    why: 'An empty list of tools is refused by some backends.',
    apply: (own) =>
      without(
        own,
        ...['text', 'reasoning', 'client_metadata', 'context_management', 'tools'].filter(
          (name) => JSON.stringify(own[name])?.length === 2,
        ),
      ),
  },
  {
    field: '`tool_choice`',
    arrives: '`auto` where there are tools and the client made no choice; nothing for `auto` without tools',
    why: 'codex says the default.',
    apply(own) {
      if (own['tools'] !== undefined || bringsTools(own)) return { tool_choice: 'auto', ...own };
      return own['tool_choice'] === 'auto' ? without(own, 'tool_choice') : own;
    },
  },
  {
    field: '`reasoning.generate_summary`',
    arrives: '`reasoning.summary`',
    why: 'It is the older name.',
    apply(own) {
      const reasoning = own['reasoning'];
      if (!isJsonObject(reasoning) || reasoning['generate_summary'] === undefined) return own;
      const { generate_summary: summary, ...rest } = reasoning;
      return { ...own, reasoning: { summary, ...rest } };
    },
  },
  {
    field: '`moderation`; a field, also of an item, that OpenAI does not have',
    arrives: 'nothing',
    why: 'They are not read; they are named in `x-proxy-ignored-params`.',
    apply: (own) =>
      mapItems(without(own, 'moderation', 'no_such_field'), (item) => without(item, 'no_such_field')),
  },
  {
    field: '`input` as a text; a message without `type`; `content` as a text',
    arrives: 'a list with one message of the user; `type: message`; a list with one part of text',
    why: 'The short forms mean the long ones.',
    apply(own) {
      const { input } = own;
      const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
      return mapItems({ ...own, input: items }, (item) => {
        if (item['role'] === undefined || isCarried(item)) return item;
        const { content } = item;
        const type = item['role'] === 'assistant' ? 'output_text' : 'input_text';
        return {
          ...item,
          type: 'message',
          ...(typeof content === 'string' ? { content: [{ type, text: content }] } : {}),
        };
      });
    },
  },
  {
    field:
      'a text part of the other side: `input_text` of an assistant, `output_text` or `refusal` of others',
    arrives: 'the text, in the part of its own side',
    why: 'A backend refuses the other. Clients mix them up.',
    apply: (own) =>
      mapItems(own, (item) => {
        const isAssistant = item['role'] === 'assistant';
        return mapParts(item, (part) => {
          if (isAssistant) return part['type'] === 'input_text' ? { ...part, type: 'output_text' } : part;
          if (part['type'] === 'output_text') return { type: 'input_text', text: part['text'] ?? null };
          return part['type'] === 'refusal' ? { type: 'input_text', text: part['refusal'] ?? null } : part;
        });
      }),
  },
  {
    field: '`status` of an item, `logprobs` and empty `annotations` of a text, an empty `id`',
    arrives: 'nothing',
    why: 'They come back with an output item, and say nothing to the model.',
    apply: (own) =>
      mapItems(own, (item) => {
        if (isCarried(item)) return item;
        const named = item['id'] === '' ? without(item, 'id') : item;
        return mapParts(without(named, 'status'), (part) => {
          const isEmpty = Array.isArray(part['annotations']) && part['annotations'].length === 0;
          return without(part, 'logprobs', ...(isEmpty ? ['annotations'] : []));
        });
      }),
  },
  {
    field: 'an empty assistant message',
    arrives: 'nothing',
    why: 'This server puts one in front of calls in its own answers.',
    apply: (own) =>
      mapItems(own, (item) =>
        item['role'] === 'assistant' &&
        partsOf(item).every((part) => (part['text'] ?? part['refusal']) === '')
          ? null
          : item,
      ),
  },
  {
    field: '`reasoning` items with neither encrypted content nor content',
    arrives: 'nothing',
    why: 'Only a backend that had stored them could read them. They are named in `x-proxy-ignored-params`.',
    apply: (own) =>
      mapItems(own, (item) => {
        if (item['type'] !== 'reasoning') return item;
        const isEncrypted = (item['encrypted_content'] ?? '') !== '';
        return isEncrypted || partsOf(item).some((part) => part['text'] !== '') ? item : null;
      }),
  },
  {
    field: 'half of a surrogate pair in a text',
    arrives: '`U+FFFD`',
    why: 'It is not a character; codex would not read the request.',
    apply: (own) => JSON.parse(JSON.stringify(own, wellFormed)) as JsonObject,
  },
];

export const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;

/** Whether the conversation declares tools. */
const bringsTools = ({ input }: JsonObject): boolean =>
  objects(input).some(
    ({ type, tools }) =>
      (type === 'additional_tools' || type === 'tool_search_output') && objects(tools).length > 0,
  );

/** A tool that the client declares and this server rewrites. */
const isClients = (tool: JsonObject): boolean => tool['type'] === 'function' || tool['type'] === 'custom';

/** Items that are passed through unread. */
export const isCarried = (item: JsonObject): boolean => !READ_TYPES.has(textOf(item['type'] ?? 'message'));

const READ_TYPES: ReadonlySet<string> = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'compaction',
]);

export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const objects = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];

export const without = (value: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));

const withoutNulls = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));

/** Null removes an item. */
export const mapItems = (body: JsonObject, map: (item: JsonObject) => JsonObject | null): JsonObject => {
  if (!Array.isArray(body['input'])) return body;
  const items = objects(body['input'] as Json).map(map);
  return { ...body, input: items.filter((item) => item !== null) };
};

const LISTS = ['content', 'output'] as const;

const partsOf = (item: JsonObject): readonly JsonObject[] => LISTS.flatMap((name) => objects(item[name]));

export const mapParts = (item: JsonObject, map: (part: JsonObject) => JsonObject): JsonObject => {
  const lists = LISTS.filter((name) => Array.isArray(item[name]));
  return { ...item, ...Object.fromEntries(lists.map((name) => [name, objects(item[name]).map(map)])) };
};
