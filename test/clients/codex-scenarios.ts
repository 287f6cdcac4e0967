import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { textOf } from '../laws/exact-differences.ts';
import type { CodexRoom } from '../support/codex-exec.ts';

/** What a user does with `codex exec`, and how the model answers. */
export interface Scenario {
  /** Part of the prompt: identifies the scenario to the script. */
  readonly name: string;
  readonly model: string;
  /** The provider's name in `config.toml`: codex sends more to one called OpenAI. */
  readonly provider?: string;
  /** Additional lines of `config.toml`. */
  readonly settings?: string;
  /** What the model does, once for each request that it gets. */
  readonly rounds: readonly (readonly ScriptStep[])[];
  /** What the user types, one run after the other. Default: the name. */
  readonly runs?: (room: CodexRoom) => Promise<readonly (readonly string[])[]>;
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const ANYTHING = '--dangerously-bypass-approvals-and-sandbox';

const thinks = (n: number): ScriptStep => ({
  reasoning: { id: `rs_${n}`, summary: [`**Thought ${n}**`], encrypted: `opaque-${n}` },
});
const says = (text: string): ScriptStep => ({ id: 'msg_said', text });
const shell = (cmd: string, callId: string): ScriptStep => ({
  call: { id: `fc_${callId}`, name: 'exec_command', arguments: { cmd, login: false }, callId },
});
const custom = (name: string, input: string, callId: string): ScriptStep => ({
  call: { id: `ctc_${callId}`, tool: 'custom', name, arguments: input, callId },
});

const PATCH = '*** Begin Patch\n*** Add File: hello.txt\n+from the model\n*** End Patch\n';

export const SCENARIOS: readonly Scenario[] = [
  { name: 'text', model: 'gpt-5.5', rounds: [[thinks(1), says('Hello.')]] },
  {
    name: 'tools',
    model: 'gpt-5.5',
    runs: async () => [[ANYTHING, 'tools']],
    rounds: [
      [thinks(1), { ...says('I look.'), phase: 'commentary' }, shell('echo from-the-shell', 'c1')],
      [thinks(2), shell('echo one', 'c2'), shell('echo two', 'c3')],
      [custom('apply_patch', PATCH, 'c4')],
      [
        {
          item: {
            type: 'tool_search_call',
            id: 'tsc_1',
            call_id: 'c5',
            status: 'completed',
            execution: 'client',
            arguments: { query: 'spawn a new agent', limit: 1 },
          },
        },
      ],
      [says('Done.')],
    ],
  },
  {
    name: 'namespaces',
    model: 'gpt-6.1-sol',
    provider: 'OpenAI',
    runs: async () => [[ANYTHING, 'namespaces']],
    rounds: [
      [
        thinks(1),
        custom('exec', 'text((await tools.exec_command({cmd: "echo in-code-mode"})).output)', 'c1'),
      ],
      [{ call: { id: 'fc_2', name: 'sleep', namespace: 'clock', arguments: { ms: 1 }, callId: 'c2' } }],
      [says('Done.')],
    ],
  },
  {
    name: 'picture',
    model: 'gpt-5.5',
    settings:
      'model_reasoning_effort = "high"\nmodel_reasoning_summary = "detailed"\nmodel_verbosity = "high"',
    async runs({ work }) {
      const [image, schema] = [path.join(work, 'a.png'), path.join(work, 'schema.json')];
      await writeFile(image, Buffer.from(PIXEL, 'base64'));
      await writeFile(schema, JSON.stringify(SCHEMA));
      return [['picture', '-i', image, '--output-schema', schema]];
    },
    rounds: [[says('{"colour":"red"}')]],
  },
  {
    name: 'again',
    model: 'my-own-codex',
    settings: 'service_tier = "priority"',
    runs: async () => [['again, first'], ['resume', '--last', 'again, second']],
    rounds: [[thinks(1), says('First.')], [says('Second.')]],
  },
];

const SCHEMA = {
  type: 'object',
  properties: { colour: { type: 'string' } },
  required: ['colour'],
  additionalProperties: false,
};

/** Answers each scenario with its next round, found from the history in the request. */
export const scenarioScript: Script = ({ body }, connection) => {
  const items = body['input'] as readonly JsonObject[];
  const scenario = scenarioOf(body);
  const outputs = items.filter(({ type }) => textOf(type).endsWith('_output'));
  const ended = items.filter(({ role, phase }) => role === 'assistant' && phase !== 'commentary');
  const answered = new Set(outputs.map((item) => textOf(item['call_id'])));
  const before = scenario.rounds.filter((steps) => steps.some((step) => isOver(step, answered))).length;
  return answer(connection, scenario.rounds[Math.max(before, ended.length)] ?? [says('No more.')], {
    responseId: `resp_${scenario.name}`,
  });
};

const isOver = (step: ScriptStep, answered: ReadonlySet<string>): boolean => {
  if ('call' in step) return answered.has(step.call.callId ?? '');
  return 'item' in step && answered.has(textOf(step.item['call_id']));
};

export const scenarioOf = (body: JsonObject): Scenario => {
  const asked = (body['input'] as readonly JsonObject[]).filter(({ role }) => role === 'user');
  const found = SCENARIOS.find(({ name }) => JSON.stringify(asked).includes(`"text":"${name}`));
  if (found === undefined) throw new Error('a request of no scenario');
  return found;
};
