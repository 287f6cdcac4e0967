import { GatewayError, type Failure } from '../../src/canonical/failure/failure.ts';

/** The failure that is thrown. */
export const refused = (act: () => unknown): Failure => {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return error.failure;
    throw error;
  }
  throw new Error('it was not refused');
};
