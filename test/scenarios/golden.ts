import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { expect } from 'vitest';

import type { Failure } from '../../src/canonical/failure/failure.ts';
import { errorBody } from '../../src/openai/shared/error-body.ts';
import { scenarioFile } from './replay.ts';

const isUpdating = process.env['UPDATE_GOLDEN'] === '1';

/** Compares a file of a scenario; `UPDATE_GOLDEN=1` rewrites it for review. */
export const golden = (name: string, file: string, actual: string): void => {
  const at = scenarioFile(name, file);
  if (isUpdating) writeFileSync(at, actual);
  expect(existsSync(at), `${at} is missing: run with UPDATE_GOLDEN=1`).toBe(true);
  const expected = readFileSync(at, 'utf8');
  // JSON is compared by value, so that it can be formatted.
  if (file.endsWith('.json')) expect(JSON.parse(actual)).toEqual(JSON.parse(expected));
  else expect(actual).toBe(expected);
};

export const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A failure before the commit point: status, headers and body. */
export const httpError = (failed: Failure): string => {
  const retry = failed.retryAfterSeconds === null ? {} : { 'retry-after': String(failed.retryAfterSeconds) };
  return print({
    status: failed.status,
    headers: { ...failed.headers, ...retry },
    body: errorBody(failed),
  });
};
