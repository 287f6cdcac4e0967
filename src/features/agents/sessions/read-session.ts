import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { idText, jsonObject, list, longText } from '../../../apis/bounds.ts';
import { invalidChoice, missing, notAnObject, parseBody, unreadFields } from '../../../apis/validation.ts';
import { metadata } from '../../../openai/shared/field-schemas.ts';
import type { SessionEnvironment, SessionInputContent } from './objects.ts';
import { CODEX_TOOLS } from '../run/port.ts';
import { asksApproval } from './read-agent.ts';
import type { AgentSettings } from './objects.ts';

/** Finds a workspace that the key may use by its name or path. Throws if there is none. */
type NamedWorkspace = (nameOrPath: string, param: string) => Workspace;

const createSchema = z.object({
  environment: z.unknown().optional(),
  agent: z.unknown().optional(),
  agent_id: idText.nullish(),
  input: z.unknown().optional(),
  metadata: metadata.nullish(),
  review: z.unknown().optional(),
  stream: z.boolean().nullish(),
  vault_ids: list(100).nullish(),
  spend_control: jsonObject.nullish(),
});

export interface NewSession {
  readonly environment: SessionEnvironment;
  /** Null: it has none. */
  readonly workspace: Workspace | null;
  readonly agent: unknown;
  readonly agentId: string | null;
  /** Null: there is none. */
  readonly input: readonly SessionInput[] | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ignored: readonly string[];
}

/** A message of the user. */
export type SessionInput = readonly SessionInputContent[];

/** Throws if a field is invalid. */
export const readNewSession = (body: unknown, named: NamedWorkspace): NewSession => {
  const object = objectOf(body);
  const fields = parseBody(createSchema, object);
  refuseReview(fields.review);
  refuseCosts(fields);
  const { environment, workspace } = readEnvironment(fields.environment, named);
  const input =
    fields.input === undefined || fields.input === null ? null : readUserInput(fields.input, 'input');
  if (environment.type === 'none' && input === null) throw missing('input');
  return {
    environment,
    workspace,
    agent: fields.agent,
    agentId: fields.agent_id ?? null,
    input,
    metadata: fields.metadata ?? {},
    ignored: unreadFields(createSchema, object, ''),
  };
};

const objectOf = (body: unknown): JsonObject => {
  if (isJsonObject(body)) return body;
  throw gatewayError('invalid_type', { message: 'Invalid body: expected a JSON object.' });
};

const refuseReview = (review: unknown): void => {
  if (review === undefined || review === null || review === 'none') return;
  if (review !== 'auto_review') throw invalidChoice('review', review, ['none']);
  throw gatewayError('unsupported_value', {
    param: 'review',
    message:
      "Unsupported value: 'review' cannot be 'auto_review': what it approves would run outside of the sandbox. Use 'none'.",
  });
};

interface CostFields {
  readonly vault_ids?: readonly unknown[] | null | undefined;
  readonly spend_control?: JsonObject | null | undefined;
}

const refuseCosts = ({ vault_ids, spend_control }: CostFields): void => {
  if ((vault_ids?.length ?? 0) > 0) throw unsupported('vault_ids', 'this server has no vaults');
  if ((spend_control?.['limit'] ?? null) !== null) {
    throw unsupported('spend_control', 'this server does not limit what a session costs');
  }
};

const unsupported = (param: string, why: string): GatewayError =>
  gatewayError('unsupported_parameter', { param, message: `Unsupported parameter: '${param}': ${why}.` });

const selfHostedSchema = z.object({
  workspace_directory: z.string().min(1).max(4_096),
  capability_directories: list(100).nullish(),
});

const AT = 'environment';

const readEnvironment = (
  value: unknown,
  named: NamedWorkspace,
): { readonly environment: SessionEnvironment; readonly workspace: Workspace | null } => {
  if (value === undefined || value === null) throw missing(AT);
  if (!isJsonObject(value)) throw notAnObject(AT, value);
  const { type } = value;
  if (type === undefined) throw missing(`${AT}.type`);
  if (type === 'none') return { environment: { type }, workspace: null };
  if (type !== 'self_hosted') throw otherEnvironment(type);
  const fields = parseBody(selfHostedSchema, value, AT);
  if ((fields.capability_directories?.length ?? 0) > 0) {
    throw unsupported(`${AT}.capability_directories`, 'this server has no skills and plugins');
  }
  const workspace = named(fields.workspace_directory, `${AT}.workspace_directory`);
  return { environment: environmentOf(workspace), workspace };
};

