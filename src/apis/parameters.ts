import { gatewayError } from '../canonical/failure/failure.ts';
import type { Setting } from '../canonical/request/path.ts';
import { namesWhere } from './unread-fields.ts';

/** How this server handles a request field. */
export type Policy =
  /** Works as in OpenAI's API. */
  | 'mapped'
  /** Not sent to the backend; this server implements it. */
  | 'emulated'
  /** Has no effect, but is returned in the response. */
  | 'echoed'
  /** Never changes the answer, so it is not reported if it does not reach the backend. */
  | 'silent'
  /** Has no effect, and is named in `x-proxy-ignored-params`. */
  | 'ignored'
  /** Any value other than the default gets a 400. */
  | 'rejected';

export type ParameterRow = {
  /** One sentence for the docs, and for the 400 if it is rejected. */
  readonly note: string;
} & (PolicyRow | SettingsRow);

/** A field that its API handles alone. */
interface PolicyRow {
  readonly policy: Policy;
}

/** A field that maps to settings of a turn request. The backend's capabilities decide how those are handled. */
interface SettingsRow {
  readonly asks: readonly [Setting, ...Setting[]];
  /** If a setting has no effect: `echoed` in the response anyway, or `rejected`. */
  readonly otherwise?: 'echoed' | 'rejected';
}

export type ParameterTable<Wire> = { readonly [Field in keyof Wire]-?: ParameterRow };

/** Throws if a field that the API rejects has a value. */
export const rejectUsed = <Field extends string>(
  fields: Readonly<Record<Field, unknown>>,
  table: Readonly<Record<NoInfer<Field>, ParameterRow>>,
): void => {
  const [name] = namesWhere(fields) as readonly Field[];
  if (name === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param: name,
    message: `Unsupported parameter: '${name}'. ${table[name].note}`,
  });
};

/** The backend columns and notes of the parameter docs. */
export interface BackendSide {
  readonly columns: readonly BackendColumn[];
  readonly noteOf: (setting: Setting) => string | null;
}

/** A column of the docs: how a kind of backend handles each setting. */
export interface BackendColumn {
  readonly title: string;
  becomes(setting: Setting): 'mapped' | 'emulated' | 'silent' | 'ignored';
}

/** The Markdown table of one endpoint for `docs/parameters.md`. */
export const describeParameters = (
  title: string,
  table: Readonly<Record<string, ParameterRow>>,
  { columns, noteOf }: BackendSide,
): string => {
  const rows = Object.entries(table).map(([name, row]) => {
    const policies = columns.map((column) => policyAt(row, column));
    const notes = [row.note, ...('asks' in row ? row.asks.map(noteOf) : [])];
    return `| \`${name}\` | ${policies.join(' | ')} | ${notes.filter((note) => (note ?? '') !== '').join(' ')} |`;
  });
  const head = ['parameter', ...columns.map((column) => column.title), 'what happens'];
  return [`## ${title}`, '', `| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows, ''].join(
    '\n',
  );
};

const policyAt = (row: ParameterRow, column: BackendColumn): string => {
  if ('policy' in row) return row.policy;
  const policies = row.asks.map((setting): Policy => {
    const policy = column.becomes(setting);
    const hasEffect = policy === 'mapped' || policy === 'emulated';
    return hasEffect ? policy : (row.otherwise ?? policy);
  });
  return [...new Set(policies)].join(', ');
};
