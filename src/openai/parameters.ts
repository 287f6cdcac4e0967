/** What becomes of a request field. */
export type Policy =
  /** It reaches the app-server or decides what we do, with OpenAI's meaning. */
  | 'mapped'
  /** The app-server has no field for it; we do it ourselves. */
  | 'emulated'
  /** It has no effect on the answer and comes back in the response. */
  | 'echoed'
  /** It has no effect here, and is named in `x-proxy-ignored-params`. */
  | 'ignored'
  /** A value other than the one that changes nothing gets a 400. */
  | 'rejected';

export interface ParameterRow {
  readonly policy: Policy;
  /** One sentence for the docs, and for the 400 where it is rejected. */
  readonly note: string;
}

export type ParameterTable<Wire> = { readonly [Field in keyof Wire]-?: ParameterRow };

/** The Markdown table of one endpoint for `docs/parameters.md`. */
export const describeParameters = (title: string, table: Readonly<Record<string, ParameterRow>>): string => {
  const rows = Object.entries(table).map(([name, row]) => `| \`${name}\` | ${row.policy} | ${row.note} |`);
  return [`## ${title}`, '', '| parameter | policy | what happens |', '|---|---|---|', ...rows, ''].join(
    '\n',
  );
};
