import type { Ambient, Clock, IdSource } from './ambient.ts';

const systemClock: Clock = { now: () => Date.now() };

/** 122 random bits. Node caches random bytes for UUIDs, so an id costs no system call. */
const systemIds: IdSource = {
  mint: (prefix) => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`,
};

export const systemAmbient: Ambient = { clock: systemClock, ids: systemIds };
