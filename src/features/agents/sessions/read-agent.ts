import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { jsonObject, list, listOf, longText } from '../../../apis/bounds.ts';
import { invalidChoice, missing, notAnObject, parseBody, unreadFields } from '../../../apis/validation.ts';
import { EFFORTS } from '../../../canonical/models/model-names.ts';
import { shortName } from '../../../openai/shared/field-schemas.ts';
import type { AgentFunction, AgentSettings, AgentTextFormat, AgentTool, AgentWebSearch } from './objects.ts';

/** OpenAI's limit. */
const MAX_FUNCTIONS = 128;
/** Functions and other tools. */
const MAX_AGENT_TOOLS = 256;
const SERVICE_TIERS = ['auto', 'default', 'flex', 'priority', 'fast', 'ultrafast'] as const;
const VERBOSITIES = ['low', 'medium', 'high'] as const;

/** The reserved function by which clients approve calls. The model never sees it. */
export const APPROVAL_FUNCTION = 'codex_approval';

const effort = z.enum(EFFORTS).nullish();

const agentFields = {
  name: z.string().max(512).nullish(),
  instructions: longText.nullish(),
  model: z.string().min(1).max(256).nullish(),
  reasoning: z.object({ effort, summary: z.enum(['auto', 'concise', 'detailed']).nullish() }).nullish(),
  text: z.object({ format: jsonObject.nullish(), verbosity: z.enum(VERBOSITIES).nullish() }).nullish(),
  tools: list(MAX_AGENT_TOOLS).nullish(),
  multi_agent: z
    .object({ enabled: z.boolean().nullish(), max_concurrent_subagents: z.int().nullish() })
    .nullish(),
  service_tier: z.enum(SERVICE_TIERS).nullish(),
} as const;

const agentSchema = z.object(agentFields);
type AgentFields = z.output<typeof agentSchema>;

export const DEFAULT_AGENT: Omit<AgentSettings, 'model'> = {
  name: null,
  instructions: null,
  reasoning: { effort: null, summary: null },
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tools: [],
  multi_agent: { enabled: false, max_concurrent_subagents: null },
  service_tier: 'auto',
};

export interface ReadAgent {
  readonly settings: AgentSettings;
  /** Fields without effect. */
  readonly ignored: readonly string[];
}

/**
 * Reads the fields of an agent over those that it has; null resets a field. `at`: the place of the fields in the body, empty
 * for the body itself. Throws if a field is invalid.
 */
export const readAgent = (value: unknown, base: AgentSettings | null, at: string): ReadAgent => {
  const object = value ?? {};
  if (!isJsonObject(object)) throw notAnObject(at, object);
  const fields = parseBody(agentSchema, object, at);
  const place = (name: string): string => (at === '' ? name : `${at}.${name}`);
  const model = fields.model === undefined ? base?.model : fields.model;
  if (model === undefined || model === null) throw missing(place('model'));
  if (fields.multi_agent?.enabled === true) {
    throw gatewayError('unsupported_value', {
      param: place('multi_agent.enabled'),
      message: `Unsupported value: '${place('multi_agent.enabled')}' cannot be true: this server has no subagents.`,
    });
  }
  const whole = base ?? { ...DEFAULT_AGENT, model };
  const from = whole.multi_agent;
  return {
    settings: {
      name: given(fields.name, whole.name, null),
      instructions: given(fields.instructions, whole.instructions, null),
      model,
      reasoning: reasoningOf(fields.reasoning, whole.reasoning),
      text: textOf(fields.text, whole.text, place('text')),
      tools: fields.tools === undefined ? whole.tools : readAgentTools(fields.tools ?? [], place('tools')),
      multi_agent: from,
      service_tier: given(fields.service_tier, whole.service_tier, DEFAULT_AGENT.service_tier),
    },
    ignored: unreadFields(agentSchema, object, at),
  };
};

/** Undefined keeps what there is, null resets it. */
const given = <Value>(value: Value | null | undefined, base: Value, reset: Value): Value =>
  value === undefined ? base : (value ?? reset);

const reasoningOf = (
  fields: AgentFields['reasoning'],
  base: AgentSettings['reasoning'],
): AgentSettings['reasoning'] => {
  if (fields === undefined) return base;
  return {
    effort: given(fields?.effort, fields === null ? null : base.effort, null),
    summary: given(fields?.summary, fields === null ? null : base.summary, null),
  };
};

const textOf = (
  fields: AgentFields['text'],
  base: AgentSettings['text'],
  at: string,
): AgentSettings['text'] => {
  if (fields === undefined) return base;
  if (fields === null) return DEFAULT_AGENT.text;
  const { format } = fields;
  return {
    format:
      format === undefined
        ? base.format
        : format === null
          ? DEFAULT_AGENT.text.format
          : readTextFormat(format, `${at}.format`),
    verbosity: given(fields.verbosity, base.verbosity, DEFAULT_AGENT.text.verbosity),
  };
};

