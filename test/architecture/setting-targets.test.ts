import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';

import { threadSettings } from '../support/thread-settings.ts';
import { functionTool, turnRequest } from '../support/turn-request.ts';
import type { Setting } from '../../src/canonical/request/path.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { injectedOf, toInjectItems } from '../../src/codex/translate/inject-items.ts';
import { toThreadStart, type ThreadSettings } from '../../src/codex/translate/thread-start.ts';
import { toTurnStart } from '../../src/codex/translate/turn-start.ts';
import { settingTargets } from '../../scripts/pages/setting-targets.ts';
import { SETTING_RULES } from '../../src/codex/capabilities/settings.ts';

const TOOL = functionTool('now');

/** For each setting a value different from a plain request's; call fields need a call, which is an item. */
const DIFFERENT: Readonly<Record<Setting, Partial<TurnRequest>>> = {
  model: { model: 'other' },
  instructions: { instructions: 'Be brief.' },
  items: { items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'else' }] }] },
  tools: { tools: [functionTool('later')] },
  toolChoice: { toolChoice: { ...turnRequest().toolChoice, mode: 'none' } },
  parallelToolCalls: { parallelToolCalls: false },
  maxToolCalls: { maxToolCalls: 3 },
  'reasoning.effort': { reasoning: { effort: 'high', summary: null, context: null } },
  'reasoning.summary': { reasoning: { effort: null, summary: 'auto', context: null } },
  'reasoning.context': { reasoning: { effort: null, summary: null, context: 'all_turns' } },
  'reasoning.mode': { reasoning: { effort: null, summary: null, context: null, mode: 'pro' } },
  format: {
    format: { kind: 'json-schema', name: 'a', schema: { type: 'object' }, strict: null, description: null },
  },
  verbosity: { verbosity: 'low' },
  serviceTier: { serviceTier: 'flex' },
  maxOutputTokens: { maxOutputTokens: 5 },
  stop: { stop: ['END'] },
  'sampling.temperature': { sampling: { ...turnRequest().sampling, temperature: 0 } },
  'sampling.topP': { sampling: { ...turnRequest().sampling, topP: 0.5 } },
  'sampling.presencePenalty': { sampling: { ...turnRequest().sampling, presencePenalty: 1 } },
  'sampling.frequencyPenalty': { sampling: { ...turnRequest().sampling, frequencyPenalty: 1 } },
  'sampling.seed': { sampling: { ...turnRequest().sampling, seed: 7 } },
  include: { include: ['message.output_text.logprobs'] },
  'logprobs.top': { logprobs: { ...turnRequest().logprobs, top: 2 } },
  truncation: { truncation: 'auto' },
  contextManagement: { contextManagement: [{ type: 'compaction' }] },
  'cache.key': { cache: { ...turnRequest().cache, key: 'k' } },
  'cache.retention': { cache: { ...turnRequest().cache, retention: '24h' } },
  'cache.options': { cache: { ...turnRequest().cache, options: { mode: 'explicit' } } },
  'cache.breakpoints': {
    items: [
      {
        kind: 'message',
        role: 'user',
        parts: [{ kind: 'text', text: 'hi', cacheBreakpoint: { mode: 'explicit' } }],
      },
    ],
  },
  callFields: {},
  accessPrograms: { accessPrograms: { a: 'b' } },
  imageOptions: { imageOptions: { a: 'b' } },
  metadata: { metadata: { a: 'b' } },
  clientMetadata: { clientMetadata: { a: 'b' } },
  user: { user: 'ann' },
  safetyIdentifier: { safetyIdentifier: 's' },
};

/** Every parameter of the three calls, as `method.parameter`. */
const parametersOf = (request: TurnRequest, settings: ThreadSettings): ReadonlyMap<string, unknown> => {
  const calls = {
    'thread/start': toThreadStart(request, settings, { slug: request.model }),
    'thread/inject_items': {
      items: toInjectItems(injectedOf(request, settings, { instructions: 'message' })),
    },
    'turn/start': toTurnStart(request, 'thread'),
  };
  return new Map(
    Object.entries(calls).flatMap(([method, params]) =>
      Object.entries(params).map(([name, value]) => [`${method}.${name}`, value] as const),
    ),
  );
};

const changedBy = (setting: Setting): readonly string[] => {
  const plain = turnRequest({ tools: [TOOL] });
  const changed = (['base', 'developer'] as const).flatMap((instructionsTarget) => {
    const settings = threadSettings({ instructionsTarget });
    const before = parametersOf(plain, settings);
    const after = parametersOf({ ...plain, ...DIFFERENT[setting] }, settings);
    const names = [...new Set([...before.keys(), ...after.keys()])];
    return names.filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)));
  });
  return [...new Set(changed)].toSorted();
};

describe('settingTargets', () => {
  it.each(Object.keys(SETTING_RULES) as readonly Setting[])(
    'lists the JSON-RPC parameters of %s',
    (setting) => {
      const expected = settingTargets(setting).rpc.filter(
        // They never contain a user's message, only prompt messages.
        (place) => !(setting === 'items' && place === 'thread/start.developerInstructions'),
      );
      expect(changedBy(setting)).toEqual(expected.toSorted());
    },
  );

  it('names a model request field for all settings but stop sequences, which Responses requests do not have', () => {
    const without = (Object.keys(SETTING_RULES) as readonly Setting[]).filter(
      (setting) => settingTargets(setting).wire === null,
    );
    expect(without).toEqual(['stop']);
  });
});
