/** What becomes of a request field. */
export type Policy =
  /** It reaches the app-server or decides what we do, with OpenAI's meaning. */
  | 'mapped'
  /** The app-server has no field for it; we do it ourselves. */
  | 'emulated'
  /** It has no effect on the answer and comes back in the response. */
  | 'echoed'
  /** It would change nothing in the answer: nothing is said when it does not reach the backend. */
  | 'silent'
  /** It has no effect here, and is named in `x-proxy-ignored-params`. */
  | 'ignored'
  /** A value other than the one that changes nothing gets a 400. */
  | 'rejected';

export interface ParameterRow {
  /** Where nothing stands in its way. */
  readonly policy: Policy;
  /** It can only travel in the request to the backend, by this name; else it has another policy. */
  readonly wire?: { readonly field: string; readonly otherwise: Policy };
  /** One sentence for the docs, and for the 400 where it is rejected. */
  readonly note: string;
}

export type ParameterTable<Wire> = { readonly [Field in keyof Wire]-?: ParameterRow };

/** A column of the docs: which fields can be set on the request to a backend of this kind. */
export interface BackendColumn {
  readonly title: string;
  takes(field: string): boolean;
}

/** The Markdown table of one endpoint for `docs/parameters.md`. */
export const describeParameters = (
  title: string,
  table: Readonly<Record<string, ParameterRow>>,
  backends: readonly BackendColumn[],
): string => {
  const rows = Object.entries(table).map(([name, row]) => {
    const policies = backends.map((backend) => policyAt(row, backend));
    return `| \`${name}\` | ${policies.join(' | ')} | ${row.note} |`;
  });
  const head = ['parameter', ...backends.map((backend) => backend.title), 'what happens'];
  return [`## ${title}`, '', `| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows, ''].join(
    '\n',
  );
};

const policyAt = ({ policy, wire }: ParameterRow, backend: BackendColumn): Policy =>
  wire === undefined || backend.takes(wire.field) ? policy : wire.otherwise;
