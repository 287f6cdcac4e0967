import type { SettingRow } from './setting-row.ts';
import { aliasMap, modelName, oneOf, originList, wholeNumber, yesOrNo } from './value.ts';

/** What single families of clients need: how they are answered, their side requests, their names of models. */
export const FAMILY_SETTINGS = {
  PROXY_CORS_ALLOWED_ORIGINS: {
    slice: 'http',
    field: 'corsAllowedOrigins',
    type: originList,
    default:
      'app://obsidian.md,capacitor://localhost,http://localhost,http://localhost:*,http://127.0.0.1:*,http://[::1]:*',
    description:
      'The origins whose pages may call this server from a browser, separated by commas; `*` alone allows every page, and in place of a port any port.',
  },
  PROXY_OUTPUT_MODE: {
    slice: 'clients',
    field: 'outputMode',
    type: oneOf(['openai-json', 'obsidian-xml']),
    default: 'openai-json',
    description:
      'How calls of tools are told where neither the header `x-proxy-output-mode` nor the client itself says it: natively only, or also as `<use_tool>` blocks in the text.',
  },
  PROXY_RESPONSES_OUTPUT_MODE: {
    slice: 'clients',
    field: 'responsesOutputMode',
    type: oneOf(['openai-json', 'obsidian-xml']),
    default: null,
    defaultInDocs: 'as `PROXY_OUTPUT_MODE`',
    description: 'The same for `/v1/responses` alone.',
  },
  PROXY_STOP_AFTER_TOOLS: {
    slice: 'clients',
    field: 'stopAfterTools',
    type: oneOf(['first', 'burst']),
    default: null,
    description:
      'In `obsidian-xml`, whether an answer ends with its first call (`first`), or with the calls that follow one another within the grace (`burst`); by default it ends when the model ends it.',
  },
  PROXY_STOP_AFTER_TOOLS_GRACE_MS: {
    slice: 'clients',
    field: 'stopGraceMs',
    type: wholeNumber(0, 60_000),
    default: '300',
    unit: 'ms',
    description: 'How long `burst` waits for another call.',
  },
  PROXY_SUPPRESS_TAIL_AFTER_TOOLS: {
    slice: 'clients',
    field: 'suppressTail',
    type: yesOrNo,
    default: 'false',
    description: 'In `obsidian-xml`, whether text is left out that the model writes behind its first call.',
  },
  PROXY_TOOL_BLOCK_MAX: {
    slice: 'clients',
    field: 'toolBlockMax',
    type: wholeNumber(0, 10_000),
    default: '0',
    unit: 'blocks',
    description: 'In `obsidian-xml`, how many `<use_tool>` blocks an answer may hold; 0: any number.',
  },
  PROXY_TITLE_INTERCEPT: {
    slice: 'clients',
    field: 'titleIntercept',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether the requests by which Obsidian Copilot and opencode name a conversation are answered by a small model at low effort.',
  },
  PROXY_TITLE_MODEL: {
    slice: 'clients',
    field: 'titleModel',
    type: modelName,
    default: null,
    defaultInDocs: 'the smallest model of the list',
    description: 'The model that writes such titles, a name as in `/v1/models`.',
  },
  PROXY_MODEL_ALIASES: {
    slice: 'clients',
    field: 'modelAliases',
    type: aliasMap,
    default: '{}',
    description:
      'Further names of models, as a JSON object: `{"house-model": "gpt-5.5-high"}`. What a name stands for is a name as in `/v1/models`, one of the backend, or another of these; it goes before a model of the same name.',
  },
} as const satisfies Record<string, SettingRow>;
