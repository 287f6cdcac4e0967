import { failureOf, type Failure } from '../failure/failure.ts';
import type { OpenSpan } from './trace.ts';

/** Ends the span with the work; if that fails, with the code of the failure. */
export const measured = async <Value>(
  span: OpenSpan,
  work: () => Promise<Value>,
  toFailure: (error: unknown) => Failure = failureOf,
): Promise<Value> => {
  try {
    return await work();
  } catch (error) {
    span.end({ error: toFailure(error).code });
    throw error;
  } finally {
    span.end();
  }
};
