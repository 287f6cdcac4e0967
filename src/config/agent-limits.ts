import { z } from 'zod';

import { isJsonObject, type Json } from '../kit/json/json.ts';
import { MAX_TIMER_MS, wholeNumber, type ValueType } from './value.ts';

/** Limits of the sessions of agents: `agent` in the config file. */
export interface AgentLimits {
  /** Turns that run at the same time on this server. */
  readonly maxTurns: number;
  /** Turns that wait for one workspace. */
  readonly maxQueuedTurns: number;
  /** How long a turn may run; a wait for its client does not count. */
  readonly turnTimeoutMs: number;
  /** How long a turn waits for an answer of its client. */
  readonly actionTimeoutMs: number;
  /** Stored sessions of one key. */
  readonly maxSessions: number;
}

export const AGENT_LIMITS: AgentLimits = {
  maxTurns: 4,
  maxQueuedTurns: 16,
  turnTimeoutMs: 3_600_000,
  actionTimeoutMs: 600_000,
  maxSessions: 1_000,
};

const TYPES: Readonly<Record<keyof AgentLimits, ValueType<number>>> = {
  maxTurns: wholeNumber(1, 1_000),
  maxQueuedTurns: wholeNumber(0, 10_000),
  turnTimeoutMs: wholeNumber(1_000, MAX_TIMER_MS),
  actionTimeoutMs: wholeNumber(1_000, MAX_TIMER_MS),
  maxSessions: wholeNumber(1, 1_000_000),
};

/** The limits as the JSON schema of the config file shows them. */
export const AGENT_FIELDS = z
  .strictObject(
    Object.fromEntries(
      Object.entries(TYPES).map(([key, { schema }]) => [
        key,
        schema.default(AGENT_LIMITS[key as keyof AgentLimits]),
      ]),
    ),
  )
  .partial();

interface ReadAgentLimits {
  readonly limits: AgentLimits;
  readonly problems: readonly string[];
}

const isLimit = (key: string): key is keyof AgentLimits => Object.hasOwn(TYPES, key);

/** The value of `agent` in the config file. */
export const readAgentLimits = (value: Json | undefined): ReadAgentLimits => {
  if (value === undefined) return { limits: AGENT_LIMITS, problems: [] };
  if (!isJsonObject(value)) return { limits: AGENT_LIMITS, problems: ['agent: must be an object.'] };
  const problems = Object.entries(value).flatMap(([key, given]) => {
    const shown = JSON.stringify(key.slice(0, 100));
    if (!isLimit(key)) return [`agent: unknown key ${shown}: it has ${Object.keys(TYPES).join(', ')}.`];
    const { schema, allowed } = TYPES[key];
    if (schema.safeParse(given).success) return [];
    return [`agent.${key}: ${JSON.stringify(given).slice(0, 100)} is not allowed; allowed is ${allowed}.`];
  });
  return {
    limits: problems.length > 0 ? AGENT_LIMITS : { ...AGENT_LIMITS, ...(value as Partial<AgentLimits>) },
    problems,
  };
};
