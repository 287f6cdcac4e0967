import { randomUUID } from 'node:crypto';

import { encodeEvent } from '../../src/demo/connection.ts';
import type { ModelConnection, ModelEvent } from '../../src/demo/connection.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { isJsonObject } from '../../src/kit/json/json.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import type { Account } from './login.ts';
import type { Settings } from './settings.ts';

/** Values that a test can follow to the client. */
export const LIMITS = {
  primaryUsedPercent: 42,
  primaryWindowMinutes: 300,
  primaryResetAt: 1_900_000_000,
  secondaryUsedPercent: 7,
  secondaryWindowMinutes: 10_080,
  secondaryResetAt: 1_900_500_000,
};

export const MODELS_ETAG = 'W/"models-1"';

export const limitHeaders = (plan: string, usedPercent: number): Readonly<Record<string, string>> => ({
  'x-codex-primary-used-percent': String(usedPercent),
  'x-codex-primary-window-minutes': String(LIMITS.primaryWindowMinutes),
  'x-codex-primary-reset-at': String(LIMITS.primaryResetAt),
  'x-codex-secondary-used-percent': String(LIMITS.secondaryUsedPercent),
  'x-codex-secondary-window-minutes': String(LIMITS.secondaryWindowMinutes),
  'x-codex-secondary-reset-at': String(LIMITS.secondaryResetAt),
  'x-codex-plan-type': plan,
  'x-codex-credits-has-credits': 'False',
  'x-codex-credits-unlimited': 'False',
  'x-codex-credits-balance': '',
});

const window = (usedPercent: number, minutes: number, resetAt: number): JsonObject => ({
  used_percent: usedPercent,
  window_minutes: minutes,
  reset_at: resetAt,
});

/** Events that only this service sends, between those of the model. */
const rateLimits = (plan: string, usedPercent: number): ModelEvent => ({
  type: 'codex.rate_limits',
  plan_type: plan,
  rate_limits: {
    allowed: true,
    limit_reached: false,
    primary: window(usedPercent, LIMITS.primaryWindowMinutes, LIMITS.primaryResetAt),
    secondary: window(LIMITS.secondaryUsedPercent, LIMITS.secondaryWindowMinutes, LIMITS.secondaryResetAt),
  },
  credits: null,
});
const KEEPALIVE: ModelEvent = { type: 'keepalive' };

export interface StreamOptions {
  readonly account: Account;
  readonly model: string;
  readonly turnState: string;
  readonly transport: 'http' | 'websocket';
  readonly settings: Settings;
  /** Called with issued encrypted reasoning. */
  readonly onIssued: (encrypted: string) => void;
}

/** The scripted model's answer in the service's format: more events, and no output at the end. */
export const asChatGptSends = (connection: ModelConnection, options: StreamOptions): ModelConnection => {
  const { account, transport, settings } = options;
  const limits = rateLimits(account.plan, settings.primaryUsedPercent);
  const headers = {
    ...limitHeaders(account.plan, settings.primaryUsedPercent),
    'openai-model': options.model,
    'x-models-etag': MODELS_ETAG,
    'x-codex-turn-state': options.turnState,
  };
  // A socket has no headers per answer, so the state of the turn comes as an event.
  const extras: Readonly<Record<string, readonly ModelEvent[]>> =
    transport === 'http'
      ? { 'response.in_progress': [limits, { type: 'response.metadata', metadata: {} }, KEEPALIVE] }
      : {
          'response.created': [
            { type: 'response.metadata', headers: { 'x-codex-turn-state': options.turnState } },
            ...(settings.rateLimitFrames ? [limits] : []),
          ],
          'response.in_progress': [KEEPALIVE],
        };
  const write = (raw: string): void => {
    const event = eventIn(raw);
    if (event?.type === 'response.output_item.done') noteIssued(event, options.onIssued);
    connection.write(event?.type === 'response.completed' ? encodeEvent(withoutOutput(event)) : raw);
    const extra = event === null ? undefined : extras[event.type];
    if (extra !== undefined) connection.write(extra.map(encodeEvent).join(''));
  };
  // The getters of the connection must stay getters.
  return Object.defineProperties({} as ModelConnection, {
    ...Object.getOwnPropertyDescriptors(connection),
    open: { value: (more = {}) => connection.open({ ...headers, ...more }) },
    write: { value: write },
    event: { value: (event: ModelEvent) => write(encodeEvent(event)) },
  });
};

/** The answer to a frame with `generate: false`, which only brings the start of a conversation. */
export const warmUp: Script = ({ body }, connection) => {
  const response = { id: `resp_warm_${randomUUID()}`, object: 'response', model: body['model'], output: [] };
  connection.event({ type: 'response.created', response: { ...response, status: 'in_progress' } });
  connection.event({ type: 'response.completed', response: { ...response, status: 'completed' } });
};

const INTERESTING = /^event: response\.(?:output_item\.done|completed|created|in_progress)\ndata: (.*)\n\n$/s;

const eventIn = (raw: string): ModelEvent | null => {
  const data = INTERESTING.exec(raw)?.[1];
  return data === undefined ? null : (JSON.parse(data) as ModelEvent);
};

const noteIssued = (event: ModelEvent, onIssued: (encrypted: string) => void): void => {
  const encrypted = isJsonObject(event['item']) ? event['item']['encrypted_content'] : undefined;
  if (typeof encrypted === 'string') onIssued(encrypted);
};

const withoutOutput = (event: ModelEvent): ModelEvent => ({
  ...event,
  response: isJsonObject(event['response']) ? { ...event['response'], output: [] } : null,
});
