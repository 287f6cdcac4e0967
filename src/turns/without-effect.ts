import { gatewayError, GatewayError } from '../canonical/failure/failure.ts';
import type { Path } from '../canonical/request/path.ts';
import { NO_EFFECT_IN_STRICT, type Rejection } from '../canonical/failure/rejection.ts';
import type { ParsedRequest } from './api.ts';

/** The body fields without effect: those that the API ignores, and those that the backend cannot honour. */
export const namesWithoutEffect = (ask: ParsedRequest, ignored: readonly Path[]): readonly string[] => [
  ...ask.ignored,
  ...ignored.map((path) => ask.nameOf(path)),
];

/** Why a request is rejected, with the client's field names; null if it is not. */
export const refusalOf = (
  ask: ParsedRequest,
  refused: readonly Rejection[],
  isStrict: boolean,
): GatewayError | null => {
  const [unread] = isStrict ? ask.ignored : [];
  if (unread !== undefined) return refusal(unread, 'unsupported_parameter', NO_EFFECT_IN_STRICT);
  const [first] = refused;
  if (first?.kind === 'unsupported_tool' && ask.withoutTool !== undefined)
    return new GatewayError(ask.withoutTool(first.why));
  return first === undefined ? null : refusal(ask.nameOf(first.path), first.kind, first.why);
};

const refusal = (param: string, kind: Rejection['kind'], why: string): GatewayError =>
  gatewayError(kind, { param, message: MESSAGES[kind](param, why) });

const MESSAGES: Readonly<Record<Rejection['kind'], (param: string, why: string) => string>> = {
  invalid_value: (param, why) => `Invalid '${param}': ${why}`,
  unsupported_parameter: (param, why) => `Unsupported parameter: '${param}' ${why}.`,
  unsupported_value: (param, why) => `Unsupported value: '${param}' ${why}.`,
  unsupported_file: (param, why) => `Unsupported file: '${param}' ${why}.`,
  unsupported_tool: (param, why) => `Unsupported tool: '${param}' ${why}.`,
};
