import { expect, it } from 'vitest';

import { directLogin, type BackendTarget } from '../home/backend.ts';
import { compactionOf } from './compaction.ts';
import { profileOf } from './profile.ts';

const provider: BackendTarget = { kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null };

it.each<readonly [string, BackendTarget, readonly string[] | null, string]>([
  ['a ChatGPT login', directLogin('chatgpt'), null, 'native'],
  ['an API key of OpenAI', directLogin('api-key'), ['none'], 'native'],
  ['OpenAI as a provider', { ...provider, baseUrl: 'https://api.openai.com/v1' }, null, 'native'],
  ['a provider whose operator knows it', provider, ['compaction_trigger'], 'native'],
  ['any other provider', provider, null, 'unknown'],
  ['the demo model', { kind: 'demo', baseUrl: 'http://x' }, null, 'none'],
])('compaction of %s', (_, backend, listed, support) => {
  expect(compactionOf(backend, profileOf(backend, listed).takes.has('compaction_trigger'))).toBe(support);
});

it('is not requested by a driver that cannot', () => {
  expect(compactionOf(directLogin('chatgpt'), false)).toBe('unknown');
});
