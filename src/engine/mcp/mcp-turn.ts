import { measured, type Trace, type OpenSpan, type SpanFacts } from '../../canonical/context/trace.ts';
import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { Item, RawItem } from '../../canonical/request/item.ts';
import { mcpNamespace, McpToolNames, mcpWireName, type McpToolInfo } from '../../canonical/mcp/mcp-tools.ts';
import { isAmong, needsApproval, type McpUse } from '../../canonical/mcp/mcp-use.ts';
import type { ToolChoice, ToolRef } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isModelCall, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { AppServer } from '../../codex/app-server.ts';
import { mcpErrorText, silentFor } from '../../codex/failures/mcp-error.ts';
import type { ParamsOf, ResultOf } from '../../codex/protocol/methods.ts';
import { RESOURCE_TOOLS, type McpShape } from '../../codex/relay/request/mcp-namespaces.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import {
  endedCall,
  endOfCall,
  failedWith,
  mcpCall,
  type FindMcpTool,
  type McpOutcome,
  type McpToolRef,
} from '../../codex/sources/mcp-calls.ts';
import { mcpOutputOf, type ApprovedCall } from '../../codex/translate/mcp-history.ts';
import { mcpUseConfig } from '../../codex/translate/mcp-config.ts';
import { fromOutputText } from '../../codex/translate/mcp-output.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { isDeeperThan, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { listedToolsEvents, listThreadTools, type McpAccess, type ReachableMcp } from './mcp-tools.ts';

/** Measures the calls of MCP servers in a turn, from the model's call to the result. */
export class ToolSpans {
  readonly #trace: Trace;
  readonly #open = new Map<string, OpenSpan>();

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  see(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type !== 'item-started' && event.type !== 'item-ended') continue;
      const { item } = event;
      if (item.kind !== 'hosted-call') continue;
      if (isModelCall(event)) this.#open.set(item.id, this.#trace.begin('tool', toolFacts(item.raw)));
      else if (event.type === 'item-ended') {
        this.#open.get(item.id)?.end({ status: textOf(item.raw['status']) });
        this.#open.delete(item.id);
      }
    }
  }
}

/** The names of a tool and its server: never what it was called with. */
const toolFacts = ({ server_label: server, name }: Pick<RawItem, string>): SpanFacts => ({
  server: textOf(server),
  tool: textOf(name),
});

const MAX_NAME = 200;

const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value.slice(0, MAX_NAME) : null;

/** The use of MCP servers in a request. */
export interface McpWish {
  readonly uses: readonly McpUse[];
  /** Servers whose tools the client has listed already. */
  readonly listed: ReadonlySet<string>;
  readonly approved: readonly ApprovedCall[];
  /** Null: no limit. */
  readonly maxCalls: number | null;
}

/** The results of approved calls, by id: each call runs once, however many attempts the turn has. */
export type ApprovedResults = Map<string, McpOutcome>;

interface McpTurnOptions {
  readonly signal: AbortSignal;
  readonly ids: IdSource;
  readonly trace: Trace;
}

interface Member {
  readonly use: McpUse;
  readonly reachable: ReachableMcp;
  /** The client named it; it is not of the deployment. */
  readonly isNamed: boolean;
  tools: readonly McpToolInfo[];
  names: McpToolNames;
}

/** The app-server has a timeout of its own; this one is for the case that it does not keep it. */
const MARGIN_MS = 10_000;
/** The app-server does not answer a request with more than 128 levels. */
const MAX_ARGUMENT_DEPTH = 100;

/** The MCP servers of one turn: they start with its thread and end with it. */
export class McpTurn implements McpShape {
  readonly #wish: McpWish;
  readonly #members: ReadonlyMap<string, Member>;
  readonly #ids: IdSource;
  readonly #trace: Trace;
  #preface: TurnEvent[] = [];
  #calls = 0;
  /** The newest model request offered no tools. */
  #isWithdrawn = false;

  private constructor(wish: McpWish, members: readonly Member[], { ids, trace }: McpTurnOptions) {
    this.#wish = wish;
    this.#members = new Map(members.map((member) => [mcpNamespace(member.use.server.label), member]));
    this.#ids = ids;
    this.#trace = trace;
  }

  /** Null: the request uses no servers. */
  static async open(wish: McpWish, access: McpAccess, options: McpTurnOptions): Promise<McpTurn | null> {
    if (wish.uses.length === 0) return null;
    const members: Member[] = [];
    try {
      for (const use of wish.uses) {
        const known = access.deployment.get(use.server.label);
        const isNamed = known?.server !== use.server;
        const reachable = isNamed ? await access.reach?.(use.server, options.signal) : known;
        if (reachable === undefined) throw new Error('a server that cannot be reached was not rejected');
        members.push({ use, reachable, isNamed, tools: [], names: new McpToolNames([]) });
      }
    } catch (error) {
      closeNamed(members);
      throw error;
    }
    return new McpTurn(wish, members, options);
  }

