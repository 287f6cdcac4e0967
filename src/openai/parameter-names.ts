import type { Path, Setting } from '../canonical/path.ts';
import { assertNever } from '../kit/assert-never.ts';

/** What the caller of one request calls the parts of its turn request. */
export interface ParameterNames {
  readonly settings: Readonly<Record<Setting, string>>;
  /** Where each item of the conversation stood in the body. */
  readonly places: readonly string[];
  readonly toolName: (index: number) => string;
  readonly include: (value: string) => string;
}

export const parameterName = (path: Path, names: ParameterNames): string => {
  if (typeof path === 'string') return names.settings[path];
  if ('item' in path) return placeOf(path.item, names);
  if ('imageDetail' in path) {
    const { item, of, part } = path.imageDetail;
    return `${placeOf(item, names)}.${of}[${part}].detail`;
  }
  if ('include' in path) return names.include(path.include);
  if ('toolName' in path) return names.toolName(path.toolName);
  return assertNever(path);
};

const placeOf = (item: number, { places, settings }: ParameterNames): string =>
  places[item] ?? settings.items;
