import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { hideTokens } from '../../kit/text/hide-secrets.ts';
import { UntrustedPath } from '../home/trusted-path.ts';
import { RequestTimeout, RpcError } from '../rpc/errors.ts';

export const PROCESS_ENDED = 'The codex process ended before the sign-in was complete. Start again.';

/** Any web page can open the success page of codex, which ends the sign-in. */
export const NO_LOGIN =
  'The success page was opened before the sign-in was complete. Start again, or sign in with a device code.';

const NETWORK =
  'If auth.openai.com cannot be reached from the server, set HTTPS_PROXY there, and SSL_CERT_FILE for certificates.';

const MAX_REASON = 300;

/** What codex or the system says about a failure, as a short sentence without tokens. */
export const reasonOf = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : '';
  const line = hideTokens(text.slice(0, 10 * MAX_REASON))
    .replaceAll(/\b(rt_|sk-|at-)[\w-]{6,}/g, '$1***')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const short = line.length > MAX_REASON ? `${line.slice(0, MAX_REASON).toWellFormed()}…` : line;
  if (short === '') return 'codex gave no reason.';
  return /[.…!?]$/.test(short) ? short : `${short}.`;
};

export const couldNotStart = (cause: unknown): GatewayError =>
  gatewayError('sign_in_failed', { message: `The sign-in could not be started: ${startReason(cause)}` });

export const couldNotSignOut = (file: string, cause: unknown): GatewayError =>
  gatewayError('sign_out_failed', {
    message: `Still signed in: ${reasonOf(cause)} Delete ${file} to sign out on this machine only.`,
  });

const startReason = (cause: unknown): string => {
  if (cause instanceof UntrustedPath) return reasonOf(cause);
  if (cause instanceof RpcError) return `${reasonOf(cause)} ${NETWORK}`;
  if (cause instanceof RequestTimeout) return `codex did not answer in time. ${NETWORK}`;
  return 'the codex process did not start. The log of the server says why.';
};

export const couldNotSave = (loginHome: string, cause: unknown): string =>
  `The login could not be saved in ${loginHome}: ${reasonOf(cause)}`;
