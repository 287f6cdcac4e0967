import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../canonical/failure/failure.ts';
import { changesIn, withDiff } from './changes.ts';

const problemOf = (target: unknown): string => {
  try {
    changesIn({ workspace: 'web', target });
    return 'none';
  } catch (error) {
    if (error instanceof GatewayError) return `${error.failure.kind} ${error.failure.param}`;
    throw error;
  }
};

describe('the changes that a review is about', () => {
  it('are those of a workspace only', () => {
    expect(changesIn({ target: { type: 'uncommittedChanges' } })).toBe(null);
    expect(changesIn({ workspace: null })).toBe(null);
    const target = { type: 'baseBranch', branch: 'release/1.x' };
    expect(changesIn({ workspace: 'web', target })).toEqual({ workspace: 'web', target });
  });

  it.each([
    [{ type: 'baseBranch', branch: 'main' }],
    [{ type: 'baseBranch', branch: 'origin/größe-2' }],
    [{ type: 'commit', sha: 'c5e376c3bc9c4186b8907b07fcda83f9b24a8b8b' }],
  ])('may be %j', (target) => {
    expect(problemOf(target)).toBe('none');
  });

  it.each([
    '--output=/tmp/x',
    '-p',
    'a..b',
    'main@{1}',
    'main~1',
    'main:a.txt',
    '^main',
    'a b',
    'a\nb',
    '*',
    '/a',
    '.a',
    '@',
    '',
    'x'.repeat(256),
  ])('are not those of the branch %j', (branch) => {
    expect(problemOf({ type: 'baseBranch', branch })).toMatch(/target\.branch$/);
  });

  it.each(['--all', 'HEAD', 'abc', 'abcd..ef01', 'g'.repeat(40), 'a'.repeat(65)])(
    'are not those of the commit %j',
    (sha) => {
      expect(problemOf({ type: 'commit', sha })).toBe('invalid_value target.sha');
    },
  );

  it.each([[undefined], [{ type: 'custom', instructions: 'x' }], [{}], ['commit']])(
    'have a target: %j has none',
    (target) => {
      expect(problemOf(target)).toMatch(/^\w+ target/);
    },
  );

  it('stand in the place of the target', () => {
    const target = { type: 'commit', sha: 'abcd' } as const;
    const body = { workspace: 'web', target, model: 'm', input: 'Be kind.', stream: true };
    expect(withDiff(body, { workspace: 'web', target }, 'the diff')).toEqual({
      model: 'm',
      stream: true,
      input: 'Be kind.\n\nReview the changes of the commit abcd:\n\nthe diff',
    });
  });
});
