import { GatewayError } from '../../src/canonical/failure/failure.ts';
import { agentError } from '../../src/features/agents/failures.ts';
import type {
  AgentTool,
  SessionEvent,
  SessionItem,
  SessionObject,
  SessionTurnObject,
  StoredAgentEvent,
} from '../../src/features/agents/sessions/objects.ts';
import { type AgentCaller, type AgentSessions } from '../../src/features/agents/sessions/service.ts';
import { isJsonObject, objectsIn, textIn, type Json, type JsonObject } from '../../src/kit/json/json.ts';

/** A turn of a scripted session. */
export interface ScriptedTurn {
  readonly prompt: string;
  /** Aborted when the turn is cancelled. */
  readonly cancelled: AbortSignal;
  run(command: string): void;
  patch(path: string): void;
  say(text: string, phase?: 'commentary' | 'final_answer'): void;
  /** Calls a function and waits for its result. */
  call(name: string, args: Json): Promise<JsonObject>;
}

/** Resolves when the turn has completed; rejects with an `Error` if it fails. */
export type TurnScript = (turn: ScriptedTurn) => Promise<void> | void;

interface ScriptedSession {
  readonly keyId: string;
  readonly body: JsonObject;
  readonly events: StoredAgentEvent[];
  readonly results: Map<string, (result: JsonObject) => void>;
  wake: PromiseWithResolvers<void>;
  turn: { readonly id: string; readonly stop: AbortController } | null;
  object: SessionObject;
}

/** Sessions that a test's script answers, in place of codex. Only what the MCP door uses. */
export const scriptedSessions = (script: TurnScript) => {
  const sessions = new Map<string, ScriptedSession>();
  const created: { readonly body: JsonObject; readonly access: string | null }[] = [];
  let ids = 0;
  const mint = (prefix: string): string => `${prefix}_${(ids += 1)}`;

  const find = (caller: AgentCaller, id: string): ScriptedSession => {
    const session = sessions.get(id);
    if (session === undefined || session.keyId !== caller.keyId)
      throw agentError('unknown_session', { message: `Session with id '${id}' not found.` });
    return session;
  };
  const emit = (session: ScriptedSession, event: SessionEvent): void => {
    session.events.push({ ...event, event_id: mint('evt') });
    session.wake.resolve();
    session.wake = Promise.withResolvers();
  };
  const setState = (session: ScriptedSession, more: Partial<SessionObject>): void => {
    session.object = { ...session.object, ...more };
    emit(session, { type: `agent.session.${session.object.status}`, session: session.object });
  };

  const begin = (session: ScriptedSession, prompt: string): string => {
    const id = mint('turn');
    const stop = new AbortController();
    session.turn = { id, stop };
    const of = { session_id: session.object.id, turn_id: id };
    const turn = (status: SessionTurnObject['status'], error: string | null = null): SessionTurnObject => ({
      id,
      object: 'agent.session.turn',
      agent_id: 'agent_1',
      session_id: session.object.id,
      subagent_id: null,
      status,
      created_at: 1,
      started_at: 1,
      completed_at: null,
      error: error === null ? null : { code: 'server_error', message: error },
      usage: null,
    });
    setState(session, { status: 'in_progress' });
    emit(session, { type: 'agent.session.turn.created', ...of, turn: turn('queued') });
    let index = 0;
    const item = (one: SessionItem): void => {
      const placed = { ...of, output_index: index, item: one };
      index += 1;
      emit(session, { type: 'agent.session.turn.item.added', ...placed });
      emit(session, { type: 'agent.session.turn.item.done', ...placed });
    };
    const end = (status: 'completed' | 'failed' | 'cancelled', error: string | null = null): void => {
      session.turn = null;
      emit(session, {
        type: `agent.session.turn.${status}`,
        ...of,
        turn: turn(status, error),
        usage: null,
      });
      setState(session, { status: 'idle', required_actions: [] });
    };
    const scripted: ScriptedTurn = {
      prompt,
      cancelled: stop.signal,
      run: (command) =>
        item({
          id: mint('cmd'),
          turn_id: id,
          type: 'command_execution',
          command,
          cwd: '/srv/demo',
          status: 'completed',
          output: '',
          exit_code: 0,
          duration_ms: 1,
        }),
      patch: (path) =>
        item({
          id: mint('patch'),
          turn_id: id,
          type: 'mcp_call',
          server_label: 'codex',
          name: 'apply_patch',
          arguments: { changes: [{ path, kind: 'update', move_path: null, diff: '' }] },
          output: null,
          error: null,
          status: 'completed',
        }),
      say: (text, phase) =>
        item({
          id: mint('msg'),
          turn_id: id,
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text }],
          phase: phase ?? null,
          status: 'completed',
        }),
      async call(name, args) {
        const call_id = mint('call');
        const result = new Promise<JsonObject>((resolve) => session.results.set(call_id, resolve));
        const action = { type: 'function_call', turn_id: id, call_id, name, arguments: args } as const;
        setState(session, { status: 'requires_action', required_actions: [action] });
        const given = await result;
        setState(session, { status: 'in_progress', required_actions: [] });
        return given;
      },
    };
    const ran = (async () => script(scripted))();
    const stopped = new Promise<never>((_resolve, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error));
    });
    Promise.race([ran, stopped]).then(
      () => end('completed'),
      (error: unknown) =>
        stop.signal.aborted ? end('cancelled') : end('failed', error instanceof Error ? error.message : '?'),
    );
    ran.catch(() => {});
    return id;
  };

  const lastOf = ({ events }: ScriptedSession): string => events.at(-1)?.event_id ?? '';

  const service: Pick<AgentSessions, 'create' | 'input' | 'retrieve' | 'follow'> = {
    async create({ keyId }, body, { access } = {}) {
      const given = isJsonObject(body) ? body : {};
      created.push({ body: given, access: access ?? null });
      const environment = isJsonObject(given['environment']) ? given['environment'] : {};
      const place = textIn(environment, 'workspace_directory');
      if (place !== 'demo' && place !== 'docs')
        throw agentError('unknown_workspace', { message: 'Unknown workspace. Yours: demo, docs.' });
      const agent = isJsonObject(given['agent']) ? given['agent'] : {};
      const session: ScriptedSession = {
        keyId,
        body: given,
        events: [],
        results: new Map(),
        wake: Promise.withResolvers(),
        turn: null,
        object: sessionObject(mint('asess'), (agent['tools'] ?? []) as unknown as readonly AgentTool[]),
      };
      sessions.set(session.object.id, session);
      const lastEventId = lastOf(session);
      const turnId = begin(session, textIn(given, 'input'));
      return { session: session.object, ignored: [], turnId, lastEventId };
    },
    async input(caller, id, body, { onlyIdle = false, onlyTurn } = {}) {
      const session = find(caller, id);
      const lastEventId = lastOf(session);
      let turnId: string | null = null;
      for (const event of isJsonObject(body) ? objectsIn(body, 'events') : []) {
        const type = textIn(event, 'type');
        if (onlyTurn !== undefined && session.turn?.id !== onlyTurn) continue;
        if (type === 'agent.session.input.cancel') session.turn?.stop.abort(new Error('cancelled'));
        if (type === 'agent.session.input.tool_result') {
          const answer = session.results.get(textIn(event, 'call_id'));
          if (answer === undefined) throw new Error('no such call');
          session.results.delete(textIn(event, 'call_id'));
          answer(event);
        }
        if (type === 'agent.session.input.message') {
          if (onlyIdle && session.turn !== null) throw agentError('session_busy');
          const [message] = objectsIn(event, 'input');
          turnId = begin(session, textIn(objectsIn(message ?? {}, 'content')[0] ?? {}, 'text'));
        }
      }
      return { turnId, lastEventId };
    },
    retrieve: async (caller, id) => find(caller, id).object,
    follow: async (caller, id, { after, untilTurn }) => {
      const session = find(caller, id);
      const from = typeof after === 'string' ? indexAfter(session, after) : 0;
      return eventsOf(session, from, untilTurn ?? null, caller.signal);
    },
  };
  return {
    service: service as unknown as AgentSessions,
    created,
    /** Ends a session as a deletion does. */
    remove(id: string): void {
      const session = sessions.get(id);
      sessions.delete(id);
      session?.wake.reject(new GatewayError(agentError('unknown_session').failure));
    },
  };
};

