/** An answer of the API that is an error. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

type Fields = Record<string, unknown>;

export interface Input {
  readonly type: string;
  readonly input?: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly turn_id?: string;
  readonly call_id?: string;
  readonly success?: boolean;
  readonly output?: string;
  readonly error?: string;
}

interface Stored {
  readonly type: string;
  readonly event_id: string;
  readonly [field: string]: unknown;
}

interface Item {
  readonly id: string;
  readonly type: string;
  readonly turn_id: string;
  readonly [field: string]: unknown;
}

/** What a turn does. It should end early when the signal of the turn is aborted. */
export type TurnScript = (turn: ScriptedTurn, text: string) => Promise<void>;

export interface ScriptedWorkspace {
  readonly name: string;
  readonly path: string;
  readonly access: 'read' | 'write';
  readonly network: 'all' | 'none' | readonly string[];
  readonly isThere: boolean;
}

const SECONDS = 1000;
const now = (): number => Math.floor(Date.now() / SECONDS);

const page = <Row extends { readonly id: string }>(rows: readonly Row[], query: URLSearchParams) => {
  const limit = Number(query.get('limit') ?? 20);
  const ordered = query.get('order') === 'asc' ? rows : rows.toReversed();
  const after = query.get('after');
  const at = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && at === -1) throw new Refused(400, 'invalid_value', "Unknown 'after'.");
  const data = ordered.slice(at + 1, at + 1 + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: ordered.length > at + 1 + limit,
  };
};

/** Sessions in memory, whose turns run a script instead of codex. */
export class ScriptedAgents {
  /** What the next turns do. */
  script: TurnScript = async (turn) => turn.say('Done.');
  workspaces: readonly ScriptedWorkspace[] = [
    { name: 'demo', path: '/srv/demo', access: 'write', network: 'none', isThere: true },
    { name: 'docs', path: '/srv/docs', access: 'read', network: ['registry.npmjs.org'], isThere: true },
  ];
  readonly #sessions = new Map<string, ScriptedSession>();
  #count = 0;

