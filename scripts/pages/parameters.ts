import { MESSAGES_PARAMETERS } from '../../src/anthropic/messages/input/parameters.ts';
import { profileOf, type BackendProfile, type EditField } from '../../src/codex/capabilities/profile.ts';
import { SETTINGS } from '../../src/codex/capabilities/settings.ts';
import { handlingOf, supportsField } from '../../src/codex/capabilities/field-support.ts';
import { directLogin } from '../../src/codex/home/backend.ts';
import type { RequestFormat } from '../../src/codex/translate/request-strategy.ts';
import { CHAT_PARAMETERS } from '../../src/openai/chat/parameters.ts';
import { COMPLETION_PARAMETERS } from '../../src/openai/completions/parameters.ts';
import { IMAGE_EDIT_PARAMETERS, IMAGE_PARAMETERS } from '../../src/openai/images/parameters.ts';
import {
  describeParameters,
  type BackendColumn,
  type BackendSide,
  type ParameterRow,
} from '../../src/apis/parameters.ts';
import { describeChatFields } from '../../src/openai/responses/input/chat-fields.ts';
import { RESPONSES_PARAMETERS } from '../../src/openai/responses/input/parameters.ts';

/** One entry per endpoint with a body, optionally with a note below its table. */
const PARAMETER_TABLES: readonly (readonly [string, Readonly<Record<string, ParameterRow>>, string?])[] = [
  [
    'POST /v1/responses, POST /v1/responses/compact, POST /v1/responses/input_tokens',
    RESPONSES_PARAMETERS,
    [
      'These fields of Chat Completions are not ignored but refused, as OpenAI does, also in a body of the Responses API that is',
      'posted to `/v1/chat/completions` (there an empty `messages` is accepted):',
      '',
      describeChatFields(),
    ].join('\n'),
  ],
  ['POST /v1/chat/completions', CHAT_PARAMETERS],
  ['POST /v1/messages', MESSAGES_PARAMETERS],
  ['POST /v1/completions', COMPLETION_PARAMETERS],
  ['POST /v1/images/generations', IMAGE_PARAMETERS],
  ['POST /v1/images/edits', IMAGE_EDIT_PARAMETERS],
];

const column = (title: string, canSet: (field: EditField) => boolean): BackendColumn => ({
  title,
  becomes: (setting) => handlingOf(setting, canSet),
});

const through =
  (profile: BackendProfile, requestFormat: RequestFormat = 'responses') =>
  (field: EditField): boolean =>
    supportsField(field, { profile, requestFormat });

const PROVIDER = profileOf({ kind: 'upstream', baseUrl: '', apiKeyEnv: null }, null);
const CHATGPT = profileOf(directLogin('chatgpt'), null);

const BACKENDS: BackendSide = {
  columns: [
    column('without the relay', () => false),
    column('OpenAI, other providers, demo', through(PROVIDER)),
    column('ChatGPT login, full lane', through(CHATGPT)),
    column('ChatGPT login, lite lane', through(CHATGPT, 'codex')),
  ],
  noteOf: (setting) => SETTINGS[setting].note ?? null,
};

/** How each parameter is handled by each backend. */
export const describeAllParameters = (): string =>
  [
    '# Parameters',
    '',
    'What becomes of each field of a request:',
    '',
    '- **mapped**: it does what it does at OpenAI, or at Anthropic in its API;',
    '- **emulated**: this server does it, not the backend;',
    '- **echoed**: it changes nothing and comes back in the response;',
    '- **ignored**: it has no effect, and a value that asks for one is named in the response header',
    '  `x-proxy-ignored-params` (with `PROXY_STRICT_PARAMS=true` it gets 400 `unsupported_parameter`);',
    '- **silent**: the answer is the same without it, so it is not reported when it does not reach the backend;',
    '- **rejected**: a value that asks for it gets a 400.',
    '',
    'Many fields exist only in the request to the backend: the relay sets them (see `PROXY_WIRE`), as far as the',
    'backend takes it. What a backend refuses is left out for the same caller, model and effort for ten minutes,',
    'as if it were in the first column; `PROXY_UPSTREAM_PARAMS` configures it in advance. With a ChatGPT login a request',
    'takes the lane that supports its fields, unless `PROXY_CHATGPT_LANE` or a refusal says otherwise.',
    '',
    'A field that is in no table is ignored, and named in the header unless it is `null`. The exceptions, fields of Chat Completions',
    'that are refused on `/v1/responses`, are below the first table.',
    '',
    ...PARAMETER_TABLES.flatMap(([title, table, more]) => [
      describeParameters(title, table, BACKENDS),
      ...(more === undefined ? [] : [more]),
    ]),
  ].join('\n');
