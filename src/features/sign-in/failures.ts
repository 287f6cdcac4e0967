import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';

/** Errors of signing in and out without a terminal. */
export const SIGN_IN_FAILURES = {
  unknown_sign_in: row(
    404,
    'This sign-in was not found.',
    'the sign-in is unknown to this instance of the server, or old',
    { after: 'background_limit' },
  ),
  // OpenAI clients retry 409.
  sign_in_pending: row(
    409,
    'Another sign-in is pending. Complete it or cancel it first: GET /v1/codex/login lists it.',
    'a sign-in is started while another one is pending',
    { final: true },
  ),
  sign_in_failed: row(
    502,
    'The sign-in could not be started.',
    'codex could not start a sign-in, such as because auth.openai.com cannot be reached; the message has the reason',
    { final: true, source: 'account' },
  ),
  sign_out_failed: row(
    502,
    'The server is still signed in.',
    'codex could not sign out; the message has the reason',
    { final: true, source: 'account' },
  ),
} as const satisfies FeatureFailures;

/** Makes an error of a sign-in. */
export const signInError = featureErrors(SIGN_IN_FAILURES);
