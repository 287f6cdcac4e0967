import { describe, expect, it } from 'vitest';

import { describePolicy, type BackendKind } from '../../scripts/pages/parameters.ts';

const poor = (title: string): BackendKind => ({
  title,
  becomes: (setting) => (setting === 'format' ? 'emulated' : 'ignored'),
});
const rich = (title: string): BackendKind => ({ title, becomes: () => 'mapped' });
const KINDS = [poor('a'), rich('b'), poor('c')];

describe('the parameters page', () => {
  it('names a policy once if all backends agree', () => {
    expect(describePolicy({ policy: 'ignored', note: '' }, KINDS)).toBe('ignored');
    expect(describePolicy({ asks: ['sampling.seed'], note: '' }, [rich('a'), rich('b')])).toBe('mapped');
  });

  it('names the exceptions first, then the rule', () => {
    expect(describePolicy({ asks: ['sampling.seed'], note: '' }, KINDS)).toBe('b: mapped; else: ignored');
    expect(describePolicy({ asks: ['format', 'verbosity'], note: '' }, KINDS)).toBe(
      'b: mapped; else: emulated or ignored',
    );
  });

  it('names what the API does with a field that has no effect', () => {
    const echoed = describePolicy({ asks: ['user'], otherwise: 'echoed', note: '' }, KINDS);
    expect(echoed).toBe('b: mapped; else: echoed');
    const rejected = describePolicy({ asks: ['include'], otherwise: 'rejected', note: '' }, KINDS);
    expect(rejected).toBe('b: mapped; else: rejected');
  });
});
