import { describe, expect, it } from 'vitest';

import { isForAnthropic } from './error-response.ts';

describe('isForAnthropic', () => {
  const version = { 'anthropic-version': '2023-06-01' };

  it.each<[string, Record<string, string>, boolean]>([
    ['/v1/messages', {}, true],
    ['/v1/messages/batches?limit=1', {}, true],
    ['/v1/messages-of-others', {}, false],
    ['/v1/files', version, true],
    ['/v1/files', { 'x-api-key': 'k' }, false],
    ['/v1/models', { 'x-api-key': 'k' }, true],
    ['/v1/models/gpt-5.5', { 'x-api-key': 'k' }, true],
    ['/v1/models', { 'x-api-key': 'k', authorization: 'Bearer k' }, false],
    ['/v1/models', { ...version, authorization: 'Bearer k' }, true],
    ['/v1/models', { authorization: 'Bearer k' }, false],
  ])("%s with %j is a request to Anthropic's API: %j", (path, headers, expected) => {
    const http = { url: `http://127.0.0.1${path}`, headers: new Headers(headers) };
    expect(isForAnthropic(http)).toBe(expected);
  });
});
