import { createHash } from 'node:crypto';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { usableNames } from '../../../canonical/models/model-names.ts';
import type { ModelDirectory } from '../../../engine/model-directory.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import { quoted } from '../../../kit/text/display.ts';
import { readMetadataFilter } from '../../../openai/chat/project.ts';
import type { TurnGate } from '../../../turns/turn-gate.ts';
import type { AgentLimits } from '../../../config/agent-limits.ts';
import { agentError } from '../failures.ts';
import type { WorkspaceAccess } from '../workspaces/access.ts';
import type { AgentSessionRow, AgentStore, InputKey, QueueRoom } from '../store/port.ts';
import type {
  AgentSettings,
  SessionItem,
  SessionObject,
  SessionTurnObject,
  StoredAgentEvent,
} from './objects.ts';
import { readAgent } from './read-agent.ts';
import { readInputEvents, type InputEvent } from './read-events.ts';
import { readNewSession, readSessionUpdate, refuseFunctions, type NewSession } from './read-session.ts';
import { listPage, askedPage } from './list-pages.ts';
import { agentOf, unknownAgent } from './saved-agents.ts';
import {
  BEGINNING,
  type AgentCaller,
  type AgentSessions,
  type CreatedSession,
  type CreateOptions,
  type FollowOptions,
  type InputOptions,
  type ListPage,
  type PostedInput,
  type UpdatedSession,
} from './service.ts';
import { queueFull, unknownSession, type SessionChanges } from './session-changes.ts';
import { SessionDraft, type DraftRules } from './session-draft.ts';
import { eventId, eventNumber, stateEvent, type SessionEvents } from './session-events.ts';
import { NEW_STATE, readSettings, showRow, type SessionSettings } from './session-state.ts';
import { withoutWorkspace } from './session-turns.ts';
import { SESSION_PREFIX } from './session-watch.ts';

export interface SessionsServiceOptions {
  readonly store: AgentStore;
  readonly changes: SessionChanges;
  readonly events: SessionEvents;
  readonly rules: DraftRules;
  readonly ambient: Ambient;
  readonly limits: AgentLimits;
  readonly access: WorkspaceAccess;
  /** All that there are. */
  readonly workspaces: readonly Workspace[];
  readonly gate: TurnGate;
  readonly models: ModelDirectory;
  /** Whether this server stops. */
  readonly isDraining: () => boolean;
  /** Aborted when events are not followed any more. */
  readonly closing: AbortSignal;
  readonly onCreated: (row: AgentSessionRow) => void;
}

const DAY_MS = 24 * 60 * 60_000;
const MAX_KEY_CHARS = 512;
/** Of sessions without a workspace: the limit of the server is enough. */
const NO_LIMIT = 2 ** 31 - 1;

/** The Agents API without HTTP. */
export class SessionsService implements AgentSessions {
  readonly #options: SessionsServiceOptions;

  constructor(options: SessionsServiceOptions) {
    this.#options = options;
  }

