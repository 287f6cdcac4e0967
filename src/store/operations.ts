import type { Operation } from './operation.ts';
import { chatOperations } from './queries/chats.ts';
import { conversationOperations } from './queries/conversations.ts';
import { eventOperations } from './queries/events.ts';
import { keptOperations } from './queries/kept.ts';
import { keyOperations } from './queries/keys.ts';
import { limitOperations } from './queries/limits.ts';
import { memoryOperations } from './queries/memory.ts';
import { requestOperations } from './queries/requests.ts';
import { responseOperations } from './queries/responses.ts';
import { segmentOperations } from './queries/all-segments.ts';
import { sweep } from './queries/sweep.ts';
import { turnOperations } from './queries/turns.ts';
import { usageOperations } from './queries/usage.ts';
import type { StoreOptions } from './store-options.ts';
import type { Store } from './store.ts';

const PARTS = {
  turns: turnOperations,
  responses: responseOperations,
  conversations: conversationOperations,
  events: eventOperations,
  chats: chatOperations,
  memory: memoryOperations,
  keys: keyOperations,
  requests: requestOperations,
  segments: segmentOperations,
  limits: limitOperations,
  usage: usageOperations,
  kept: keptOperations,
};

export type AnyOperation = Operation<readonly unknown[], unknown>;

/** Every operation by its name, such as `turns.commit`. */
export const OPERATIONS: ReadonlyMap<string, AnyOperation> = new Map([
  ...Object.entries(PARTS).flatMap(([part, operations]) =>
    Object.entries(operations).map(
      ([name, operation]) => [`${part}.${name}`, operation as unknown as AnyOperation] as const,
    ),
  ),
  ['sweep', sweep as unknown as AnyOperation],
]);

export type RunOperation = (name: string, args: readonly unknown[]) => Promise<unknown>;

/** The methods of a store, each of which runs its operation, and reports how long that took. */
export const methodsOf = (
  runOperation: RunOperation,
  { onOperation }: Pick<StoreOptions, 'onOperation'> = {},
): Omit<Store, 'kind' | 'watch' | 'close'> => {
  const run = onOperation === undefined ? runOperation : measured(runOperation, onOperation);
  const parts = Object.entries(PARTS).map(([part, operations]) => [
    part,
    Object.fromEntries(
      Object.keys(operations).map((name) => [
        name,
        (...args: readonly unknown[]) => run(`${part}.${name}`, args),
      ]),
    ),
  ]);
  return {
    ...(Object.fromEntries(parts) as Pick<Store, keyof typeof PARTS>),
    sweep: (limit) => run('sweep', [limit]) as Promise<number>,
  };
};

const measured =
  (run: RunOperation, onOperation: NonNullable<StoreOptions['onOperation']>): RunOperation =>
  async (name, args) => {
    const startedAt = performance.now();
    try {
      const result = await run(name, args);
      onOperation(name, performance.now() - startedAt, null);
      return result;
    } catch (error) {
      onOperation(name, performance.now() - startedAt, error);
      throw error;
    }
  };
