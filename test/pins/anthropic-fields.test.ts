import { expect, it } from 'vitest';

import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { fieldProblems } from '../support/field-problems.ts';
import { read } from '../support/messages-ask.ts';
import { holds, sentFor, type Sent } from '../support/read-and-sent.ts';
import type { FieldWalk } from '../support/request-fields.ts';
import { typeOf } from '../support/sdk-types.ts';

/**
 * Every field of the request types of the installed `@anthropic-ai/sdk` package reaches a provider, or is in a table
 * below with the reason why it does not. A new version of the package with a new field fails here.
 */

const CALL = { type: 'tool_use', id: 's', name: 's', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 's', content: 's' };

const typeIn = (value: Json | undefined): string =>
  isJsonObject(value) && typeof value['type'] === 'string' ? value['type'] : '';

/** Messages that a message needs around it. */
const around = (message: Json): readonly Json[] => {
  const blocks = isJsonObject(message) && Array.isArray(message['content']) ? message['content'] : [];
  const types = new Set((blocks as readonly Json[]).map(typeIn));
  return [
    { role: 'user', content: 'Hi.' },
    ...(types.has('tool_result') ? [{ role: 'assistant', content: [CALL] }] : []),
    message,
    { role: 'user', content: types.has('tool_use') ? [RESULT] : 'Go on.' },
  ];
};

const send = (body: JsonObject): Sent => {
  const { messages, ...rest } = body;
  const [message = null] = messages as readonly Json[];
  const choice = rest['tool_choice'];
  const tools = choice === undefined ? {} : { tools: [{ name: 's', input_schema: { type: 'object' } }] };
  return sentFor(() => read({ ...tools, ...rest, model: 'gpt-6', messages: around(message) }));
};

const walk: FieldWalk = {
  values: {
    'tool_use.id': 's',
    tool_use_id: 's',
    max_tokens: 16,
    budget_tokens: 2_000,
    signature: 's',
  },
  needed: { system: { content: 's' } },
  isCarried(bodyWith, sample) {
    const marked = { ...sample, not_a_field: { deep: [null, 'x'] } };
    const sent = send(bodyWith(marked));
    return sent.kind === 'sent' && holds(sent.body, marked);
  },
};

const OF_ANTHROPIC = "Refused by name: it belongs to tools that run on Anthropic's servers.";
const OTHER_ROLE = 'Refused by name: it belongs into a message of another role.';
const OWN_SERVICE = "Named as ignored: it is about Anthropic's own service.";
const NOT_THE_MODELS = 'It comes back with an answer, and says nothing to the model.';
const CLIENT_RUN = 'A function with the public input of the tool; of toolsets, refused by name.';
const ANSWER = 'It is about the form of our own answer.';
const STRICT_SEARCH = 'Named as ignored: the backend runs the search.';
const NOT_OURS = 'Left out: this server did not write the sample.';

const rows = (places: readonly string[], why: string): Readonly<Record<string, string>> =>
  Object.fromEntries(places.map((place) => [place, why]));
const blocks = (role: string, types: string, why: string): Readonly<Record<string, string>> =>
  rows(
    types.split(' ').map((type) => `messages[${role}].content[${type}]`),
    why,
  );
const tools = (types: string, why: string): Readonly<Record<string, string>> =>
  rows(
    types.split(' ').map((type) => `tools[${type}]`),
    why,
  );

/** Blocks of tools that this server does not have, which any message may contain. */
const FOREIGN_BLOCKS =
  'advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction container_upload fallback mcp_tool_listing mcp_tool_result mcp_tool_use text_editor_code_execution_tool_result tool_search_tool_result web_fetch_tool_result';