  async create(caller: AgentCaller, body: unknown, options: CreateOptions = {}): Promise<CreatedSession> {
    const { access, gate, ambient, limits, store, rules } = this.#options;
    const { keyId } = caller;
    const asked = readNewSession(body, (name, param) => access.named(keyId, name, param));
    const { agent, ignored } = await this.#agentOf(keyId, asked);
    refuseFunctions(agent, asked.workspace !== null);
    await this.checkModel(keyId, agent.model, 'agent.model');
    if (asked.input !== null) this.#refuseDraining();
    await gate.keep(keyId);
    const id = ambient.ids.mint(SESSION_PREFIX);
    const now = ambient.clock.now();
    const settings: SessionSettings = {
      agent: { id: asked.agentId ?? ambient.ids.mint('agent'), ...agent },
      environment: asked.environment,
      access: options.access ?? null,
    };
    const row: AgentSessionRow = {
      id,
      owner: keyId,
      agentId: settings.agent.id,
      workspace: asked.workspace?.label ?? '',
      phase: 'idle',
      rev: 0,
      nextEvent: 1,
      nextItem: 0,
      createdAt: now,
      lastActiveAt: now,
      queuedAt: null,
      deadlineAt: null,
      metadata: asked.metadata,
      settings: JSON.stringify(settings),
      state: JSON.stringify(NEW_STATE),
    };
    const draft = new SessionDraft(row, rules);
    draft.created();
    const turnId = asked.input === null ? null : draft.post(asked.input);
    const change = draft.change({ room: this.#room(asked.workspace) });
    const made = await store.agentSessions.create(row, change, limits.maxSessions);
    if (made === 'limit') throw agentError('session_limit');
    if (made === 'full') throw queueFull();
    this.#options.onCreated(made);
    // What `created` said is the first event.
    return {
      session: showRow(made),
      ignored: [...asked.ignored, ...ignored],
      turnId,
      lastEventId: eventId(id, 1),
    };
  }

  async input(
    caller: AgentCaller,
    sessionId: string,
    body: unknown,
    options: InputOptions = {},
  ): Promise<PostedInput> {
    const { changes, gate, store } = this.#options;
    const { keyId } = caller;
    const events = readInputEvents(body);
    const inputKey = this.#inputKey(options.idempotencyKey, body);
    const found = await changes.find(keyId, sessionId);
    if (inputKey !== null) {
      const before = await store.agentSessions.inputOf(keyId, sessionId, inputKey.key);
      if (before !== null) return repeated(found, before, inputKey);
    }
    // A cancellation is always possible.
    if (events.some(({ type }) => type !== 'cancel')) {
      await this.#checkWorkspace(keyId, found);
      await gate.keep(keyId);
    }
    if (events.some(({ type }) => type === 'message')) this.#refuseDraining();
    const changed = await changes.change(keyId, sessionId, (draft) => applied(draft, events, options), {
      room: (row) => this.#room(this.#workspace(row)),
      ...(inputKey === null ? {} : { inputKey }),
    });
    if (changed !== null) {
      const { result, before } = changed;
      return { turnId: result.turnId, lastEventId: eventId(sessionId, before.nextEvent - 1) };
    }
    // The same request was faster.
    const again =
      inputKey === null ? null : await store.agentSessions.inputOf(keyId, sessionId, inputKey.key);
    if (again === null || inputKey === null) throw unknownSession(sessionId);
    return repeated(found, again, inputKey);
  }

  async retrieve({ keyId }: AgentCaller, sessionId: string): Promise<SessionObject> {
    return showRow(await this.#options.changes.find(keyId, sessionId));
  }

  async list({ keyId }: AgentCaller, query: URLSearchParams): Promise<ListPage<SessionObject>> {
    const page = askedPage(query);
    const rows = await this.#options.store.agentSessions.list(keyId, {
      ...page,
      limit: page.limit + 1,
      agentId: query.get('agent_id'),
      metadata: readMetadataFilter(query),
    });
    return listPage(rows, page, showRow);
  }

  async update(caller: AgentCaller, sessionId: string, body: unknown): Promise<UpdatedSession> {
    const { changes } = this.#options;
    const { keyId } = caller;
    const asked = readSessionUpdate(body);
    const found = await changes.find(keyId, sessionId);
    const read = (settings: SessionSettings): SessionSettings => {
      if (asked.agent === undefined) return settings;
      const { id, ...agent } = settings.agent;
      return { ...settings, agent: { id, ...readAgent(asked.agent, agent, 'agent').settings } };
    };
    const next = read(readSettings(found));
    refuseFunctions(next.agent, found.workspace !== '');
    if (next.agent.model !== readSettings(found).agent.model) {
      await this.checkModel(keyId, next.agent.model, 'agent.model');
    }
    const changed = await changes.change(keyId, sessionId, (draft) => {
      draft.update(read(draft.settings), asked.metadata ?? draft.metadata);
      return true;
    });
    return { session: showRow(changed?.row ?? found), ignored: asked.ignored };
  }

  async delete({ keyId }: AgentCaller, sessionId: string): Promise<void> {
    const { changes, store } = this.#options;
    for (;;) {
      const { phase, rev } = await changes.find(keyId, sessionId);
      if (phase !== 'idle' && phase !== 'failed') throw agentError('session_busy');
      if ((await store.agentSessions.delete(keyId, sessionId, rev)) === 'deleted') return;
    }
  }

  async turn({ keyId }: AgentCaller, sessionId: string, turnId: string): Promise<SessionTurnObject> {
    const { changes, store } = this.#options;
    await changes.find(keyId, sessionId);
    const row = await store.agentSessions.turn(keyId, sessionId, turnId);
    if (row === null) {
      throw agentError('unknown_turn', { message: `Turn with id '${quoted(turnId)}' not found.` });
    }
    return JSON.parse(row.body) as SessionTurnObject;
  }

  async turns(
    { keyId }: AgentCaller,
    sessionId: string,
    query: URLSearchParams,
  ): Promise<ListPage<SessionTurnObject>> {
    const { changes, store } = this.#options;
    await changes.find(keyId, sessionId);
    const page = askedPage(query);
    const rows = await store.agentSessions.turns(keyId, sessionId, { ...page, limit: page.limit + 1 });
    return listPage(rows, page, ({ body }) => JSON.parse(body) as SessionTurnObject);
  }

  async items(
    caller: AgentCaller,
    sessionId: string,
    turnId: string | null,
    query: URLSearchParams,
  ): Promise<ListPage<SessionItem>> {
    const { changes, store } = this.#options;
    const { keyId } = caller;
    if (turnId === null) await changes.find(keyId, sessionId);
    else await this.turn(caller, sessionId, turnId);
    const page = askedPage(query);
    const rows = await store.agentSessions.items(keyId, sessionId, turnId, {
      ...page,
      limit: page.limit + 1,
    });
    return listPage(rows, page, ({ body }) => JSON.parse(body ?? 'null') as SessionItem);
  }

  async follow(
    { keyId, signal }: AgentCaller,
    sessionId: string,
    { after, untilTurn }: FollowOptions,
  ): Promise<AsyncIterable<StoredAgentEvent>> {
    const { changes, events, closing, gate } = this.#options;
    const row = await changes.find(keyId, sessionId);
    const number =
      after === BEGINNING ? 0 : after === null ? row.nextEvent - 1 : eventNumber(sessionId, after);
    if (number === null || !(await events.hasAllAfter(row, number))) throw notKept();
    const read = events.read({ owner: keyId, sessionId, after: number, signal, closing });
    const all = after === null ? withFirst(stateEvent(row), read) : read;
    const allowed = whileAllowed(all, () => gate.check(keyId));
    return untilTurn === undefined ? allowed : untilEnd(allowed, untilTurn);
  }

  /** Rejects if the model is unknown, or the key may not use it. */
  async checkModel(keyId: string, model: string, param: string): Promise<void> {
    const { models, gate } = this.#options;
    const names = usableNames(await models.names(), gate.modelFilter(keyId));
    const { list } = names;
    const meant = names.resolve(model).model;
    // A provider may have models of codex that it does not list.
    const isKnown =
      names.find(model) !== null || [...list.models, ...list.unlisted].some(({ id }) => id === meant);
    // A backend that lists nothing may have any model.
    if (isKnown || list.models.length + list.unlisted.length === 0) return;
    throw gatewayError('model_not_found', {
      param,
      message: `The model '${quoted(model)}' does not exist or you do not have access to it.`,
    });
  }

  async #agentOf(
    keyId: string,
    { agent, agentId }: NewSession,
  ): Promise<{ readonly agent: AgentSettings; readonly ignored: readonly string[] }> {
    const { store, ambient, rules } = this.#options;
    if (agentId === null) {
      const { settings, ignored } = readAgent(agent, null, 'agent');
      return { agent: settings, ignored };
    }
    const row = await store.savedAgents.find(keyId, agentId, ambient.clock.now() + rules.ttlMs);
    if (row === null) throw unknownAgent(agentId);
    const { settings, ignored } = readAgent(agent, agentOf(row), 'agent');
    return { agent: settings, ignored };
  }

