import type { Failure } from '../../canonical/failure/failure.ts';
import { openaiErrors } from '../../openai/shared/error-body.ts';
import type { ErrorForm } from '../../turns/api.ts';

/** The response to a failed request. One that no route could read gets OpenAI's form. */
export const errorResponse = (
  failed: Failure,
  form: ErrorForm = openaiErrors,
  requestId: string | null = null,
): Response => {
  const { status, headers, body } = form(failed, requestId);
  return Response.json(body, { status, headers });
};
