import { gatewayError } from '../canonical/failure/failure.ts';
import type { Setting, PartLocation, Path } from '../canonical/request/path.ts';
import { namesWhere } from './validation.ts';
import { assertNever } from '../kit/assert-never.ts';
import { quoted } from '../kit/text/display.ts';

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

/** How the API of a request names the parts of its turn request. */
export interface ParameterNames {
  readonly settings: Readonly<Record<Setting, string>>;
  /** The location of each item in the body. */
  readonly places: readonly string[];
  readonly tool: (index: number) => string;
  readonly toolField: (index: number, field: string) => string;
  /** The location of a part, if the API does not nest it in an item. */
  readonly part?: (place: PartLocation) => string;
  readonly include: (value: string) => string;
  /** The location of the output schema. */
  readonly formatPlace: string;
}

/** The API's name for a part of the request, for errors and headers. */
export const parameterName = (path: Path, names: ParameterNames): string => {
  if (typeof path === 'string') return names.settings[path];
  if ('item' in path) return placeOf(path.item, names);
  if ('imageDetail' in path) return `${partName(path.imageDetail, names)}.detail`;
  if ('file' in path) return partName(path.file, names);
  if ('include' in path) return names.include(path.include);
  if ('tool' in path) return names.tool(path.tool);
  if ('toolField' in path) {
    const { item, tool, field } = path.toolField;
    if (item === undefined) return names.toolField(tool, quoted(field));
    return `${placeOf(item, names)}.tools[${tool}].${quoted(field)}`;
  }
  if ('formatField' in path) return `${names.formatPlace}.${path.formatField}`;
  if ('callNamespace' in path) return `${placeOf(path.callNamespace, names)}.namespace`;
  return assertNever(path);
};

const partName = (place: PartLocation, names: ParameterNames): string =>
  names.part?.(place) ?? `${placeOf(place.item, names)}.${place.of}[${place.part}]`;

const placeOf = (item: number, { places, settings }: ParameterNames): string =>
  places[item] ?? settings.items;