  #refuseDraining(): void {
    if (this.#options.isDraining()) throw gatewayError('shutting_down', { retryAfterSeconds: 5 });
  }

  #workspace({ workspace }: AgentSessionRow): Workspace | null {
    return this.#options.workspaces.find(({ label }) => label === workspace) ?? null;
  }

  /** Rejects if the session cannot go on, or not with this key. */
  async #checkWorkspace(keyId: string, row: AgentSessionRow): Promise<void> {
    const { access, changes } = this.#options;
    if (row.workspace === '') return;
    if (access.byLabel(keyId, row.workspace) !== null) return;
    if (this.#workspace(row) === null && row.phase !== 'failed') {
      await changes.change(keyId, row.id, (draft) => {
        if (draft.phase !== 'idle') return undefined;
        draft.fail(withoutWorkspace(row.workspace), 'invalid_request');
        return true;
      });
    }
    throw agentError('unknown_workspace', { message: withoutWorkspace(row.workspace) });
  }

  #room(workspace: Workspace | null): QueueRoom {
    const { maxQueuedTurns, maxTurns } = this.#options.limits;
    return { maxQueued: maxQueuedTurns, runs: Math.min(workspace?.runs ?? NO_LIMIT, maxTurns) };
  }

  #inputKey(key: string | undefined, body: unknown): InputKey | null {
    if (key === undefined || key === '') return null;
    if (key.length > MAX_KEY_CHARS) {
      throw gatewayError('invalid_value', {
        param: 'Idempotency-Key',
        message: `Invalid 'Idempotency-Key': at most ${MAX_KEY_CHARS} characters are allowed.`,
      });
    }
    const digest = createHash('sha256').update(JSON.stringify(body)).digest('base64url');
    return { key, body: digest, expiresAt: this.#options.ambient.clock.now() + DAY_MS };
  }
}

