import type { Setting } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';
import type { BackendProfile, EditField } from './profile.ts';
import { SETTINGS, type Handling } from './settings.ts';
import { backendTier } from './service-tiers.ts';

/** What a backend accepts, and in which request format. */
export interface FieldSupport {
  /** Null: no relay, so the backend receives what the app-server sends. */
  readonly profile: BackendProfile | null;
  readonly requestFormat: RequestFormat;
  /** Fields that the backend has refused. */
  readonly refuses: ReadonlySet<EditField>;
}

/** Fields that the codex format cannot express. */
const NOT_IN_CODEX_FORMAT: ReadonlySet<EditField> = new Set([
  'tool_choice',
  'parallel_tool_calls',
  'image_detail',
]);

/** Whether a field can be set, ignoring past refusals. */
export const supportsField = (
  field: EditField,
  { profile, requestFormat }: Omit<FieldSupport, 'refuses'>,
): boolean =>
  profile !== null &&
  profile.takes.has(field) &&
  !(requestFormat === 'codex' && NOT_IN_CODEX_FORMAT.has(field));

/** How a setting is handled with this backend. */
export const handlingOf = (setting: Setting, support: FieldSupport): Handling => {
  const rule = SETTINGS[setting];
  if ('always' in rule) return rule.always;
  return supportsField(rule.field, support) && !support.refuses.has(rule.field) ? 'mapped' : rule.otherwise;
};

/** Whether a field of the model request will carry the requested value. */
export const reachesBackend =
  (
    { serviceTier }: TurnRequest,
    { sendsVerbosity, ...support }: FieldSupport & { readonly sendsVerbosity: boolean },
  ): ((field: EditField) => boolean) =>
  (field) => {
    // The app-server has its own field for these two.
    if (field === 'text.verbosity' && sendsVerbosity) return true;
    if (field === 'service_tier') {
      if (support.profile === null) return true;
      if (backendTier(serviceTier, support.profile) === null) return false;
    }
    return supportsField(field, support) && !support.refuses.has(field);
  };