const EXCEPTIONS: Readonly<Record<string, string>> = {
  ...blocks('user', FOREIGN_BLOCKS, OF_ANTHROPIC),
  ...blocks('assistant', FOREIGN_BLOCKS, OF_ANTHROPIC),
  ...blocks(
    'user',
    'thinking redacted_thinking tool_use server_tool_use web_search_tool_result tool_addition tool_removal',
    OTHER_ROLE,
  ),
  ...blocks('assistant', 'image document search_result tool_result tool_addition tool_removal', OTHER_ROLE),
  ...blocks('assistant', 'server_tool_use web_search_tool_result', NOT_OURS),
  ...blocks('system', 'tool_addition tool_removal', 'Named as ignored if the tool is unknown.'),
  '*[tool_result].content[tool_reference]': 'Named as ignored if the tool is unknown.',
  thread: 'Done here: the conversation is stored.',
  '*[tool_result].content[browser_state]': OF_ANTHROPIC,
  '*[tool_result].toolset_name': 'Named as ignored: there are no toolsets.',
  '*[tool_use].toolset_name': 'Named as ignored: there are no toolsets.',
  '*[tool_use].caller': NOT_THE_MODELS,
  '*[text].citations': NOT_THE_MODELS,
  '*.citations.enabled': 'Named as ignored: answers do not cite.',
  '*.transformations': 'Named as ignored: backends do it themselves.',
  '*[image].source$': 'Files are refused by name: there is no Files API.',
  '*[document].source$': 'Files are refused by name: there is no Files API.',
  '*.source(file)': 'Refused by name: there is no Files API.',
  '*.cache_control': 'Backends cache without marks.',
  cache_control: 'Backends cache without marks.',
  ...tools(
    'advisor_20260301 code_execution_20250522 code_execution_20250825 code_execution_20260120 code_execution_20260521 mcp_toolset tool_search_tool_bm25_20251119 tool_search_tool_regex_20251119 web_fetch_20250910 web_fetch_20260209 web_fetch_20260309 web_fetch_20260318',
    OF_ANTHROPIC,
  ),
  ...tools(
    'bash_20241022 bash_20250124 browser_toolset_20260801 computer_20241022 computer_20250124 computer_20251124 computer_toolset_20260801 memory_20250818 text_editor_20241022 text_editor_20250124 text_editor_20250429 text_editor_20250728',
    CLIENT_RUN,
  ),
  'tools[custom].type': 'A tool without a type is one anyway.',
  'tools[custom].eager_input_streaming': 'Arguments are always streamed.',
  '*].allowed_callers': 'Named as ignored: models call tools directly.',
  '*].blocked_domains': 'Named as ignored: backends have no such filter.',
  '*].response_inclusion': 'Named as ignored: backends decide what they include.',
  'tools[web_search_20250305].strict': STRICT_SEARCH,
  'tools[web_search_20260209].strict': STRICT_SEARCH,
  'tools[web_search_20260318].strict': STRICT_SEARCH,
  betas: 'A header in requests of the package.',
  container: 'Refused by name.',
  ...rows(
    [
      'compaction',
      'context_management',
      'diagnostics',
      'fallback_credit_token',
      'fallbacks',
      'inference_geo',
      'user_profile_id',
      'workspace_id',
      'output_config.task_budget',
    ],
    OWN_SERVICE,
  ),
  'metadata.user_id': 'It names the conversation and is never sent.',
  service_tier: 'Both values mean what happens anyway.',
  stop_sequences: 'Done here: the Responses API has no such field.',
  stream: ANSWER,
  'thinking(enabled).block_binding': 'Blocks of others are always dropped.',
  'thinking(adaptive).block_binding': 'Blocks of others are always dropped.',
};

it('every field of the SDK reaches a provider, except for the listed ones', () => {
  const shapes = ['messages/messages.d.ts', 'beta/messages/messages.d.ts'].map((file) =>
    typeOf('@anthropic-ai/sdk', file, 'MessageCreateParamsBase'),
  );
  const found = fieldProblems({ kind: 'union', of: shapes }, { send, walk, exceptions: EXCEPTIONS });
  expect(
    found,
    'Every field of the SDK is read. Add the field to the parameters of Messages, or list it in this file with what happens to it.',
  ).toEqual({ problems: [], unused: [] });
});
