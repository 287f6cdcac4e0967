import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import {
  CannotEdit,
  isSame,
  shownPath,
  valueAt,
  withValueAt,
  type Format,
  type KeyPath,
} from '../../connect/formats/format.ts';
import type { ClientSetting } from '../../connect/client.ts';

/** What was done to a file for one setting: enough to take it back after others have edited the file. */
export type Change =
  | {
      readonly kind: 'value';
      readonly path: KeyPath;
      readonly value: Json;
      readonly identity?: KeyPath;
      /** The former value; absent if there was none. */
      readonly before?: Json;
    }
  | { readonly kind: 'item'; readonly path: KeyPath; readonly item: Json }
  /** The frame of a file that was empty. It is taken back only if nothing else is left in the file. */
  | { readonly kind: 'first'; readonly path: KeyPath; readonly value: Json }
  /** An object or a list that was created to hold the above. */
  | { readonly kind: 'parent'; readonly path: KeyPath };

export interface MergeResult {
  readonly text: string;
  readonly changes: readonly Change[];
}

/** Puts settings into the text of a file. Throws `CannotEdit` unless exactly these settings change. */
export const merge = (format: Format, text: string, settings: readonly ClientSetting[]): MergeResult => {
  const before = format.read(text);
  const isNew = Object.keys(before).length === 0;
  let merged = text;
  let expected = before;
  const changes: Change[] = [];
  for (const setting of settings) {
    if (setting.kind === 'first' && !isNew) continue;
    const change = changeFor(setting, expected);
    if (change === null) continue;
    changes.push(...missingParents(expected, change), change);
    merged = applied(format, merged, change);
    expected = expectedAfter(expected, change);
  }
  check(format, merged, expected);
  return { text: merged, changes };
};

type SettingChange = Exclude<Change, { kind: 'parent' }>;

/** Null: the file has it already. */
const changeFor = (setting: ClientSetting, current: JsonObject): SettingChange | null => {
  const there = valueAt(current, setting.path);
  if (setting.kind === 'item') {
    const { path, item } = setting;
    return Array.isArray(there) && there.some((one: Json) => isSame(one, item))
      ? null
      : { kind: 'item', path, item };
  }
  if (isSame(there, setting.value)) return null;
  if (setting.kind === 'first') return setting;
  return { ...setting, ...(there === undefined ? {} : { before: there }) };
};

const missingParents = (current: JsonObject, { kind, path }: Change): readonly Change[] =>
  path
    .map((_key, index) => path.slice(0, index + 1))
    .slice(0, kind === 'item' ? path.length : -1)
    .filter((parent) => valueAt(current, parent) === undefined)
    .map((parent) => ({ kind: 'parent', path: parent }));

const applied = (format: Format, text: string, change: SettingChange): string =>
  change.kind === 'item'
    ? format.append(text, change.path, change.item)
    : format.set(text, change.path, change.value);

const expectedAfter = (current: JsonObject, change: SettingChange): JsonObject => {
  const { path } = change;
  const blocked = path.slice(0, -1).findIndex((_key, index) => {
    const parent = valueAt(current, path.slice(0, index + 1));
    return parent !== undefined && !isJsonObject(parent);
  });
  if (blocked >= 0) throw new CannotEdit(`${shownPath(path.slice(0, blocked + 1))} is not an object`);
  if (change.kind !== 'item') return withValueAt(current, path, change.value);
  return withValueAt(current, path, [...listAt(current, path), change.item]);
};

const listAt = (current: JsonObject, path: KeyPath): readonly Json[] => {
  const list = valueAt(current, path) ?? [];
  if (!Array.isArray(list)) throw new CannotEdit(`${shownPath(path)} is not a list`);
  return list as readonly Json[];
};

const check = (format: Format, text: string, expected: JsonObject): void => {
  const isExact = (() => {
    try {
      return isSame(format.read(text), expected);
    } catch {
      return false;
    }
  })();
  if (!isExact) throw new CannotEdit('it is written in a form that this command does not edit');
};

export interface UnmergeResult {
  readonly text: string;
  /** What was not taken back, because it was changed since. */
  readonly kept: readonly KeyPath[];
}

/** Takes changes back in a file that was edited since. What others have changed stays. */
export const unmerge = (format: Format, text: string, changes: readonly Change[]): UnmergeResult => {
  let current = text;
  let expected = format.read(text);
  const kept: KeyPath[] = [];
  for (const change of changes.toReversed()) {
    const step = takenBack(format, current, expected, change);
    if (step === 'kept') kept.push(change.path);
    else [current, expected] = step;
  }
  if (isOnlyFrame(expected, changes)) {
    for (const key of Object.keys(expected)) current = format.remove(current, [key]);
    expected = {};
  }
  check(format, current, expected);
  return { text: current, kept };
};

/** Whether nothing is left but what this command put into an empty file. */
const isOnlyFrame = (value: JsonObject, changes: readonly Change[]): boolean =>
  Object.entries(value).every(([key, one]) =>
    changes.some((change) => change.kind === 'first' && change.path[0] === key && isSame(change.value, one)),
  );

type Step = readonly [text: string, expected: JsonObject];

const takenBack = (format: Format, text: string, value: JsonObject, change: Change): Step | 'kept' => {
  const { path } = change;
  const there = valueAt(value, path);
  // Removed by others.
  if (there === undefined) return [text, value];
  switch (change.kind) {
    case 'first':
      return [text, value];
    case 'value': {
      if (!isOurs(there, change)) return 'kept';
      const { before } = change;
      return before === undefined
        ? [format.remove(text, path), withValueAt(value, path, undefined)]
        : [format.set(text, path, before), withValueAt(value, path, before)];
    }
    case 'item': {
      if (!Array.isArray(there)) return 'kept';
      const list = there as readonly Json[];
      const index = list.findIndex((one) => isSame(one, change.item));
      if (index < 0) return 'kept';
      return [format.removeItem(text, path, change.item), withValueAt(value, path, list.toSpliced(index, 1))];
    }
    case 'parent':
      return isEmpty(there)
        ? [format.remove(text, path), withValueAt(value, path, undefined)]
        : [text, value];
    default:
      return assertNever(change);
  }
};

const isOurs = (there: Json, { value, identity }: Change & { kind: 'value' }): boolean =>
  identity === undefined ? isSame(there, value) : isSame(valueAt(there, identity), valueAt(value, identity));

const isEmpty = (value: Json): boolean =>
  Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
