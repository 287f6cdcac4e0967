import type { Item } from '../../canonical/request/item.ts';
import {
  FLAT_NAMESPACE,
  NO_PARAMETERS,
  toolsLeft,
  type FunctionTool,
  type FunctionSignature,
} from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { ParamsOf } from '../protocol/methods.ts';
import { PROVIDER_ID } from '../protocol/provider.ts';
import type { RequestStrategy } from './request-strategy.ts';
import { declaredSchema } from './declared-schema.ts';

/** Deployment settings for every thread. */
export interface KnownModels {
  /** Whether codex lists the model: only then it passes on the verbosity. */
  readonly knows: (model: string) => boolean;
}

export interface ThreadSettings extends KnownModels {
  /**
   * `base`: instructions replace codex's own. `developer`: they and all client prompts become developer
   * instructions.
   */
  readonly instructionsTarget: 'base' | 'developer';
  readonly sandboxMode: NonNullable<ParamsOf<'thread/start'>['sandbox']>;
  readonly approvalPolicy: NonNullable<ParamsOf<'thread/start'>['approvalPolicy']>;
  readonly workdir: string;
}

/** A thread whose model requests the relay writes: nothing of the client's request is in it. */
export const toCarrierStart = (
  slug: string,
  { sandboxMode, approvalPolicy, workdir }: ThreadSettings,
  mcpServers: JsonObject | null = null,
): ParamsOf<'thread/start'> => ({
  model: slug,
  modelProvider: PROVIDER_ID,
  cwd: workdir,
  ...(mcpServers === null
    ? { sandbox: sandboxMode, approvalPolicy }
    : { ...WITH_MCP, config: { mcp_servers: mcpServers } }),
  baseInstructions: NO_INSTRUCTIONS,
  dynamicTools: [],
  environments: [],
  ephemeral: true,
  experimentalRawEvents: false,
});

/**
 * Never null, which adds codex's own prompt for an unlisted model; and a text is sent twice to models of its newest
 * kind. See `injectedOf` for the client's instructions.
 */
const NO_INSTRUCTIONS = '';

/** Approval of MCP tools is configured per tool, and these settings must not override it. */
const WITH_MCP = { sandbox: 'read-only', approvalPolicy: 'never' } as const;

/** A thread that carries everything over JSON-RPC. */
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
    // `review/start` has no field for it.
    ...(request.isReview === true && effort !== null ? { model_reasoning_effort: effort } : {}),
  };
  const developerInstructions = developerInstructionsOf(request, settings);
  return {
    model: strategy.slug,
    // Named explicitly: an app-server without its configuration would use codex's default backend.
    modelProvider: PROVIDER_ID,
    cwd: settings.workdir,
    ...(mcpServers === null
      ? { sandbox: settings.sandboxMode, approvalPolicy: settings.approvalPolicy }
      : WITH_MCP),
    baseInstructions: NO_INSTRUCTIONS,
    ...(developerInstructions === null ? {} : { developerInstructions }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(request.serviceTier === null ? {} : { serviceTier: request.serviceTier }),
    dynamicTools: dynamicTools(request),
    environments: [],
    ephemeral: true,
    experimentalRawEvents: true,
  };
};

/** Whether the app-server sends the verbosity to the backend. */
export const sendsVerbosity = ({ verbosity, model }: TurnRequest, { knows }: KnownModels): boolean =>
  verbosity !== null && knows(model);

const dynamicTools = ({ tools, toolChoice }: TurnRequest): readonly DynamicTool[] =>
  // Without a tool choice in the model request, the model must see only the allowed tools.
  toolsLeft(tools, toolChoice).flatMap((tool): readonly DynamicTool[] => {
    if (tool.kind === 'function') return [dynamicFunction(tool)];
    if (tool.kind !== 'namespace') return [];
    const { description, tools: raw } = tool.raw;
    const members = (raw as readonly RawFunction[]).map(dynamicFunction);
    // The app-server itself puts tools without a namespace into this one, and reserves its name.
    if (tool.name === FLAT_NAMESPACE) return members;
    const text = typeof description === 'string' ? description : '';
    return [{ type: 'namespace', name: tool.name, description: text, tools: members }];
  });

type DynamicTool = NonNullable<ParamsOf<'thread/start'>['dynamicTools']>[number];
/** Members of a namespace were read as functions or converted to them. */
type RawFunction = Pick<FunctionTool, 'name'> & Partial<FunctionSignature>;

const dynamicFunction = ({ name, description, parameters }: RawFunction) => ({
  type: 'function' as const,
  name,
  description: description ?? '',
  inputSchema: declaredSchema(parameters ?? NO_PARAMETERS),
});

/** Whether a message only prompts: its text can move into the developer instructions without loss. */
export const isPromptMessage = (item: Item): boolean =>
  item.kind === 'message' &&
  (item.role === 'system' || item.role === 'developer') &&
  item.parts.every((part) => part.kind === 'text');

/** The client's prompts, if the deployment wants them as developer instructions; null: they stay where they are. */
export const developerInstructionsOf = (request: TurnRequest, settings: ThreadSettings): string | null =>
  settings.instructionsTarget === 'developer' ? clientPrompt(request) : null;

const clientPrompt = (request: TurnRequest): string | null => {
  const texts = request.items
    .filter(isPromptMessage)
    .flatMap((item) => (item.kind === 'message' ? item.parts : []))
    .flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const all = request.instructions === null ? texts : [request.instructions, ...texts];
  return all.length === 0 ? null : all.join('\n\n');
};
