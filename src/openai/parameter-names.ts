import type { Path, Setting } from '../canonical/path.ts';
import { assertNever } from '../kit/assert-never.ts';

/** What the caller of one request calls the parts of its turn request. */
export interface ParameterNames {
  readonly settings: Readonly<Record<Setting, string>>;
  /** Where each item of the conversation stood in the body. */
  readonly places: readonly string[];
  readonly tool: (index: number) => string;
  readonly toolName: (index: number) => string;
  readonly include: (value: string) => string;
}

/** The settings that every API calls the same. */
export const SHARED_SETTINGS = {
  model: 'model',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  'reasoning.summary': 'reasoning.summary',
  serviceTier: 'service_tier',
  stop: 'stop',
  'sampling.temperature': 'temperature',
  'sampling.topP': 'top_p',
  'sampling.presencePenalty': 'presence_penalty',
  'sampling.frequencyPenalty': 'frequency_penalty',
  'sampling.seed': 'seed',
  'logprobs.top': 'top_logprobs',
  truncation: 'truncation',
  'cache.key': 'prompt_cache_key',
  'cache.retention': 'prompt_cache_retention',
  'cache.options': 'prompt_cache_options',
  metadata: 'metadata',
  user: 'user',
  safetyIdentifier: 'safety_identifier',
} as const satisfies Partial<Record<Setting, string>>;

export const parameterName = (path: Path, names: ParameterNames): string => {
  if (typeof path === 'string') return names.settings[path];
  if ('item' in path) return placeOf(path.item, names);
  if ('imageDetail' in path) {
    const { item, of, part } = path.imageDetail;
    return `${placeOf(item, names)}.${of}[${part}].detail`;
  }
  if ('file' in path) {
    const { item, of, part } = path.file;
    return `${placeOf(item, names)}.${of}[${part}]`;
  }
  if ('include' in path) return names.include(path.include);
  if ('tool' in path) return names.tool(path.tool);
  if ('toolName' in path) return names.toolName(path.toolName);
  return assertNever(path);
};

const placeOf = (item: number, { places, settings }: ParameterNames): string =>
  places[item] ?? settings.items;
