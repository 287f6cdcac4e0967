import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json.ts';
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
  /** What the model does. */
  readonly script: Script;
  /** The client's body of `POST /v1/responses`. */
  readonly request: JsonObject;
  /** Whether our relay stands between the app-server and the model. */
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

const bare = (script: Script, request: JsonObject = ASK): Scenario => ({ script, request, relay: false });
const relayed = (script: Script, request: JsonObject = ASK): Scenario => ({ script, request, relay: true });

const reasoningAndCall = says([
  { reasoning: { summary: ['Look it up.'], encrypted: 'opaque' } },
  { text: 'One moment.', phase: 'commentary' },
  { call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_weather' } },
]);

const contentFilter = says([{ text: 'This part was', end: 'incomplete' }, { incomplete: 'content_filter' }]);

/** Each name is a folder. `node test/scenarios/record.ts [name…]` records what the real app-server says. */
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
};
