import type { SERVER_REQUEST_METHODS } from './generated/server-methods.ts';

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
