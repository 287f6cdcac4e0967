import { expect, it } from 'vitest';

import type { Failure } from '../../src/canonical/failure/failure.ts';
import { classify, NO_DETAILS, type ReportedError } from '../../src/codex/failures/classify.ts';

/** The host that reports the classified errors in tests. */
export const HOST = 'backend.example:8443';

const told = (said: Partial<ReportedError>): Failure => classify({ ...NO_DETAILS, host: HOST, ...said });

export type ClassifiedRow = readonly [what: string, said: Partial<ReportedError>, expected: Failure];

/** A test for each row. */
export const check = (rows: readonly ClassifiedRow[]): void => {
  it.each(rows)('%s', (_, said, expected) => {
    expect(told(said)).toEqual(expected);
  });
};
