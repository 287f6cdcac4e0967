import { MESSAGES_PARAMETERS } from '../../src/anthropic/messages/input/parameters.ts';
import type { ParameterRow, Policy } from '../../src/apis/parameters.ts';
import type { Setting } from '../../src/canonical/request/path.ts';
import { profileOf, type BackendProfile, type EditField } from '../../src/codex/capabilities/profile.ts';
import { SETTING_RULES } from '../../src/codex/capabilities/settings.ts';
import { handlingOf, supportsField } from '../../src/codex/capabilities/field-support.ts';
import { directLogin } from '../../src/codex/home/backend.ts';
import type { RequestFormat } from '../../src/codex/translate/request-strategy.ts';
import { CHAT_PARAMETERS } from '../../src/openai/chat/parameters.ts';
import { COMPLETION_PARAMETERS } from '../../src/openai/completions/to-turn.ts';
import { IMAGE_EDIT_PARAMETERS, IMAGE_PARAMETERS } from '../../src/openai/images/to-turn.ts';
import { describeChatFields, RESPONSES_PARAMETERS } from '../../src/openai/responses/input/parameters.ts';

type Table = Readonly<Record<string, ParameterRow>>;

/** One entry per endpoint with a body, optionally with a note below its table. */
const PARAMETER_TABLES: readonly (readonly [title: string, table: Table, more?: string])[] = [
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

/** A kind of backend, and how it handles each setting. */
export interface BackendKind {
  readonly title: string;
  becomes(setting: Setting): 'mapped' | 'emulated' | 'silent' | 'ignored';
}

const kind = (title: string, canSet: (field: EditField) => boolean): BackendKind => ({
  title,
  becomes: (setting) => handlingOf(setting, canSet),
});

const through =
  (profile: BackendProfile, requestFormat: RequestFormat = 'responses') =>
  (field: EditField): boolean =>
    supportsField(field, { profile, requestFormat });

const PROVIDER = profileOf({ kind: 'upstream', baseUrl: '', apiKeyEnv: null }, null);
const CHATGPT = profileOf(directLogin('chatgpt'), null);

const KINDS: readonly BackendKind[] = [
  kind('no relay', () => false),
  kind('provider', through(PROVIDER)),
  kind('full lane', through(CHATGPT)),
  kind('lite lane', through(CHATGPT, 'codex')),
];

const policyAt = (row: ParameterRow, backend: BackendKind): string => {
  if ('policy' in row) return row.policy;
  const policies = row.asks.map((setting): Policy => {
    const policy = backend.becomes(setting);
    const hasEffect = policy === 'mapped' || policy === 'emulated';
    return hasEffect ? policy : (row.otherwise ?? policy);
  });
  return [...new Set(policies)].join(' or ');
};

/** The policy of a field: one word if all backends agree, else the exceptions and the rule. */
export const describePolicy = (row: ParameterRow, kinds: readonly BackendKind[]): string => {
  const titles = Map.groupBy(kinds, (backend) => policyAt(row, backend));
  const groups = [...titles].toSorted(([, one], [, other]) => one.length - other.length);
  return groups
    .map(([policy, backends], at) => {
      if (groups.length === 1) return policy;
      const names = at === groups.length - 1 ? 'else' : backends.map(({ title }) => title).join(', ');
      return `${names}: ${policy}`;
    })
    .join('; ');
};

/** What is said about a field, and about the settings that it asks for. */
const allNotes = (row: ParameterRow): readonly [own: string, ...string[]] => [row.note, ...settingNotes(row)];

const settingNotes = (row: ParameterRow): readonly string[] =>
  ('asks' in row ? row.asks : []).flatMap((setting: Setting) => SETTING_RULES[setting].note ?? []);

/** What is said about a setting is said once: later fields with the same setting refer to the first. */
const describeTables = (): readonly string[] => {
  const saidAt = new Map<string, string>();
  const fieldNote = (place: string, row: ParameterRow): string => {
    const notes = settingNotes(row);
    const earlier = new Set(notes.flatMap((note) => saidAt.get(note) ?? []));
    const fresh = notes.filter((note) => !saidAt.has(note));
    for (const note of fresh) saidAt.set(note, place);
    const rest = earlier.size === 0 ? [] : [`See ${[...earlier].join(', ')}.`];
    return [row.note, ...fresh, ...rest].filter((note) => note !== '').join(' ');
  };
  const printed = new Map<string, string>();
  return PARAMETER_TABLES.flatMap(([title, table, more]) => {
    const endpoint = title.split(',')[0]?.replace('POST /v1/', '') ?? title;
    const entries = Object.entries(table);
    const key = (name: string, row: ParameterRow): string => JSON.stringify([name, row]);
    const same = entries.filter(([name, row]) => printed.has(key(name, row)));
    const fresh = entries.filter(([name, row]) => !printed.has(key(name, row)));
    for (const [name, row] of fresh) printed.set(key(name, row), endpoint);
    const rows = [
      ...Map.groupBy(fresh, ([, row]) => JSON.stringify([describePolicy(row, KINDS), allNotes(row)])),
    ];
    const lines = rows.map(([, fields]) => {
      const [[first, row]] = fields as [(typeof fields)[number]];
      const note = fieldNote(`\`${first}\` of \`${endpoint}\``, row);
      return `| ${fields.map(([name]) => `\`${name}\``).join(', ')} | ${describePolicy(row, KINDS)} | ${note} |`;
    });
    const likewise = [...Map.groupBy(same, ([name, row]) => printed.get(key(name, row)))].map(
      ([earlier, fields]) =>
        `The same as at \`${earlier}\`: ${fields.map(([name]) => `\`${name}\``).join(', ')}.`,
    );
    return [
      `## ${title}`,
      '',
      ...(likewise.length === 0 ? [] : [...likewise, '']),
      '| field | handling | what happens |',
      '|---|---|---|',
      ...lines,
      '',
      ...(more === undefined ? [] : [more]),
    ];
  });
};

/** How each parameter is handled by each backend. */
export const describeAllParameters = (): string => describeTables().join('\n').trimEnd();
