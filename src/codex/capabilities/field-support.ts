import type { Setting } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';
import { type BackendProfile, type EditField, backendTier } from './profile.ts';
import { SETTING_RULES, type Handling } from './settings.ts';

/** What a backend accepts, and in which request format. */
export interface FieldSupport {
  readonly profile: BackendProfile;
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
): boolean => profile.takes.has(field) && !(requestFormat === 'codex' && NOT_IN_CODEX_FORMAT.has(field));

/** How a setting is handled, given which fields of the model request can be set. */
export const handlingOf = (setting: Setting, canSet: (field: EditField) => boolean): Handling => {
  const rule = SETTING_RULES[setting];
  if ('always' in rule) return rule.always;
  return canSet(rule.field) ? 'mapped' : rule.otherwise;
};

/** Whether a field of the model request will carry the requested value. */
export const reachesBackend =
  ({ serviceTier }: TurnRequest, support: FieldSupport): ((field: EditField) => boolean) =>
  (field) => {
    if (field === 'service_tier' && backendTier(serviceTier, support.profile) === null) return false;
    return supportsField(field, support) && !support.refuses.has(field);
  };
