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
