import { sql } from 'kysely';

import { FairLine } from '../../kit/async/limiter.ts';
import { read, type Query } from '../operation.ts';
import type { AnyOperation, StoreSchema } from '../operations.ts';
import type { Seal } from '../seal.ts';
import { failedOutcome, type Job, type OperationResult } from './protocol.ts';
import type { SqliteFile } from './sqlite-file.ts';
import type { GatewayError } from '../../canonical/failure/failure.ts';
import { damaged, unavailable, unexpected } from '../store-errors.ts';

/** SQLite's codes for a file that cannot be used now, and what the operator has to know. */
const UNAVAILABLE: Readonly<Record<number, string>> = {
  5: 'another process has locked it',
  6: 'another process has locked it',
  7: 'it has run out of memory',
  8: 'it cannot be written',
  10: 'reading or writing its file failed',
  13: 'the disk is full',
  14: 'its file cannot be opened',
};

const DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** An error of the database as one for clients. */
const fromSqliteError = (error: unknown): GatewayError => {
  const { errcode } = Object(error) as { readonly errcode?: unknown };
  // The upper bits give details.
  const code = typeof errcode === 'number' ? errcode % 256 : -1;
  const reason = UNAVAILABLE[code];
  if (reason !== undefined) return unavailable(reason, error);
  return DAMAGED.has(code) ? damaged(error) : unexpected(error);
};

/** So many operations share one transaction at most, and so many characters. */
const MAX_GROUP = 128;
const MAX_GROUP_CHARS = 4 * 1024 * 1024;

/** The operations that wait. Keys take turns: a key that reads or writes megabytes delays others by one operation. */
export class JobLine {
  readonly #line = new FairLine<Job>();
  readonly #operations: StoreSchema['operations'];

  constructor(operations: StoreSchema['operations']) {
    this.#operations = operations;
  }

  add(job: Job): void {
    this.#line.join(job.key, job);
  }

  /** What runs next: a read, or writes that share a transaction, those of different keys in turns. Empty: nothing waits. */
  next(): readonly Job[] {
    const [first] = this.#line.heads();
    if (first === undefined) return [];
    if (!operationOf(first, this.#operations).isWrite) {
      this.#line.serve(first.key, first);
      return [first];
    }
    const group: Job[] = [];
    let chars = 0;
    for (let round = this.#writes(); round.length > 0; round = this.#writes()) {
      for (const job of round) {
        this.#line.serve(job.key, job);
        group.push(job);
        chars += job.chars;
        if (group.length >= MAX_GROUP || chars >= MAX_GROUP_CHARS) return group;
      }
    }
    return group;
  }

  #writes(): readonly Job[] {
    return [...this.#line.heads()].filter((job) => operationOf(job, this.#operations).isWrite);
  }
}

type Answer = (id: number, outcome: OperationResult) => void;

/**
 * Runs operations. Writes that wait share one transaction, because its end, which waits for the disk, is what costs. Each
 * has a savepoint, so that one that fails does not undo the others. Their answers are given after the commit.
 */
export const runJobs = async (
  jobs: readonly Job[],
  operations: StoreSchema['operations'],
  file: SqliteFile,
  seal: Seal,
  answer: Answer,
): Promise<void> => {
  // No one waits for the others any more.
  const wanted = jobs
    .filter(({ deadline }) => deadline > process.hrtime.bigint())
    .map((job) => ({ ...job, operation: operationOf(job, operations) }));
  const firstWrite = wanted.findIndex(({ operation }) => operation.isWrite);
  const reads = firstWrite < 0 ? wanted : wanted.slice(0, firstWrite);
  for (const job of reads) answer(job.id, await alone(job, file, seal));
  const group = firstWrite < 0 ? [] : wanted.slice(firstWrite);
  const outcomes = await together(group, file, seal);
  for (const [index, job] of group.entries()) {
    // What filled the disk, for example, may have been only one of them.
    answer(job.id, outcomes?.[index] ?? (await alone(job, file, seal)));
  }
};

/** A number that is another one after another process has written to the file. */
export const FILE_VERSION = 'file-version';

const fileVersion = read(async ({ db }: Query): Promise<number> => {
  const { rows } = await sql<{ readonly data_version: number }>`pragma data_version`.execute(db);
  return rows[0]?.data_version ?? 0;
}) as unknown as AnyOperation;

interface PreparedJob extends Job {
  readonly operation: AnyOperation;
}

const operationOf = ({ name }: Job, operations: StoreSchema['operations']): AnyOperation => {
  const operation = name === FILE_VERSION ? fileVersion : operations.get(name);
  if (operation === undefined) throw new Error(`the store has no operation ${name}`);
  return operation;
};

/** Reads wait for no disk. */
const isRelaxed = ({ operation, args }: PreparedJob): boolean =>
  !operation.isWrite || operation.isRelaxed?.(...args) === true;

const runOne = (job: PreparedJob, { db }: SqliteFile, seal: Seal): Promise<unknown> =>
  job.operation.run({ db, seal, now: job.now }, ...job.args);

/**
 * Lets the next statements wait for other processes until no one waits for the job any more. Later jobs, which have later
 * deadlines, then still have time.
 */
const waitUntil = (deadline: bigint, file: SqliteFile): void => {
  const leftMs = Number((deadline - process.hrtime.bigint()) / 1_000_000n);
  file.exec(`pragma busy_timeout = ${Math.max(leftMs, 0)}`);
};

/** In a transaction of its own. */
const alone = async (job: PreparedJob, file: SqliteFile, seal: Seal): Promise<OperationResult> => {
  try {
    waitUntil(job.deadline, file);
    file.relax(isRelaxed(job));
    file.exec(job.operation.isWrite ? 'begin immediate' : 'begin');
    const result = await runOne(job, file, seal);
    file.exec('commit');
    return { result };
  } catch (error) {
    rollBack(file);
    return failedOutcome(fromSqliteError(error));
  }
};

/** In one transaction. Null: it failed as a whole, and nothing was written. */
const together = async (
  jobs: readonly PreparedJob[],
  file: SqliteFile,
  seal: Seal,
): Promise<readonly OperationResult[] | null> => {
  const [first, second] = jobs;
  if (first === undefined || second === undefined) return null;
  const outcomes: OperationResult[] = [];
  try {
    waitUntil(first.deadline, file);
    file.relax(jobs.every(isRelaxed));
    file.exec('begin immediate');
    for (const job of jobs) outcomes.push(await inSavepoint(job, file, seal));
    file.exec('commit');
    return outcomes;
  } catch {
    rollBack(file);
    return null;
  }
};

const inSavepoint = async (job: PreparedJob, file: SqliteFile, seal: Seal): Promise<OperationResult> => {
  file.exec('savepoint job');
  try {
    const result = await runOne(job, file, seal);
    file.exec('release job');
    return { result };
  } catch (error) {
    // A full disk, for example, ends the whole transaction.
    if (!file.isInTransaction) throw error;
    file.exec('rollback to job');
    file.exec('release job');
    return failedOutcome(fromSqliteError(error));
  }
};

const rollBack = (file: SqliteFile): void => {
  if (file.isInTransaction) file.exec('rollback');
};