const indexAfter = ({ events }: ScriptedSession, id: string): number =>
  events.findIndex(({ event_id }) => event_id === id) + 1;

async function* eventsOf(
  session: ScriptedSession,
  from: number,
  untilTurn: string | null,
  signal: AbortSignal,
): AsyncGenerator<StoredAgentEvent> {
  const left = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve());
  });
  let hasEnded = false;
  for (let at = from; !signal.aborted;) {
    const event = session.events[at];
    if (event === undefined) {
      try {
        await Promise.race([session.wake.promise, left]);
      } catch {
        return;
      }
      continue;
    }
    at += 1;
    yield event;
    if (hasEnded) return;
    hasEnded =
      'turn' in event && event.turn_id === untilTurn && /completed|failed|cancelled/.test(event.type);
  }
}

const sessionObject = (id: string, tools: readonly AgentTool[]): SessionObject => ({
  id,
  object: 'agent.session',
  agent: {
    id: 'agent_1',
    name: null,
    instructions: null,
    model: 'codex-5',
    reasoning: { effort: null, summary: null },
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tools,
    multi_agent: { enabled: false, max_concurrent_subagents: null },
    service_tier: 'auto',
  },
  environment: {
    type: 'self_hosted',
    id: 'env_demo',
    workspace_directory: '/srv/demo',
    capability_directories: [],
    remote_url: '',
  },
  status: 'idle',
  required_actions: [],
  error: null,
  usage: null,
  metadata: { source: 'mcp' },
  review: 'none',
  vault_ids: [],
  created_at: 1,
  last_active_at: 1,
});
