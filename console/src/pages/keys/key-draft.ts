import type { Scope } from '../../session.ts';
import type { Key, KeyLimit } from './key-types.ts';

export interface LimitDraft {
  readonly id: number;
  readonly unit: KeyLimit['unit'];
  readonly window: KeyLimit['window'];
  readonly max: string;
  readonly model: string;
}

/** A key in a form: texts as they are typed. */
export interface KeyDraft {
  readonly name: string;
  readonly note: string;
  readonly scopes: readonly Scope[];
  /** One pattern in each line. */
  readonly models: string;
  readonly workspaces: string;
  readonly effort: string;
  readonly addresses: string;
  readonly concurrency: string;
  readonly storage: string;
  /** As `<input type="datetime-local">` writes it, in the time of the browser. */
  readonly expires: string;
  readonly limits: readonly LimitDraft[];
}

export const EMPTY_KEY: KeyDraft = {
  name: '',
  note: '',
  scopes: ['infer'],
  models: '',
  workspaces: '',
  effort: '',
  addresses: '',
  concurrency: '',
  storage: '',
  expires: '',
  limits: [],
};

export type KeyFields = Pick<
  Key,
  | 'addresses'
  | 'concurrency'
  | 'effort'
  | 'expires_at'
  | 'limits'
  | 'models'
  | 'name'
  | 'note'
  | 'scopes'
  | 'storage_mb'
  | 'workspaces'
>;

export type DraftProblems = Readonly<Record<string, string>>;

/** What the page can check itself; the server checks the rest. */
export const draftProblems = ({
  name,
  scopes,
  concurrency,
  storage,
  expires,
  limits,
}: KeyDraft): DraftProblems => ({
  ...(name.trim() === '' ? { name: 'The key needs a name.' } : {}),
  ...(scopes.length === 0 ? { scopes: 'Choose at least one.' } : {}),
  ...(concurrency.trim() === '' || isWhole(concurrency)
    ? {}
    : { concurrency: 'This must be a whole number.' }),
  ...(storage.trim() === '' || storage.trim() === '0' || isWhole(storage)
    ? {}
    : { storage: 'This must be a whole number.' }),
  ...(expires === '' || Number.isFinite(Date.parse(expires))
    ? {}
    : { expires: 'This must be a date and time.' }),
  ...Object.fromEntries(
    limits
      .filter(({ max, unit }) => !(unit === 'cost' ? Number(max) > 0 : isWhole(max)))
      .map(({ id }) => [`limit-${id}`, 'This must be a number above 0.']),
  ),
});

const isWhole = (text: string): boolean => /^\s*[1-9]\d{0,14}\s*$/.test(text);

const lines = (text: string): readonly string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The fields of a valid draft. */
export const fieldsOf = (draft: KeyDraft): KeyFields => ({
  name: draft.name.trim(),
  note: draft.note.trim(),
  scopes: draft.scopes,
  models: lines(draft.models),
  workspaces: lines(draft.workspaces),
  effort: draft.effort === '' ? null : draft.effort,
  addresses: lines(draft.addresses),
  concurrency: draft.concurrency.trim() === '' ? null : Number(draft.concurrency),
  storage_mb: draft.storage.trim() === '' ? null : Number(draft.storage),
  limits: draft.limits.map(({ unit, window, max, model }) => ({
    unit,
    window,
    max: Number(max),
    model: model.trim() === '' ? null : model.trim(),
  })),
  expires_at: draft.expires === '' ? null : Math.floor(Date.parse(draft.expires) / 1000),
});

/** Only what differs from the key: an expiry in the past, for one, may stay but not be set. */
export const changesOf = (key: Key, draft: KeyDraft): Partial<KeyFields> => {
  const before = fieldsOf(draftOf(key));
  return Object.fromEntries(
    Object.entries(fieldsOf(draft)).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof KeyFields]),
    ),
  );
};

/** A key as a form shows it. */
export const draftOf = (key: Key): KeyDraft => ({
  name: key.name,
  note: key.note,
  scopes: key.scopes,
  models: key.models.join('\n'),
  workspaces: key.workspaces.join('\n'),
  effort: key.effort ?? '',
  addresses: key.addresses.join('\n'),
  concurrency: key.concurrency === null ? '' : String(key.concurrency),
  storage: key.storage_mb === null ? '' : String(key.storage_mb),
  expires: key.expires_at === null ? '' : localTime(key.expires_at),
  limits: key.limits.map(({ unit, window, max, model }, id) => ({
    id,
    unit,
    window,
    max: String(max),
    model: model ?? '',
  })),
});

const two = (value: number): string => String(value).padStart(2, '0');

/** `2026-11-17T22:40`, in the time of the browser. */
const localTime = (seconds: number): string => {
  const date = new Date(seconds * 1000);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
};
