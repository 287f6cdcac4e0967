import { isJsonObject, parseJsonObject } from '../../kit/json/json.ts';
import type { SERVER_REQUEST_METHODS } from './generated/server-methods.ts';
import type { CommandExecutionRequestApprovalParams } from './generated/v2/CommandExecutionRequestApprovalParams.ts';

type Decline =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly message: string };

const result = (value: unknown): Decline => ({ kind: 'result', result: value });
const error = (message: string): Decline => ({ kind: 'error', message });

const NO_PERSON = 'there is no user to ask';

/**
 * How we decline requests of the server other than tool calls. With our configuration it sends none; if it
 * does, an approval is declined in its own format, so that the turn continues. The record is exhaustive by
 * type: a new request in a new binary needs a decision.
 */
const DECLINES: Readonly<
  Record<Exclude<(typeof SERVER_REQUEST_METHODS)[number], 'item/tool/call'>, Decline>
> = {
  'item/commandExecution/requestApproval': result({ decision: 'decline' }),
  'item/fileChange/requestApproval': result({ decision: 'decline' }),
  'item/permissions/requestApproval': result({ permissions: {}, scope: 'turn' }),
  'mcpServer/elicitation/request': result({ action: 'decline', content: null, _meta: null }),
  applyPatchApproval: result({ decision: { denied: { rejection: NO_PERSON } } }),
  execCommandApproval: result({ decision: { denied: { rejection: NO_PERSON } } }),
  'item/tool/requestUserInput': error(NO_PERSON),
  'account/chatgptAuthTokens/refresh': error('this client has no tokens'),
  'attestation/generate': error('this client does not attest'),
  'currentTime/read': error('this client has no clock to offer'),
};

const isDeclined = (method: string): method is keyof typeof DECLINES => Object.hasOwn(DECLINES, method);

export const declineOf = (method: string): Decline =>
  isDeclined(method) ? DECLINES[method] : error(`unknown request: ${method}`);

const COMMAND_APPROVAL = 'item/commandExecution/requestApproval';
const PATCH_APPROVAL = 'item/fileChange/requestApproval';

/** What codex asks for: to leave the sandbox, to write outside of it, or something else. */
export type AskedFor = 'escalation' | 'patch' | 'other';

export const askedFor = (method: string): AskedFor => {
  if (method === COMMAND_APPROVAL) return 'escalation';
  return method === PATCH_APPROVAL ? 'patch' : 'other';
};

export const ACCEPTED = { decision: 'accept' } as const;

/** The call that a request is about; null: it names none. */
export const askedCall = (params: unknown): string | null =>
  isJsonObject(params) && typeof params['itemId'] === 'string' ? params['itemId'] : null;

/**
 * Whether codex asks only because the words of a command look dangerous: then it runs inside its sandbox. Whatever asks for
 * more than the sandbox gives is refused. `given` are the arguments of the call; null: the call is unknown.
 */
export const staysInSandbox = (method: string, params: unknown, given: string | null): boolean => {
  if (method !== COMMAND_APPROVAL || !isJsonObject(params) || given === null) return false;
  const asked: Partial<Record<keyof CommandExecutionRequestApprovalParams, unknown>> = params;
  const isPlain =
    asked.kind === 'command' &&
    isAbsent(asked.reason) &&
    isAbsent(asked.additionalPermissions) &&
    isAbsent(asked.networkApprovalContext);
  const { sandbox_permissions: wanted } = parseJsonObject(given) ?? { sandbox_permissions: 'unknown' };
  return isPlain && (isAbsent(wanted) || wanted === 'use_default');
};

const isAbsent = (value: unknown): boolean => value === null || value === undefined;
