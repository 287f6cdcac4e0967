import {
  FAMILY,
  unknownModel,
  type ModelInfo,
  type ModelName,
  type ModelNames,
} from '../canonical/models/model-names.ts';

const CLAUDE = /claude/i;
/** A Claude name in front of a model of the backend: `claude-gpt-5.5-high`. */
const PREFIXED = /^(?:anthropic\/)?claude-(?<rest>.+)$/is;
/** Claude Code's mark of a large context window. It normally removes the mark itself. */
const WINDOW_MARK = /\[\d+[km]\]$/i;
/** Claude's smallest model line. */
const SMALL = /haiku/i;

/** Whether clients of Anthropic's API take the name for one of a Claude model. */
export const isClaudeName = (name: string): boolean => CLAUDE.test(name);

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
