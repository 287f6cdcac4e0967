import type { ParameterNames } from '../../../apis/parameter-names.ts';
import { toolFieldPlace } from './mcp-servers.ts';
import type { Setting } from '../../../canonical/request/path.ts';

/** Settings that only other APIs ask for keep the names of the middle. */
const MESSAGES_SETTINGS: Readonly<Record<Setting, string>> = {
  model: 'model',
  instructions: 'system',
  items: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  maxToolCalls: 'tools.max_uses',
  'reasoning.effort': 'output_config.effort',
  'reasoning.summary': 'thinking.display',
  'reasoning.context': 'thinking',
  'reasoning.mode': 'thinking',
  format: 'output_config.format',
  verbosity: 'verbosity',
  serviceTier: 'speed',
  maxOutputTokens: 'max_tokens',
  stop: 'stop_sequences',
  'sampling.temperature': 'temperature',
  'sampling.topP': 'top_p',
  'sampling.presencePenalty': 'presence_penalty',
  'sampling.frequencyPenalty': 'frequency_penalty',
  'sampling.seed': 'seed',
  include: 'include',
  'logprobs.top': 'top_logprobs',
  truncation: 'truncation',
  contextManagement: 'context_management',
  'cache.key': 'cache_control',
  'cache.retention': 'cache_control',
  'cache.options': 'cache_control',
  'cache.breakpoints': 'cache_control',
  callFields: 'caller',
  accessPrograms: 'access_programs',
  imageOptions: 'image',
  metadata: 'metadata',
  clientMetadata: 'metadata',
  user: 'metadata.user_id',
  safetyIdentifier: 'metadata.user_id',
};

interface Places {
  /** The location of each item in the body. */
  readonly places: readonly string[];
  /** The location of each part of an item, by the location of the item. */
  readonly partPlaces: ReadonlyMap<string, readonly string[]>;
  /** The location of the output format. */
  readonly formatPlace: string;
}

export const messagesNames = (
  { places, partPlaces, formatPlace }: Places,
  toolPlace: (index: number) => string = (index) => `tools[${index}]`,
): ParameterNames => ({
  settings: { ...MESSAGES_SETTINGS, format: formatPlace },
  places,
  tool: toolPlace,
  toolField: (index, field) => toolFieldPlace(toolPlace(index), field),
  // Blocks may be left out, and those around the result of a tool are another item, so the indexes differ.
  part: ({ item, part }) => partPlaces.get(places[item] ?? '')?.[part] ?? places[item] ?? 'messages',
  include: () => 'tools',
  formatPlace,
});
