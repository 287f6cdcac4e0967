import { migrationsWith } from './migrations/migrate.ts';
import type { Migration } from './migrations/migration.ts';
import type { Operation } from './operation.ts';
import type { StorePart } from './part.ts';
import { chatOperations } from './queries/chats.ts';
import { conversationOperations } from './queries/conversations.ts';
import { eventOperations } from './queries/events.ts';
import { keptOperations } from './queries/kept.ts';
import { memoryOperations } from './queries/memory.ts';
import { responseOperations } from './queries/responses.ts';
import { segmentOperations } from './queries/all-segments.ts';
import { sweepWith } from './queries/sweep.ts';
import { turnOperations } from './queries/turns.ts';
import type { StoreHooks } from './store-options.ts';
import type { Store } from './store.ts';

const PARTS = {
  turns: turnOperations,
  responses: responseOperations,
  conversations: conversationOperations,
  events: eventOperations,
  chats: chatOperations,
  memory: memoryOperations,
  segments: segmentOperations,
  kept: keptOperations,
};

export type AnyOperation = Operation<readonly unknown[], unknown>;

/** What a database can do, with the parts of features. */
export interface StoreSchema {
  readonly migrations: readonly Migration[];
  /** Every operation by its name, such as `turns.commit`. */
  readonly operations: ReadonlyMap<string, AnyOperation>;
}

export const schemaWith = (features: readonly StorePart[]): StoreSchema => ({
  migrations: migrationsWith(features.map(({ migrations }) => migrations)),
  operations: new Map([
    ...[
      ...Object.entries(PARTS),
      ...features.map(({ name, operations }) => [name, operations] as const),
    ].flatMap(([part, operations]) =>
      Object.entries(operations).map(
        ([name, operation]) => [`${part}.${name}`, operation as AnyOperation] as const,
      ),
    ),
    ['sweep', sweepWith(features.flatMap(({ sweep = [] }) => sweep)) as unknown as AnyOperation],
  ]),
});

export type RunOperation = (name: string, args: readonly unknown[]) => Promise<unknown>;

/** The methods of a store, each of which runs its operation, and reports how long that took. */
export const methodsOf = (
  { operations }: StoreSchema,
  runOperation: RunOperation,
  { onOperation }: StoreHooks = {},
): Omit<Store, 'kind' | 'watch' | 'close'> => {
  const run = onOperation === undefined ? runOperation : measured(runOperation, onOperation);
  const parts: Record<string, Record<string, unknown>> = {};
  for (const name of operations.keys()) {
    const [part = '', method] = name.split('.');
    if (method === undefined) continue;
    parts[part] = { ...parts[part], [method]: (...args: readonly unknown[]) => run(name, args) };
  }
  return {
    ...(parts as unknown as Pick<Store, keyof typeof PARTS>),
    sweep: (limit) => run('sweep', [limit]) as Promise<number>,
  };
};

const measured =
  (run: RunOperation, onOperation: NonNullable<StoreHooks['onOperation']>): RunOperation =>
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
