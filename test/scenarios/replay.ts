import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { isKnownNotification } from '../../src/codex/protocol/methods.ts';
import { RpcSource } from '../../src/codex/sources/rpc-source.ts';
import type { TurnSource, RelayReport, UpstreamEvent } from '../../src/codex/sources/source.ts';
import { RelaySource } from '../../src/codex/sources/relay-source.ts';
import { CallableTools, toolsLeft } from '../../src/canonical/request/tool.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import type { ToTurnOptions } from '../../src/openai/responses/input/to-turn.ts';
import { fixedAmbient } from '../support/turn-events.ts';
import { knownModel, modelList } from '../support/models.ts';

/** One line of `upstream.jsonl`: what the engine received, in order. */
export type UpstreamLine =
  | { readonly kind: 'turn'; readonly turnId: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'wire'; readonly signal: UpstreamEvent }
  /** The relay's state at the end of the turn. */
  | { readonly kind: 'report'; readonly report: RecordedReport };

/** Recordings renew no login. */
type RecordedReport = Omit<RelayReport, 'signIn'>;

export const SCENARIO_OPTIONS: ToTurnOptions = {
  models: createModelNames(
    modelList([knownModel('gpt-5.5', { efforts: ['low', 'medium', 'high', 'xhigh'] })]),
  ),
  ignoreClientPrompt: false,
};

const FOLDER = import.meta.dirname;

/** The recorded folders. */
export const scenarioNames = (): readonly string[] =>
  readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .filter((name) => existsSync(scenarioFile(name, 'upstream.jsonl')))
    .toSorted();

export const scenarioFile = (name: string, file: string): string => path.join(FOLDER, name, file);

export const requestOf = (name: string): unknown =>
  JSON.parse(readFileSync(scenarioFile(name, 'request.json'), 'utf8')) as unknown;

/** The turn events that the engine makes from a recording; a turn that fails at once was never accepted. */
export const replay = (name: string, request: TurnRequest): readonly TurnEvent[] => {
  const lines = readFileSync(scenarioFile(name, 'upstream.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as UpstreamLine);
  const report = reportIn(lines);
  const options = {
    turnId: turnIdIn(lines),
    callable: new CallableTools(toolsLeft(request.tools, request.toolChoice)),
    parallelToolCalls: request.parallelToolCalls !== false,
    findMcpTool: () => null,
    ambient: fixedAmbient(),
    onAnomaly() {},
  };
  const source =
    report === null
      ? new RpcSource({ ...options, budget: new ModelBudget(64) })
      : new RelaySource({ ...options, report });
  const events = lines.flatMap((line) => translate(source, line));
  if (!source.ended) throw new Error(`the recording ${name} does not end its turn`);
  const [first] = events;
  if (first?.type === 'turn-ended' && first.outcome.kind === 'failed') return events;
  const { ignored, limitsOutput, headers } = report ?? NO_REPORT;
  return [{ type: 'turn-accepted', ignored, limitsOutput, headers }, ...events];
};

const NO_REPORT = { ignored: [], limitsOutput: false, headers: {} };

const translate = (source: TurnSource, line: UpstreamLine): TurnEvent[] => {
  switch (line.kind) {
    case 'notification':
      return isKnownNotification(line) ? source.take({ kind: 'notified', notification: line }) : [];
    case 'wire':
      return source.take(line.signal);
    case 'turn':
    case 'report':
      return [];
    default:
      return assertNever(line);
  }
};

const turnIdIn = (lines: readonly UpstreamLine[]): string => {
  const line = lines.find((one) => one.kind === 'turn');
  if (line?.kind !== 'turn') throw new Error('the recording has no turn');
  return line.turnId;
};

const reportIn = (lines: readonly UpstreamLine[]): RelayReport | null => {
  const line = lines.findLast((one) => one.kind === 'report');
  if (line?.kind !== 'report') return null;
  return { ...line.report, signIn: null };
};