const otherEnvironment = (type: unknown): GatewayError =>
  type === 'openai_hosted' || type === 'prewarmed'
    ? gatewayError('unsupported_value', {
        param: `${AT}.type`,
        message: `Unsupported value: '${AT}.type' cannot be '${type}': this server has no containers. Use 'self_hosted' with the name of a workspace, or 'none'.`,
      })
    : invalidChoice(`${AT}.type`, type, ['self_hosted', 'none']);

const environmentOf = ({ label, configuredPath }: Workspace): SessionEnvironment => ({
  type: 'self_hosted',
  id: `env_${label}`,
  workspace_directory: configuredPath,
  capability_directories: [],
  remote_url: '',
});

/** Throws if the functions of an agent do not fit the tools of codex, which a workspace has. */
export const refuseFunctions = (settings: AgentSettings, hasWorkspace: boolean): void => {
  if (!hasWorkspace && asksApproval(settings)) {
    throw gatewayError('unsupported_value', {
      param: 'agent.tools',
      message:
        "Unsupported value: 'agent.tools' cannot have the function codex_approval: a session without a workspace runs nothing that could be approved.",
    });
  }
  const taken = settings.tools.findIndex((tool) => tool.type === 'function' && CODEX_NAMES.has(tool.name));
  if (!hasWorkspace || taken === -1) return;
  const param = `agent.tools[${taken}].name`;
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': codex has a tool of this name.`,
  });
};

const CODEX_NAMES: ReadonlySet<string> = new Set(CODEX_TOOLS);

const MAX_MESSAGES = 20;
const MAX_MESSAGE_PARTS = 100;

const messageSchema = z.object({
  type: z.unknown().optional(),
  role: z.unknown().optional(),
  content: list(MAX_MESSAGE_PARTS),
});

/** Messages of the user: a text, or a list of messages. */
const readUserInput = (value: unknown, at: string): readonly SessionInput[] => {
  if (typeof value === 'string') {
    const text = parseBody(longText, value, at);
    if (text === '') throw emptyInput(at);
    return [[{ type: 'input_text', text }]];
  }
  return readUserMessages(value, at);
};

/** A list of messages. */
export const readUserMessages = (value: unknown, at: string): readonly SessionInput[] => {
  if (value === undefined) throw missing(at);
  const messages = parseBody(list(MAX_MESSAGES), value, at);
  if (messages.length === 0) throw emptyInput(at);
  return messages.map((message, index) => readMessage(message, `${at}[${index}]`));
};

const emptyInput = (param: string): GatewayError =>
  gatewayError('invalid_value', { param, message: `Invalid '${param}': it must not be empty.` });

const readMessage = (value: unknown, at: string): SessionInput => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const { type, role, content } = parseBody(messageSchema, value, at);
  if (type !== undefined && type !== 'message') throw invalidChoice(`${at}.type`, type, ['message']);
  if (role === undefined) throw missing(`${at}.role`);
  if (role !== 'user') throw invalidChoice(`${at}.role`, role, ['user']);
  if (content.length === 0) throw emptyInput(`${at}.content`);
  return content.map((part, index) => readContentPart(part, `${at}.content[${index}]`));
};

const imageUrl = z
  .string()
  .max(50_000_000)
  .regex(/^(?:https?:\/\/|data:)/i, 'expected an http(s) or data URL.');

/** A part of a message, or of a function's result. */
export const readContentPart = (value: unknown, at: string): SessionInputContent => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const { type } = value;
  if (type === undefined) throw missing(`${at}.type`);
  if (type === 'input_text') return { type, text: parseBody(longText, value['text'], `${at}.text`) };
  if (type === 'input_image') {
    return { type, image_url: parseBody(imageUrl, value['image_url'], `${at}.image_url`) };
  }
  throw invalidChoice(`${at}.type`, type, ['input_text', 'input_image']);
};

const updateSchema = z.object({
  agent: z
    .object({
      model: z.string().min(1).max(256).nullish(),
      reasoning: z.object({ effort: z.unknown().optional() }).nullish(),
      service_tier: z.unknown().optional(),
      tools: list(1_000).nullish(),
    })
    .nullish(),
  metadata: metadata.nullish(),
  review: z.unknown().optional(),
  spend_control: jsonObject.nullish(),
});

export interface SessionUpdate {
  /** The fields of the agent that a session may change. */
  readonly agent: unknown;
  /** Undefined: they stay as they are. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly ignored: readonly string[];
}

/** Throws if a field is invalid. */
export const readSessionUpdate = (body: unknown): SessionUpdate => {
  const object = body === null || body === undefined ? {} : objectOf(body);
  const fields = parseBody(updateSchema, object);
  refuseReview(fields.review);
  refuseCosts(fields);
  return {
    agent: fields.agent ?? undefined,
    metadata: fields.metadata === undefined ? undefined : (fields.metadata ?? {}),
    ignored: unreadFields(updateSchema, object, ''),
  };
};