  /** `config.mcp_servers` of `thread/start`. */
  get config(): JsonObject {
    return Object.fromEntries(
      this.#all.map(({ use, reachable }) => [use.server.label, mcpUseConfig(reachable.config, use)]),
    );
  }

  /** How long a running tool may be silent. */
  get callMs(): number {
    return Math.max(...this.#all.map(({ use }) => use.server.callSeconds)) * 1000 + MARGIN_MS;
  }

  /** Starts the thread and its servers. The failure names the server that did not start. */
  async startThread(
    appServer: AppServer,
    start: ParamsOf<'thread/start'>,
  ): Promise<ResultOf<'thread/start'>> {
    const timeoutMs = Math.max(...this.#all.map(({ use }) => use.server.startupSeconds)) * 1000 + MARGIN_MS;
    try {
      return await appServer.request('thread/start', start, { timeoutMs });
    } catch (error) {
      if (error instanceof RequestTimeout) throw unavailable(this.#all, silentFor(timeoutMs));
      const said = error instanceof RpcError ? FAILED.exec(error.message)?.[1] : undefined;
      if (said === undefined) throw error;
      const failed = this.#all.find(({ use }) => said.startsWith(`${use.server.label}: `));
      if (failed === undefined) throw unavailable(this.#all, mcpErrorText(said));
      const words = said.slice(failed.use.server.label.length + 2);
      throw unavailable([failed], failed.reachable.lastError() ?? mcpErrorText(words));
    }
  }

  /** Lists the tools, and runs approved calls. Returns the request with their outputs. */
  async prepare(
    request: TurnRequest,
    appServer: AppServer,
    threadId: string,
    results: ApprovedResults,
  ): Promise<TurnRequest> {
    await Promise.all(this.#all.map((member) => this.#list(member, appServer, threadId)));
    for (const call of this.#wish.approved) {
      const known = results.get(call.callId);
      // If the worker dies meanwhile, the call may have run: it must not run again.
      if (known === undefined) results.set(call.callId, LOST);
      const facts = toolFacts({ server_label: call.label, name: call.name });
      const run = () => this.#run(call, appServer, threadId);
      const outcome = known ?? (await measured(this.#trace.begin('tool', facts), run));
      results.set(call.callId, outcome);
      this.#show(call, outcome);
    }
    const items = request.items.map((item): Item => {
      if (item.kind !== 'tool-output' || item.callId === null) return item;
      const outcome = results.get(item.callId);
      if (outcome === undefined) return item;
      return { ...item, output: fromOutputText(mcpOutputOf(endedCall(mcpCall('', ''), '', outcome).raw)) };
    });
    return { ...request, items, toolChoice: this.#choice(request.toolChoice) };
  }

  /** The events before the answer; empties the list. */
  takePreface(): readonly TurnEvent[] {
    const preface = this.#preface;
    this.#preface = [];
    return preface;
  }

  /** Finds the MCP tool of a call. */
  readonly find: FindMcpTool = ({ name, namespace }) => {
    if (namespace === undefined) return this.#resource(name);
    const member = this.#members.get(namespace);
    if (member === undefined) return null;
    const { label } = member.use.server;
    const tool = member.names.find(name);
    if (tool === null) return null;
    // Only the app-server knows which of them it is. It runs none that needs an approval.
    if (tool === 'many') return { label, name, needsApproval: false };
    const isWithdrawn = this.#isWithdrawn;
    return { label, name: tool.name, needsApproval: needsApproval(member.use.approval, tool), isWithdrawn };
  };

  offered(namespace: string, wireName: string): ReturnType<McpShape['offered']> {
    return this.#members.get(namespace)?.names.find(wireName);
  }

  offersResource(name: string): boolean {
    return this.#resource(name) !== null;
  }

  isLimitReached(): boolean {
    this.#isWithdrawn = this.#wish.maxCalls !== null && this.#calls >= this.#wish.maxCalls;
    return this.#isWithdrawn;
  }

  count(events: readonly TurnEvent[]): void {
    this.#calls += events.filter(isModelCall).length;
  }

  /** Turns the servers and MCP tools of a choice into the names that the model knows. */
  #choice(choice: ToolChoice): ToolChoice {
    if (choice.mode === 'allowed')
      return { ...choice, tools: choice.tools.flatMap((ref) => this.#refs(ref)) };
    if (choice.mode !== 'named') return choice;
    const [first, ...others] = this.#refs(choice.tool);
    if (first === undefined) throw gatewayError('invalid_value', NOTHING_CHOSEN);
    if (others.length === 0) return { mode: 'named', tool: first };
    return { mode: 'allowed', required: true, tools: [first, ...others] };
  }

  close(): void {
    closeNamed(this.#all);
  }

  get #all(): readonly Member[] {
    return [...this.#members.values()];
  }

  async #list(member: Member, appServer: AppServer, threadId: string): Promise<void> {
    const { use } = member;
    const list = await listThreadTools(appServer, threadId, member.reachable);
    if (list.status === 'failed') throw unavailable([member], list.lastError);
    member.tools = list.tools.filter((tool) => use.allowed === null || isAmong(use.allowed, tool));
    member.names = new McpToolNames(member.tools);
    const { label } = use.server;
    if (this.#wish.listed.has(label)) return;
    this.#preface.push(...listedToolsEvents(this.#ids.mint('mcpl'), label, member.tools));
  }

  async #run(call: ApprovedCall, appServer: AppServer, threadId: string): Promise<McpOutcome> {
    const given = parseJsonObject(call.arguments === '' ? '{}' : call.arguments);
    if (given === null || isDeeperThan(given, MAX_ARGUMENT_DEPTH))
      return failedWith('The arguments are not a JSON object, or are nested too deeply.');
    const { label: server, name: tool } = call;
    const { tools = [] } = this.#members.get(mcpNamespace(server)) ?? {};
    if (!tools.some(({ name }) => name === tool))
      return failedWith('This tool does not exist, or it is not allowed.');
    try {
      const { isError, ...result } = await appServer.request(
        'mcpServer/tool/call',
        { threadId, server, tool, arguments: given },
        { timeoutMs: this.callMs },
      );
      const { content, structuredContent = null } = result;
      return {
        status: isError === true ? 'failed' : 'completed',
        result: { content, structuredContent, _meta: null },
        error: null,
      };
    } catch (error) {
      if (error instanceof RpcError) return failedWith(error.message);
      if (error instanceof RequestTimeout) return failedWith('The tool did not answer in time.');
      throw error;
    }
  }

  #show(call: ApprovedCall, outcome: McpOutcome): void {
    const { callId, label, name, arguments: given, requestId } = call;
    const id = `mcp_${callId}`;
    const raw = { ...mcpCall(label, name), approval_request_id: requestId };
    this.#preface.push(
      { type: 'item-started', item: { kind: 'hosted-call', id, raw } },
      { type: 'item-status', itemId: id, status: 'in_progress' },
      { type: 'item-delta', itemId: id, at: 'input', delta: given },
      ...endOfCall({ kind: 'hosted-call', raw }, id, given, outcome),
    );
  }

  /** Resource tools have no namespace: they are for all servers. */
  #resource(name: string): McpToolRef | null {
    if (!RESOURCE_TOOLS.has(name)) return null;
    const asking = this.#all.find(({ use }) => use.allowed?.names?.has(name) === true);
    return asking === undefined ? null : { label: asking.use.server.label, name, needsApproval: false };
  }

  #refs(ref: ToolRef): readonly ToolRef[] {
    if (ref.kind !== 'hosted' || ref.raw.type !== 'mcp') return [ref];
    const { server_label: label, name: wanted } = ref.raw;
    const namespace = typeof label === 'string' ? mcpNamespace(label) : '';
    const member = this.#members.get(namespace);
    if (member === undefined) return [ref];
    return member.tools
      .filter(({ name }) => typeof wanted !== 'string' || name === wanted)
      .map(({ name }) => ({ kind: 'function', name: mcpWireName(name), namespace }));
  }
}

/** Servers of the deployment are shared, so they are not closed. */
const closeNamed = (members: readonly Member[]): void => {
  for (const { isNamed, reachable } of members) if (isNamed) reachable.close();
};

const FAILED = /required MCP servers failed to initialize: (.*)$/s;

const unavailable = (members: readonly Member[], lastError: string): GatewayError => {
  const names = members.map(({ use }) => `'${use.server.label}'`).join(', ');
  const whose = members.length === 1 ? `The MCP server ${names}` : `One of the MCP servers ${names}`;
  return gatewayError('mcp_server_unavailable', { message: `${whose} ${lastError}.` });
};

const NOTHING_CHOSEN = {
  param: 'tool_choice',
  message: "Invalid 'tool_choice': the MCP server does not have this tool, or it is not allowed.",
};

const LOST = failedWith('The process that ran the call was lost.');