const readTextFormat = (format: JsonObject, at: string): AgentTextFormat => {
  if (format['type'] === undefined) throw missing(`${at}.type`);
  if (format['type'] === 'text') return { type: 'text' };
  if (format['type'] !== 'json_schema') {
    throw invalidChoice(`${at}.type`, format['type'], ['text', 'json_schema']);
  }
  const schema = parseBody(jsonObject, format['schema'], `${at}.schema`);
  refuseDepth(schema, `${at}.schema`);
  return { type: 'json_schema', schema };
};

/** The app-server does not answer beyond 128 levels, some of which wrap the schema. */
const MAX_LEVELS = 100;

const refuseDepth = (schema: JsonObject, param: string): void => {
  if (!isDeeperThan(schema, MAX_LEVELS)) return;
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': it is nested deeper than ${MAX_LEVELS} levels.`,
  });
};

const functionSchema = z.object({
  type: z.literal('function'),
  name: shortName,
  description: longText.nullish(),
  parameters: jsonObject.nullish(),
  defer_loading: z.boolean().nullish(),
  async: z.boolean().nullish(),
});

const searchSchema = z.object({
  type: z.literal('web_search'),
  mode: z.enum(['disabled', 'cached', 'live']).nullish(),
  context_size: z.enum(['low', 'medium', 'high']).nullish(),
  allowed_domains: listOf(z.string().max(256), 100).nullish(),
  location: z
    .object({
      city: z.string().max(256).nullish(),
      country: z.string().max(256).nullish(),
      region: z.string().max(256).nullish(),
      timezone: z.string().max(256).nullish(),
    })
    .nullish(),
});

/** Reads the tools of an agent. Throws if one of them is not served. */
const readAgentTools = (values: readonly unknown[], at: string): readonly AgentTool[] => {
  const tools = values.map((value, index) => readAgentTool(value, `${at}[${index}]`));
  const functions = tools.filter((tool) => tool.type === 'function');
  if (functions.length > MAX_FUNCTIONS) {
    throw gatewayError('invalid_value', {
      param: at,
      code: 'array_above_max_length',
      message: `Invalid '${at}': at most ${MAX_FUNCTIONS} functions are allowed, but there are ${functions.length}.`,
    });
  }
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'function') continue;
    if (names.has(tool.name)) {
      const param = `${at}[${index}].name`;
      throw gatewayError('invalid_value', {
        param,
        message: `Invalid '${param}': there is another function with the name '${tool.name}'.`,
      });
    }
    names.add(tool.name);
  }
  return tools;
};

const readAgentTool = (value: unknown, at: string): AgentTool => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const { type } = value;
  if (type === undefined) throw missing(`${at}.type`);
  if (type === 'function') return readFunction(value, at);
  if (type === 'web_search') return readSearch(value, at);
  if (type === 'programmatic_tool_calling' && value['enabled'] === false) return { type, enabled: false };
  throw gatewayError('unsupported_tool', {
    param: `${at}.type`,
    message: `Unsupported tool: '${at}.type' must be 'function' or 'web_search' on this server.`,
  });
};

const readFunction = (value: JsonObject, at: string): AgentFunction => {
  const { name, description, parameters, defer_loading, async } = parseBody(functionSchema, value, at);
  if (async === true) {
    throw gatewayError('unsupported_value', {
      param: `${at}.async`,
      message: `Unsupported value: '${at}.async' cannot be true: this server has no asynchronous functions.`,
    });
  }
  if (parameters) refuseDepth(parameters, `${at}.parameters`);
  return {
    type: 'function',
    name,
    description: description ?? '',
    parameters: parameters ?? { type: 'object', properties: {} },
    defer_loading: defer_loading ?? false,
  };
};

const readSearch = (value: JsonObject, at: string): AgentWebSearch => {
  const { mode, context_size, allowed_domains, location } = parseBody(searchSchema, value, at);
  return {
    type: 'web_search',
    mode: mode ?? 'live',
    context_size: context_size ?? 'medium',
    allowed_domains: allowed_domains ?? null,
    location:
      location === null || location === undefined
        ? null
        : {
            city: location.city ?? null,
            country: location.country ?? null,
            region: location.region ?? null,
            timezone: location.timezone ?? null,
          },
  };
};

/** Whether the tools have the function by which clients approve calls. */
export const asksApproval = ({ tools }: Pick<AgentSettings, 'tools'>): boolean =>
  tools.some((tool) => tool.type === 'function' && tool.name === APPROVAL_FUNCTION);
