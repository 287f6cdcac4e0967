import type { Item, Message, Produced, ToolCall, ToolOutput } from '../../../canonical/request/item.ts';
import { isMessage, isReasoning, wordsOf } from '../../../canonical/request/item.ts';
import { released, type FunctionTool, type Tool } from '../../../canonical/request/tool.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { append } from '../../../kit/collections/lists.ts';
import { CODEX_TOOLS, type CodexTool } from './port.ts';

/** All that codex has of the conversation: the message with which its turn begins. */
export const PLACEHOLDER = '(The conversation is here.)';

/** What a model request of codex brings that the one before did not have. */
export interface News {
  readonly outputs: readonly ToolOutput[];
  /** Messages of the user that were added to the run, in order. */
  readonly steered: readonly Message[];
  /** The length of all that is new. */
  readonly chars: number;
}

/** What decides about the tools of codex. */
export interface ToolOffer {
  readonly workspace: Workspace | null;
  readonly access: Workspace['access'];
  readonly tools: ReadonlySet<CodexTool> | null;
}

interface AskedConversation extends ToolOffer {
  readonly request: TurnRequest;
}

/** What a model request of codex says besides its items. */
interface CodexPrompt {
  readonly instructions: string | null;
  readonly tools: readonly Tool[];
  readonly parallelToolCalls: boolean | null;
}

/** The request of codex is not about this run. */
export class StrangeRequest extends Error {}

/**
 * What the model has read and written. codex brings the items before the conversation and the outputs of its tools; all
 * else is kept here, because codex keeps neither the client's items nor the model's answers as they were.
 */
export class RunConversation {
  readonly #asked: AskedConversation;
  /** The items that codex has put before the conversation; null: codex has asked nothing yet. */
  #before: readonly Item[] | null = null;
  /** How many items the last request of codex had. */
  #seen = 0;
  readonly #since: Item[] = [];
  #isReleased = false;
  /** Messages that were sent to codex. */
  readonly #expected: Message[] = [];

  constructor(asked: AskedConversation) {
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
  read({ items }: { readonly items: readonly Item[] }): News {
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
        added.push(...(ours === null ? fromCodex(item, this.#asked.workspace) : [ours]));
      }
    }
    append(this.#since, added);
    return { outputs, steered, chars: added.reduce((sum, item) => sum + charsOf(item), 0) };
  }

  /** The request for the model. Everything but the prompt and the tools of codex is as the client asked. */
  next(prompt: CodexPrompt): TurnRequest {
    const { request } = this.#asked;
    const toolChoice = this.#isReleased ? released(request.toolChoice) : request.toolChoice;
    this.#isReleased = true;
    return {
      ...request,
      instructions: prompt.instructions,
      items: [...(this.#before ?? []), ...request.items, ...this.#since],
      tools: [...offeredTools(prompt.tools, this.#asked), ...request.tools],
      toolChoice,
      parallelToolCalls: request.parallelToolCalls ?? prompt.parallelToolCalls,
    };
  }

  #newItems(items: readonly Item[]): readonly Item[] {
    const seen = this.#seen;
    this.#seen = items.length;
    if (this.#before !== null) {
      if (items.length < seen) throw new StrangeRequest('codex has shortened the conversation');
      return items.slice(seen);
    }
    // The first one, because a user may have said the same since.
    const at = items.findIndex(isPlaceholder);
    if (at === -1) throw new StrangeRequest('codex has lost the conversation');
    this.#before = items.slice(0, at).flatMap((item) => fromCodex(item, this.#asked.workspace));
    return items.slice(at + 1);
  }

  #takeExpected(item: Message): Message | null {
    const said = wordsOf(item, 'text');
    const at = this.#expected.findIndex((one) => wordsOf(one, 'text') === said);
    return at === -1 ? null : (this.#expected.splice(at, 1)[0] ?? null);
  }
}

const isPlaceholder = (item: Item): boolean =>
  isMessage(item) && item.role === 'user' && wordsOf(item, 'text') === PLACEHOLDER;

const ENVIRONMENT = '<environment_context>';

/**
 * An item of codex itself, the same for every run of the workspace, so that the prompt cache holds: without its id, and
 * without the folders of the run and of this server. Without a workspace the model has no environment.
 */
const fromCodex = (item: Item, workspace: Workspace | null): readonly Item[] => {
  const { id: _, ...rest } = item;
  if (!isMessage(rest) || !wordsOf(rest, 'text').startsWith(ENVIRONMENT)) return [rest];
  if (workspace === null) return [];
  const parts = rest.parts.map((part) =>
    part.kind === 'text' ? { ...part, text: withoutOwnPaths(part.text, workspace) } : part,
  );
  return [{ ...rest, parts }];
};

const ENTRY = /<entry [^>]*><path>([^<]*)<\/path><\/entry>/g;

const withoutOwnPaths = (text: string, { path, read, write }: Workspace): string =>
  text.replaceAll(ENTRY, (entry, shown: string) => {
    const named = shown.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
    const isKnown = [path, ...read, ...write].some((one) => named === one || named.startsWith(`${one}/`));
    return isKnown ? entry : '';
  });

const charsOf = (item: Item): number => {
  if (item.kind === 'message') return wordsOf(item, 'text').length;
  return item.kind === 'tool-output' && typeof item.output === 'string' ? item.output.length : 0;
};

/** The tools of codex that the model gets. */
const offeredTools = (tools: readonly Tool[], offer: ToolOffer): readonly Tool[] =>
  tools.flatMap((tool): readonly Tool[] => {
    if (tool.kind !== 'function' && tool.kind !== 'custom') return [];
    const name = CODEX_TOOLS.find((one) => one === tool.name);
    if (name === undefined || !isOffered(name, offer)) return [];
    return [tool.kind === 'function' && name === 'exec_command' ? withoutEscalation(tool) : tool];
  });

export const isOffered = (name: CodexTool, { workspace, access, tools }: ToolOffer): boolean =>
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
