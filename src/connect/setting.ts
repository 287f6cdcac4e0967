import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { withValueAt, type Path } from './formats/format.ts';

/** One thing that a client needs in a settings file. */
export type Setting =
  | {
      readonly kind: 'value';
      readonly path: Path;
      readonly value: Json;
      /**
       * The keys below the value that make it ours, for a value that the client itself rewrites: it is still ours if
       * these are the same. Without: the whole value.
       */
      readonly identity?: Path;
    }
  /** Set only in a file that has no settings yet. */
  | { readonly kind: 'first'; readonly path: Path; readonly value: Json }
  /** An item of a list that may have others. */
  | { readonly kind: 'item'; readonly path: Path; readonly item: Json };

/** A setting for each value of an object, so that other keys in the same objects are left alone. */
export const valuesOf = (object: JsonObject, path: Path = []): readonly Setting[] =>
  Object.entries(object).flatMap(([key, value]): readonly Setting[] => {
    const inner = [...path, key];
    if (value === undefined) return [];
    return isJsonObject(value) ? valuesOf(value, inner) : [{ kind: 'value', path: inner, value }];
  });

/** The settings of a new file. */
export const wholeOf = (settings: readonly Setting[]): JsonObject =>
  settings.reduce<JsonObject>((object, setting) => {
    if (setting.kind !== 'item') return withValueAt(object, setting.path, setting.value);
    const items = settings.flatMap((one) =>
      one.kind === 'item' && one.path.join('.') === setting.path.join('.') ? [one.item] : [],
    );
    return withValueAt(object, setting.path, items);
  }, {});
