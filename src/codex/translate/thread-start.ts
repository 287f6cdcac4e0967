import type { Item } from '../../canonical/request/item.ts';
import { FLAT_NAMESPACE, NO_PARAMETERS, toolsLeft, type FunctionTool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { ParamsOf } from '../protocol/methods.ts';
import { PROVIDER_ID } from '../protocol/provider.ts';
import type { RequestStrategy } from './request-strategy.ts';
import { declaredSchema } from './declared-schema.ts';

/** What a deployment decides about every thread. */
export interface ThreadSettings {
  /** `base`: instructions replace codex's own. `developer`: they and all client prompts become developer instructions. */
  readonly instructionsTarget: 'base' | 'developer';
  readonly sandboxMode: NonNullable<ParamsOf<'thread/start'>['sandbox']>;
  readonly approvalPolicy: NonNullable<ParamsOf<'thread/start'>['approvalPolicy']>;
  readonly workdir: string;
  /** A relay sets on the model request what the app-server has no field for. */
  readonly hasRelay: boolean;
  /** Whether codex has the model in its own list: only then it passes on how much the model is to write. */
  readonly knows: (model: string) => boolean;
}

export const toThreadStart = (
  request: TurnRequest,
  settings: ThreadSettings,
  strategy: Pick<RequestStrategy, 'slug'>,
  mcpServers: JsonObject | null = null,
): ParamsOf<'thread/start'> => {
  const { effort } = request.reasoning;
  const config: JsonObject = {
    ...(sendsVerbosity(request, settings) ? { model_verbosity: request.verbosity } : {}),
    ...(mcpServers === null ? {} : { mcp_servers: mcpServers }),
    // The start of a review has no field for it.
    ...(request.isReview === true && effort !== null ? { model_reasoning_effort: effort } : {}),
  };
  const developerInstructions = developerInstructionsOf(request, settings);
  return {
    model: strategy.slug,
    // By name: an app-server whose configuration is gone would take a backend of its own choice.
    modelProvider: PROVIDER_ID,
    cwd: settings.workdir,
    // Which tools of a server need nobody's approval is said tool by tool, and must not be outweighed by these.
    sandbox: mcpServers === null ? settings.sandboxMode : 'read-only',
    approvalPolicy: mcpServers === null ? settings.approvalPolicy : 'never',
    // Always empty, never null: null brings codex's own prompt for a model it does not list, and a
    // text is sent twice to models of its newest kind. See `injectedOf` for the client's instructions.
    baseInstructions: '',
    ...(developerInstructions === null ? {} : { developerInstructions }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(request.serviceTier === null ? {} : { serviceTier: request.serviceTier }),
    dynamicTools: dynamicTools(request, settings),
    environments: [],
    ephemeral: true,
    // A relay sees the model's own words.
    experimentalRawEvents: !settings.hasRelay,
  };
};

/** Whether the app-server tells the backend how much the model is to write. */
export const sendsVerbosity = (
  { verbosity, model }: TurnRequest,
  { knows }: Pick<ThreadSettings, 'knows'>,
): boolean => verbosity !== null && knows(model);

/**
 * With a relay none: it writes the client's tools into the model request as they are, and ends the turn
 * before codex asks what became of a call. codex refuses names, thins schemas out, knows no other kind of
 * tool, and needs more than a second for a megabyte of them.
 */
const dynamicTools = (
  { tools, toolChoice }: TurnRequest,
  { hasRelay }: ThreadSettings,
): NonNullable<ParamsOf<'thread/start'>['dynamicTools']> => {
  if (hasRelay) return [];
  // The backend cannot be told which of them may be called, so the model sees no others.
  return toolsLeft(tools, toolChoice).flatMap((tool): readonly DynamicTool[] => {
    if (tool.kind === 'function') return [dynamicFunction(tool)];
    if (tool.kind !== 'namespace') return [];
    const { description, tools: raw } = tool.raw;
    const members = (raw as readonly RawFunction[]).map(dynamicFunction);
    // The app-server puts tools that are in none into it by itself, and keeps its name for that.
    if (tool.name === FLAT_NAMESPACE) return members;
    const text = typeof description === 'string' ? description : '';
    return [{ type: 'namespace', name: tool.name, description: text, tools: members }];
  });
};

type DynamicTool = NonNullable<ParamsOf<'thread/start'>['dynamicTools']>[number];
/** What stands in a namespace was read as a function, or has become one. */
type RawFunction = Pick<FunctionTool, 'name'> & Partial<Pick<FunctionTool, 'description' | 'parameters'>>;

const dynamicFunction = ({ name, description, parameters }: RawFunction) => ({
  type: 'function' as const,
  name,
  description: description ?? '',
  inputSchema: declaredSchema(parameters ?? NO_PARAMETERS),
});

/** A message that only prompts: its text can move into the developer instructions without a loss. */
export const isPromptMessage = (item: Item): boolean =>
  item.kind === 'message' &&
  (item.role === 'system' || item.role === 'developer') &&
  item.parts.every((part) => part.kind === 'text');

const developerInstructionsOf = (request: TurnRequest, settings: ThreadSettings): string | null =>
  settings.instructionsTarget === 'developer' ? clientPrompt(request) : null;

/** What the app-server adds to its model requests because of these parameters. */
export const shapeOf = (request: TurnRequest, settings: ThreadSettings) => ({
  developerInstructions: developerInstructionsOf(request, settings),
  sendsVerbosity: sendsVerbosity(request, settings),
});

const clientPrompt = (request: TurnRequest): string | null => {
  const texts = request.items
    .filter(isPromptMessage)
    .flatMap((item) => (item.kind === 'message' ? item.parts : []))
    .flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const all = request.instructions === null ? texts : [request.instructions, ...texts];
  return all.length === 0 ? null : all.join('\n\n');
};
