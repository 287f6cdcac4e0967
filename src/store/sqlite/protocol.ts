import { GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { StoreSync } from '../store-options.ts';

/** What the thread gets when it starts. */
export interface SqliteThreadSettings {
  readonly file: string;
  readonly keys: readonly string[];
  readonly busyMs: number;
  readonly sync: StoreSync;
  readonly now: number;
}

/** From the main thread: an operation, or the end. */
export type ToThread =
  | {
      readonly kind: 'run';
      readonly id: number;
      readonly name: string;
      /** Whose operation it is: keys take turns. */
      readonly key: string;
      /** The length of all texts in the arguments. */
      readonly chars: number;
      readonly args: readonly unknown[];
      readonly now: number;
      /** By the clock of `process.hrtime`, which all threads share. After this time no one waits for it. */
      readonly deadline: bigint;
    }
  | { readonly kind: 'close' };

export type Job = Extract<ToThread, { readonly kind: 'run' }>;

/** From the thread: it has opened the file, or an operation has ended. */
export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed-to-open'; readonly message: string }
  | ({ readonly kind: 'ended'; readonly id: number } & OperationResult);

export type OperationResult =
  | { readonly result: unknown }
  | { readonly failure: Failure; readonly detail: string };

/** Errors do not survive the way between threads as they are. */
export const failedOutcome = ({ failure, cause }: GatewayError): OperationResult => ({
  failure,
  detail: cause instanceof Error ? cause.message : '',
});

export const errorOf = ({
  failure,
  detail,
}: Extract<OperationResult, { readonly failure: Failure }>): GatewayError =>
  new GatewayError(failure, detail === '' ? {} : { cause: new Error(detail) });
