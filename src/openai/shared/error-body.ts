import { catalogueRowOf, type Failure } from '../../canonical/failure/failure.ts';
import { errorHeaders } from '../../apis/sse.ts';
import type { Json } from '../../kit/json/json.ts';
import type { ErrorForm } from '../../turns/api.ts';

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
    readonly [more: string]: Json | undefined;
  };
}

/** OpenAI's error object: all four keys are always present. */
export const errorBody = (failed: Failure): ErrorBody => ({
  error: {
    message: failed.message,
    type: failed.type,
    param: failed.param,
    code: catalogueRowOf(failed).codeless === true ? null : failed.code,
    ...failed.more,
  },
});

/** The failure as it is, with OpenAI's error object. */
export const openaiErrors: ErrorForm = (failed) => ({
  status: failed.status,
  headers: errorHeaders(failed),
  body: errorBody(failed),
});
