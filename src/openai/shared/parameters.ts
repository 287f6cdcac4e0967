import type { Setting } from '../../canonical/request/path.ts';

/** What becomes of a request field. */
export type Policy =
  /** It has OpenAI's meaning. */
  | 'mapped'
  /** The backend is not told; this server does it. */
  | 'emulated'
  /** It has no effect on the answer and comes back in the response. */
  | 'echoed'
  /** It would change nothing in the answer: nothing is said when it does not reach the backend. */
  | 'silent'
  /** It has no effect here, and is named in `x-proxy-ignored-params`. */
  | 'ignored'
  /** A value other than the one that changes nothing gets a 400. */
  | 'rejected';

export type ParameterRow = {
  /** One sentence for the docs, and for the 400 where it is rejected. */
  readonly note: string;
} & (DecidedRow | AskingRow);

/** Its API alone decides about it. */
interface DecidedRow {
  readonly policy: Policy;
}

/** It stands for settings of a turn request. What becomes of those is not for an API to say. */
interface AskingRow {
  readonly asks: readonly [Setting, ...Setting[]];
  /** `echoed`: it comes back in the response in any case. `rejected`: there is no answer without it. */
  readonly otherwise?: 'echoed' | 'rejected';
}

export type ParameterTable<Wire> = { readonly [Field in keyof Wire]-?: ParameterRow };

/** What the docs say of the backend's side. */
export interface BackendSide {
  readonly columns: readonly BackendColumn[];
  readonly noteOf: (setting: Setting) => string | null;
}

/** A column of the docs: what becomes of a setting at a backend of this kind. */
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
    const isHeard = policy === 'mapped' || policy === 'emulated';
    return isHeard ? policy : (row.otherwise ?? policy);
  });
  return [...new Set(policies)].join(', ');
};
