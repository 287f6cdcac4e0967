import type { Setting } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';
import type { BackendProfile, EditField } from './profile.ts';
import { SETTINGS, type Handling } from './settings.ts';
import { backendTier } from './service-tiers.ts';

/** By which way requests reach a backend. */
export interface FieldSupport {
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
export const supportsField = (
  field: EditField,
  { profile, requestFormat }: Omit<FieldSupport, 'refuses'>,
): boolean =>
  profile !== null &&
  profile.takes.has(field) &&
  !(requestFormat === 'codex' && NOT_IN_CODEX_FORMAT.has(field));

/** What becomes of a setting that a request makes use of. */
export const handlingOf = (setting: Setting, support: FieldSupport): Handling => {
  const rule = SETTINGS[setting];
  if ('always' in rule) return rule.always;
  return supportsField(rule.field, support) && !support.refuses.has(rule.field) ? 'mapped' : rule.otherwise;
};

/** Whether a field of the backend's request will say what a request asks for. */
export const reachesBackend =
  (
    { serviceTier }: TurnRequest,
    { sendsVerbosity, ...support }: FieldSupport & { readonly sendsVerbosity: boolean },
  ): ((field: EditField) => boolean) =>
  (field) => {
    // The app-server has a field of its own for these two.
    if (field === 'text.verbosity' && sendsVerbosity) return true;
    if (field === 'service_tier') {
      if (support.profile === null) return true;
      if (backendTier(serviceTier, support.profile) === null) return false;
    }
    return supportsField(field, support) && !support.refuses.has(field);
  };
