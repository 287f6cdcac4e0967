import type { PartLocation, Path, Setting } from '../canonical/request/path.ts';
import { assertNever } from '../kit/assert-never.ts';
import { quoted } from '../kit/text/display.ts';

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