const repeated = (row: AgentSessionRow, before: string, { body }: InputKey): PostedInput => {
  if (before !== body) throw agentError('idempotency_key_reused');
  return { turnId: null, lastEventId: eventId(row.id, row.nextEvent - 1) };
};

/** The turn that the messages are for. Throws if the input cannot be applied. */
const applied = (
  draft: SessionDraft,
  events: readonly InputEvent[],
  { onlyIdle = false, onlyTurn }: InputOptions,
): { readonly turnId: string | null } => {
  if (onlyTurn !== undefined && draft.turn?.id !== onlyTurn) return { turnId: null };
  if (onlyIdle && draft.turn !== null) throw agentError('session_busy');
  if (draft.phase === 'failed' && events.some(({ type }) => type === 'message')) {
    throw agentError('unknown_workspace', { message: draft.state.error ?? 'This session cannot go on.' });
  }
  return { turnId: draft.apply(events) };
};

const notKept = (): GatewayError =>
  gatewayError('not_streamable', {
    param: 'after',
    message:
      'The events after this one are not kept any more, or it is not an event of this session. Read the events without it.',
  });

async function* withFirst(
  first: StoredAgentEvent,
  rest: AsyncIterable<StoredAgentEvent>,
): AsyncGenerator<StoredAgentEvent> {
  yield first;
  yield* rest;
}

/** Ends when the key may not be used any more. */
async function* whileAllowed(
  events: AsyncIterable<StoredAgentEvent>,
  check: () => void,
): AsyncGenerator<StoredAgentEvent> {
  for await (const event of events) {
    try {
      check();
    } catch {
      return;
    }
    yield event;
  }
}

/** Up to the state of the session after the end of the turn. */
async function* untilEnd(
  events: AsyncIterable<StoredAgentEvent>,
  turnId: string | null,
): AsyncGenerator<StoredAgentEvent> {
  let hasEnded = false;
  for await (const event of events) {
    yield event;
    if (hasEnded && 'session' in event) return;
    hasEnded ||= 'turn' in event && 'usage' in event && (turnId ?? event.turn_id) === event.turn_id;
  }
}