  nextId(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${String(this.#count).padStart(4, '0')}`;
  }

  environments() {
    const rows = this.workspaces.map(({ name, isThere }) => ({
      id: `env_${name}`,
      object: 'agent.environment',
      type: 'self_hosted',
      status: isThere ? 'connected' : 'failed',
      files: [],
      plugins: [],
      skills: [],
    }));
    return page(rows, new URLSearchParams({ limit: '100', order: 'asc' }));
  }

  mcpRows() {
    const running = [...this.#sessions.values()].filter(({ isRunning }) => isRunning).length;
    return {
      object: 'list',
      data: this.workspaces.map(({ name, path, access, network, isThere }) => ({
        object: 'codex.mcp_server',
        server_label: name,
        transport: 'workspace',
        status: isThere ? 'connected' : 'failed',
        require_approval: 'always',
        workspace: { path, access, network, runs: { active: name === 'demo' ? running : 0, max: 1 } },
        tools: ['exec_command', 'apply_patch'],
      })),
    };
  }

  list(query: URLSearchParams) {
    return page(
      [...this.#sessions.values()].map((session) => session.object()),
      query,
    );
  }

  create(body: Fields) {
    const environment = body['environment'] as {
      readonly type: string;
      readonly workspace_directory?: string;
    };
    const known = this.workspaces.find(({ name }) => name === environment.workspace_directory);
    if (environment.type === 'self_hosted' && known === undefined)
      throw new Refused(400, 'unknown_workspace', 'Unknown workspace.');
    const session = new ScriptedSession(this, body, known ?? null);
    this.#sessions.set(session.id, session);
    const text = body['input'];
    if (typeof text === 'string') session.start(text);
    return session.object();
  }

  session(id: string): ScriptedSession {
    const found = this.#sessions.get(id);
    if (found === undefined) throw new Refused(404, 'unknown_session', `Session with id '${id}' not found.`);
    return found;
  }

  /** The newest session. */
  get last(): ScriptedSession {
    const found = [...this.#sessions.values()].at(-1);
    if (found === undefined) throw new Error('there is no session');
    return found;
  }

  remove(id: string) {
    const session = this.session(id);
    if (session.isRunning)
      throw new Refused(409, 'session_busy', 'The session has a turn that runs: cancel it first.');
    this.#sessions.delete(id);
    session.end();
    return { id, object: 'agent.session.deleted', deleted: true };
  }
}

export class ScriptedSession {
  readonly id: string;
  readonly agents: ScriptedAgents;
  /** The bodies of all inputs. */
  readonly inputs: Input[] = [];
  #fields: Fields;
  readonly #turns: Fields[] = [];
  readonly #items = new Map<string, Item>();
  #events: Stored[] = [];
  readonly #followers = new Map<(event: Stored) => void, () => void>();
  readonly #keys = new Set<string>();
  #turn: ScriptedTurn | null = null;

  constructor(agents: ScriptedAgents, body: Fields, workspace: ScriptedWorkspace | null) {
    this.agents = agents;
    this.id = agents.nextId('asess');
    const agent = (body['agent'] ?? {}) as Fields;
    this.#fields = {
      id: this.id,
      object: 'agent.session',
      status: 'idle',
      created_at: now(),
      last_active_at: now(),
      error: null,
      metadata: body['metadata'] ?? {},
      required_actions: [],
      review: 'none',
      usage: null,
      vault_ids: [],
      environment:
        workspace === null
          ? { type: 'none' }
          : {
              type: 'self_hosted',
              id: `env_${workspace.name}`,
              workspace_directory: workspace.path,
              capability_directories: [],
              remote_url: '',
            },
      agent: {
        id: agents.nextId('agent'),
        name: null,
        instructions: null,
        service_tier: 'auto',
        tools: [],
        ...agent,
        reasoning: { effort: null, summary: null, ...(agent['reasoning'] as Fields | undefined) },
      },
    };
  }

  get isRunning(): boolean {
    return this.#turn !== null;
  }

  get viewers(): number {
    return this.#followers.size;
  }

  object(): Fields & { readonly id: string } {
    return { ...this.#fields, id: this.id };
  }

  items(query: URLSearchParams) {
    return page([...this.#items.values()], query);
  }

  listTurns(query: URLSearchParams) {
    return page(this.#turns as (Fields & { readonly id: string })[], query);
  }

  stateEvent(): Stored {
    return {
      type: `agent.session.${String(this.#fields['status'])}`,
      event_id: this.agents.nextId('evt'),
      session: this.object(),
    };
  }

  eventsAfter(id: string): readonly Stored[] {
    const at = this.#events.findIndex(({ event_id: one }) => one === id);
    if (at === -1) throw new Refused(400, 'not_streamable', 'These events are not kept any more.');
    return this.#events.slice(at + 1);
  }

  /** As ten minutes after the end of a turn. */
  forgetEvents(): void {
    this.#events = [];
  }

  follow(onEvent: (event: Stored) => void, onEnd: () => void): () => void {
    this.#followers.set(onEvent, onEnd);
    return () => void this.#followers.delete(onEvent);
  }

  end(): void {
    for (const onEnd of this.#followers.values()) onEnd();
  }

  emit(type: string, fields: Fields): void {
    const event = { type, event_id: this.agents.nextId('evt'), ...fields };
    this.#events.push(event);
    for (const onEvent of this.#followers.keys()) onEvent(event);
  }

  setStatus(status: string, actions: readonly Fields[] = []): void {
    this.#fields = { ...this.#fields, status, required_actions: actions, last_active_at: now() };
    this.emit(`agent.session.${status}`, { session: this.object() });
  }

  storeItem(item: Item): void {
    this.#items.set(item.id, item);
  }

  setTurn(turn: Fields): void {
    const at = this.#turns.findIndex(({ id }) => id === turn['id']);
    if (at === -1) this.#turns.push(turn);
    else this.#turns[at] = turn;
  }

  addUsage(usage: Fields): void {
    this.#fields = { ...this.#fields, usage };
  }

  start(text: string): void {
    const turn = new ScriptedTurn(this);
    this.#turn = turn;
    void turn.run(this.agents.script, text).finally(() => {
      this.#turn = null;
      this.setStatus('idle');
      // What the turn did not read becomes the first message of another one.
      const [left] = turn.unread;
      if (left !== undefined) this.start(left);
    });
  }

  input(events: readonly Input[], key: string): void {
    if (key !== '' && this.#keys.has(key)) return;
    for (const event of events) this.#apply(event);
    if (key !== '') this.#keys.add(key);
    this.inputs.push(...events);
  }

  #apply(event: Input): void {
    if (event.type === 'agent.session.input.message') {
      const text = event.input?.[0]?.content[0]?.text ?? '';
      if (this.#turn === null) this.start(text);
      else this.#turn.steer(text);
    } else if (event.type === 'agent.session.input.cancel') this.#turn?.cancel();
    else if (event.type === 'agent.session.input.tool_result') {
      const isKnown = this.#turn?.answer(event) ?? false;
      if (!isKnown)
        throw new Refused(
          400,
          'invalid_request_error',
          `Unknown pending tool call: ${String(event.call_id)}`,
        );
    }
  }
}

/** A turn that a script runs. */
export class ScriptedTurn {
  readonly id: string;
  readonly session: ScriptedSession;
  readonly #cancelled = new AbortController();
  readonly #pending = new Map<
    string,
    { readonly action: Fields; readonly resolve: (input: Input) => void }
  >();
  readonly #steered: string[] = [];
  readonly #open = new Map<string, Item>();
  #onSteered: () => void = () => undefined;
  #index = 0;
  #fields: Fields;

  constructor(session: ScriptedSession) {
    this.session = session;
    this.id = session.agents.nextId('turn');
    this.#fields = {
      id: this.id,
      object: 'agent.session.turn',
      agent_id: 'agent_1',
      session_id: session.id,
      subagent_id: null,
      status: 'queued',
      created_at: now(),
      started_at: null,
      completed_at: null,
      error: null,
      usage: null,
    };
  }

  /** Aborted when the turn is cancelled. */
  get signal(): AbortSignal {
    return this.#cancelled.signal;
  }

  async run(script: TurnScript, text: string): Promise<void> {
    this.session.setStatus('in_progress');
    this.#state('turn.created', {});
    this.#state('turn.in_progress', { status: 'in_progress', started_at: now() });
    this.#userMessage(text);
    const error = await script(this, text).then(
      () => null,
      (reason: unknown) => ({
        code: 'server_error',
        message: reason instanceof Error ? reason.message : String(reason),
      }),
    );
    for (const item of this.#open.values())
      this.#done({ ...item, status: item.type === 'command_execution' ? 'failed' : 'incomplete' });
    const status = this.signal.aborted ? 'cancelled' : error === null ? 'completed' : 'failed';
    const usage = {
      input_tokens: 14_289,
      input_tokens_details: { cached_tokens: 11_008 },
      output_tokens: 688,
      output_tokens_details: { reasoning_tokens: 226 },
      total_tokens: 14_977,
    };
    this.session.addUsage(usage);
    this.#state(`turn.${status}`, {
      status,
      completed_at: now(),
      usage,
      error: status === 'failed' ? error : null,
    });
  }

  cancel(): void {
    this.#cancelled.abort();
    for (const { resolve } of this.#pending.values()) resolve({ type: 'cancelled', success: false });
    this.#pending.clear();
    this.#onSteered();
  }

  steer(text: string): void {
    this.#steered.push(text);
    this.#onSteered();
  }

  get unread(): readonly string[] {
    return this.signal.aborted ? [] : this.#steered;
  }

  /** Waits for a message to the running turn, and adds it as an item. */
  async steered(): Promise<string> {
    while (this.#steered.length === 0 && !this.signal.aborted)
      await new Promise<void>((resolve) => void (this.#onSteered = resolve));
    const text = this.#steered.shift() ?? '';
    if (!this.signal.aborted) this.#userMessage(text);
    return text;
  }

  answer(input: Input): boolean {
    const found = this.#pending.get(input.call_id ?? '');
    if (found === undefined || input.turn_id !== this.id) return false;
    this.#pending.delete(input.call_id ?? '');
    found.resolve(input);
    return true;
  }

  /** Writes a message, one piece after the other. */
  async say(text: string, { phase = 'final_answer', pieces = [text] } = {}): Promise<void> {
    const item = this.#added('message', { role: 'assistant', phase, content: [] });
    this.#part('turn.content_part.added', item, {
      content_index: 0,
      part: { type: 'output_text', text: '' },
    });
    for (const delta of pieces) {
      this.#part('turn.output_text.delta', item, { content_index: 0, delta });
      await Promise.resolve();
    }
    this.#part('turn.output_text.done', item, { content_index: 0, text });
    this.#done({ ...item, status: 'completed', content: [{ type: 'output_text', text }] });
  }

  think(text: string): void {
    const item = this.#added('reasoning', { summary: [] });
    const place = { summary_index: 0 };
    this.#part('turn.reasoning_summary_part.added', item, {
      ...place,
      part: { type: 'summary_text', text: '' },
    });
    this.#part('turn.reasoning_summary_text.delta', item, { ...place, delta: text });
    this.#part('turn.reasoning_summary_text.done', item, { ...place, text });
    this.#done({ ...item, status: 'completed', summary: [{ type: 'summary_text', text }] });
  }

  /** Starts a command, which writes and ends as the script says. */
  command(script: string) {
    const started = Date.now();
    const item = this.#added('command_execution', {
      command: `/bin/bash -lc '${script.replaceAll("'", String.raw`'\''`)}'`,
      cwd: '/srv/demo',
      output: null,
      exit_code: null,
      duration_ms: null,
    });
    let output = '';
    return {
      write: (delta: string): void => {
        output += delta;
        this.#part('agent.output.command_execution_output.delta', item, { delta });
      },
      end: (exitCode = 0): void =>
        this.#done({
          ...item,
          status: exitCode === 0 ? 'completed' : 'failed',
          output,
          exit_code: exitCode,
          duration_ms: Date.now() - started,
        }),
    };
  }

  patch(changes: readonly Fields[], error: string | null = null): void {
    const fields = {
      server_label: 'codex',
      name: 'apply_patch',
      arguments: { changes },
      output: null,
      error,
    };
    const item = this.#added('mcp_call', { ...fields, error: null });
    this.#done({ ...item, ...fields, status: error === null ? 'completed' : 'failed' });
  }

  plan(steps: readonly (readonly [step: string, status: string])[]): void {
    const plan = steps.map(([step, status]) => ({ step, status }));
    this.#emit('codex.turn.plan.updated', { plan });
  }

  search(query: string): void {
    const item = this.#added('web_search_call', { action: { type: 'search', query } });
    this.#done({ ...item, status: 'completed' });
  }

  /** Calls a function, and waits for its result. */
  async call(name: string, input: Fields): Promise<Input> {
    return (await this.calls([[name, input]]))[0] ?? { type: 'none' };
  }

  /** Calls functions together. */
  async calls(all: readonly (readonly [name: string, input: Fields])[]): Promise<readonly Input[]> {
    const started = all.map(([name, input]) => {
      const callId = this.session.agents.nextId('call');
      const item = this.#added('function_call', { call_id: callId, name, arguments: input });
      const action = { type: 'function_call', turn_id: this.id, call_id: callId, name, arguments: input };
      const result = new Promise<Input>((resolve) => void this.#pending.set(callId, { action, resolve }));
      return { item, result };
    });
    const actions = (): Fields[] => [...this.#pending.values()].map(({ action }) => action);
    this.#fields = { ...this.#fields, status: 'waiting' };
    this.session.setTurn(this.#fields);
    this.session.setStatus('requires_action', actions());
    const results = started.map(async ({ item, result }) => {
      const given = await result;
      const isOk = given.success === true;
      if (!this.signal.aborted) {
        const output = this.#item('function_call_output', {
          call_id: item['call_id'],
          output: given.output ?? null,
          error: given.error ?? null,
          status: isOk ? 'completed' : 'failed',
        });
        this.session.storeItem(output);
        this.#emit('turn.item.added', { output_index: null, item: output });
        if (actions().length > 0) this.session.setStatus('requires_action', actions());
      }
      return { item, given, isOk };
    });
    const answered = await Promise.all(results);
    this.#fields = { ...this.#fields, status: 'in_progress' };
    this.session.setTurn(this.#fields);
    this.session.setStatus('in_progress');
    this.#emit('turn.in_progress', { turn: this.#fields });
    for (const { item, isOk } of answered) this.#done({ ...item, status: isOk ? 'completed' : 'failed' });
    return answered.map(({ given }) => given);
  }

  /** Asks for an approval. Null: approved; otherwise the reason. */
  async approve(name: string, input: Fields): Promise<string | null> {
    const given = await this.call('codex_approval', { name, arguments: input, cwd: '/srv/demo' });
    return given.success === true && given.output === 'approve' ? null : (given.error ?? '');
  }

  #userMessage(text: string): void {
    const fields = {
      role: 'user',
      phase: null,
      status: 'completed',
      content: [{ type: 'input_text', text }],
    };
    const item = this.#item('message', fields);
    this.session.storeItem(item);
    this.#emit('turn.item.added', { output_index: null, item });
  }

  #item(type: string, fields: Fields): Item {
    return { id: this.session.agents.nextId('item'), type, turn_id: this.id, ...fields };
  }

  #added(type: string, fields: Fields): Item {
    const item = this.#item(type, { ...fields, status: 'in_progress', output_index: undefined });
    this.#open.set(item.id, item);
    this.session.storeItem(item);
    this.#emit('turn.item.added', { output_index: this.#index, item });
    this.#index += 1;
    return item;
  }

  #done(item: Item): void {
    this.#open.delete(item.id);
    this.session.storeItem(item);
    this.#emit('turn.item.done', { output_index: this.#index, item });
  }

  #part(type: string, { id }: Item, fields: Fields): void {
    this.#emit(type, { item_id: id, output_index: this.#index, ...fields });
  }

  #state(type: string, fields: Fields): void {
    this.#fields = { ...this.#fields, ...fields };
    this.session.setTurn(this.#fields);
    this.#emit(type, { turn: this.#fields });
  }

  #emit(type: string, fields: Fields): void {
    const name = /^(?:agent|codex)\./.test(type) ? type : `agent.session.${type}`;
    this.session.emit(name, { session_id: this.session.id, turn_id: this.id, ...fields });
  }
}
