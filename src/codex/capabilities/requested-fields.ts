import type { Path, Setting } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Json } from '../../kit/json/json.ts';
import { type EditField, isSpecialTier } from './profile.ts';
import { SETTING_RULES } from './settings.ts';

/** A setting whose loss the caller would notice if no field of the model request carries it. */
export interface RequestedField {
  readonly path: Path;
  readonly field: EditField;
}

const NAMES = Object.keys(SETTING_RULES) as readonly Setting[];

/** Settings that are a plain field of the model request. */
export const plainValues = (request: TurnRequest): readonly (readonly [EditField, Json])[] =>
  NAMES.flatMap((name) => {
    const rule = SETTING_RULES[name];
    if ('always' in rule) return [];
    const value = rule.value?.(request) ?? null;
    return value === null ? [] : [[rule.field, value] as const];
  });

/** Settings of a request that only the model request can carry. */
export const requestedFields = (request: TurnRequest): readonly RequestedField[] => [
  ...NAMES.flatMap((path): readonly RequestedField[] => {
    const rule = SETTING_RULES[path];
    if ('always' in rule || rule.otherwise !== 'ignored') return [];
    if (path === 'include') {
      return request.include.map((include) => ({ path: { include }, field: rule.field }));
    }
    const value = rule.value?.(request) ?? null;
    const isRequested = rule.isRequested?.(request) ?? (value !== null && value !== rule.defaultValue);
    return isRequested && (rule.matters?.(request) ?? true) ? [{ path, field: rule.field }] : [];
  }),
  ...(isSpecialContext(request) ? [{ path: 'reasoning.context', field: 'reasoning.context' } as const] : []),
  ...(request.verbosity === null ? [] : [{ path: 'verbosity', field: 'text.verbosity' } as const]),
  ...(isSpecialTier(request.serviceTier) ? [{ path: 'serviceTier', field: 'service_tier' } as const] : []),
];

/** `auto` leaves it to the model, like no value. */
const isSpecialContext = ({ reasoning }: TurnRequest): boolean => (reasoning.context ?? 'auto') !== 'auto';

/** The settings that have no effect, given which fields reach the backend. */
export const ineffectiveSettings = (
  request: TurnRequest,
  says: (field: EditField) => boolean,
): readonly Path[] =>
  requestedFields(request)
    .filter(({ field }) => !says(field))
    .map(({ path }) => path);

/** Whether a request uses a setting that no field holds unchanged. */
export const isRequested = (setting: Setting, request: TurnRequest): boolean => {
  const rule = SETTING_RULES[setting];
  return 'field' in rule && rule.isRequested?.(request) === true;
};
