import { GatewayError } from '../../../canonical/failure/failure.ts';

/** Null if the value cannot be read: an operator still sees the other ones, and can delete it. */
export const unsealed = (open: () => string): string | null => {
  try {
    return open();
  } catch (error) {
    if (error instanceof GatewayError && error.failure.kind === 'store_corrupt') return null;
    throw error;
  }
};
