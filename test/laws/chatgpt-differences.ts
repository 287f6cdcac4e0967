import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import {
  isCarried,
  mapItems,
  mapParts,
  objects,
  PROVIDER_DIFFERENCES,
  textOf,
  UUID_V7,
  without,
  type Difference,
} from './exact-differences.ts';

/**
 * Where the body that reaches the ChatGPT service differs in the Responses format, in addition to the differences for
 * a provider. Applied after those.
 */
export const CHATGPT_ONLY: readonly Difference[] = [
  {
    field:
      '`temperature`, `top_p`, penalties, `top_logprobs`, `max_output_tokens`, `max_tool_calls`, `truncation`, `context_management`, `metadata`, `user`, `safety_identifier`, `prompt_cache_retention`, `prompt_cache_options`, `access_programs`, `image`',
    arrives: 'nothing',
    why: 'The service refuses them. [Parameters](parameters.md) says what happens instead.',
    apply: (own) => without(own, ...REFUSED),
  },
  {
    field: '`prompt_cache_breakpoint` of a part',
    arrives: 'nothing',
    why: 'The service refuses it. It is named in `x-proxy-ignored-params`.',
    apply: (own) =>
      mapItems(own, (item) => mapParts(item, (part) => without(part, 'prompt_cache_breakpoint'))),
  },
  {
    field: '`caller` and `async` of a call, `caller`, `name` and `namespace` of an output, `reasoning.mode`',
    arrives: 'nothing',
    why: 'codex never sends them, so it is unknown whether the service accepts them. They are named in `x-proxy-ignored-params`.',
    apply(own) {
      const items = mapItems(own, (item) => (isCarried(item) ? item : without(item, 'caller')));
      const reasoning = isJsonObject(own['reasoning']) ? own['reasoning'] : null;
      return reasoning === null ? items : { ...items, reasoning: without(reasoning, 'mode') };
    },
  },
  {
    field: '`service_tier`',
    arrives: '`priority` for `priority` and `fast`, else nothing',
    why: 'The service knows one tier. Others than `auto` and `default` are named in `x-proxy-ignored-params`.',
    apply(own) {
      const isFast = ['priority', 'fast'].includes(textOf(own['service_tier']));
      return isFast ? { ...own, service_tier: 'priority' } : without(own, 'service_tier');
    },
  },
  {
    field: '`prompt_cache_key`',
    arrives: 'a UUIDv7 of the conversation, unless the client sent one',
    why: 'The service may put a cold key in the place of any other.',
    apply(own, arrived) {
      const key = textOf(arrived['prompt_cache_key']);
      return { ...own, prompt_cache_key: UUID_V7.test(key) ? key : 'a UUIDv7' };
    },
  },
  {
    field: '`instructions` that are absent',
    arrives: '`""`',
    why: 'The service insists on the field.',
    apply: (own) => ({ instructions: '', ...own }),
  },
  {
    field: '`tools`, `tool_choice`, `parallel_tool_calls`, `reasoning` that are absent',
    arrives: '`[]`, `auto`, `true`, `{}`',
    why: 'The service gets what codex sends it.',
    apply: (own) => ({ tools: [], tool_choice: 'auto', parallel_tool_calls: true, reasoning: {}, ...own }),
  },
  {
    field: 'items of type `additional_tools`',
    arrives: 'their tools, behind those of the request',
    why: 'The service takes tools in one place only.',
    apply(own) {
      const isTools = ({ type }: JsonObject): boolean => type === 'additional_tools';
      const items = objects(own['input']);
      const tools = items.filter(isTools).flatMap((item) => objects(item['tools']));
      return {
        ...own,
        tools: [...objects(own['tools']), ...tools],
        input: items.filter((item) => !isTools(item)),
      };
    },
  },
  {
    field: 'further fields of functions and custom tools, other than `defer_loading`',
    arrives: 'nothing',
    why: 'The service gets what codex sends it. They are named in `x-proxy-ignored-params`.',
    apply: (own) => ({
      ...own,
      tools: objects(own['tools']).map((tool) => without(tool, 'allowed_callers')),
    }),
  },
  {
    field: '`strict` and `parameters` of a function that are absent',
    arrives: '`false` and an empty schema',
    why: 'The service gets what codex sends it.',
    apply: (own) => ({
      ...own,
      tools: objects(own['tools']).map((tool) =>
        tool['type'] === 'function'
          ? { strict: false, parameters: { type: 'object', properties: {} }, ...tool }
          : tool,
      ),
    }),
  },
  {
    field: 'a web search under its preview or a dated name',
    arrives: '`web_search`',
    why: 'The service knows one name.',
    apply: (own) => ({
      ...own,
      tools: objects(own['tools']).map((tool) =>
        textOf(tool['type']).startsWith('web_search') ? { ...tool, type: 'web_search' } : tool,
      ),
    }),
  },
  {
    field: 'a part `input_file`',
    arrives: 'a part `input_text`: the name of the file, and its text',
    why: 'codex sends no files, so it is unknown whether the service accepts any. A file that is not text gets a 400.',
    apply: (own) =>
      mapItems(own, (item) =>
        mapParts(item, (part) => {
          if (part['type'] !== 'input_file') return part;
          const data = textOf(part['file_data']);
          const text = Buffer.from(data.slice(data.indexOf(',') + 1), 'base64').toString('utf8');
          return { type: 'input_text', text: `${textOf(part['filename'])}:\n\n${text}` };
        }),
      ),
  },
  {
    field: 'an image by URL',
    arrives: 'the image, as a data URL',
    why: 'The service hangs or fails on it, so the image is fetched here.',
    apply: (own) =>
      mapItems(own, (item) =>
        mapParts(item, (part) => {
          const isRemote = textOf(part['image_url']).startsWith('http:');
          return isRemote ? { ...part, image_url: `data:image/png;base64,${PIXEL}` } : part;
        }),
      ),
  },
  {
    field: '`reasoning.effort` that the model does not have',
    arrives: 'the nearest that it has',
    why: 'The service refuses others. It is named in `x-proxy-ignored-params`.',
    apply(own) {
      const reasoning = isJsonObject(own['reasoning']) ? own['reasoning'] : {};
      const effort = NEAREST[textOf(reasoning['effort'])];
      return effort === undefined ? own : { ...own, reasoning: { ...reasoning, effort } };
    },
  },
  {
    field: '`client_metadata`',
    arrives:
      "codex's own notes about the turn, with the id of the conversation; the notes of the client over them",
    why: 'The service gets what codex sends it.',
    apply(own, arrived) {
      const [notes, told] = [own['client_metadata'], arrived['client_metadata']];
      return {
        ...own,
        client_metadata: isJsonObject(told) ? { ...told, ...(isJsonObject(notes) ? notes : {}) } : 'missing',
      };
    },
  },
  {
    field: 'a message of role `system`',
    arrives: 'a message of role `developer`',
    why: 'The service takes no other.',
    apply: (own) =>
      mapItems(own, (item) => (item['role'] === 'system' ? { ...item, role: 'developer' } : item)),
  },
  {
    field: '`reasoning` items without encrypted content, or with nothing of the model behind them',
    arrives: 'nothing',
    why: 'The service refuses them. They are named in `x-proxy-ignored-params`.',
    apply(own) {
      const items = objects(own['input']);
      const isRead = (item: JsonObject, index: number): boolean => {
        if (item['type'] !== 'reasoning') return true;
        const next = items.slice(index + 1).find((one) => one['type'] !== 'reasoning');
        const isModelOutput =
          next?.['role'] === 'assistant' || /_call$|^compaction$/.test(textOf(next?.['type']));
        return isModelOutput && textOf(item['encrypted_content']) !== '';
      };
      return { ...own, input: items.filter(isRead) };
    },
  },
  {
    field:
      'an `id` of another form than the service gives, or that another item has; a `call_id` over 64 characters',
    arrives: 'no id; a short `call_id`, the same for the call and its output',
    why: 'The service refuses them.',
    apply(own, arrived) {
      const seen = new Set<string>();
      const sent = objects(arrived['input']);
      const items = objects(own['input']).map((item, index) => {
        const id = textOf(item['id']);
        const isFitting =
          id.length <= 64 && PREFIXED[textOf(item['type'])]?.test(id) !== false && !seen.has(id);
        if (isFitting) seen.add(id);
        const named = isFitting ? item : without(item, 'id');
        const callId = textOf(item['call_id']);
        const short = textOf(sent[index]?.['call_id']);
        const isShort = short.length <= 64 && short.startsWith(callId.slice(0, 40));
        return callId.length > 64 && isShort ? { ...named, call_id: short } : named;
      });
      return { ...own, input: items };
    },
  },
];

export const CHATGPT_DIFFERENCES: readonly Difference[] = [...PROVIDER_DIFFERENCES, ...CHATGPT_ONLY];

/** The image that the test serves. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const REFUSED = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'max_output_tokens',
  'max_tool_calls',
  'truncation',
  'context_management',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_retention',
  'prompt_cache_options',
  'access_programs',
  'image',
];

/** For models with `low` to `xhigh`. */
const NEAREST: Readonly<Record<string, string>> = {
  none: 'low',
  minimal: 'low',
  max: 'xhigh',
  ultra: 'xhigh',
};

const PREFIXED: Readonly<Record<string, RegExp>> = {
  message: /^msg_[\w-]+$/,
  reasoning: /^rs_[\w-]+$/,
  function_call: /^fc_[\w-]+$/,
  function_call_output: /^fco_[\w-]+$/,
  custom_tool_call: /^ctc_[\w-]+$/,
  custom_tool_call_output: /^ctco_[\w-]+$/,
  compaction: /^cmp_[\w-]+$/,
  web_search_call: /^ws_[\w-]+$/,
  image_generation_call: /^ig_[\w-]+$/,
  tool_search_call: /^tsc_[\w-]+$/,
  tool_search_output: /^tso_[\w-]+$/,
};
