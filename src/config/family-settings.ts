import { deployment, documents, everyday } from './setting-row.ts';
import { aliasMap, modelName, oneOf, wholeNumber, yesOrNo } from './value.ts';

/** What certain clients need: output modes, titles of conversations, names of models. */
export const FAMILY_SETTINGS = {
  PROXY_MODEL_ALIASES: everyday({
    at: 'clients.modelAliases',
    type: aliasMap,
    default: '{}',
    description:
      'Your own names for models, as a JSON object: `{"house-model": "gpt-5.5-high"}`. The value is a name from `/v1/models`, a name of the backend, or another alias. An alias wins over a model of the same name.',
  }),
  PROXY_OUTPUT_MODE: documents({
    at: 'clients.outputMode',
    type: oneOf(['openai-json', 'obsidian-xml']),
    default: 'openai-json',
    description:
      'How tool calls appear: as normal calls (`openai-json`), or also as `<use_tool>` blocks in the text (`obsidian-xml`). The header `x-proxy-output-mode` and a recognised client win.',
  }),
  PROXY_RESPONSES_OUTPUT_MODE: documents({
    at: 'clients.responsesOutputMode',
    type: oneOf(['openai-json', 'obsidian-xml']),
    defaultInDocs: 'as `PROXY_OUTPUT_MODE`',
    description: 'The same for `/v1/responses` only.',
  }),
  PROXY_STOP_AFTER_TOOLS: documents({
    at: 'clients.stopAfterTools',
    type: oneOf(['first', 'burst']),
    description:
      'In `obsidian-xml`: whether an answer ends after its first call (`first`), or after calls that follow each other within the grace time (`burst`). If not set, it ends when the model ends it.',
  }),
  PROXY_STOP_AFTER_TOOLS_GRACE_MS: documents({
    at: 'clients.stopGraceMs',
    type: wholeNumber(0, 60_000, 'ms'),
    default: '300',
    description: 'How long `burst` waits for another call.',
  }),
  PROXY_SUPPRESS_TAIL_AFTER_TOOLS: documents({
    at: 'clients.suppressTail',
    type: yesOrNo,
    default: 'false',
    description: 'In `obsidian-xml`: whether text that the model writes after its first call is left out.',
  }),
  PROXY_TOOL_BLOCK_MAX: documents({
    at: 'clients.toolBlockMax',
    type: wholeNumber(0, 10_000, 'blocks'),
    default: '0',
    description: 'In `obsidian-xml`: how many `<use_tool>` blocks an answer may contain. 0: any number.',
  }),
  PROXY_TITLE_INTERCEPT: deployment({
    at: 'clients.titleIntercept',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether a small model at low effort answers the requests by which Obsidian Copilot and opencode name a conversation.',
  }),
  PROXY_TITLE_MODEL: deployment({
    at: 'clients.titleModel',
    type: modelName,
    defaultInDocs: 'the smallest listed model',
    description: 'The model for such titles, as named in `/v1/models`.',
  }),
};
