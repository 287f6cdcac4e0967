import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import {
  commentaryThenFinal,
  contextLengthExceeded,
  cutMidStream,
  hello,
  http400,
  http404Model,
  http429,
  incompleteMaxTokens,
  inTurn,
  parallelCalls,
  reasoningThenText,
  refusal,
  says,
  toolCall,
} from '../support/scripts.ts';

export interface Scenario {
  /** The script of the model. */
  readonly script: Script;
  /** The client's body of `POST /v1/responses`. */
  readonly request: JsonObject;
  /** Whether the relay is between the app-server and the model. */
  readonly relay: boolean;
}

const ASK = { model: 'gpt-5.5', input: 'What is the weather?' };
const WITH_TOOLS = {
  ...ASK,
  tools: [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather of a city.',
      strict: true,
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
    },
  ],
};
const WITH_REASONING = {
  ...ASK,
  reasoning: { effort: 'high', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
};

/** An answer with items of hosted tools, then a text. */
const hosted = (tools: readonly JsonObject[], ...names: readonly (keyof typeof HOSTED_ITEMS)[]): Scenario =>
  relayed(says([...names.map((name) => hostedStep(HOSTED_ITEMS[name])), { text: 'It is sunny.' }]), {
    ...ASK,
    tools,
  });

/** Hosted tools that need the client, which ends the answer. */
const asking = (tools: readonly JsonObject[], ...names: readonly (keyof typeof HOSTED_ITEMS)[]): Scenario =>
  relayed(
    inTurn(
      says(names.map((name) => hostedStep(HOSTED_ITEMS[name]))),
      says([{ text: 'codex has answered in the place of the client.' }]),
    ),
    { ...ASK, tools },
  );

const CITATIONS: readonly JsonObject[] = [
  {
    type: 'url_citation',
    url: 'https://example.org/weather',
    title: 'Weather',
    start_index: 0,
    end_index: 12,
  },
  { type: 'file_citation', index: 12, file_id: 'file_1', filename: 'a.md' },
];
const SHOP = { type: 'mcp', server_label: 'shop', server_url: 'https://example.org/mcp' };

const bare = (script: Script, request: JsonObject = ASK): Scenario => ({ script, request, relay: false });
const relayed = (script: Script, request: JsonObject = ASK): Scenario => ({ script, request, relay: true });

const reasoningAndCall = says([
  { reasoning: { summary: ['Look it up.'], encrypted: 'opaque' } },
  { text: 'One moment.', phase: 'commentary' },
  { call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_weather' } },
]);

const contentFilter = says([{ text: 'This part was', end: 'incomplete' }, { incomplete: 'content_filter' }]);

/** Each name is a folder. `node test/scenarios/record.ts [name…]` records the real app-server. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  text: bare(hello, {
    ...ASK,
    instructions: 'Be brief.',
    metadata: { order: '4711' },
    text: { verbosity: 'low' },
  }),
  reasoning: bare(reasoningThenText, WITH_REASONING),
  'reasoning-unasked': bare(reasoningThenText),
  tools: bare(toolCall(), WITH_TOOLS),
  'parallel-tools': bare(parallelCalls, WITH_TOOLS),
  'parallel-tools-unwanted': bare(parallelCalls, { ...WITH_TOOLS, parallel_tool_calls: false }),
  'reasoning-text-tools': bare(reasoningAndCall, { ...WITH_REASONING, tools: WITH_TOOLS.tools }),
  commentary: bare(commentaryThenFinal),
  'cut-mid-stream': bare(cutMidStream),
  'context-length': bare(contextLengthExceeded),
  incomplete: bare(incompleteMaxTokens),
  'content-filter': bare(contentFilter),
  refusal: bare(refusal),
  'http-429': bare(http429()),
  'http-400': bare(http400()),
  'http-404': bare(http404Model('gpt-5.5')),
  'undeclared-call': bare(inTurn(toolCall('no_such_tool'), says([{ text: 'Then without.' }])), WITH_TOOLS),
  'relay-tools': relayed(toolCall(), WITH_TOOLS),
  'relay-parallel-tools': relayed(parallelCalls, WITH_TOOLS),
  'relay-reasoning-text-tools': relayed(reasoningAndCall, { ...WITH_REASONING, tools: WITH_TOOLS.tools }),
  'relay-refusal': relayed(refusal),
  'relay-content-filter': relayed(contentFilter),
  'relay-context-length': relayed(contextLengthExceeded),
  'relay-http-429': relayed(http429()),
  'relay-cut-mid-stream': relayed(cutMidStream),
  'hosted-web-search': relayed(
    says([hostedStep(HOSTED_ITEMS['web search']), { text: 'It is sunny.', annotations: CITATIONS }]),
    {
      ...ASK,
      tools: [{ type: 'web_search_preview', search_context_size: 'low' }],
      tool_choice: { type: 'web_search_preview' },
      include: ['web_search_call.action.sources'],
    },
  ),
  'hosted-file-search': hosted([{ type: 'file_search', vector_store_ids: ['vs_1'] }], 'file search'),
  'hosted-code-interpreter': hosted(
    [{ type: 'code_interpreter', container: { type: 'auto' } }],
    'code interpreter',
  ),
  'hosted-image': hosted([{ type: 'image_generation', partial_images: 1 }], 'image'),
  'hosted-mcp': hosted([{ ...SHOP, require_approval: 'never' }], 'list of MCP tools', 'MCP call'),
  'hosted-mcp-approval': asking([SHOP], 'list of MCP tools', 'MCP approval'),
  'hosted-computer': asking(
    [{ type: 'computer_use_preview', display_width: 8, display_height: 8, environment: 'browser' }],
    'computer',
  ),
  'hosted-local-shell': asking([{ type: 'local_shell' }], 'local shell'),
  'hosted-shell-and-patch': asking([{ type: 'shell' }, { type: 'apply_patch' }], 'shell', 'patch'),
  'hosted-cut': relayed(
    says([{ ...hostedStep(HOSTED_ITEMS.image), end: 'open' }, { incomplete: 'max_output_tokens' }]),
    { ...ASK, tools: [{ type: 'image_generation' }] },
  ),
};
