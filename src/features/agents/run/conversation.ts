import type { Item, Message, Produced, ToolCall, ToolOutput } from '../../../canonical/request/item.ts';
import { isMessage, isReasoning, wordsOf } from '../../../canonical/request/item.ts';
import { released, type FunctionTool, type Tool } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { append } from '../../../kit/collections/lists.ts';
import { CODEX_TOOLS, type AgentRunRequest, type CodexTool } from './port.ts';

/** The only item that codex has of the conversation. With another form codex would replace it. */
export const PLACEHOLDER_ID = 'msg_conversation';

/** What a model request of codex brings that the one before did not have. */
export interface News {
  readonly outputs: readonly ToolOutput[];
  /** Messages of the user that were added to the run, in order. */
  readonly steered: readonly Message[];
  /** The length of all that is new. */
  readonly chars: number;
}

type Asked = Pick<AgentRunRequest, 'request' | 'tools' | 'workspace' | 'access'>;

/** The request of codex is not about this run. */
export class StrangeRequest extends Error {}

/**
 * What the model has read and written. codex brings the items before the conversation and the outputs of its tools; all
 * else is kept here, because codex keeps neither the client's items nor the model's answers as they were.
 */
export class RunConversation {
  readonly #asked: Asked;
  /** The items that codex has put before the conversation; null: codex has asked nothing yet. */
  #before: readonly Item[] | null = null;
  /** How many items the last request of codex had. */
  #seen = 0;
  readonly #since: Item[] = [];
  #isReleased = false;
  /** Messages that were sent to codex. */
  readonly #expected: Message[] = [];

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  /** codex will bring this message with one of its next requests. */
  expect(message: Message): void {
    this.#expected.push(message);
  }

  /** False: codex has brought it. */
  forget(message: Message): boolean {
    const at = this.#expected.indexOf(message);
    if (at >= 0) this.#expected.splice(at, 1);
    return at >= 0;
  }

  /** The model has answered. Incomplete items are left out, and reasoning that nothing follows: backends reject it. */
  answered(items: readonly Produced[]): void {
    const complete = items.filter((item) => !('status' in item) || item.status !== 'incomplete');
    append(this.#since, complete.slice(0, complete.findLastIndex((item) => !isReasoning(item)) + 1));
  }

  /** A call gets no output of codex: the model hears this. */
  unanswered({ tool, callId }: ToolCall, output: string): void {
    this.#since.push({ kind: 'tool-output', tool, callId, output });
  }

  /** Reads a model request of codex. */
  read({ items }: Pick<TurnRequest, 'items'>): News {
    const outputs: ToolOutput[] = [];
    const steered: Message[] = [];
    const added: Item[] = [];
    for (const item of this.#newItems(items)) {
      if (item.kind === 'tool-output') {
        const { id: _, ...output } = item;
        outputs.push(output);
        added.push(output);
      } else if (isMessage(item) && item.role !== 'assistant') {
        const ours = item.role === 'user' ? this.#takeExpected(item) : null;
        if (ours !== null) steered.push(ours);
        added.push(ours ?? item);
      }
    }
    append(this.#since, added);
    return { outputs, steered, chars: added.reduce((sum, item) => sum + charsOf(item), 0) };
  }

  /** The request for the model. Everything but the prompt and the tools of codex is as the client asked. */
  next(fromCodex: Pick<TurnRequest, 'instructions' | 'tools' | 'parallelToolCalls'>): TurnRequest {
    const { request } = this.#asked;
    const toolChoice = this.#isReleased ? released(request.toolChoice) : request.toolChoice;
    this.#isReleased = true;
    return {
      ...request,
      instructions: fromCodex.instructions,
      items: [...(this.#before ?? []), ...request.items, ...this.#since],
      tools: [...offeredTools(fromCodex.tools, this.#asked), ...request.tools],
      toolChoice,
      parallelToolCalls: request.parallelToolCalls ?? fromCodex.parallelToolCalls,
    };
  }

  #newItems(items: readonly Item[]): readonly Item[] {
    const seen = this.#seen;
    this.#seen = items.length;
    if (this.#before !== null) {
      if (items.length < seen) throw new StrangeRequest('codex has shortened the conversation');
      return items.slice(seen);
    }
    const at = items.findIndex((item) => item.id === PLACEHOLDER_ID);
    if (at === -1) throw new StrangeRequest('codex has lost the conversation');
    this.#before = items.slice(0, at).map(withoutId);
    return items.slice(at + 1);
  }

  #takeExpected(item: Message): Message | null {
    const said = wordsOf(item, 'text');
    const at = this.#expected.findIndex((one) => wordsOf(one, 'text') === said);
    return at === -1 ? null : (this.#expected.splice(at, 1)[0] ?? null);
  }
}

const withoutId = (item: Item): Item => {
  const { id: _, ...rest } = item;
  return rest;
};

const charsOf = (item: Item): number => {
  if (item.kind === 'message') return wordsOf(item, 'text').length;
  return item.kind === 'tool-output' && typeof item.output === 'string' ? item.output.length : 0;
};

/** The tools of codex that the model gets. */
const offeredTools = (tools: readonly Tool[], asked: Asked): readonly Tool[] =>
  tools.flatMap((tool): readonly Tool[] => {
    if (tool.kind !== 'function' && tool.kind !== 'custom') return [];
    const name = CODEX_TOOLS.find((one) => one === tool.name);
    if (name === undefined || !isOffered(name, asked)) return [];
    return [tool.kind === 'function' && name === 'exec_command' ? withoutEscalation(tool) : tool];
  });

export const isOffered = (
  name: CodexTool,
  { workspace, access, tools }: Pick<Asked, 'workspace' | 'access' | 'tools'>,
): boolean =>
  workspace !== null &&
  (tools === null || tools.has(name)) &&
  (name !== 'apply_patch' || (access === 'write' && workspace.access === 'write'));

/** The arguments with which a command asks to leave the sandbox. */
const ESCALATION = new Set(['sandbox_permissions', 'justification', 'prefix_rule']);

const withoutEscalation = (tool: FunctionTool): FunctionTool => {
  const { parameters } = tool;
  if (parameters === null || !isJsonObject(parameters['properties'])) return tool;
  const properties = Object.fromEntries(
    Object.entries(parameters['properties']).filter(([name]) => !ESCALATION.has(name)),
  );
  const trimmed: JsonObject = { ...parameters, properties };
  return { ...tool, parameters: trimmed };
};
