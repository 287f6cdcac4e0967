import { z } from 'zod';

import { gatewayError } from '../canonical/failure/failure.ts';
import {
  type ModelInfo,
  type ModelName,
  type ModelNames,
  FAMILY,
  unknownModel,
} from '../canonical/models/model-names.ts';
import { parseBody } from '../apis/validation.ts';
import { quoted } from '../kit/text/display.ts';

/** One page of the models. */
interface ModelPage {
  readonly data: readonly ListedModel[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

interface ListedModel {
  readonly type: 'model';
  readonly id: string;
  readonly display_name: string;
  readonly created_at: string;
  readonly max_input_tokens: number | null;
  readonly max_tokens: number | null;
  readonly lifecycle: 'active';
  readonly line: null;
  readonly capabilities: Capabilities | null;
  readonly deprecated_at: null;
  readonly retires_at: null;
}

interface Support {
  readonly supported: boolean;
}

type Capabilities = Readonly<Record<string, Support | (Support & Readonly<Record<string, unknown>>)>>;

const support = (supported: boolean): Support => ({ supported });
const NO = support(false);
const YES = support(true);

/** The efforts that Anthropic's clients ask about. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

/**
 * What a client can use of a model through this server. Null if nothing is known of the model. Only codex's catalogue
 * knows efforts, and all models in it are OpenAI's, which think and search.
 */
const capabilitiesOf = ({ efforts, inputModalities }: ModelInfo): Capabilities | null => {
  if (efforts === null && inputModalities === null) return null;
  const takes = (kinds: readonly string[]): Support =>
    support(inputModalities?.some((one) => kinds.includes(one)) ?? false);
  const thinks = support((efforts ?? []).length > 0);
  const searches = support(efforts !== null);
  return {
    batch: NO,
    citations: NO,
    code_execution: NO,
    context_management: {
      supported: false,
      clear_thinking_20251015: NO,
      clear_tool_uses_20250919: NO,
      compact_20260112: NO,
    },
    effort: {
      ...thinks,
      ...Object.fromEntries(EFFORTS.map((effort) => [effort, support(efforts?.includes(effort) ?? false)])),
    },
    image_input: takes(['image']),
    pdf_input: takes(['file', 'pdf']),
    server_tools: { ...searches, code_execution: NO, web_search: searches },
    structured_outputs: YES,
    // Every type is accepted. What it means: docs/messages.md.
    thinking: {
      ...thinks,
      types: { adaptive: YES, between_tools: YES, disabled: YES, enabled: YES },
    },
  };
};

/** What this server does not know about a model is null. */
const projectModel = ({ id, info }: ModelName): ListedModel => ({
  type: 'model',
  id,
  // Other aliases differ from their model in more than the name.
  display_name: id === info.id || id === claudeName(info.id) ? (info.displayName ?? info.id) : id,
  created_at: dateOf(info.created ?? 0),
  max_input_tokens: info.maxContextWindow ?? info.contextWindow,
  max_tokens: info.maxOutputTokens,
  lifecycle: 'active',
  line: null,
  capabilities: capabilitiesOf(info),
  deprecated_at: null,
  retires_at: null,
});

/** The longest time that a date can express. */
const MAX_MS = 8.64e15;

/** A date in Anthropic's form, which is the epoch if it is unknown. */
const dateOf = (seconds: number): string =>
  new Date(Math.abs(seconds * 1000) <= MAX_MS ? seconds * 1000 : 0).toISOString();

const claudeName = (model: string): string => `claude-${model}`;

/** The models and aliases, and a Claude name for each model: Claude Code shows only those. */
const listed = (names: ModelNames): readonly ModelName[] => [
  ...names.all,
  ...names.list.models
    .filter(({ id }) => !isClaudeName(id))
    .map(({ id }) => claudeName(id))
    .filter((id) => names.find(id) === null)
    .map((id) => findModel(names, id)),
];

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

const pageQuery = z.object({
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
});

/** The page of the models that the query asks for. An empty value counts as absent. */
export const projectAnthropicModels = (names: ModelNames, query: URLSearchParams): ModelPage => {
  const given = Object.fromEntries([...query].filter(([, value]) => value !== ''));
  const {
    limit,
    after_id: after,
    before_id: before,
  } = parseBody(pageQuery, { ...given, limit: numberOf(given['limit']) });
  if (after !== undefined && before !== undefined) {
    throw gatewayError('invalid_value', {
      param: 'before_id',
      message: "'before_id' and 'after_id' cannot be used together.",
    });
  }
  const all = listed(names);
  const rest =
    after === undefined
      ? all.slice(0, before === undefined ? all.length : indexOf(all, before, 'before_id'))
      : all.slice(indexOf(all, after, 'after_id') + 1);
  const data = (before === undefined ? rest.slice(0, limit) : rest.slice(-limit)).map(projectModel);
  return {
    data,
    has_more: rest.length > data.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
};

/** A value that is not a number stays a text, which the schema rejects. */
const numberOf = (text: string | undefined): number | string | undefined =>
  text === undefined || !/^-?\d{1,15}$/.test(text) ? text : Number(text);

const indexOf = (all: readonly ModelName[], asked: string, param: string): number => {
  const index = all.findIndex(({ id }) => id === asked);
  if (index >= 0) return index;
  throw gatewayError('invalid_value', { param, message: `No model '${quoted(asked)}' is listed.` });
};

/** One model. All names that a request may use for a known model are found. */
export const projectAnthropicModel = (names: ModelNames, id: string): ListedModel => {
  const found = findModel(names, id);
  const isKnown = (names.find(id) ?? names.find(found.meaning.model)) !== null;
  if (!isKnown) throw gatewayError('model_not_found', { param: 'model', message: `model: ${quoted(id)}` });
  return projectModel(found);
};

const CLAUDE = /claude/i;
/** A Claude name in front of a model of the backend: `claude-gpt-5.5-high`. */
const PREFIXED = /^(?:anthropic\/)?claude-(?<rest>.+)$/is;
/** Claude Code's mark of a large context window. It normally removes the mark itself. */
const WINDOW_MARK = /\[\d+[km]\]$/i;
/** Claude's smallest model line. */
const SMALL = /haiku/i;

/** Whether clients of Anthropic's API take the name for one of a Claude model. */
const isClaudeName = (name: string): boolean => CLAUDE.test(name);

/**
 * The model for a name in Anthropic's API, where Claude names work without configuration. Configured aliases and listed
 * models come first, then `claude-<model>`, then the smallest model for Haiku and the default model for other
 * Claude names. Other unknown names are sent to the backend unchanged.
 */
export const findModel = (names: ModelNames, asked: string): ModelName => {
  const name = asked.replace(WINDOW_MARK, '');
  const found = names.find(asked) ?? names.find(name) ?? findClaude(names, name);
  if (found !== null) return { ...found, id: asked };
  const meaning = names.resolve(name);
  return { id: asked, meaning, info: infoOf(names, meaning.model) };
};

const findClaude = (names: ModelNames, name: string): ModelName | null => {
  if (!isClaudeName(name)) return null;
  const rest = PREFIXED.exec(name)?.groups?.['rest'] ?? '';
  const known = names.find(rest) ?? unlisted(names, rest);
  if (known !== null) return known;
  const small = SMALL.test(name) ? names.smallest : null;
  return names.find(small?.id ?? FAMILY);
};

/** A model that the backend has but does not offer. */
const unlisted = (names: ModelNames, id: string): ModelName | null => {
  const info = names.list.unlisted.find((one) => one.id === id);
  return info === undefined ? null : { id, info, meaning: names.resolve(id) };
};

const infoOf = ({ list }: ModelNames, model: string): ModelInfo =>
  [...list.models, ...list.unlisted].find(({ id }) => id === model) ?? unknownModel(model);
