import type { LoggedRequest } from './request-answers.ts';

/** What the live stream has shown so far. */
export interface LiveList {
  /** By their ids: those that run, and those that have ended since the page was opened. */
  readonly requests: ReadonlyMap<string, LoggedRequest>;
  /** Events that the page was too slow for. */
  readonly dropped: number;
}

export const NO_REQUESTS: LiveList = { requests: new Map(), dropped: 0 };

/** Requests that have ended and are kept on the page. */
const MAX_ENDED = 500;

/** A message of the live stream. */
export type LiveMessage =
  | LoggedRequest
  | { readonly object: 'list'; readonly data: readonly LoggedRequest[] }
  | { readonly dropped: number };

/** The list after a message. A snapshot has everything that runs: what is not in it has ended, and is in the history. */
export const withMessage = (list: LiveList, message: LiveMessage): LiveList => {
  if ('dropped' in message) return { ...list, dropped: list.dropped + message.dropped };
  if ('data' in message) {
    const ended = [...list.requests].filter(([, { state }]) => state === 'ended');
    return { ...list, requests: new Map([...ended, ...message.data.map((one) => [one.id, one] as const)]) };
  }
  const requests = new Map(list.requests).set(message.id, message);
  if (requests.size > MAX_ENDED) {
    const oldest = [...requests.values()]
      .filter(({ state }) => state === 'ended')
      .toSorted(newestFirst)
      .at(-1);
    if (oldest !== undefined) requests.delete(oldest.id);
  }
  return { ...list, requests };
};

/** Ids sort by time. */
const newestFirst = (one: LoggedRequest, other: LoggedRequest): number => (one.id < other.id ? 1 : -1);

/** Those that run, then those that have ended, each with the newest first and once. */
export const merged = (
  live: readonly LoggedRequest[],
  stored: readonly LoggedRequest[],
): readonly LoggedRequest[] => {
  const all = new Map([...stored, ...live].map((one) => [one.id, one]));
  const sorted = [...all.values()].toSorted(newestFirst);
  return [
    ...sorted.filter(({ state }) => state === 'running'),
    ...sorted.filter(({ state }) => state === 'ended'),
  ];
};
