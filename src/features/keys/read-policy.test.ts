import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { readChanges, readPolicy } from './read-policy.ts';

const NOW = 1_800_000_000_000;

const limit = { unit: 'tokens', window: 'day', max: 1_000_000, model: 'gpt-*' };

const problemOf = (fields: JsonObject): readonly [param: string | null, message: string] => {
  try {
    readPolicy({ name: 'laptop', ...fields }, NOW);
  } catch (error) {
    const { param, message } = failureOf(error);
    return [param, message];
  }
  throw new Error('the fields were accepted');
};

describe('readPolicy', () => {
  it('needs only a name', () => {
    expect(readPolicy({ name: 'laptop' }, NOW)).toEqual({
      name: 'laptop',
      note: '',
      scopes: ['infer'],
      models: [],
      workspaces: [],
      effort: null,
      addresses: [],
      concurrency: null,
      limits: [],
      storageMb: null,
      expiresAt: null,
    });
    expect(() => readPolicy({ note: 'x' }, NOW)).toThrow("Missing required parameter: 'name'.");
  });

  it('reads every field', () => {
    const fields = {
      name: 'Ada’s laptop',
      note: 'since May\nfor tests',
      scopes: ['admin', 'infer', 'admin'],
      models: ['gpt-*', 'o3'],
      workspaces: ['web', 'docs-*'],
      effort: 'medium',
      addresses: ['10.0.0.0/8', '::1'],
      concurrency: 4,
      limits: [limit, { unit: 'cost', window: '7d', max: 0.5 }],
      storage_mb: 0,
      expires_at: 1_800_000_001,
    };
    expect(readPolicy(fields, NOW)).toEqual({
      name: 'Ada’s laptop',
      note: 'since May\nfor tests',
      scopes: ['infer', 'admin'],
      models: ['gpt-*', 'o3'],
      workspaces: ['web', 'docs-*'],
      effort: 'medium',
      addresses: ['10.0.0.0/8', '::1'],
      concurrency: 4,
      limits: [limit, { unit: 'cost', window: '7d', max: 0.5, model: null }],
      storageMb: 0,
      expiresAt: 1_800_000_001_000,
    });
  });

  it.each<readonly [JsonObject, string, string]>([
    [{ colour: 'red' }, 'colour', "Unknown parameter: 'colour'."],
    [{ name: '' }, 'name', 'a name in one line'],
    [{ name: ' a' }, 'name', 'a name in one line'],
    [{ name: 'a\nb' }, 'name', 'a name in one line'],
    [{ name: null }, 'name', 'a string of at most 100 characters'],
    [{ name: 'a'.repeat(101) }, 'name', 'a string of at most 100 characters'],
    [{ note: 1 }, 'note', 'a string of at most 1000 characters'],
    [{ scopes: [] }, 'scopes', 'at least one of infer, read, admin'],
    [{ scopes: 'infer' }, 'scopes', 'an array of at most 100 entries'],
    [{ scopes: ['infer', 'root'] }, 'scopes[1]', 'one of infer, read, admin'],
    [{ models: ['gpt 5'] }, 'models[0]', 'the name of a model'],
    [{ models: [''] }, 'models[0]', 'the name of a model'],
    [{ models: Array.from({ length: 101 }, () => 'm') }, 'models', 'an array of at most 100 entries'],
    [{ workspaces: 'web' }, 'workspaces', 'an array of at most 100 entries'],
    [{ workspaces: ['web', '/srv/web'] }, 'workspaces[1]', 'the name of a workspace'],
    [{ effort: 'some' }, 'effort', 'one of none, minimal, low, medium, high, xhigh, max, ultra'],
    [{ addresses: ['10.0.0.0/8', 'home'] }, 'addresses[1]', 'an IP address or a range such as 10.0.0.0/8'],
    [{ concurrency: 0 }, 'concurrency', 'a whole number from 1 to 100000'],
    [{ concurrency: 1.5 }, 'concurrency', 'a whole number from 1 to 100000'],
    [{ concurrency: '2' }, 'concurrency', 'a whole number from 1 to 100000'],
    [{ storage_mb: -1 }, 'storage_mb', 'a whole number from 0 to 1000000000'],
    [{ expires_at: 1_800_000_000 }, 'expires_at', 'a time in the future'],
    [{ expires_at: '2030-01-01' }, 'expires_at', 'a whole number from 0 to'],
    [{ limits: ['tokens/day=5'] }, 'limits[0]', 'an object with unit, window, max, model'],
    [{ limits: [{ ...limit, unit: 'words' }] }, 'limits[0].unit', 'one of tokens, requests, cost'],
    [{ limits: [{ ...limit, window: 'year' }] }, 'limits[0].window', 'one of minute, 5h, day, 7d, month'],
    [{ limits: [{ ...limit, max: 0 }] }, 'limits[0].max', 'a whole number from 1 to 1000000000000000'],
    [{ limits: [{ ...limit, max: 1.5 }] }, 'limits[0].max', 'a whole number from 1'],
    [{ limits: [{ ...limit, unit: 'cost', max: 0 }] }, 'limits[0].max', 'a number above 0'],
    [{ limits: [{ unit: 'tokens', window: 'day' }] }, 'limits[0].max', 'a whole number from 1'],
    [{ limits: [{ ...limit, model: '' }] }, 'limits[0].model', 'the name of a model'],
    [{ limits: [{ ...limit, per: 'day' }] }, 'limits[0].per', "Unknown parameter: 'limits[0].per'."],
    [{ limits: [limit, { ...limit, max: 5 }] }, 'limits[1]', 'another limit than limits[0]'],
  ])('refuses %j and names the field', (fields, param, message) => {
    expect(problemOf(fields)).toEqual([param, expect.stringContaining(message)]);
  });
});

describe('readChanges', () => {
  it('has only the given fields, and takes null for those that may be empty', () => {
    expect(readChanges({}, NOW)).toEqual({});
    expect(readChanges({ effort: null, concurrency: null, expires_at: null, models: [] }, NOW)).toEqual({
      effort: null,
      concurrency: null,
      expiresAt: null,
      models: [],
    });
  });
});
