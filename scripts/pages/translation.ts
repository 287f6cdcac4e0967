import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { Setting } from '../../src/canonical/request/path.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { settingTargets } from './setting-targets.ts';
import { SETTINGS } from '../../src/codex/capabilities/settings.ts';
import { toInjectItems } from '../../src/codex/translate/inject-items.ts';
import { toThreadStart } from '../../src/codex/translate/thread-start.ts';
import { toTurnStart } from '../../src/codex/translate/turn-start.ts';
import { CHAT_PARAMETERS } from '../../src/openai/chat/parameters.ts';
import { toTurnRequest as chatToTurn } from '../../src/openai/chat/to-turn.ts';
import type { ParameterRow } from '../../src/apis/parameters.ts';
import { RESPONSES_PARAMETERS } from '../../src/openai/responses/input/parameters.ts';
import { parseResponse, toTurnRequest as responsesToTurn } from '../../src/openai/responses/input/to-turn.ts';
import { CHAT_SAMPLES, RESPONSES_SAMPLES, type Sample } from './translation-samples.ts';

const MODELS = createModelNames({ models: [], standard: null, unlisted: [] });
const OPTIONS = { models: MODELS, ignoreClientPrompt: false };

const code = (text: string): string => `\`${text}\``;
const json = (value: unknown): string => `<code>${escaped(JSON.stringify(value))}</code>`;
/** Escapes text for a Markdown table. */
const escaped = (text: string): string => text.replaceAll('|', '&#124;').replaceAll('<', '&lt;');

/** Where a parameter with these settings is sent. */
const askingCells = (settings: readonly Setting[]): readonly string[] => {
  const places = settings.map(settingTargets);
  const rpc = [...new Set(places.flatMap((place) => place.rpc))];
  const wire = places.flatMap((place) => (place.wire === null ? [] : [place.wire]));
  return [
    settings.map(code).join(', '),
    rpc.length === 0 ? `none: ${settings.map(otherwise).join(', ')}` : rpc.map(code).join(', '),
    wire.length === 0 ? 'none: done by this server' : wire.map(code).join(', '),
  ];
};

/** What happens if there is no field for it. */
const otherwise = (setting: Setting): string => {
  const rule = SETTINGS[setting];
  return 'always' in rule ? rule.always : rule.otherwise;
};

const instead = ({ policy, note }: { readonly policy: string; readonly note: string }): string =>
  `${policy}. ${note}`;

const fieldTable = (table: Readonly<Record<string, ParameterRow>>): readonly string[] => [
  '| field of the request | setting of the turn | JSON-RPC parameter | field of the model request | what happens instead |',
  '|---|---|---|---|---|',
  ...Object.entries(table).map(([name, row]) => {
    const cells = 'asks' in row ? [...askingCells(row.asks), ''] : ['none', 'none', 'none', instead(row)];
    return `| ${[code(name), ...cells].join(' | ')} |`;
  }),
  '',
];

const sampleTable = (
  samples: readonly Sample[],
  toTurn: (body: object) => TurnRequest,
): readonly string[] => [
  '| what the client sends | what is injected |',
  '|---|---|',
  ...samples.map(({ shows, before, body }) => {
    const items = toInjectItems({ instructions: null, items: toTurn(body).items });
    return `| ${shows.map(json).join('<br>')} | ${items.slice(before).map(json).join('<br>')} |`;
  }),
  '',
];

const PLAIN: TurnRequest = {
  ...PLAIN_REQUEST,
  model: 'MODEL',
  items: [],
};

const callParameters = (): readonly string[] => {
  const settings = {
    instructionsTarget: 'base',
    sandboxMode: 'read-only',
    approvalPolicy: 'never',
    workdir: 'PROXY_CODEX_WORKDIR',
    hasRelay: false,
    knows: () => true,
  } as const;
  const calls = {
    'thread/start': toThreadStart(PLAIN, settings, { slug: PLAIN.model }),
    'thread/inject_items': { threadId: 'THREAD', items: ['the conversation, see below'] },
    'turn/start': toTurnStart(PLAIN, 'THREAD'),
  };
  return Object.entries(calls).flatMap(([method, params]) => [
    `\`${method}\`:`,
    '',
    '```json',
    JSON.stringify(params, null, 2),
    '```',
    '',
  ]);
};

const page = (title: string, about: readonly string[], body: readonly string[]): string =>
  [
    `# ${title}`,
    '',
    ...about,
    '',
    '## The calls',
    '',
    'Each turn is three JSON-RPC calls, here with the parameters of a request that sets nothing but a model:',
    '',
    ...callParameters(),
    'The first two are answered before the next is sent. Content is never flattened into text: each message, call and',
    'output is an item of its own, in its place. `test/golden/payloads` holds whole recorded calls.',
    '',
    '## Fields',
    '',
    'A JSON-RPC parameter carries the value without the relay (`PROXY_WIRE=off`). With the relay the field of the model request',
    'carries it, exactly as the client wrote it. `ignored` means named in `x-proxy-ignored-params`, `emulated` that this',
    'server does it, `silent` that the answer is the same without it. What each backend takes is in',
    '[parameters](../parameters.md).',
    '',
    '`thread/start.developerInstructions` is used with `PROXY_INSTRUCTIONS_TARGET=developer` only, for instructions and for system',
    'and developer messages; `thread/start.config` carries `model_verbosity`.',
    '',
    ...body,
  ].join('\n');

export const describeChatTranslation = (): string =>
  page(
    'From Chat Completions to JSON-RPC',
    ['What becomes of each field of a `POST /v1/chat/completions` request on its way to the app-server.'],
    [
      ...fieldTable(CHAT_PARAMETERS),
      '## Messages',
      '',
      ...sampleTable(CHAT_SAMPLES, (body) => chatToTurn(body, OPTIONS).request),
    ],
  );

export const describeResponsesTranslation = (): string =>
  page(
    'From Responses to JSON-RPC',
    ['What becomes of each field of a `POST /v1/responses` request on its way to the app-server.'],
    [
      ...fieldTable(RESPONSES_PARAMETERS),
      '## Items',
      '',
      ...sampleTable(RESPONSES_SAMPLES, (body) => responsesToTurn(parseResponse(body), OPTIONS).request),
    ],
  );
