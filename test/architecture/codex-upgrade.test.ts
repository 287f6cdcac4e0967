import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { changedFacts, factsOf, type BinaryOutput } from '../../scripts/protocol/binary-facts.ts';
import { reportOf, switchesWeSet, withChangelogLine } from '../../scripts/protocol/upgrade-report.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

const union = (...methods: readonly string[]): JsonObject => ({
  oneOf: methods.map((method) => ({ properties: { id: {}, method: { enum: [method] } } })),
});

interface Printed {
  readonly features?: readonly string[];
  readonly params?: JsonObject;
  readonly errors?: readonly string[];
  readonly methods?: readonly string[];
  readonly models?: readonly JsonObject[];
}

/** What a binary prints, shortened. */
const outputOf = ({
  features = ['shell_tool  stable  true', 'view_image  stable  true'],
  params = { model: { type: 'string' } },
  errors = ['other'],
  methods = ['turn/start'],
  models = [{ slug: 'gpt-5.5', context_window: 1, base_instructions: 'x'.repeat(300) }],
}: Printed = {}): BinaryOutput => ({
  schema: {
    definitions: {
      ClientRequest: union(...methods),
      ServerRequest: union('item/tool/call'),
      ServerNotification: union('turn/started'),
      v2: {
        CodexErrorInfo: {
          anyOf: [{ enum: errors }, { properties: { httpConnectionFailed: { type: 'object' } } }],
        },
        TurnStartParams: { description: 'For people.', properties: params, required: ['model'] },
        SomebodyElses: { oneOf: [{ properties: { type: { enum: ['a'] }, ...params } }] },
      },
    },
  },
  features: `${features.join('\n')}\n`,
  models: { models },
});

const changes = (output: Printed) => changedFacts(factsOf(outputOf()), factsOf(outputOf(output)));

const VERSIONS = { from: '901.0.1', to: '901.0.2' };

describe('the report about another version of codex', () => {
  it('is empty if only descriptions differ', () => {
    expect(changes({ params: { model: { type: 'string', description: 'Other words.' } } })).toEqual([]);
  });

  it('names methods, errors, features, models and fields, and what a person has to decide', async () => {
    const found = changes({
      methods: ['turn/start', 'turn/plan'],
      errors: ['other', 'denied'],
      features: ['view_image  removed  false', 'talks  under development  true', 'silent  stable  false'],
      models: [{ slug: 'gpt-5.5', context_window: 2, base_instructions: 'y'.repeat(300) }, { slug: 'gpt-7' }],
      params: { model: { type: 'string' }, plan: { $ref: '#/definitions/v2/Plan' } },
    });
    const report = await reportOf(found, { ...VERSIONS, root: ROOT });
    expect(report.split('\n')).toEqual([
      '# codex 901.0.1 → 901.0.2',
      '',
      '## methods: 1',
      '+ turn/plan',
      '',
      '## notifications: no change',
      '',
      '## requests of the server: no change',
      '',
      '## error names: 1',
      '+ denied',
      '',
      '## features: 4',
      '- shell_tool: stable, true',
      '+ silent: stable, false',
      '+ talks: under development, true',
      '~ view_image: stable, true → removed, false',
      '',
      '## bundled models: 3',
      expect.stringMatching(/^~ gpt-5\.5\.base_instructions: 302 characters, \w{8} → 302 characters, \w{8}$/),
      '~ gpt-5.5.context_window: 1 → 2',
      '+ gpt-7',
      '',
      '## fields of types that this server reads: 1',
      '+ TurnStartParams.plan?: {"$ref":"Plan"}',
      '',
      'Other types: SomebodyElses',
      '',
      '## Switches that our config.toml sets and that this version does not keep',
      '- shell_tool: stable, true',
      '~ view_image: stable, true → removed, false',
      '',
      '## On by default now: does one of them add to a request, or change one?',
      '+ talks: under development, true',
      '',
      '## Files that name 901.0.1',
      'test/architecture/codex-upgrade.test.ts',
      '',
    ]);
  });

  it('fails if the output of the binary has another form', () => {
    expect(() => factsOf(outputOf({ features: ['shell_tool=true'] }))).toThrow('names no features');
    expect(() => factsOf(outputOf({ methods: [] }))).toThrow('ClientRequest has no names');
    expect(() => factsOf(outputOf({ models: [] }))).toThrow('lists no models');
  });
});

describe('the line of the changelog', () => {
  const OLD = '\n## [0.2.0]\n\n### Changed\n\n- Something.\n';

  it('is added to the unreleased changes', () => {
    expect(withChangelogLine(`## [Unreleased]\n\n### Changed\n\n- Other.\n${OLD}`, VERSIONS)).toBe(
      `## [Unreleased]\n\n### Changed\n\n- codex 901.0.2 (was 901.0.1).\n- Other.\n${OLD}`,
    );
  });

  it('replaces that of an earlier upgrade, and may be the first line', () => {
    const once = withChangelogLine(`## [Unreleased]\n${OLD}`, VERSIONS);
    expect(once).toBe(`## [Unreleased]\n\n### Changed\n\n- codex 901.0.2 (was 901.0.1).\n${OLD}`);
    expect(withChangelogLine(once, { from: '901.0.2', to: '901.0.3' })).toBe(
      once.replace('codex 901.0.2', 'codex 901.0.3'),
    );
  });

  it('goes when the upgrade is taken back', () => {
    const before = `## [Unreleased]\n\n### Changed\n\n- Other.\n${OLD}`;
    const there = withChangelogLine(before, { from: '901.0.2', to: '901.0.1' });
    expect(withChangelogLine(there, { from: '901.0.1', to: '901.0.2' })).toBe(before);
  });
});

it('every feature in the config.toml of workers is one that codex still reads', async () => {
  const file = path.join(ROOT, 'src/codex/protocol/generated/features.txt');
  const stages = new Map(
    (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split(/: |, /) as [string, string]),
  );
  const found = [...switchesWeSet()].map((name) => [name, stages.get(name)] as const);
  expect(found.filter(([, stage]) => stage === undefined || /removed|deprecated/.test(stage))).toEqual([]);
});
