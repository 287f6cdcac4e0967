import { failure, type Failure } from './failure.ts';

/** Errors of the system that say what this process lacks, and nothing about whom it wanted to reach. */
const OURS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** A moment later something else may have been let go. */
const RETRY_AFTER_SECONDS = 1;

/** The same as the app-server says it: `Too many open files (os error 24)`. */
const IN_WORDS = /\(os error (?:12|23|24|105)\)/;

/** It has no place for something, and says so. */
export const noRoom = (): Failure => failure('out_of_resources', { retryAfterSeconds: RETRY_AFTER_SECONDS });

export const saysNoRoom = (message: string): boolean => IN_WORDS.test(message);

/** The failure behind such a code; null: it is about something else. */
export const outOfResources = (code: string | null): Failure | null =>
  code !== null && OURS.has(code) ? noRoom() : null;
