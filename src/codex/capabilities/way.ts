import type { Setting } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';
import type { BackendProfile, EditField } from './profile.ts';
import { SETTINGS, type Fate } from './settings.ts';
import { tierAt } from './tiers.ts';

/** By which way requests reach a backend. */
export interface Way {
  /** Null: there is no relay, so the backend hears what the app-server says by itself. */
  readonly profile: BackendProfile | null;
  readonly requestFormat: RequestFormat;
  /** What the backend was found to refuse. */
  readonly refuses: ReadonlySet<EditField>;
}

/** What the codex format of a ChatGPT login has no place for. */
const NOT_IN_CODEX_FORMAT: ReadonlySet<EditField> = new Set([
  'tool_choice',
  'parallel_tool_calls',
  'image_detail',
]);

/** Whether a field of the backend's request can be set, if nothing was learnt about it. */
export const hasPlaceFor = (field: EditField, { profile, requestFormat }: Omit<Way, 'refuses'>): boolean =>
  profile !== null &&
  profile.takes.has(field) &&
  !(requestFormat === 'codex' && NOT_IN_CODEX_FORMAT.has(field));

/** What becomes of a setting that a request makes use of. */
export const fateOf = (setting: Setting, way: Way): Fate => {
  const rule = SETTINGS[setting];
  if ('always' in rule) return rule.always;
  return hasPlaceFor(rule.field, way) && !way.refuses.has(rule.field) ? 'mapped' : rule.otherwise;
};

/** Whether a field of the backend's request will say what a request asks for. */
export const willSay =
  (
    { serviceTier }: TurnRequest,
    { saysVerbosity, ...way }: Way & { readonly saysVerbosity: boolean },
  ): ((field: EditField) => boolean) =>
  (field) => {
    // The app-server has a field of its own for these two.
    if (field === 'text.verbosity' && saysVerbosity) return true;
    if (field === 'service_tier') {
      if (way.profile === null) return true;
      if (tierAt(serviceTier, way.profile) === null) return false;
    }
    return hasPlaceFor(field, way) && !way.refuses.has(field);
  };
